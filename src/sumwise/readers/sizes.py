"""How much a file comes to when it is read, found out before it is: a few bytes can declare, or unpack to, anything."""

from __future__ import annotations

import os
import zlib
from pathlib import Path

from sumwise.errors import DataError

__all__ = ["check_packed", "check_rows"]

FREE_SIZE, EXPANSION = 2**28, 200  # what a packed text may come to: so many bytes, or so many times the file's size
PIECE = 1 << 16


def check_packed(path: str | os.PathLike) -> None:
    """Refuse a gzip file that unpacks to far more than text does, after no more than that was unpacked.

    Examples
    --------
    >>> import gzip, pathlib, tempfile
    >>> from sumwise.readers.sizes import check_packed
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "x.csv.gz"
    >>> _ = path.write_bytes(gzip.compress(b"a,b\\n1,2\\n"))
    >>> check_packed(path)
    """
    size = os.path.getsize(path)
    limit, seen, unpacker = max(FREE_SIZE, EXPANSION * size), 0, zlib.decompressobj(31)
    if 1032 * size <= limit:  # no deflated byte comes to more
        return
    with open(path, "rb") as file:
        while piece := unpacker.unconsumed_tail or unpacker.unused_data or file.read(PIECE):
            if unpacker.eof:  # a file may hold several packed parts, one after the other
                unpacker = zlib.decompressobj(31)
            try:
                seen += len(unpacker.decompress(piece, PIECE * 16))
            except zlib.error:
                return  # whoever reads it says what is wrong with it
            if seen > limit:
                raise DataError(
                    f"{str(path)!r} has {size:,} bytes and unpacks to more than {limit:,}; it isn't read.",
                    hint="if that is right, unpack it yourself and give the plain file.",
                )


def check_rows(path: str | os.PathLike, n_rows: int, n_columns: int) -> None:
    """Refuse a table that this machine's memory can't hold at eight bytes a value.

    Examples
    --------
    >>> from sumwise.readers.sizes import check_rows
    >>> check_rows("rows.parquet", 10**15, 2)
    Traceback (most recent call last):
    sumwise.errors.DataError: 'rows.parquet' says 1,000,000,000,000,000 rows of 2 columns, more than fit in memory. ...
    """
    if 8 * n_rows * max(n_columns, 1) > _memory():
        raise DataError(
            f"{str(Path(path))!r} says {n_rows:,} rows of {n_columns} columns, more than fit in memory.",
            hint="read fewer columns, or count its rows with sumwise.aggregate.aggregate.",
        )


def _memory() -> float:
    """The bytes of this machine's memory; without limit where the system doesn't say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return float("inf")
