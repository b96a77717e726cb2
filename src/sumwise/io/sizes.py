"""How much a file comes to when it is read, found out before it is: a few bytes can declare, or unpack to, anything."""

from __future__ import annotations

import os
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from sumwise.errors import DataError

FREE_SIZE, EXPANSION = 2**28, 200  # what a packed file may come to: so many bytes, or so many times its size
BLOCK_BYTES = 1 << 16


def check_packed(path: str | os.PathLike) -> None:
    """Refuse a gzip file that unpacks to far more than text does, after no more than that was unpacked.

    Examples
    --------
    >>> import gzip, pathlib, tempfile
    >>> from sumwise.io.sizes import check_packed
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "x.csv.gz"
    >>> _ = path.write_bytes(gzip.compress(b"a,b\\n1,2\\n"))
    >>> check_packed(path)
    """
    size = os.path.getsize(path)
    limit, seen, unpacker = max(FREE_SIZE, EXPANSION * size), 0, zlib.decompressobj(31)
    if 1032 * size <= limit:  # no deflated byte comes to more
        return
    with open(path, "rb") as file:
        while piece := unpacker.unconsumed_tail or unpacker.unused_data or file.read(BLOCK_BYTES):
            if unpacker.eof:  # a file may hold several packed parts, one after the other
                unpacker = zlib.decompressobj(31)
            try:
                seen += len(unpacker.decompress(piece, BLOCK_BYTES * 16))
            except zlib.error:
                return  # whoever reads it says what is wrong with it
            if seen > limit:
                raise DataError(
                    f"{str(path)!r} has {size:,} bytes and unpacks to more than {limit:,}; it isn't read.",
                    hint="if that is right, unpack it yourself and give the plain file.",
                )


def check_rows(path: str | os.PathLike, n_rows: int, n_columns: int) -> None:
    """Refuse a table that says more rows than memory or a file of its size holds, at eight bytes a value.

    Examples
    --------
    >>> from sumwise.io.sizes import check_rows
    >>> check_rows("rows.parquet", 10**15, 2)
    Traceback (most recent call last):
    sumwise.errors.DataError: 'rows.parquet' says 1,000,000,000,000,000 rows of 2 columns, more than fit in memory. ...
    """
    size = 8 * n_rows * max(n_columns, 1)
    if size > machine_memory():
        raise DataError(
            f"{str(Path(path))!r} says {n_rows:,} rows of {n_columns} columns, more than fit in memory.",
            hint="read fewer columns, or count its rows with sumwise.aggregate.aggregate.",
        )
    check_decoded(path, size)


def check_decoded(path: str | os.PathLike, n_bytes: int) -> None:
    """Refuse a file whose values come to far more than its size: one long text may stand for a million rows' values.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sumwise.io.sizes import check_decoded
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "x.arrow"
    >>> _ = path.write_bytes(bytes(1000))
    >>> check_decoded(path, 10**6)
    """
    if n_bytes > min(decoded_limit(path), machine_memory()):
        raise DataError(
            f"{str(Path(path))!r} has {os.path.getsize(path):,} bytes, and its values come to more than {n_bytes:,}; "
            "it isn't read.",
            hint="read fewer columns, or count its rows with sumwise.aggregate.aggregate.",
        )


def decoded_limit(path: str | os.PathLike) -> int:
    """How many bytes the values of a file may come to."""
    return max(FREE_SIZE, EXPANSION * os.path.getsize(path)) if os.path.exists(path) else FREE_SIZE


def arrow_size(array: Any) -> int:
    """The bytes that the values of an Arrow array come to once each is written out; nothing is.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from sumwise.io.sizes import arrow_size
    >>> arrow_size(pa.array([1, 2])), arrow_size(pa.nulls(10))
    (32, 80)
    """
    import pyarrow as pa

    kind, size = array.type, 8 * len(array)
    if isinstance(kind, pa.BaseExtensionType):
        return arrow_size(array.storage)
    if str(kind) in ("string_view", "binary_view"):
        heads = np.frombuffer(array.buffers()[1], dtype=np.int32).reshape(-1, 4)
        return size + int(heads[array.offset : array.offset + len(array), 0].sum(dtype=np.int64))
    parts = _parts(array)
    return size + (array.nbytes if parts is None else sum(map(arrow_size, parts)))


def _parts(array: Any) -> list[Any] | None:
    """The arrays that an array is made of; None for plain values."""
    import pyarrow as pa

    kind, types = array.type, pa.types
    if types.is_dictionary(kind):  # stays one
        return [array.dictionary]
    if types.is_struct(kind):
        return [array.field(i) for i in range(kind.num_fields)]
    if any(test(kind) for test in (types.is_list, types.is_large_list, types.is_fixed_size_list, types.is_map)):
        return [array.values]
    if types.is_nested(kind):  # views of lists, runs and unions, each of which may repeat what is in the file
        raise DataError(
            f"A column of type {kind} isn't read.", hint="leave the column out, or save it as numbers or text."
        )
    return None


def machine_memory() -> float:
    """The bytes of this machine's memory; without limit where the system doesn't say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return float("inf")
