"""Files with one row per unit that can't be read as margins: why not, where, and what to do."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
import pandas as pd

from sumwise.errors import DataError
from sumwise.nonvoting import is_nonvoting
from sumwise.readers.numerals import is_withheld
from sumwise.recognise.margins import words
from sumwise.recognise.margins.sides import Side, Sides, is_total, kind_of
from sumwise.recognise.margins.sums import clean_rows, families, sums
from sumwise.recognise.profile_file import Column, FileProfile, has_word, is_called

WORDED = re.compile(r"[$€£~≈<>]?\s*\d[\d,. ]*\D{0,12}")  # one number, with words or signs about it
THOUSANDS = re.compile(r"thousand|million|\(\s*['’]?000s?\s*\)|['’]000s?\b|\btsd\b|\bmio\b|\bmilliers\b", re.IGNORECASE)
TIMED = ("year", "election*", "contest*", "office*", "race", "date", "round", "jahr", "wahl", "année", "annee", "año")
FEWEST_PEOPLE = 100  # in a row (either side counted) that can't be the same as another by chance
FEWEST_STEPS = 8  # rows after the first in which all columns can't grow by chance
LEAST_OVER = 1.05  # times the voters: up to this it matters little who is missing
MOST_OVER = 1.25  # times the voters: groups of all adults exceed them by more, since a fifth or more don't vote


def refuse_columns(profile: FileProfile, sides: Sides) -> None:
    """Refuse columns that can't be counts of people in units, or of which it is open what they count."""
    _refuse_withheld(profile, sides)
    _refuse_worded(profile, sides)
    _refuse_two_counts(profile, sides.groups)
    _refuse_sum_among(profile, sides)
    _refuse_running_sums(profile, sides)


def refuse_thousands(profile: FileProfile) -> None:
    """Refuse counts in thousands or millions, by their names, or by three decimals at most and sums that agree."""
    named = [c.name for c in profile.numeric if THOUSANDS.search(c.name)]
    small = [c for c in profile.numeric if not c.whole and _has_three_decimals(c)]
    some = [c for c in small if kind_of(c) == "share"]
    if not named and len(some) > 1:
        rows = clean_rows(small)
        found = [f for f in families(small, rows) if np.ptp(np.quantile(sums(f.runs[0])[rows], (0.25, 0.75))) > 0.1]
        named = [c.name for c in small] if any(len(f.runs) > 1 for f in found) else []
    if len(named) > 2:
        raise DataError(
            f"{profile.path.name}: {', '.join(named[:6])} hold counts in thousands or millions, by their names or by "
            "their decimals and sums; estimates and intervals depend on how many people there are.",
            hint="write them as counts of people, without decimals.",
        )


def _has_three_decimals(column: Column) -> bool:
    values = column.amounts[np.isfinite(column.amounts)] * 1000.0
    return bool((np.abs(values - np.round(values)) <= 1e-6 * np.maximum(1.0, np.abs(values))).all())


def _refuse_withheld(profile: FileProfile, sides: Sides) -> None:
    """Refuse a column that belongs to a side by its name and was passed over, since so many counts are withheld."""
    used = sides.names
    for c in profile.columns:
        marks = () if c.texts is None else tuple(w for w in c.words if is_withheld(w))
        if c.texts is None or c.name in used or not marks or not (words.like_group(c) or words.like_outcome(c)):
            continue
        bad = c.texts.isin(marks).to_numpy(dtype=bool)
        raise DataError(
            f"{profile.path.name}: column {c.name!r} is withheld ({', '.join(map(repr, marks[:3]))}) in "
            f"{int(bad.sum())} of {len(bad)} rows. First: {profile.row(int(np.argmax(bad)))}.",
            hint="a withheld count isn't known, and isn't 0: ask for it, merge such groups, or delete the column.",
        )


def _refuse_worded(profile: FileProfile, sides: Sides) -> None:
    """Refuse a column that belongs to a side by its name and holds numbers with words, which nobody would miss."""
    used = sides.names
    places = [k for k, c in enumerate(profile.columns) if c.name in used]
    for k, c in enumerate(profile.columns):
        if c.amounts is not None or c.name in used:
            continue
        among = min(places) < k < max(places) and c.distinct < profile.n_rows
        if words.names_unit(c) or not (among or words.like_group(c) or words.like_outcome(c)):
            continue
        there = c.texts.dropna()
        worded = [t for t in there.unique().tolist() if WORDED.fullmatch(t)]
        if len(there) and there.isin(worded).mean() > 0.8:
            raise DataError(
                f"{profile.path.name}: column {c.name!r} holds values that aren't plain numbers, such as "
                f"{worded[0]!r}, and by its name or place it belongs to the groups or outcomes.",
                hint="write its numbers without words and signs, or delete the column.",
            )


def _refuse_two_counts(profile: FileProfile, groups: Side) -> None:
    """Refuse groups that were counted in several years, where no sum shows which count belongs to the votes."""
    marked = {} if groups.closed else words.by_contest(groups.columns)
    if len(marked) > 1 and all(mark.isdigit() for mark in marked):
        raise DataError(
            f"{profile.path.name}: the groups are there {len(marked)} times ({', '.join(marked)}): "
            f"{', '.join(groups.names[:8])}.",
            hint="keep the count that belongs to the votes, and delete the other columns.",
        )


def _refuse_sum_among(profile: FileProfile, sides: Sides) -> None:
    """Refuse outcomes of which one holds about the sum of all others: ballots, under a name that doesn't say so."""
    for side in (s for s in sides.contests if s.kind == "count" and not s.closed and len(s.columns) > 2):
        rows = clean_rows(side.columns)
        whole = sums(side.columns)
        for c in side.columns:
            rest = (whole - c.amounts)[rows] / np.maximum(c.amounts[rows], 1e-300)
            if len(rest) > 9 and (rest <= 1).mean() > 0.95 and (rest > 0.9).mean() > 0.9:
                others = [other.name for other in side.columns if other is not c]
                raise DataError(
                    f"{profile.path.name}: {c.name!r} holds about the sum of {', '.join(others[:6])} "
                    f"({np.median(rest):.1%} of it in the median unit): is it a total of votes, or a candidate?",
                    hint="delete the column if it is a total; if it is a candidate, add a column with the total.",
                )


def _refuse_running_sums(profile: FileProfile, sides: Sides) -> None:
    """Refuse rows that hold sums of all rows above them: every column grows from row to row."""
    values = np.column_stack([c.amounts for c in sides.columns])
    steps = np.diff(values, axis=0)
    if sides.groups.kind == "count" and len(steps) >= FEWEST_STEPS and values.shape[1] > 2 and (steps >= 0).all():
        raise DataError(
            f"{profile.path.name}: {', '.join(c.name for c in sides.columns[:6])} grow from each row to the next, in "
            f"all {len(values):,} rows: running sums of the units, and no counts of each.",
            hint="subtract from each row the one above it.",
        )


def refuse_several_rows(profile: FileProfile, sides: Sides, keep: np.ndarray) -> None:
    """Refuse units with several rows (election day, absentee) that repeat their groups: people would count twice."""
    groups, n = sides.groups.columns, int(keep.sum())
    for unit in profile.columns:
        codes = unit.codes[keep]
        n_units = len(np.unique(codes))
        if unit.name in sides.names or not words.names_unit(unit) or not 1 < n_units <= n / 1.5:
            continue
        fixed = [pd.Series(c.amounts[keep]).groupby(codes).nunique().le(1).mean() > 0.95 for c in groups]
        if all(fixed) and any(c.distinct > 0.5 * n_units for c in groups):
            first = unit.value(int(np.flatnonzero(keep)[0]))
            rows = np.flatnonzero((unit.codes == unit.codes[keep][0]) & keep).tolist()
            raise DataError(
                f"{profile.path.name}: {n:,} rows hold {n_units:,} values of {unit.name}, and the groups "
                f"({', '.join(c.name for c in groups[:4])}) are the same in all rows of each: people would be counted "
                f"several times. First: {first!r} ({', '.join(profile.row(i) for i in rows[:5])}).",
                hint=f"give each {unit.name} one row: add up its votes{_or_a_file_each(profile, rows)}.",
            )


def _or_a_file_each(profile: FileProfile, rows: list[int]) -> str:
    """A note on a year or an election in which the rows of a unit differ."""
    timed = [c.name for c in profile.columns if is_called(c, TIMED) and len({c.value(i) for i in rows}) > 1]
    return f"; or write each {timed[0]} to a file of its own, if these are several elections" if timed else ""


def refuse_nameless_copies(profile: FileProfile, sides: Sides, keep: np.ndarray) -> None:
    """Without names of units: refuse rows that are the same in every column, if that can't be chance."""
    values = pd.DataFrame(np.column_stack([c.amounts for c in sides.columns]))
    copies = values.duplicated(keep="first") & (values.sum(axis=1) >= FEWEST_PEOPLE) & keep
    if values.shape[1] >= 4 and sides.groups.kind == "count" and copies.any():
        i = int(np.argmax(copies.to_numpy()))
        first = int(np.argmax((values == values.iloc[i]).all(axis=1).to_numpy()))
        refuse_copies(profile, [first, i], "without a name")


def refuse_copies(profile: FileProfile, rows: list[int], name: str) -> None:
    """Refuse rows that are the same in every column: nobody can say whether that is one unit or two."""
    if all(len({c.value(i) for i in rows}) == 1 for c in profile.columns):
        where = " and ".join(profile.row(i) for i in rows[:5])
        raise DataError(
            f"{profile.path.name}: {where} are the same in every column (unit {name!r}).",
            hint="delete the copies; two units that happen to be alike need names of their own.",
        )


def refuse_overlap(profile: FileProfile, sides: Sides, side: Side, keep: np.ndarray) -> None:
    """Refuse groups that slightly exceed the voters: that they overlap is likelier than that so few stayed home."""
    groups = sides.groups
    if count_all(groups.names):
        return
    for c in profile.columns:
        if c.amounts is None or c.name in sides.names or not is_called(c, words.TOTALS) or not is_total(c):
            continue
        rows = clean_rows([*groups.columns, *side.columns, c]) & keep & (c.amounts > 0)
        if not rows.any() or not (sums(side.columns)[rows] <= 1.05 * c.amounts[rows]).mean() > 0.9:
            continue
        ratio = sums(groups.columns)[rows] / c.amounts[rows]
        if 1.02 < np.median(ratio) < MOST_OVER and (ratio > 1).mean() > 0.9:
            raise DataError(
                f"{profile.path.name}: the groups ({', '.join(groups.names)}) sum to {np.median(ratio):.3g} "
                f"times {c.name} in the median unit ({ratio.min():.3g} to {ratio.max():.3g} times): they overlap, or "
                "count others than those who voted.",
                hint="take groups that exclude each other (Hispanic often overlaps race); if they count all adults, "
                f"leave {c.name} out of the file.",
            )


def refuse_unclear(profile: FileProfile, sides: Sides, side: Side, keep: np.ndarray) -> None:
    """Refuse groups that slightly exceed the votes: some stayed at home, or the groups overlap."""
    groups = sides.groups
    ratio = people_per_vote(groups, side, keep)
    known = any(is_nonvoting(c.name) for s in sides.contests if s.closed for c in s.columns)
    if known or count_all(groups.names) or not LEAST_OVER < float(np.median(ratio)) < MOST_OVER:
        return
    raise DataError(
        f"{profile.path.name}: the groups ({', '.join(groups.names[:6])}) sum to {np.median(ratio):.3g} times "
        f"the votes ({', '.join(side.names[:6])}) in the median unit: some people didn't vote, or the groups overlap "
        "(Hispanic often overlaps race). Nothing in the file shows which, and the estimates differ.",
        hint="--mismatch no_vote if the groups count all who might have voted, --mismatch rescale if they count those "
        "who did; else take groups that exclude each other.",
    )


def people_per_vote(groups: Side, side: Side, keep: np.ndarray) -> np.ndarray:
    """The sum of the groups over that of the outcomes, in rows without a flaw."""
    rows = clean_rows([*groups.columns, *side.columns]) & keep
    return sums(groups.columns)[rows] / np.maximum(sums(side.columns)[rows], 1.0)


def count_all(names: Iterable[str]) -> bool:
    """Whether names of groups say that they count those who may vote, and not those who did."""
    registered = ("vap", "cvap", "reg*", "pop", "age*", "adult*", "eligible")
    return any("vap" in name.lower() or any(has_word(name, word) for word in registered) for name in names)
