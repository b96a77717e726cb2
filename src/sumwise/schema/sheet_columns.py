"""Columns of a sheet as numbers and levels: one rule for every family, in training and prediction alike."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from sumwise.bags import Bags
from sumwise.errors import DataError
from sumwise.features import OTHER, table_rows
from sumwise.io.formats.sheet import Sheet
from sumwise.schema.columns import BOOLEANS

MOST_LEVELS = 30  # of one column; rarer ones share a level
MISSING = "(missing)"
WITH_UNIT = re.compile(r"(?P<before>[$€£¥]?)\s*[+-]?\d[\d.,'\s]*(?P<after>[^\W\d_]*°?[^\W\d_]*)")


def level_texts(sheet: Sheet, column: str) -> np.ndarray:
    """A column as text, with a word for what is missing; whole numbers without a point, True and False as in frames."""
    series = sheet.frame[column]
    absent = sheet.missing(column)
    if pd.api.types.is_numeric_dtype(series.dtype) and not pd.api.types.is_bool_dtype(series.dtype):
        texts = [str(int(x)) if x.is_integer() else repr(x) for x in np.asarray(series, dtype=float).tolist()]
    else:
        texts = [str(x).strip() for x in series.tolist()]
        if {t.lower() for t, gone in zip(texts, absent) if not gone} <= BOOLEANS:
            texts = [t.capitalize() for t in texts]  # as frames have them
    return np.where(absent, MISSING, np.array(texts, dtype=object)).astype(object)


def column_kind(sheet: Sheet, column: str) -> str:
    """ "number" where every entry that is there is one, "levels" where none is; a mixture is an error."""
    series = sheet.frame[column]
    if pd.api.types.is_bool_dtype(series.dtype):
        return "levels"
    if pd.api.types.is_numeric_dtype(series.dtype):
        return "number"

    def hint(odd: str) -> str:
        return f'add it to categorical, or set missing = ["{odd}"] in [data] if that stands for nothing.'

    return "levels" if sheet.holds_levels(column, hint) else "number"


class Rows(NamedTuple):
    """The rows of a sheet as bags, with what became of them and of the columns."""

    bags: Bags
    order: np.ndarray  # which row of the sheet each row of the bags is
    constant: list[str]  # columns that were left out
    merged: list[str]  # columns whose rare levels share one


def bags_of(
    sheet: Sheet, bag: str, columns: Sequence[str], categorical: Sequence[str] = (), weight: str | None = None
) -> Rows:
    """The rows of a sheet as bags, in the order in which bags first appear; estimators turn columns into numbers.

    Columns that are the same in every row are left out. Of a column of text, or of one that is named in `categorical`,
    the levels beyond the thirty most frequent share one.
    """
    frame: Any = typed_frame(sheet, columns, categorical)
    constant = [c for c in columns if len(pd.unique(frame[c])) < 2]
    used = [c for c in columns if c not in constant]
    if not used:
        raise DataError(f"{sheet.name}: all features are the same in every row.", hint="name other columns.")
    merged = [c for c in used if frame[c].dtype == object and frame[c].nunique() > MOST_LEVELS]
    for column in merged:
        kept = frame[column].value_counts().index[:MOST_LEVELS]
        frame[column] = frame[column].where(frame[column].isin(kept) | frame[column].isna(), OTHER)
    return Rows(*_grouped(sheet, bag, frame[used], weight), constant, merged)


def other_bags(sheet: Sheet, bag: str, columns: Sequence[str], levels: Iterable[str], weight: str | None) -> Bags:
    """The rows of another sheet as bags with the columns of training; those with `levels` are text."""
    return _grouped(sheet, bag, typed_frame(sheet, columns, list(levels)), weight)[0]


def column_notes(rows: Rows) -> list[str]:
    """What became of columns, in sentences."""
    bags = rows.bags
    numbers = [j for j, name in enumerate(bags.features) if name not in bags.levels]
    gaps = [bags.features[j] for j in numbers if np.isnan(bags.values[:, j]).any()]
    said = [
        (gaps, "Missing values of {} are set to the mean, with an indicator each."),
        (rows.constant, "The same in every row, so left out: {}."),
        (rows.merged, f"Levels beyond the {MOST_LEVELS} most frequent share one: {{}}."),
    ]
    return [sentence.format(", ".join(map(str, names))) for names, sentence in said if names]


def _grouped(sheet: Sheet, bag: str, frame: pd.DataFrame, weight: str | None) -> tuple[Bags, np.ndarray]:
    codes, found = pd.factorize(sheet.names(bag).to_numpy())
    order = np.argsort(codes, kind="stable")
    weights = None if weight is None else sheet.numbers([weight])[order, 0]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=len(found)))])
    rows = table_rows(frame)
    return Bags(rows.values[order], offsets, weights, found.tolist(), rows.features, rows.levels), order


def _refuse_units(sheet: Sheet, column: str, texts: np.ndarray) -> None:
    """Refuse more texts than a column has levels if all are numbers with one unit, such as 1.82 m."""
    there = [t for t in pd.unique(texts) if t != MISSING]
    read = [WITH_UNIT.fullmatch(t) for t in there] if len(there) > MOST_LEVELS else [None]
    units = {(m["before"], m["after"]) for m in read if m is not None}
    sheet.refuse(
        np.full(len(texts), None not in read and len(units) == 1 and units != {("", "")}),
        f"column {column!r} has numbers with a unit ({there[0]!r})",
        "leave the numbers alone, or add the column to categorical if they are levels.",
    )


def typed_frame(sheet: Sheet, columns: Sequence[str], categorical: Sequence[str] = ()) -> pd.DataFrame:
    """Columns of a sheet as numbers where they hold numbers, else as text; missing ones stay missing."""
    sheet.known(*columns)
    kinds = {c: "levels" if c in set(categorical) else column_kind(sheet, c) for c in columns}
    numeric = [c for c in columns if kinds[c] == "number"]
    numbers = sheet.numbers(numeric, missing=True, negative=True) if numeric else np.zeros((len(sheet), 0))
    out: dict[str, Any] = {}
    for column in columns:
        if kinds[column] == "number":
            out[column] = numbers[:, numeric.index(column)]
        else:
            texts = level_texts(sheet, column)
            if column not in categorical:
                _refuse_units(sheet, column, texts)
            out[column] = pd.Series([None if t == MISSING else t for t in texts.tolist()], dtype=object)
    return pd.DataFrame(out)
