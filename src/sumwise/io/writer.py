"""The one writer: every file and folder that sumwise makes is made here, whole or not at all.

No link is followed in the last component of a name, so that nobody who can put a link in a folder chooses what is
overwritten. What holds individuals' data is private: folders 0700, files 0600, whatever the umask.

While something is being written under a temporary name, its writer holds a lock on it. The system gives the lock back
when the process ends, however that is: whoever finds a temporary name without a lock may remove it.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from sumwise.errors import DataError
from sumwise.io.locks import LOCKS, NOT_ORDINARY, lock, opened_alone, try_lock

UNFINISHED = ".being-written"
PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700


@contextlib.contextmanager
def new_file(path: str | os.PathLike, private: bool = False) -> Iterator[IO[bytes]]:
    """Open a new file beside ``path`` that takes its place when all went well, and is removed otherwise.

    Parameters
    ----------
    path : path
        A file, or a name that is free; a link, a folder, a pipe or a device is refused.
    private : bool, default False
        Only its owner may read it, unless an earlier file of that name had other permissions.

    Examples
    --------
    >>> import os, tempfile
    >>> from sumwise.io.writer import new_file
    >>> path = os.path.join(tempfile.mkdtemp(), "x")
    >>> with new_file(path) as file:
    ...     _ = file.write(b"whole")
    ...     os.path.exists(path)
    False
    >>> os.listdir(os.path.dirname(path))
    ['x']
    """
    folder, name = os.path.split(os.path.abspath(path))
    mode = _replaceable(os.path.join(folder, name))
    _clear_files(folder, name)
    file = _locked_new(folder, name, PRIVATE_FILE if private else 0o666)
    temporary = file.name
    try:
        with file:
            if mode is not None:
                os.chmod(temporary, mode)
            yield file
            file.flush()
            os.fsync(file.fileno())
            if os.name == "posix":
                os.replace(temporary, path)  # under the lock: nobody takes it for what a killed run left
        if os.name != "posix":
            os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    sync_folder(folder)


def write_text(path: str | os.PathLike, text: str, private: bool = False) -> Path:
    """Write a file of text in UTF-8, whole or not at all; return its path."""
    return write_bytes(path, text.encode(), private)


def write_bytes(path: str | os.PathLike, content: bytes, private: bool = False) -> Path:
    """Write a file, whole or not at all; return its path."""
    with new_file(path, private) as file:
        file.write(content)
    return Path(path)


def open_log(path: str | os.PathLike) -> IO[bytes]:
    """Open a private file to add lines to it; a link or anything else that isn't an ordinary file is refused.

    Examples
    --------
    >>> import os, tempfile
    >>> from sumwise.io.writer import open_log
    >>> path = os.path.join(tempfile.mkdtemp(), "x.log")
    >>> for line in (b"one ", b"two"):
    ...     with open_log(path) as log:
    ...         _ = log.write(line)
    >>> with open(path) as file:
    ...     file.read()
    'one two'
    """
    try:
        descriptor = opened_alone(os.fspath(path), os.O_WRONLY | os.O_APPEND | os.O_CREAT, PRIVATE_FILE)
    except OSError as error:
        if error.errno not in NOT_ORDINARY:
            raise
        raise _not_ordinary(path) from None
    if os.fstat(descriptor).st_nlink > 1:
        os.close(descriptor)
        raise DataError(f"{os.fspath(path)!r} has a second name (a hard link).", hint="remove it.")
    return open(descriptor, "ab")


@contextlib.contextmanager
def new_folder(path: str | os.PathLike) -> Iterator[Path]:
    """Make a folder beside ``path`` that becomes it when all went well, and is removed otherwise.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sumwise.io.writer import new_folder, write_text
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "result"
    >>> with new_folder(path) as building:
    ...     _ = write_text(building / "x", "whole")
    >>> [p.name for p in path.iterdir()]
    ['x']
    """
    target = Path(os.path.abspath(path))
    if LOCKS:
        for leftover in target.parent.glob(f".{_literal(target.name)}-????????"):
            with contextlib.suppress(OSError):
                leftover.rmdir()  # killed before it had its mark: only if it is empty
            with contextlib.suppress(OSError), open(leftover / UNFINISHED, "rb", opener=opened_alone) as file:
                if not leftover.is_symlink() and try_lock(file):
                    remove_folder(leftover)
    building, held = _marked_new(target)
    try:
        yield building
        (building / UNFINISHED).unlink(missing_ok=True)
        # The permission bits that new files must not have; the system reports them only when they are set
        mask = os.umask(0o077)
        os.umask(mask)
        building.chmod(0o777 & ~mask)  # a temporary folder is private; this one is not
        os.replace(building, target)
    finally:
        remove_folder(building)
        if held is not None:
            held.close()


def make_folder(path: str | os.PathLike, private: bool = False, exist_ok: bool = True) -> Path:
    """Make a folder, unless it is there, and those that lead to it; return its path.

    Parameters
    ----------
    path : path
        A name that is free, or a folder; a link is refused.
    private : bool, default False
        Only its owner may look into a folder that is made.
    exist_ok : bool, default True
        Take a folder that is there; otherwise it is a FileExistsError.

    Examples
    --------
    >>> import stat, tempfile
    >>> from sumwise.io.writer import make_folder
    >>> path = make_folder(tempfile.mkdtemp() + "/a/b", private=True)
    >>> oct(stat.S_IMODE(path.stat().st_mode))
    '0o700'
    """
    path = Path(os.path.abspath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        path.mkdir(PRIVATE_FOLDER if private else 0o777)
    except FileExistsError:
        if not exist_ok:
            raise
        if path.is_symlink() or not path.is_dir():
            raise DataError(f"{str(path)!r} is a link or a file.", hint="remove it, or name a folder.") from None
    return path


def own_folder(path: str | os.PathLike) -> Path:
    """Make a private folder, or take one that is there if it is the user's; return its path."""
    path = make_folder(path, private=True)
    if hasattr(os, "geteuid") and path.stat().st_uid != os.geteuid():
        raise DataError(f"The folder {str(path)!r} belongs to another user.", hint="name another place.")
    path.chmod(PRIVATE_FOLDER)
    return path


def remove_folder(path: str | os.PathLike) -> None:
    """Remove a folder and what is in it, if it is there; of a link only the link."""
    if os.path.islink(path):
        os.unlink(path)
    else:
        shutil.rmtree(path, ignore_errors=True)


def sync_folder(folder: str | os.PathLike) -> None:
    """Have the names in a folder survive a loss of power, where a folder can be opened."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _replaceable(path: str) -> int | None:
    """Check that a name is free or an ordinary file's; return the permissions of the user's own earlier file."""
    try:
        facts = os.lstat(path)
    except OSError:
        folder, name = os.path.split(path)
        if not os.path.isdir(folder):
            raise DataError(f"There is no folder {folder!r} to save {name!r} in.", hint="make it first.") from None
        return None
    if stat.S_ISDIR(facts.st_mode):
        raise DataError(f"{path!r} is a folder.", hint="give the name of a file in it.")
    if not stat.S_ISREG(facts.st_mode):
        raise _not_ordinary(path)
    own = not hasattr(os, "geteuid") or facts.st_uid == os.geteuid()
    return stat.S_IMODE(facts.st_mode) if own else None


def _not_ordinary(path: Any) -> DataError:
    where = f", to {os.path.realpath(path)!r}" if os.path.islink(path) else ""
    return DataError(
        f"{os.fspath(path)!r} is a link, a pipe or a device{where}: nothing is written through it.",
        hint="remove it, or give the name of an ordinary file.",
    )


def _locked_new(folder: str, name: str, mode: int) -> IO[bytes]:
    """Make a new temporary file and lock it; again, if somebody took it for a leftover before it was locked."""
    while True:
        path = os.path.join(folder, f".{name}.{secrets.token_hex(4)}.tmp")
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
        file = open(path, "r+b", opener=lambda *_, d=descriptor: d)  # noqa: SIM115 (closed by who writes it)
        try_lock(file)
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                return file
        file.close()


def _marked_new(target: Path) -> tuple[Path, Any]:
    """Make a new temporary folder with our mark in it, locked; again, if somebody took it for a leftover before."""
    while True:
        building = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
        with contextlib.suppress(FileNotFoundError):
            held = lock(building / UNFINISHED)
            if held is not None:
                return building, held


def _clear_files(folder: str, name: str) -> None:
    """Remove what killed writers of a file left."""
    if not LOCKS:
        return
    pattern = re.compile(re.escape(f".{name}.") + r"[0-9a-f]{8}\.tmp")
    for leftover in os.listdir(folder):
        if pattern.fullmatch(leftover):
            with contextlib.suppress(OSError), open(os.path.join(folder, leftover), "rb", opener=opened_alone) as file:
                if try_lock(file):
                    os.unlink(file.name)


def _literal(name: str) -> str:
    """A name with the signs of patterns taken as they are."""
    return re.sub(r"[*?\[]", r"[\g<0>]", name)
