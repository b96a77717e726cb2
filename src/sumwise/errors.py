"""Errors and warnings: what is wrong, where, how much, and what to do."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["DataError", "MissingExtra", "ModelWarning", "NotConverged", "SumwiseError", "UnknownName"]

LONG_WORD = re.compile(r"""\S{241,}|(?<!\w)'[^']{241,}'(?!\w)|(?<!\w)"[^"]{241,}"(?!\w)""")  # a word, or a quoted name

# Of terminals, but for tabs and ends of lines; marks of direction; ends of paragraphs; halves of pairs
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def readable(text: str, most: int = 2_000) -> str:
    """Shorten very long words, quoted names and texts, such as a column name of 5,000 characters.

    Every error and warning of sumwise passes through here; paths of a usual length stay whole.

    Parameters
    ----------
    text : str
    most : int, default 2,000
        Characters that are shown in all; a word or name over 240 shows 160.

    Examples
    --------
    >>> from sumwise.errors import readable
    >>> readable("No column " + "x" * 5_000 + ".", most=40)
    'No column xxxxxxxx ... (5,011 characters in all)'
    >>> len(readable("No column " + "x" * 5_000 + "."))
    194
    """
    shown = LONG_WORD.sub(lambda word: f"{word[0][:120]}...({len(word[0]):,} characters)...{word[0][-40:]}", text)
    if len(shown) <= most:
        return shown
    return f"{shown[: most - 22]} ... ({len(text):,} characters in all)"


def visible(text: str, but: str = "") -> str:
    """Return text with control characters, `but` some, written out: it can't move the cursor or reverse text.

    Examples
    --------
    >>> from sumwise.errors import visible
    >>> visible("red \\x1b[31m, and \\u202eback")
    'red \\\\x1b[31m, and \\\\u202eback'
    """
    return CONTROL.sub(lambda c: c[0] if c[0] in but else c[0].encode("unicode_escape").decode("ascii"), text)


def sentence(words: str) -> str:
    """Return words with a capital at their start, as a message begins: "the query" is "The query" there."""
    return words[:1].upper() + words[1:]


class SumwiseError(Exception):
    """Base of every error that sumwise raises on purpose.

    Parameters
    ----------
    message : str
        What is wrong, where, and how much.
    hint : str, optional
        What to do about it; shown after ``Hint:``.

    Examples
    --------
    >>> from sumwise.errors import DataError
    >>> print(DataError("3 of 212 units are empty.", hint="drop such units."))
    3 of 212 units are empty. Hint: drop such units.
    """

    def __init__(self, message: str, hint: str | None = None):
        self.message = message = readable(str(message))
        self.hint = hint = None if hint is None else readable(hint)
        super().__init__(message if hint is None else f"{message} Hint: {hint}")

    def __str__(self) -> str:  # KeyError would show the repr of its argument
        return str(self.args[0])

    def __reduce__(self):  # two arguments make an error, one is kept: say how to copy it
        return type(self), (self.message, self.hint)


class DataError(SumwiseError, ValueError):
    """The data, a file or a parameter can't be used as given; nothing was changed or written.

    See Also
    --------
    NotConverged : The warning about a fit that stopped early.

    Examples
    --------
    >>> from sumwise.errors import DataError
    >>> error = DataError("3 of 212 units are empty.", hint="drop such units.")
    >>> isinstance(error, ValueError), error.hint
    (True, 'drop such units.')
    """


class UnknownName(DataError, KeyError):
    """A name (attribute, level, column, table, class) that isn't there.

    Examples
    --------
    >>> from sumwise.errors import UnknownName
    >>> error = UnknownName("No column 'vote'.", hint="did you mean 'votes'?")
    >>> isinstance(error, KeyError), str(error)
    (True, "No column 'vote'. Hint: did you mean 'votes'?")
    """


class MissingExtra(SumwiseError, ImportError):
    """An optional package is needed for this and isn't installed.

    Examples
    --------
    >>> from sumwise.errors import MissingExtra
    >>> isinstance(MissingExtra("torch isn't installed."), ImportError)
    True
    """


class NotConverged(UserWarning):
    """An iterative fit stopped before its tolerance; the message says by how much.

    See Also
    --------
    Fit : How a search ended.
    DataError : What can't be used as given.

    Examples
    --------
    >>> import warnings
    >>> from sumwise.errors import NotConverged
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warnings.warn(NotConverged("Stopped after 10 steps."), stacklevel=1)
    >>> caught[0].category.__name__
    'NotConverged'
    """

    def __init__(self, message: object = ""):
        super().__init__(readable(str(message)))


class ModelWarning(UserWarning):
    """The fit succeeded, but the data or the result need care; the message says why and how much.

    Examples
    --------
    >>> import warnings
    >>> from sumwise.errors import ModelWarning
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warnings.warn("There are 3 units for 4 cells: the answer leans on the model.", ModelWarning)
    >>> caught[0].category.__name__
    'ModelWarning'
    """

    def __init__(self, message: object = ""):
        super().__init__(readable(str(message)))


@contextmanager
def group_warnings() -> Iterator[None]:
    """Issue the first warning of each kind, with the number of others like it.

    Examples
    --------
    >>> import warnings
    >>> from sumwise.errors import group_warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     with group_warnings():
    ...         for left in (0.2, 0.1):
    ...             warnings.warn(f"stopped with {left} left")
    >>> [str(w.message) for w in caught]
    ['stopped with 0.2 left (and 1 more like it)']
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    kinds: dict[type[Warning], list[str]] = {}
    for warning in filter(is_ours, caught):
        kinds.setdefault(warning.category, []).append(one_line(warning))
    for kind, texts in kinds.items():
        more = f" (and {len(texts) - 1} more like it)" if len(texts) > 1 else ""
        warnings.warn(texts[0] + more, kind, stacklevel=3)


def one_line(caught: warnings.WarningMessage) -> str:
    """Return the text of a warning on one line.

    Examples
    --------
    >>> import warnings
    >>> from sumwise.errors import one_line
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warnings.warn("two\\nlines", stacklevel=1)
    >>> one_line(caught[0])
    'two lines'
    """
    return " ".join(str(caught.message).split())


def is_ours(caught: warnings.WarningMessage) -> bool:
    """Return whether a warning is for users; deprecations of libraries are not.

    Examples
    --------
    >>> import warnings
    >>> from sumwise.errors import is_ours
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warnings.warn("old", DeprecationWarning, stacklevel=1)
    >>> is_ours(caught[0])
    False
    """
    return issubclass(caught.category, UserWarning)
