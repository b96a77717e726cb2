"""Files and folders that appear whole or not at all; what a killed run left is removed by the next one.

While something is being written under a temporary name, its writer holds a lock on it. The system gives the lock back
when the process ends, however that is: whoever finds a temporary name without a lock may remove it.
Files that are needed for a moment only are made here too, in memory where no folder can be written.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from sumwise.errors import DataError

try:
    import fcntl
except ImportError:  # Windows: runs aren't kept apart, and nothing is taken for a leftover
    fcntl = None

UNFINISHED = ".being-written"
NOT_ORDINARY = (errno.ELOOP, errno.EISDIR, errno.ENXIO)  # a link, a folder, a pipe or a device


@contextlib.contextmanager
def new_file(path: str | os.PathLike) -> Iterator[IO[bytes]]:
    """Open a new file beside ``path`` that takes its place when all went well, and is removed otherwise.

    Examples
    --------
    >>> import os, tempfile
    >>> from sumwise.storage.atomic import new_file
    >>> path = os.path.join(tempfile.mkdtemp(), "x")
    >>> with new_file(path) as file:
    ...     _ = file.write(b"whole")
    ...     os.path.exists(path)
    False
    >>> os.listdir(os.path.dirname(path))
    ['x']
    """
    target = os.path.realpath(path)  # a link stays a link
    if os.path.islink(target):
        raise DataError(f"{os.fspath(path)!r} is one of links that lead in a circle.", hint="remove them.")
    folder, name = os.path.split(target)
    if not os.path.isdir(folder):
        raise DataError(f"There is no folder {folder!r} to save {name!r} in.", hint="make it first.")
    if os.path.isdir(target):
        raise DataError(f"{os.fspath(path)!r} is a folder.", hint="give the name of a file in it.")
    if os.path.exists(target) and not os.path.isfile(target):
        raise DataError(f"{os.fspath(path)!r} is a pipe or a device.", hint="give the name of an ordinary file.")
    _clear_files(folder, name)
    file = _locked_new(folder, name)
    temporary = file.name
    try:
        with file:
            if os.path.exists(target):
                os.chmod(temporary, stat.S_IMODE(os.stat(target).st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
            if os.name == "posix":
                os.replace(temporary, target)  # under the lock: nobody takes it for what a killed run left
        if os.name != "posix":
            os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    with contextlib.suppress(OSError):  # the new name survives a loss of power, where a folder can be opened
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def write_text(path: str | os.PathLike, text: str) -> Path:
    """Write a file of text in UTF-8, whole or not at all; return its path."""
    with new_file(path) as file:
        file.write(text.encode())
    return Path(path)


@contextlib.contextmanager
def new_folder(path: str | os.PathLike) -> Iterator[Path]:
    """Make a folder beside ``path`` that becomes it when all went well, and is removed otherwise.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sumwise.storage.atomic import new_folder
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "result"
    >>> with new_folder(path) as building:
    ...     _ = (building / "x").write_text("whole")
    >>> [p.name for p in path.iterdir()]
    ['x']
    """
    target = Path(os.path.abspath(path))
    if fcntl is not None:
        for found in target.parent.glob(f".{_literal(target.name)}-????????"):
            with contextlib.suppress(OSError):
                found.rmdir()  # killed before it had its mark: only if it is empty
            with contextlib.suppress(OSError), open(found / UNFINISHED, "rb", opener=_opened_alone) as file:
                if _try_lock(file):
                    shutil.rmtree(found, ignore_errors=True)
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
        shutil.rmtree(building, ignore_errors=True)
        if held is not None:
            held.close()


def lock(path: str | os.PathLike) -> Any:
    """Open a lock file that no other process holds; None where another does, or where the system has no such locks.

    Give it back by :func:`unlock`. It is free again when its process ends, however that is.

    Examples
    --------
    >>> import os, tempfile
    >>> from sumwise.storage.atomic import lock, unlock
    >>> path = os.path.join(tempfile.mkdtemp(), "lock")
    >>> held = lock(path)
    >>> lock(path) is None
    True
    >>> unlock(held)
    >>> os.path.exists(path)
    False
    """
    while True:
        handle = open_lock(path)
        if not _try_lock(handle):
            handle.close()
            return None
        try:
            if os.path.samestat(os.fstat(handle.fileno()), os.stat(path)):
                return handle
        except FileNotFoundError:
            pass
        handle.close()  # its holder removed it in between: it locks nothing


def open_lock(path: str | os.PathLike) -> IO[bytes]:
    """Open a lock file, or make it; a link, a pipe or anything else that somebody put there is refused, not followed.

    Examples
    --------
    >>> import os, tempfile
    >>> from sumwise.storage.atomic import open_lock
    >>> open_lock(os.path.join(tempfile.mkdtemp(), "lock")).close()
    """
    try:
        return open(path, "a+b", buffering=0, opener=_opened_alone)
    except OSError as error:
        if error.errno not in NOT_ORDINARY:
            raise
        raise DataError(
            f"The lock file {os.fspath(path)!r} is a link, a pipe or a folder.",
            hint="remove it; sumwise makes its own.",
        ) from None


def _opened_alone(path: str, flags: int) -> int:
    """Open an ordinary file without following a link, and without waiting for the other end of a pipe."""
    alone = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(path, flags | alone, 0o666)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.ENXIO, "Not an ordinary file", path)


def unlock(handle: Any) -> None:
    """Remove a lock file and give the lock back."""
    with contextlib.suppress(OSError):
        os.unlink(handle.name)
    handle.close()


def _try_lock(handle: Any) -> bool:
    if fcntl is not None:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a file system without locks
            pass
    return True


def _locked_new(folder: str, name: str) -> IO[bytes]:
    """Make a new temporary file and lock it; again, if somebody took it for a leftover before it was locked."""
    while True:
        path = os.path.join(folder, f".{name}.{secrets.token_hex(4)}.tmp")
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        file = open(path, "r+b", opener=lambda *_, d=descriptor: d)  # noqa: SIM115 (closed by who writes it)
        _try_lock(file)
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
    if fcntl is None:
        return
    pattern = re.compile(re.escape(f".{name}.") + r"[0-9a-f]{8}\.tmp")
    for found in os.listdir(folder):
        if pattern.fullmatch(found):
            with contextlib.suppress(OSError), open(os.path.join(folder, found), "rb", opener=_opened_alone) as file:
                if _try_lock(file):
                    os.unlink(file.name)


def _literal(name: str) -> str:
    """A name with the signs of patterns taken as they are."""
    return re.sub(r"[*?\[]", r"[\g<0>]", name)


@contextmanager
def scratch_file(name: str) -> Iterator[Path]:
    """Yield the path of an empty file that is gone afterwards; in a read-only container it lies in memory (Linux).

    Parameters
    ----------
    name : str
        What the file is called, in a folder of its own.

    Examples
    --------
    >>> from sumwise.storage.atomic import scratch_file
    >>> with scratch_file("copy.csv") as path:
    ...     _ = path.write_text("a,b")
    ...     path.read_text()
    'a,b'
    """
    folder = scratch_folder()
    if folder is not None:
        with folder:
            yield Path(folder.name) / name
        return
    try:
        descriptor = os.memfd_create(name)
    except (AttributeError, OSError):
        raise DataError(
            "There is no folder for temporary files that can be written.", hint="set TMPDIR to one that can."
        ) from None
    try:
        yield Path(f"/proc/{os.getpid()}/fd/{descriptor}")
    finally:
        os.close(descriptor)


def scratch_folder() -> tempfile.TemporaryDirectory | None:
    """Make a folder that its user removes; None where none can be written.

    Examples
    --------
    >>> from sumwise.storage.atomic import scratch_folder
    >>> with scratch_folder() as folder:
    ...     "sumwise-" in folder
    True
    """
    try:
        return tempfile.TemporaryDirectory(prefix="sumwise-")
    except OSError:
        return None


def temporary_files_beside(path: str | os.PathLike) -> None:
    """Where no folder for temporary files can be written, take the one that a result is written to, in this process.

    Matplotlib, for one, doesn't start without a folder of its own.

    Examples
    --------
    >>> from sumwise.storage.atomic import temporary_files_beside
    >>> temporary_files_beside("result")
    """
    try:
        tempfile.gettempdir()
    except OSError:
        folder = Path(path).absolute().parent
        tempfile.tempdir = str(next(f for f in (folder, *folder.parents) if f.is_dir()))
