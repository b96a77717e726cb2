"""The result folder: written beside its place under another name, renamed when it is whole; and its provenance."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from sumwise.errors import DataError, SumwiseError
from sumwise.io.documents import read_json
from sumwise.io.locks import lock, unlock
from sumwise.io.writer import make_folder, own_folder, remove_folder, write_text
from sumwise.version import __version__

PROVENANCE_FILE = "provenance.json"  # every result has it, and nothing else has it beside summary.json
PARTS = {
    "summary.json": ("title", "family", "findings", "sections"),
    PROVENANCE_FILE: ("data", "versions"),
}  # what a page needs

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "pandas", "duckdb", "pyarrow", "matplotlib")


def read_parts(folder: Path, *names: str) -> list[dict[str, Any]]:
    """Documents of a result, or of a comparison; damage is a DataError, absence a FileNotFoundError."""
    try:
        read = [read_json(folder / name) for name in names]
        for name, document in zip(names, read):
            absent = [key for key in PARTS[name] if not isinstance(document, dict) or key not in document]
            if absent:
                raise ValueError(f"{name} has no {absent[0]}")
    except ValueError as error:
        raise damaged(folder, str(error)) from None
    return read


def damaged(folder: Path, why: str) -> DataError:
    """The error of a result whose documents can't be used."""
    return DataError(f"The result in {str(folder)!r} is damaged ({why}).", hint="fit it again.")


@contextmanager
def read_back(folder: Any) -> Iterator[None]:
    """What goes wrong with the documents of a result that was written before is damage to them.

    Every value of a page was drawn once when the result was written: one of another kind was put there since.
    """
    try:
        yield
    except (SumwiseError, OSError, MemoryError):
        raise
    except Exception as error:  # a value of a wrong kind may fail anywhere, in the template too
        raise damaged(folder, " ".join(f"{type(error).__name__}: {error}".split())[:200]) from error


def check_own(folder: Path, *marks: str) -> None:
    """Refuse a folder with files in it that sumwise didn't write: those that it did hold these marks."""
    if folder.exists() and any(folder.iterdir()) and not all((folder / mark).exists() for mark in marks):
        raise DataError(f"The folder {str(folder)!r} contains other files.", hint="name a new folder.")


class ResultFolder:
    """A folder that appears whole or not at all; until then its steps are kept beside it.

    Parameters
    ----------
    out : path
        Where the result shall be.
    key : str
        Identifies the problem, its data and the version: only a run with the same key is resumed.
    resume : bool
        Go on with an unfinished run.
    restart : bool
        Throw an unfinished run away.
    replace : bool
        Replace an earlier result.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sumwise.cli.study.folder import ResultFolder
    >>> out = pathlib.Path(tempfile.mkdtemp()) / "result"
    >>> with ResultFolder(out, "key") as folder:
    ...     _ = (folder.files / "provenance.json").write_text("{}")
    ...     folder.finish()
    >>> [path.name for path in out.iterdir()]
    ['provenance.json']
    """

    def __init__(self, out: Any, key: str, resume: bool = False, restart: bool = False, replace: bool = False):
        self.out = Path(os.path.abspath(out))
        self.partial = self.out.parent / f".{self.out.name}.partial"
        self.old = self.out.parent / f".{self.out.name}.old"
        self.steps, self.files = self.partial / "steps", self.partial / "result"
        self.key = key
        self.options = {"resume": resume, "restart": restart, "replace": replace}
        self._lock: Any = None

    def __enter__(self) -> ResultFolder:
        if not self.out.parent.is_dir():
            raise DataError(f"There is no folder {str(self.out.parent)!r}.", hint="make it first.")
        self._lock = lock(self.out.parent / f".{self.out.name}.lock")  # held for all that is done to the folders
        if self._lock is None:
            raise DataError(
                f"Another run is writing {str(self.out)!r} now.", hint="wait for it, or name another folder."
            )
        try:
            _check_no_link(self.out, self.partial, self.old)
            if self.old.exists():  # a run that was killed between two renames left the earlier result there
                if self.out.exists():
                    remove_folder(self.old)
                else:
                    os.rename(self.old, self.out)
            self._check_out()
            self._check_partial()
        except BaseException:
            self.__exit__()
            raise
        remove_folder(self.files)
        own_folder(self.partial)
        own_folder(self.steps)
        make_folder(self.files)
        write_text(self.partial / "key", self.key, private=True)
        return self

    def __exit__(self, *_: object) -> None:
        if self._lock is not None:
            if self.partial.exists() and not any(self.steps.glob("*")):
                remove_folder(self.partial)  # nothing to go on with
            unlock(self._lock)
            self._lock = None

    def _check_out(self) -> None:
        out = self.out
        if not out.exists():
            return
        if not out.is_dir():
            raise DataError(f"{str(out)!r} is a file.", hint="name a folder.")
        check_own(out, *PARTS)
        if any(out.iterdir()) and not self.options["replace"]:
            raise DataError(
                f"There is a result in {str(out)!r} already.", hint="add --replace, or name another folder by --out."
            )

    def _check_partial(self) -> None:
        key, resume, restart = self.partial / "key", self.options["resume"], self.options["restart"]
        if not key.exists():
            if resume and not restart:
                raise DataError(f"There is no unfinished run for {str(self.out)!r}.", hint="leave --resume out.")
            return
        same = key.read_text("utf-8") == self.key
        if restart:
            if not (resume and same):  # both options: go on where the problem is the same
                remove_folder(self.steps)
            return
        if resume and not same:
            raise DataError(
                f"The unfinished run for {str(self.out)!r} was of another problem file, other data or another sumwise.",
                hint="start again with --restart.",
            )
        if not resume and any(self.steps.glob("*")):
            shown = "continue with --resume, or start again with --restart." if same else "start again with --restart."
            raise DataError(f"A run for {str(self.out)!r} was interrupted.", hint=shown)

    def finish(self) -> None:
        """Put the result in its place and forget the steps."""
        for path in self.files.iterdir():
            with path.open("rb") as file:
                os.fsync(file.fileno())
        if self.out.exists():
            os.rename(self.out, self.old)
        os.rename(self.files, self.out)
        remove_folder(self.old)
        remove_folder(self.partial)
        self.__exit__()


def _check_no_link(*paths: Path) -> None:
    for path in paths:
        if path.is_symlink():
            raise DataError(
                f"{str(path)!r} is a link to {os.path.realpath(path)!r}: nothing is written through it.",
                hint="remove it, or name another folder.",
            )


def file_facts(path: Path, name: str) -> dict[str, Any]:
    """Name, size and SHA-256 of a file, or of a folder by its files' names and hashes.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sumwise.cli.study.folder import file_facts
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.csv"
    >>> _ = path.write_text("a")
    >>> file_facts(path, "a.csv")["sha256"][:8]
    'ca978112'
    """
    if path.is_dir():
        parts = [file_facts(p, str(p.relative_to(path))) for p in sorted(path.rglob("*")) if p.is_file()]
        joined = "\n".join(f"{part['sha256']} {part['file']}" for part in parts)
        return {
            "file": name,
            "bytes": sum(part["bytes"] for part in parts),
            "sha256": hashlib.sha256(joined.encode()).hexdigest(),
        }
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"file": name, "bytes": path.stat().st_size, "sha256": digest}


def versions() -> dict[str, str]:
    """Versions of sumwise, Python and the packages that compute.

    Examples
    --------
    >>> from sumwise.cli.study.folder import versions
    >>> sorted(versions())[:2]
    ['duckdb', 'machine']
    """
    found = {
        "sumwise": __version__,
        "python": platform.python_version(),
        "machine": f"{sys.platform} {platform.machine()}",
    }
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found
