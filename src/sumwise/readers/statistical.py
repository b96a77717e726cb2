"""Files of Stata (.dta) and SPSS (.sav, .zsav), with values' labels in place of codes; pyreadstat does the reading."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd

from sumwise.errors import DataError
from sumwise.extras import require
from sumwise.readers.sheet import Sheet
from sumwise.readers.sizes import check_rows, decoded_limit

STATISTICAL = {".dta", ".sav", ".zsav"}
TOO_MANY_VALUES = 3  # what the trial ends with where the file declares more values than it may
TRIAL = f"""
import sys, pyreadstat
read, path = getattr(pyreadstat, sys.argv[1]), sys.argv[2]
facts = read(path, metadataonly=True)[1]
rows, columns = facts.number_rows or 0, facts.number_columns or 0
print(rows, columns)
if 8 * rows * columns > int(sys.argv[3]):
    sys.exit({TOO_MANY_VALUES})
read(path)
"""


def open_statistical(path: Path) -> Sheet:
    """A file of Stata or SPSS; a column whose values all have labels holds the labels."""
    pyreadstat = require("pyreadstat")
    name = "read_dta" if path.suffix.lower() == ".dta" else "read_sav"
    _try(name, path)
    try:
        frame, facts = getattr(pyreadstat, name)(str(path))
    except (pyreadstat.ReadstatError, OSError, ValueError) as error:
        raise DataError(f"{str(path)!r} can't be read: {error}.", hint="is the file complete?") from error
    for column, labels in facts.variable_value_labels.items():
        frame[column] = _labelled(frame[column], labels)
    named = {name: label.strip() for name, label in facts.column_names_to_labels.items() if label and label.strip()}
    return Sheet(repr(str(path)), tuple(frame.columns), frame, lambda i: f"row {i + 1}", labels=named)


def _try(name: str, path: Path) -> None:
    """Read a file in another process first: a damaged one crashes the library, or has it make room for anything."""
    if not sys.executable:
        return
    command = [sys.executable, "-c", TRIAL, name, str(path), str(decoded_limit(path))]
    place = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    tried = subprocess.run(command, env=place, capture_output=True, text=True, check=False)  # noqa: S603 (this Python)
    if tried.returncode == TOO_MANY_VALUES:
        check_rows(path, *map(int, tried.stdout.split()))
    elif tried.returncode < 0 or tried.returncode > 255:  # by a signal, or Windows' codes for the same
        raise DataError(
            f"{str(path)!r} can't be read: it is damaged, and ended the program that reads it.",
            hint="is the file complete? Save it again, or as CSV.",
        )


def _labelled(series: pd.Series, labels: dict[Any, str]) -> pd.Series:
    there = set(series.dropna().tolist())
    if not there or not there <= set(labels):
        return series  # a number with a few labelled codes
    return series.map(labels).astype(object).where(series.notna(), None)
