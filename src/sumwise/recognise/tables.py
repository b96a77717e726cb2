"""Tables: cells with counts and label sums, or rows with a label that are to be counted."""

from __future__ import annotations

import re
import shlex
from typing import Any

import numpy as np
import pandas as pd

from sumwise.recognise.bags import COUNTED
from sumwise.recognise.guess import Guess
from sumwise.recognise.margins.words import is_total_row
from sumwise.recognise.profile_file import Column, FileProfile, is_called, not_features

COUNTS = ("count", "counts", "n", "impressions", "displays", "people", "freq*")
SUMS = ("label_sum", "clicks", "conversions", "positives", "sales", "label sum")
LABELS = ("label*", "class", "target", "y", "income*", "click*", "outcome*", "response*")
NOT_ATTRIBUTES = ("table", "noise", "scale", "low", "high")  # columns of cells that are not attributes
MOST_CLASSES, MOST_ATTRIBUTES = 10, 40
WHO = "(?:person|patient|customer|client|user|member|subject|household|respondent|case)s?"
PERSONS = re.compile(  # customer, id, hashed_user_id; not customer_age, nor number_of_visits
    rf"{WHO}|ids?|uuid|guid|ssn|seqn|(?:.*[\W_])?{WHO}[\W_]*(?:ids?|uuid|guid|key|serial|nr|no|num|number|code|name|hash)",
    re.IGNORECASE,
)
FEWEST_PERSONS = 0.1  # different values per row from which a column called like that names persons


def guess(profiles: list[FileProfile]) -> list[Guess]:
    """Cells, or rows with a label."""
    if len(profiles) != 1:
        return []
    return [g for g in (_cells(profiles[0]), _rows(profiles[0])) if g is not None]


def _cells(profile: FileProfile) -> Guess | None:
    numbers = profile.numeric
    count = next((c for c in numbers if is_called(c, COUNTS)), None)
    total = next((c for c in numbers if c is not count and is_called(c, SUMS)), None)
    guessed = count is None or total is None
    if guessed:
        if total is not None or any(is_called(c, SUMS) for c in profile.columns):
            hint = "leave such counts empty, and give what is known of them in columns low and high."
            profile.refuse_withheld(COUNTS, hint)
        count, total = _by_rows(profile)
    if count is None or total is None:
        return None
    fits = (total.amounts <= count.amounts) | np.isnan(total.amounts) | np.isnan(count.amounts)
    below = bool((count.amounts < 0).any() or (total.amounts < 0).any())  # noise, which the check below speaks of
    if not fits.mean() >= 0.9 and not _noisy(profile) and not below:
        return None
    rest = [c for c in profile.columns if c not in (count, total) and c.name not in NOT_ATTRIBUTES]
    ratios = [c for c in rest if _is_ratio(c, profile, total.amounts / np.maximum(count.amounts, 1e-300))]
    attributes = [c.name for c in rest if c not in ratios]
    if not attributes:
        return None
    data, comments = profile.opening()
    data["kind"] = "cells"
    data["absent"] = "zero"
    comments["data", "absent"] = "what a cell means that has no row: zero, unobserved, or raise"
    columns: dict[str, Any] = {"attributes": attributes, "count": count.name, "label_sum": total.name}
    ask = _check_cells(profile, (count, total), fits, attributes, data)
    if guessed:
        ask.append(
            f"that {count.name} counts people and {total.name} those of them with the label was guessed: no two rows "
            f"have the same {', '.join(attributes[:4])}, and {total.name} never exceeds {count.name}."
        )
    seen = f"{profile.n_rows:,} cells with {count.name} and {total.name}"
    unused = {c.name: "no level of a cell: numbers with decimals, such as a rate" for c in ratios}
    return Guess("maxent", 0.9, seen, data, columns, {}, comments, ask, unused=unused)


def _by_rows(profile: FileProfile) -> tuple[Column, Column] | tuple[None, None]:
    """The count and the label sum, whatever they are called: the only numbers, in rows with one combination each."""
    texts = [c for c in profile.columns if c.texts is not None and c.amounts is None]
    numbers = [c for c in profile.columns if c.counts and c.whole]
    if len(numbers) != 2 or len(texts) != len(profile.columns) - 2 or len(texts) < 2:
        return None, None
    if (
        max(c.distinct for c in texts) > profile.n_rows / 2
        or pd.DataFrame([c.codes for c in texts]).T.duplicated().any()
    ):
        return None, None
    for count, total in (numbers, numbers[::-1]):
        if (total.amounts <= count.amounts).all() and (total.amounts < count.amounts).any():
            return count, total
    return None, None


def _is_ratio(column: Column, profile: FileProfile, rate: np.ndarray) -> bool:
    """Whether a column of a cell holds a number with decimals in place of a level: the label's rate, or what was spent.

    A rate may be a share or a percent, rounded to two digits at least.
    """
    if column.amounts is None or column.whole:
        return False
    alike = [np.abs(column.amounts - whole * rate) <= 0.006 * max(whole / 10, 1) for whole in (1.0, 100.0)]
    return column.distinct > 0.2 * profile.n_rows or any(same.mean() > 0.9 for same in alike)


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
            what = "is negative" if (column.amounts[bad] < 0).any() else f"exceeds {count.name}"
            profile.refuse(column, bad, what, "correct such rows; noisy tables have columns noise and scale.")
    totals = [(a, name) for a in attributes for name in filter(is_total_row, profile[a].words)]
    if not totals:
        return []
    if all(any(profile[a].value(i) == name for a, name in totals) for i in range(profile.n_rows)):
        data["missing"] = sorted({name for _, name in totals})
        shown = ", ".join(map(repr, data["missing"]))
        return [f"{shown} is taken to mean that a table is not by that attribute; no row has all attributes."]
    data["without"] = [{a: name} for a, name in totals]
    return [f"left out: rows of totals ({', '.join(f'{a} = {name}' for a, name in totals[:5])})."]


def _rows(profile: FileProfile) -> Guess | None:
    """Rows whose last, or aptly named, column has few values."""
    if profile.n_rows < 100 or not 3 <= len(profile.columns) <= MOST_ATTRIBUTES:
        return None

    def may_be(c: Column) -> bool:
        return 2 <= c.distinct <= MOST_CLASSES and c.missing == 0

    edge = profile.columns[-1]
    label = next((c for c in profile.columns if is_called(c, LABELS) and may_be(c)), edge if may_be(edge) else None)
    if label is None:
        return None
    if any(c.amounts is not None and is_called(c, COUNTED) for c in profile.columns):
        return None  # rows are counts or percents of many people
    out, person = not_features(profile, {label.name}), _person(profile, label)
    if len({label.name, *out, *([] if person is None else [person.name])}) == len(profile.columns):
        person = None  # nothing would be left to count
    if person is not None:
        out[person.name] = f"names persons: {person.distinct:,} values in {profile.n_rows:,} rows"
    data, comments = profile.opening()
    data["kind"] = "rows"
    comments["data", "kind"] = (
        "rows are counted into tables of pairs; the fit sees the tables only. To give tables away: sumwise aggregate, "
        "then sumwise release"
    )
    profile.state_blanks(data, comments)
    columns: dict[str, Any] = {"label": label.name}
    ask = _same_but_case(label) + ([] if person is None else [_several_rows(profile, label, person)])
    others = [c.name for c in profile.columns if c is not label and c.distinct == 2 and c.missing == 0]
    if others and not is_called(label, LABELS):
        ask.append(f"which column is the label was guessed; it may also be {', '.join(others)}.")
    if out:
        columns["attributes"] = [c.name for c in profile.columns if c is not label and c.name not in out]
        comments["columns", "attributes"] = f"all but {', '.join(out)}"
    seen = f"{profile.n_rows:,} rows with a label of {label.distinct} classes"
    return Guess("maxent", 0.5, seen, data, columns, {}, comments, ask, unused=out)


def _person(profile: FileProfile, label: Column) -> Column | None:
    """The column that names persons of whom some have several rows."""
    least = FEWEST_PERSONS * profile.n_rows
    for c in profile.columns:
        named = c is not label and PERSONS.fullmatch(c.name.strip()) and (c.amounts is None or c.whole)
        if named and least <= c.distinct < profile.n_rows - c.missing:
            return c
    return None


def _several_rows(profile: FileProfile, label: Column, person: Column) -> str:
    """A note on persons with several rows."""
    most = int(np.bincount(person.codes[person.codes >= 0]).max())
    named = shlex.join([profile.path.name, "--label", label.name, "--person", person.name])
    return (
        f"a {person.name} has up to {most} rows. Intervals treat rows as independent, and a release must bound what "
        f"one person adds: sumwise aggregate {named} --max-rows {most} --out tables, then sumwise release tables."
    )


def _same_but_case(label: Column) -> list[str]:
    """A note on classes whose names differ only in capitals or spaces."""
    found: dict[str, list[str]] = {}
    for name in label.words:
        found.setdefault("".join(name.lower().split()), []).append(name)
    return [
        f"{' and '.join(map(repr, same))} are treated as different classes of {label.name}; if they are one, write "
        "them alike."
        for same in found.values()
        if len(same) > 1
    ]
