"""Files that are needed for a moment only; they lie in memory where no folder can be written."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sumwise.errors import DataError


@contextmanager
def scratch_file(name: str) -> Iterator[Path]:
    """Yield the path of an empty file that is gone afterwards; in a read-only container it lies in memory (Linux).

    Parameters
    ----------
    name : str
        What the file is called, in a folder of its own.

    Examples
    --------
    >>> from sumwise.io.scratch import scratch_file
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
    >>> from sumwise.io.scratch import scratch_folder
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
    >>> from sumwise.io.scratch import temporary_files_beside
    >>> temporary_files_beside("result")
    """
    try:
        tempfile.gettempdir()
    except OSError:
        folder = Path(path).absolute().parent
        tempfile.tempdir = str(next(f for f in (folder, *folder.parents) if f.is_dir()))
