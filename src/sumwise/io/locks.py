"""Locks on files: one process at a time, free again when its process ends, however that is."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from typing import IO, Any

from sumwise.errors import DataError

try:
    import fcntl
except ImportError:  # Windows: runs aren't kept apart, and nothing is taken for a leftover
    fcntl = None

LOCKS = fcntl is not None
NOT_ORDINARY = (errno.ELOOP, errno.EISDIR, errno.ENXIO)  # a link, a folder, a pipe or a device


def lock(path: str | os.PathLike) -> Any:
    """Open a lock file that no other process holds; None where another does, or where the system has no such locks.

    Give it back by :func:`unlock`. It is free again when its process ends, however that is.

    Examples
    --------
    >>> import os, tempfile
    >>> from sumwise.io.locks import lock, unlock
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
        if not try_lock(handle):
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
    >>> from sumwise.io.locks import open_lock
    >>> open_lock(os.path.join(tempfile.mkdtemp(), "lock")).close()
    """
    try:
        return open(path, "a+b", buffering=0, opener=opened_alone)
    except OSError as error:
        if error.errno not in NOT_ORDINARY:
            raise
        raise DataError(
            f"The lock file {os.fspath(path)!r} is a link, a pipe or a folder.",
            hint="remove it; sumwise makes its own.",
        ) from None


def opened_alone(path: str, flags: int, mode: int = 0o666) -> int:
    """Open an ordinary file without following a link, and without waiting for the other end of a pipe."""
    alone = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(path, flags | alone, mode)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.ENXIO, "Not an ordinary file", path)


def unlock(handle: Any) -> None:
    """Remove a lock file and give the lock back."""
    with contextlib.suppress(OSError):
        os.unlink(handle.name)
    handle.close()


def try_lock(handle: Any) -> bool:
    """Lock an open file unless another process has; True as well where the file system has no locks."""
    if fcntl is not None:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a file system without locks
            pass
    return True
