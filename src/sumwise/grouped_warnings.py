"""Warnings of many fits: one line for each kind, with their number."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["group_warnings", "is_ours", "one_line"]


@contextmanager
def group_warnings() -> Iterator[None]:
    """Issue the first warning of each kind, with the number of others like it.

    Examples
    --------
    >>> import warnings
    >>> from sumwise.grouped_warnings import group_warnings
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
    >>> from sumwise.grouped_warnings import one_line
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
    >>> from sumwise.grouped_warnings import is_ours
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warnings.warn("old", DeprecationWarning, stacklevel=1)
    >>> is_ours(caught[0])
    False
    """
    return issubclass(caught.category, UserWarning)
