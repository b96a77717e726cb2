"""Rows of values of any kind as an Arrow table, for formats whose columns have no types; bytes are kept."""

from __future__ import annotations

import json
from typing import Any

NAMES = b"names"


def to_table(names: list[str], rows: list[Any]) -> Any:
    """Return a table of rows, each as a line of JSON; names go to its metadata."""
    import pyarrow as pa

    lines = [json.dumps(row, default=_bytes, ensure_ascii=False) for row in rows]
    table = pa.table({"row": pa.array(lines, pa.large_string())})
    return table.replace_schema_metadata({NAMES: json.dumps(names).encode()})


def from_table(table: Any) -> tuple[list[str], list[Any]]:
    """Return the names and the rows of a table that `to_table` made.

    Examples
    --------
    >>> from sumwise.io.parsers.rows import from_table, to_table
    >>> from_table(to_table(["a", "b"], [[1, b"x"], [None, 0.5]]))
    (['a', 'b'], [[1, b'x'], [None, 0.5]])
    """
    read = json.JSONDecoder(object_pairs_hook=_object).decode
    return json.loads(table.schema.metadata[NAMES]), [read(line) for line in table["row"].to_pylist()]


def _bytes(value: Any) -> Any:
    return {"\0hex": value.hex()} if isinstance(value, bytes) else str(value)


def _object(pairs: list[tuple[str, Any]]) -> Any:
    return bytes.fromhex(pairs[0][1]) if [name for name, _ in pairs] == ["\0hex"] else dict(pairs)
