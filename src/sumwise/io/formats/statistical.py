"""Files of Stata (.dta) and SPSS (.sav, .zsav), with values' labels in place of codes; pyreadstat does the reading."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

from sumwise.extras import require
from sumwise.io.formats.sheet import Sheet
from sumwise.io.parsers.statistical import LABELS
from sumwise.io.sandbox import parse
from sumwise.io.sizes import decoded_limit, machine_memory

BYTES_PER_BYTE = 8  # of memory for each of a value's: pyreadstat's objects and the copies of a column


def open_statistical(path: Path) -> Sheet:
    """A file of Stata or SPSS; a column whose values all have labels holds the labels.

    A damaged file may crash the library, fill memory or keep it busy for ever: it is read in a process of its own.
    """
    require("pyreadstat")
    reader = "read_dta" if path.suffix.lower() == ".dta" else "read_sav"
    most = int(min(decoded_limit(path), machine_memory()))
    table = parse("sumwise.io.parsers.statistical", path, BYTES_PER_BYTE * most, reader=reader, most_bytes=most)
    labels = json.loads(table.schema.metadata[LABELS])
    frame = table.to_pandas(ignore_metadata=True)  # names of columns are text, whatever a damaged file has
    for column, pairs in labels["values"].items():
        frame[column] = _labelled(frame[column], dict(map(tuple, pairs)))
    named = {name: label.strip() for name, label in labels["columns"].items() if label.strip()}
    return Sheet(repr(str(path)), tuple(frame.columns), frame, lambda i: f"row {i + 1}", labels=named)


def _labelled(series: pd.Series, labels: dict[Any, str]) -> pd.Series:
    there = set(series.dropna().tolist())
    if not there or not there <= set(labels):
        return series  # a number with a few labelled codes
    return series.map(labels).astype(object).where(series.notna(), None)
