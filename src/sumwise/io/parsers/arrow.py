"""Columns of an Arrow file or stream, or of Parquet, to an Arrow table whose lengths and offsets were checked."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import Any

from sumwise.errors import DataError
from sumwise.io.sizes import arrow_size, check_decoded, check_rows, machine_memory

MOST_EXPANSION = 2**16  # no codec of Arrow (LZ4, Zstandard) makes more bytes of one
NAMES = b"names"


def parse(path: str, columns: list[str] | None = None, form: str = "ipc") -> Any:
    """Read columns, by default all, of a file or stream of Arrow's ("ipc"), or of a "parquet" file.

    The whole file is checked, whatever is read of it. The names of all columns are the metadata of the schema.
    """
    import pyarrow as pa
    from pyarrow import parquet

    with pa.OSFile(path, "rb") as stream:
        if form == "parquet":
            file = parquet.ParquetFile(stream)
            schema, batches = file.schema_arrow, file.iter_batches()
        else:
            reader = _arrow_reader(stream, path)
            schema, batches = reader.schema, _arrow_batches(reader, path)
        twice = [name for i, name in enumerate(schema.names) if name in schema.names[:i]]
        if twice:
            raise DataError(f"{path!r} has two columns called {twice[0]!r}.", hint="give each a name of its own.")
        wanted = [c for c in schema.names if columns is None or c in columns]
        parts, n_rows, size = [], 0, 0
        for batch in batches:
            n_rows += batch.num_rows
            check_rows(path, n_rows, len(wanted))
            parts.append(batch.select(wanted))
            size += sum(map(arrow_size, parts[-1].columns))
            check_decoded(path, size)
        empty = pa.schema([schema.field(c) for c in wanted])
        table = pa.Table.from_batches(parts, schema=None if parts else empty)
    return table.replace_schema_metadata({NAMES: json.dumps(schema.names).encode()})


def _arrow_reader(stream: Any, path: str) -> Any:
    """A reader of an Arrow file or stream, whose schema can't be larger than all of it."""
    import pyarrow as pa

    try:
        return pa.ipc.open_file(stream)
    except pa.ArrowInvalid:
        stream.seek(0)
    try:
        return pa.ipc.open_stream(stream)
    except pa.ArrowMemoryError as error:
        declared = re.search(r"size (\d+)", str(error))
        if declared is None or int(declared[1]) <= os.path.getsize(path):
            raise
        raise pa.ArrowInvalid(f"its schema declares {int(declared[1]):,} bytes, more than the file has") from error


def _arrow_batches(reader: Any, path: str) -> Iterator[Any]:
    """The batches of an Arrow file or stream, each with its lengths and offsets checked: damaged ones crash."""
    import pyarrow as pa

    n_batches = getattr(reader, "num_record_batches", None)
    batches = iter(reader) if n_batches is None else (reader.get_batch(i) for i in range(n_batches))
    while True:
        try:
            batch = next(batches, None)
        except pa.ArrowMemoryError as error:
            declared = re.search(r"size (\d+)", str(error))
            most = min(machine_memory(), MOST_EXPANSION * os.path.getsize(path))
            if declared is None or int(declared[1]) < most:
                raise
            words = f"a part of it declares {int(declared[1]):,} bytes, more than this machine has or the file can hold"
            raise pa.ArrowInvalid(words) from error
        if batch is None:
            return
        batch.validate(full=True)
        yield batch
