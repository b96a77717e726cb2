"""Tables: cells with counts and label sums, or rows with a label that are to be counted."""

from __future__ import annotations

from typing import Any

import numpy as np

from sumwise.errors import DataError
from sumwise.study.profile_file import Column, FileProfile
from sumwise.study.recognise.guess import Guess
from sumwise.study.recognise.margins.words import is_total_row

COUNTS = ("count*", "n", "impressions", "displays", "people", "freq*")
SUMS = ("label_sum", "clicks", "conversions", "positives", "sales", "label sum")
LABELS = ("label*", "class", "target", "y", "income*", "click*", "outcome*", "response*")
METHODS = ("MaxEntClassifier", "NaiveBayesTables", "TreeAugmentedNaiveBayes", "BestPair")
EXTRA = ("table", "noise", "scale", "low", "high")  # columns of cells that are no attributes
MOST_CLASSES, MOST_ATTRIBUTES = 10, 40


def guess(profiles: list[FileProfile]) -> list[Guess]:
    """Cells, or rows with a label."""
    if len(profiles) != 1:
        return []
    return [g for g in (_cells(profiles[0]), _rows(profiles[0])) if g is not None]


def _cells(profile: FileProfile) -> Guess | None:
    numbers = [c for c in profile.columns if c.amounts is not None]
    count = next((c for c in numbers if profile.is_called(c, COUNTS)), None)
    total = next((c for c in numbers if c is not count and profile.is_called(c, SUMS)), None)
    if count is None or total is None:
        return None
    fits = (total.amounts <= count.amounts) | np.isnan(total.amounts) | np.isnan(count.amounts)
    if not fits.mean() >= 0.9 and not _noisy(profile):
        return None
    attributes = [c.name for c in profile.columns if c not in (count, total) and c.name not in EXTRA]
    if not attributes:
        return None
    data, comments = profile.opening()
    data["kind"] = "cells"
    data["absent"] = "zero"
    comments["data", "absent"] = "what a cell means that has no row: zero, unobserved, or raise"
    columns: dict[str, Any] = {"attributes": attributes, "count": count.name, "label_sum": total.name}
    ask = _check_cells(profile, (count, total), fits, attributes, data)
    seen = f"{profile.n_rows:,} cells with {count.name} and {total.name}"
    return Guess("maxent", 0.9, seen, data, columns, comments=comments, ask=ask, methods=METHODS)


def _noisy(profile: FileProfile) -> bool:
    """Whether cells state their noise, which makes counts negative and sums larger than counts."""
    return any(c.name == "noise" for c in profile.columns)


def _check_cells(
    profile: FileProfile, found: tuple[Column, Column], fits: np.ndarray, attributes: list[str], data: dict
) -> list[str]:
    """Refuse what no count can be, and leave out lines of totals."""
    count, total = found
    if not _noisy(profile):
        below = [(c, c.amounts < 0) for c in found]
        for column, bad in [*below, (total, ~fits)]:
            if bad.any():
                what = "is negative" if column.amounts[bad][0] < 0 else f"exceeds {count.name}"
                raise DataError(
                    f"{profile.path.name}: column {column.name!r} {what} in {int(bad.sum())} of {len(bad)} rows. "
                    f"First: {profile.row(int(np.argmax(bad)))}.",
                    hint="correct such rows; noisy tables have columns noise and scale.",
                )
    totals = [(a, name) for a in attributes if profile[a].texts is not None for name in _total_names(profile[a])]
    if not totals:
        return []
    data["without"] = [{a: name} for a, name in totals]
    return [f"left out: rows of totals ({', '.join(f'{a} = {name}' for a, name in totals[:5])})."]


def _total_names(column: Column) -> list[str]:
    return [name for name in column.texts.dropna().unique().tolist() if is_total_row(name)]


def _rows(profile: FileProfile) -> Guess | None:
    """Rows whose last, or aptly named, column has few values."""
    if profile.n_rows < 100 or not 3 <= len(profile.columns) <= MOST_ATTRIBUTES:
        return None

    def may_be(c: Column) -> bool:
        return 2 <= c.distinct <= MOST_CLASSES and c.missing == 0

    edge = profile.columns[-1]
    label = next(
        (c for c in profile.columns if profile.is_called(c, LABELS) and may_be(c)), edge if may_be(edge) else None
    )
    if label is None:
        return None
    alone = [
        c.name
        for c in profile.columns
        if c.distinct > 0.9 * profile.n_rows and c is not label and (c.numbers is None or c.whole)
    ]
    data, comments = profile.opening()
    data["kind"] = "rows"
    comments["data", "kind"] = "rows are counted into tables of pairs; the fit sees the tables only"
    words = sorted({word for c in profile.columns for word in c.blanks})
    if words:
        data["missing"] = words
        comments["data", "missing"] = "these stand for missing values"
    columns: dict[str, Any] = {"label": label.name}
    if alone:
        columns["attributes"] = [c.name for c in profile.columns if c is not label and c.name not in alone]
        comments["columns", "attributes"] = f"left out, since every row has its own: {', '.join(alone)}"
    seen = f"{profile.n_rows:,} rows with a label of {label.distinct} classes"
    return Guess("maxent", 0.5, seen, data, columns, comments=comments, methods=METHODS)
