"""Small JSON and TOML files that people and other programs write: read whole, or a ValueError that says why not."""

from __future__ import annotations

import json
import re
import tomllib
from os import PathLike
from pathlib import Path
from typing import Any

from sumwise import checks

HALF_A_PAIR = re.compile(r"\\u[dD][89a-fA-F]")


def read_json(path: str | PathLike, **hooks: Any) -> Any:
    """The JSON of a file, by `hooks` of `json.loads`; a pipe or a device is a DataError."""
    checks.ordinary_file(path)
    return parse_json(Path(path).read_text("utf-8-sig"), **hooks)


def read_toml(path: str | PathLike) -> dict[str, Any]:
    """The TOML of a file; a pipe or a device is a DataError."""
    checks.ordinary_file(path)
    return parse_toml(Path(path).read_text("utf-8-sig"))


def parse_json(text: str, **hooks: Any) -> Any:
    r"""The JSON of a text, of which no value is too deep for Python or can't be written again.

    Examples
    --------
    >>> from sumwise.storage.documents import parse_json
    >>> parse_json('"\\ud83d\\ude00"') == chr(0x1F600)
    True
    >>> parse_json('["\\ud83d"]')
    Traceback (most recent call last):
    ValueError: half of a surrogate pair stands alone
    """
    try:
        read = json.loads(text, **hooks)
        if HALF_A_PAIR.search(text):
            json.dumps(read, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except UnicodeEncodeError:
        raise ValueError("half of a surrogate pair stands alone") from None
    return read


def parse_toml(text: str) -> dict[str, Any]:
    """The TOML of a text, of which no value is too deep for Python.

    Examples
    --------
    >>> from sumwise.storage.documents import parse_toml
    >>> parse_toml("bins = 4")
    {'bins': 4}
    """
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
