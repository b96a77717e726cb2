"""Find a file of the catalogue, verify it, read it: every public set comes through here."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import tomllib
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from sumwise.display import record_html
from sumwise.errors import DataError, UnknownName

VARIABLE = "SUMWISE_DATA"
_digests: dict[tuple[str, int, int], str] = {}  # (path, mtime, size): a file is hashed once per process


@dataclass(frozen=True, slots=True)
class File:
    """One file of a set: where it lies below the data folder and what is checked when it is read.

    Examples
    --------
    >>> from sumwise.datasets.store import entry
    >>> entry("senc").files[0].rows
    212
    """

    path: str
    sha256: str
    rows: int | None = None
    columns: tuple[str, ...] | None = None

    _repr_html_ = record_html


@dataclass(frozen=True, slots=True)
class Entry:
    """One public set: its files, its licence, and where the original is.

    Examples
    --------
    >>> from sumwise.datasets.store import entry
    >>> entry("senc").family, entry("senc").licence
    ('ecological', 'GPL')
    """

    name: str
    family: str
    shape: str
    licence: str
    source: str
    files: tuple[File, ...]

    _repr_html_ = record_html

    @property
    def present(self) -> bool:
        """Whether every file of the set is on this machine (checksums are verified on load)."""
        return all(_find(file) is not None for file in self.files)

    def file(self, path: str) -> File:
        """The file of this set with that path."""
        for file in self.files:
            if file.path == path:
                return file
        raise UnknownName(f"The set {self.name!r} has no file {path!r}.", hint=f"it has {_listed(self)}.")


@cache
def entries() -> dict[str, Entry]:
    """Every set of the catalogue by name."""
    text = (Path(__file__).parent / "catalogue.toml").read_text(encoding="utf-8")
    return {name: _entry(name, record) for name, record in tomllib.loads(text).items()}


def _entry(name: str, record: dict[str, Any]) -> Entry:
    files = tuple(
        File(f["path"], f["sha256"], f.get("rows"), tuple(f["columns"]) if "columns" in f else None)
        for f in record["files"]
    )
    return Entry(name, record["family"], record["shape"], record["licence"], record["source"], files)


def entry(name: str) -> Entry:
    """The set of that name."""
    known = entries()
    if name not in known:
        raise UnknownName(f"There is no data set {name!r}.", hint=f"the sets are {', '.join(sorted(known))}.")
    return known[name]


def catalogue() -> pd.DataFrame:
    """List the public sets that sumwise can load, and whether their files are here.

    Returns
    -------
    pandas.DataFrame
        One row per set: ``name`` (also the name of its function in this module), ``family``, ``shape``,
        ``licence``, ``source``, ``files`` (a list of paths below the data folder) and ``present``.

    Examples
    --------
    >>> from sumwise import datasets
    >>> sets = datasets.catalogue()
    >>> sets.loc[sets["name"] == "senc", "shape"].item()
    '212 precincts, 3 x 3, truth per precinct'
    """
    facts = ("name", "family", "shape", "licence", "source")
    records = [
        {**{fact: getattr(e, fact) for fact in facts}, "files": [file.path for file in e.files], "present": e.present}
        for e in entries().values()
    ]
    return pd.DataFrame.from_records(records)


def folders() -> list[Path]:
    """The folders that are searched, in this order; those that don't exist are listed too.

    Examples
    --------
    >>> from sumwise.datasets.store import folders
    >>> folders()[-1].name
    'data'
    """
    places: list[Path] = []
    if os.environ.get(VARIABLE):
        places.append(Path(os.environ[VARIABLE]).expanduser())
    source = Path(__file__).resolve().parents[2]
    if source.name == "src":  # a checkout, not an installed package
        places.append(source.parent.parent / "shared" / "data")
    places.append(Path.cwd().parent / "shared" / "data")
    return list(dict.fromkeys(places))


def _find(file: File) -> Path | None:
    return next((folder / file.path for folder in folders() if (folder / file.path).is_file()), None)


def verified(name: str, number: int = 0) -> tuple[File, Path]:
    """A file of a set and where it is, once its checksum has been compared."""
    e = entry(name)
    file = e.files[number]
    path = _find(file)
    if path is None:
        looked = ", ".join(str(folder) for folder in folders())
        raise DataError(
            f"The data set {e.name!r} needs the file {file.path!r}, which is in none of: {looked}. "
            f"The public original: {e.source} (licence: {e.licence}). Expected sha256: {file.sha256}.",
            hint=f"put the file there, or set {VARIABLE} to the folder that contains {file.path!r}.",
        )
    actual = _digest(path)
    if actual != file.sha256:
        raise DataError(
            f"The file {str(path)!r} of the data set {e.name!r} has sha256 {actual}; expected {file.sha256}.",
            hint=f"get a fresh copy of the public original: {e.source}.",
        )
    return file, path


def _digest(path: Path) -> str:
    stat = path.stat()
    key = (str(path.resolve()), stat.st_mtime_ns, stat.st_size)
    if key not in _digests:
        with path.open("rb") as stream:
            _digests[key] = hashlib.file_digest(stream, "sha256").hexdigest()
    return _digests[key]


def check_frame(frame: Any, file: File, path: Path) -> Any:
    """The frame itself, once its columns and its number of rows have been compared with the catalogue."""
    if file.columns is not None and tuple(frame.columns) != file.columns:
        missing = [c for c in file.columns if c not in frame.columns]
        extra = [c for c in frame.columns if c not in file.columns]
        raise DataError(
            f"The file {str(path)!r} has other columns than expected: missing {missing}, extra {extra}"
            f"{'' if missing or extra else ', in another order'}.",
            hint="get a fresh copy of the public original.",
        )
    if file.rows is not None and len(frame) != file.rows:
        raise DataError(
            f"The file {str(path)!r} has {len(frame):,} rows; expected {file.rows:,}.",
            hint="get a fresh copy of the public original.",
        )
    return frame


def read_csv(name: str, number: int = 0, text: Sequence[str] = (), **options: Any) -> Any:
    """Read one CSV file of a set: verified, its columns and rows checked.

    Parameters
    ----------
    name : str
        The set.
    number : int, default 0
        Which of its files.
    text : sequence of str
        Columns that stay text as written (codes with leading zeros).
    **options
        Passed on to :func:`pandas.read_csv`.
    """
    file, path = verified(name, number)
    try:
        frame = pd.read_csv(path, dtype=dict.fromkeys(text, str), **options)
    except (ValueError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"The file {str(path)!r} can't be read as CSV: {error}.") from error
    frame = frame.rename(columns=lambda c: "" if str(c).startswith("Unnamed: ") else c)
    return check_frame(frame, file, path)


def read_document(name: str, number: int) -> Any:
    """Read one JSON file of a set, verified."""
    return json.loads(verified(name, number)[1].read_text("utf-8"))


def _listed(e: Entry) -> str:
    return ", ".join(repr(file.path) for file in e.files)
