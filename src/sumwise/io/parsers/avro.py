"""Records of an Avro file to Arrow; fastavro does the reading."""

from __future__ import annotations

import gzip
from typing import Any

from sumwise.io.parsers.rows import to_table


def parse(path: str) -> Any:
    """Read all records of a file, plain or packed."""
    import fastavro

    with gzip.open(path, "rb") if path.endswith(".gz") else open(path, "rb") as stream:
        return to_table([], list(fastavro.reader(stream)))  # type: ignore[arg-type]
