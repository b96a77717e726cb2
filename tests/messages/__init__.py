"""Errors and warnings in tests: their class, which message it is, and the names and values that it must give.

The wording of each message is in one place, a line of the snapshots in this folder; a test names a message by its key
there. `make messages` writes the snapshots again, and keys stay when the wording changes.

    with raises(DataError, "cols-dont-sum", "b", 5):  # this message, about the unit 'b' and the number 5
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import pytest

from messages.source import Message, own_letters, pattern, pieces, read

__all__ = ["gives", "raises", "warns"]


@contextmanager
def raises(kind: type[Exception], key: str, *names: object) -> Iterator[pytest.ExceptionInfo]:
    """Expect an error of this class that is the message of this key, with each name or value in one of its holes."""
    with pytest.raises(kind) as caught:
        yield caught
    assert not (why := differs(str(caught.value), key, *names)), why


@contextmanager
def warns(kind: type[Warning], key: str, *names: object) -> Iterator[pytest.WarningsRecorder]:
    """Expect a warning of this class that is the message of this key; others are warned about as usual."""
    with pytest.warns(kind, match="|".join(expression(k).pattern for k in key.split("|"))) as caught:
        yield caught
    reasons = [differs(str(warning.message), key, *names) for warning in caught if issubclass(warning.category, kind)]
    assert "" in reasons, reasons[0]


def gives(text: str, key: str, *names: object) -> bool:
    """Whether a text, as of a command or page, has the message of this key with these names and values."""
    return not differs(text, key, *names)


def differs(text: str, keys: str, *names: object) -> str:
    """Say why a text is not the message of this key with these names and values; nothing if it is.

    Keys with | between them stand for any of these, where the cases of one test differ.
    """
    assert not (gone := set(keys.split("|")) - read_once().keys()), f"no snapshot has {gone}: see `make messages`"
    reasons = [differs_from(key, text, names) for key in keys.split("|")]
    return "" if "" in reasons else reasons[0] if len(reasons) == 1 else f"none of the messages {keys!r}: {text!r}"


def differs_from(key: str, text: str, names: tuple[object, ...]) -> str:
    match = matched(key, text)
    if match is None:
        return f"not the message {key!r}, {read_once()[key].text!r}: {text!r}"
    for other in more_specific(key):
        if matched(other, text):
            return f"the message {other!r}, not {key!r}: {text!r}"
    values = [value for value in match.groups() if value]
    missing = [name for name in names if not any(re.search(alone(name), value) for value in values)]
    return f"{missing} are not among the values {values} of {key!r}: {text!r}" if missing else ""


def alone(name: object) -> str:
    """Return the expression of a name or number that is no part of a longer one."""
    return rf"(?<!\w)(?<!\d[.,]){re.escape(str(name))}(?!\w|[.,]\d)"


@cache
def read_once() -> dict[str, Message]:
    return read()


def matched(key: str, text: str) -> re.Match | None:
    """Match the whole text; without the fixed parts of a message in it, a search through its holes could take long."""
    return expression(key).fullmatch(text) if all(part in text for part in pieces(read_once()[key].text)) else None


@cache
def expression(key: str) -> re.Pattern:
    """Return the pattern of a message, also where another text goes before or after it."""
    return re.compile(rf"(?s:(?:.*?\W)??{pattern(read_once()[key].text)}(?:\W.*)?)")


@cache
def more_specific(key: str) -> list[str]:
    """Return the keys of messages that this message's holes would take in: those are not it.

    They say more, and not only in their hint.
    """
    known = read_once()
    letters, words = own_letters(known[key].text), without_hint(known[key].text)
    return [
        other
        for other, message in known.items()
        if own_letters(message.text) > letters
        and without_hint(message.text) != words
        and matched(key, "x".join(pieces(message.text)))
    ]


def without_hint(text: str) -> str:
    return re.split(r"\{? Hint: ", text)[0]
