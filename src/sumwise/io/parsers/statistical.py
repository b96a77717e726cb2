"""Files of Stata and SPSS to Arrow; labels of values and of columns are the metadata of its schema."""

from __future__ import annotations

import json
from typing import Any

from sumwise.errors import DataError

LABELS = b"labels"


def parse(path: str, reader: str, most_bytes: int) -> Any:
    """Read a file with a function of pyreadstat; one that declares more than `most_bytes` of values is refused."""
    import pyarrow as pa
    import pyreadstat

    read = getattr(pyreadstat, reader)
    facts = read(path, metadataonly=True)[1]
    n_rows, n_columns = facts.number_rows or 0, facts.number_columns or 0
    if 8 * n_rows * max(n_columns, 1) > most_bytes:
        raise DataError(
            f"{path!r} declares {n_rows:,} rows of {n_columns:,} columns; values of a file of its size come to at most "
            f"{most_bytes:,} bytes.",
            hint="is the file complete? If it is, save it as CSV or Parquet.",
        )
    frame, facts = read(path)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    values = {name: list(labels.items()) for name, labels in facts.variable_value_labels.items()}
    named = {name: label for name, label in facts.column_names_to_labels.items() if label}
    return table.replace_schema_metadata(
        {**(table.schema.metadata or {}), LABELS: json.dumps({"values": values, "columns": named}).encode()}
    )
