"""A temporary folder of the user's own, for what has to be kept where neither package nor home can be written."""

from __future__ import annotations

import contextlib
import os
import stat

__all__ = ["private_folder"]

FOLDERS = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 (in one of them a folder is made that is ours alone)


def private_folder(name: str, places: tuple[str, ...] = FOLDERS) -> str | None:
    """Return a folder that nobody else can write to, in the first place where one can be made; None if nowhere.

    What it holds may be run: a folder that somebody else made under its name is not taken.

    Parameters
    ----------
    name : str
        What it is for; each user has one folder of each name.
    places : tuple of str
        Where to look, after ``TMPDIR``.

    Examples
    --------
    >>> import os, stat, tempfile
    >>> from sumwise.inference.kernels.private_folder import private_folder
    >>> path = private_folder("example", (tempfile.mkdtemp(),))
    >>> oct(stat.S_IMODE(os.stat(path).st_mode))
    '0o700'
    """
    user = os.geteuid() if hasattr(os, "geteuid") else "user"
    given = os.environ.get("TMPDIR")
    for place in (given, *places) if given and places is FOLDERS else places:
        path = os.path.join(place, f"sumwise-{name}-{user}")
        with contextlib.suppress(OSError):
            with contextlib.suppress(FileExistsError):
                os.mkdir(path, 0o700)
            facts = os.lstat(path)
            mine = not hasattr(os, "geteuid") or (facts.st_uid == user and not facts.st_mode & 0o077)
            if stat.S_ISDIR(facts.st_mode) and mine and os.access(path, os.W_OK):
                return path
    return None
