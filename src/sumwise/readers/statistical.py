"""Files of Stata (.dta) and SPSS (.sav, .zsav), with values' labels in place of codes; pyreadstat does the reading."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from sumwise.errors import DataError
from sumwise.extras import require
from sumwise.readers.sheet import Sheet

STATISTICAL = {".dta", ".sav", ".zsav"}


def open_statistical(path: Path) -> Sheet:
    """A file of Stata or SPSS; a column whose values all have labels holds the labels."""
    pyreadstat = require("pyreadstat")
    read = pyreadstat.read_dta if path.suffix.lower() == ".dta" else pyreadstat.read_sav
    try:
        frame, facts = read(str(path))
    except (pyreadstat.ReadstatError, OSError, ValueError) as error:
        raise DataError(f"{str(path)!r} can't be read: {error}.", hint="is the file whole?") from error
    for column, labels in facts.variable_value_labels.items():
        frame[column] = _labelled(frame[column], labels)
    return Sheet(repr(str(path)), tuple(frame.columns), frame, lambda i: f"row {i + 1}")


def _labelled(series: pd.Series, labels: dict[Any, str]) -> pd.Series:
    there = set(series.dropna().tolist())
    if not there or not there <= set(labels):
        return series  # a number with a few labelled codes
    return series.map(labels).astype(object).where(series.notna(), None)
