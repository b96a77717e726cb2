"""Files that others write: small JSON and TOML ones, read whole; and a name for the content of any file."""

from __future__ import annotations

import glob
import hashlib
import json
import re
import tomllib
from collections.abc import Callable
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from sumwise import checks
from sumwise.errors import DataError

HALF_A_PAIR = re.compile(r"\\u[dD][89a-fA-F]")

MAX_BYTES_READ = 2**26  # bytes that are read at most: all of smaller files, evenly spread blocks of larger ones
BLOCK = 2**16


def read_json(path: str | PathLike, **hooks: Any) -> Any:
    """The JSON of a file, by `hooks` of `json.loads`; a pipe or a device is a DataError."""
    checks.ordinary_file(path)
    return parse_json(Path(path).read_text("utf-8-sig"), **hooks)


def read_toml(path: str | PathLike) -> dict[str, Any]:
    """The TOML of a file; a pipe or a device is a DataError."""
    checks.ordinary_file(path)
    return parse_toml(Path(path).read_text("utf-8-sig"))


def read_named(read: Callable[[Any], Any], path: str | PathLike, what: str = "file", hint: str | None = None) -> Any:
    """What `read_json` or `read_toml` gives; a DataError that names the file where it can't be read."""
    try:
        return read(path)
    except (OSError, ValueError) as error:
        raise DataError(f"The {what} {fspath(path)!r} can't be read: {error}.", hint=hint) from None


def parse_json(text: str, **hooks: Any) -> Any:
    r"""The JSON of a text, of which no value is too deep for Python or can't be written again.

    Examples
    --------
    >>> from sumwise.io.documents import parse_json
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
    >>> from sumwise.io.documents import parse_toml
    >>> parse_toml("bins = 4")
    {'bins': 4}
    """
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def file_digest(path: str) -> str | None:
    """A name for the content of a file, or of all files of a folder or pattern; None where nothing is here.

    Of files that together are larger than `MAX_BYTES_READ`, sizes and blocks spread evenly over each stand for all.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sumwise.io.documents import file_digest
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("rows.csv", "copy.csv"):
    ...         _ = pathlib.Path(folder, name).write_text("a,b")
    ...     file_digest(f"{folder}/rows.csv") == file_digest(f"{folder}/copy.csv")
    True
    """
    place = Path(path)
    if place.is_file():
        files = [place]
    elif place.is_dir():
        files = sorted(f for f in place.rglob("*") if f.is_file())
    else:
        files = sorted(f for f in map(Path, glob.glob(path)) if f.is_file())
    if not files:
        return None
    total, digest = sum(f.stat().st_size for f in files), hashlib.sha256()
    for file in files:
        if place.is_dir():
            digest.update(str(file.relative_to(place)).encode())  # folders of partitions hold values
        digest.update(_content(file, total))
    return digest.hexdigest()


def _content(file: Path, total: int) -> bytes:
    with file.open("rb") as source:
        if total <= MAX_BYTES_READ:
            return hashlib.file_digest(source, "sha256").digest()
        size, digest = file.stat().st_size, hashlib.sha256()
        digest.update(str(size).encode())
        blocks = max(2, MAX_BYTES_READ // BLOCK * size // total)
        for i in range(blocks):
            source.seek(max(size - BLOCK, 0) * i // (blocks - 1))
            digest.update(source.read(BLOCK))
        return digest.digest()
