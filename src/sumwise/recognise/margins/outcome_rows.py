"""Groups in one file, one row per unit; in another one row per unit and candidate, as of office and way of voting."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from sumwise.errors import DataError
from sumwise.recognise.guess import TOGETHER, Guess, no_total
from sumwise.recognise.margins import words
from sumwise.recognise.margins.long import CANDIDATES
from sumwise.recognise.margins.long_columns import VOTES, combined
from sumwise.recognise.margins.sides import Side, is_total, kind_of, relation
from sumwise.recognise.margins.sums import adds_up
from sumwise.recognise.profile_file import Column, FileProfile, is_called, name_parts

OFFICES = ("office*", "contest*", "race", "election*", "year", "district*")
COUNTS_ALL = ({"registered", "voters"}, {"ballots", "cast"}, {"total", "votes"}, {"turnout"}, {"total", "voters"})
"""Names in place of an office or a candidate for how many people there are: no contest, no choice."""
MAX_LISTED = 4


@dataclass
class Rows:
    """The columns of a file with one row per unit, candidate and perhaps more."""

    profile: FileProfile
    units: list[str]
    option: Column
    votes: Column
    contest: list[Column]
    others: list[Column]  # by which lines of one candidate in a unit differ, as the way of voting
    left_out: np.ndarray  # rows that count everybody, or count votes again
    without: list[dict[str, Any]] = field(default_factory=list)


def guess_outcome_rows(groups: FileProfile, votes: FileProfile) -> Guess | None:
    """The problem that a file of groups and a file with a row per unit and candidate suggest."""
    rows = _rows(groups, votes)
    sides = [
        c
        for c in groups.columns
        if c.amounts is not None and words.like_group(c) and kind_of(c) == "count" and not is_total(c)
    ]
    sides = [c for c in sides if not is_called(c, words.ERRORS)]
    if rows is None or len(sides) < 2:
        return None
    unit = rows.units[0] if len(rows.units) == 1 else rows.units
    columns = {"unit": unit, "groups": [c.name for c in sides], "option": rows.option.name, "votes": rows.votes.name}
    files = {"groups_file": str(groups.path), "outcomes_file": str(votes.path), **votes.opened}
    seen = f"{groups.n_rows:,} units with groups, and {votes.n_rows:,} rows of votes by unit and candidate: margins"
    found = Guess("ecological", 1.0, seen, files, columns)
    found.comments["columns", "option"] = "outcomes are its values; rows of the same unit and value are added up"
    found.unused = {
        c.name: "a total that isn't needed" if is_total(c) else "no counts by group"
        for c in groups.columns
        if c.amounts is not None and c not in sides and c.name not in rows.units
    }
    if rows.without:
        found.data["without"] = rows.without
        shown = ", ".join(f"{k} = {v}" for line in rows.without[:MAX_LISTED] for k, v in line.items())
        found.ask.append(f"left out: rows that count everybody or count votes again ({shown}).")
    _ask_of_sums(found, rows)
    _add_contests(found, rows, groups, sides)
    return found


def _rows(groups: FileProfile, votes: FileProfile) -> Rows | None:
    units = _units(groups, votes)
    counts = [c for c in votes.numeric if c.distinct > 2 and is_called(c, VOTES)]
    if not units or not counts:
        return None
    free = [c for c in votes.columns if c.texts is not None and c.amounts is None and c.name not in units]
    named = [c for c in free if is_called(c, CANDIDATES)]
    named.sort(key=lambda c: next(k for k, word in enumerate(CANDIDATES) if is_called(c, (word,))))
    if not named:
        return None
    option = named[0]
    rest = [c for c in votes.columns if c.name not in (*units, option.name, counts[0].name) and c.distinct > 1]
    contest = [c for c in rest if is_called(c, OFFICES) and c.distinct < votes.n_rows / 2]
    others = [c for c in rest if c not in contest and c.amounts is None]
    rows = Rows(votes, units, option, counts[0], contest, others, np.zeros(votes.n_rows, dtype=bool))
    _leave_out(rows)
    return rows


def _units(groups: FileProfile, votes: FileProfile) -> list[str] | None:
    """The column, or the two, that name a unit in both files."""
    both = [c for c in groups.columns if c.name in {d.name for d in votes.columns} and c.missing == 0]
    both = [c for c in both if votes[c.name].distinct < votes.n_rows / 1.5]
    alone = [c for c in both if c.distinct == groups.n_rows]
    if alone:
        return [next((c for c in alone if words.names_unit(c)), alone[0]).name]
    for i, a in enumerate(both):
        for b in both[i + 1 :]:
            if len(np.unique(combined([a, b]))) == groups.n_rows:
                return [a.name, b.name]
    return None


def _leave_out(rows: Rows) -> None:
    """Rows of everybody in place of an office or candidate, and totals over units, candidates or ways to vote."""
    for column in (*rows.contest, rows.option):
        _leave_values(rows, column, [v for v in column.words if set(name_parts(v)) in COUNTS_ALL])
    places = [rows.profile[name] for name in rows.units]
    keys = [*rows.contest, rows.option, *places, *rows.others]
    for column in (rows.option, *places, *rows.others):
        if not (names := [v for v in column.words if words.is_total_row(v)]):
            continue
        total = column.texts.isin(names).to_numpy(dtype=bool) & ~rows.left_out
        key = combined([c for c in keys if c is not column])
        kept = ~total & ~rows.left_out
        if not np.isin(key[total], key[kept]).any():
            continue  # nothing is counted again: the lines of totals are all that there is
        if not adds_up(rows.votes.amounts, key, total, kept):
            raise no_total(rows.profile, column, names[0])
        _leave_values(rows, column, names)


def _leave_values(rows: Rows, column: Column, names: list[str]) -> None:
    if names:
        rows.left_out |= column.texts.isin(names).to_numpy(dtype=bool)
        rows.without += [{column.name: name} for name in names]


def _ask_of_sums(found: Guess, rows: Rows) -> None:
    """Say what is added up where a candidate has several lines in a unit."""
    kept = ~rows.left_out
    key = combined([*rows.contest, rows.option, *(rows.profile[name] for name in rows.units)])[kept]
    n = len(np.unique(key))
    again = len(key) - n
    if not again:
        return
    apart = [c for c in rows.others if len(np.unique(np.column_stack([key, c.codes[kept]]), axis=0)) > n]
    if not apart:
        first = int(np.argmax(pd.Series(key).duplicated().to_numpy()))
        raise DataError(
            f"{rows.profile.path.name}: {again:,} rows repeat a unit and {rows.option.name}, and nothing distinguishes "
            f"them. First: {rows.profile.row(int(np.flatnonzero(kept)[first]))}.",
            hint="delete what stands there twice, or name in a column what such rows are, as election day and mail.",
        )
    listed = "; ".join(f"{c.name} ({', '.join(c.words[:MAX_LISTED])})" for c in apart[:2])
    found.ask.append(f"rows of one {rows.option.name} in a unit are added up; they differ in {listed}.")


def _add_contests(found: Guess, rows: Rows, groups: FileProfile, sides: list[Column]) -> None:
    """One contest for every office, each with what to do where its votes and units differ from those of the groups."""
    where = [np.flatnonzero(~rows.left_out)]
    if rows.contest:
        key = combined(rows.contest)
        where = [np.flatnonzero((key == k) & ~rows.left_out) for k in np.unique(key[~rows.left_out]).tolist()]
    parts = [_keys(found, rows, groups, sides, some) for some in where]
    if len(parts) == 1:
        found.data |= parts[0]
        return
    for some, more in zip(where, parts):
        only = {c.name: c.value(int(some[0])) for c in rows.contest}
        found.contests.append({"name": " / ".join(v for v in only.values() if v), "only": only, **more})
    listed = ", ".join(c["name"] for c in found.contests[:MAX_LISTED]) + (", ..." if len(parts) > MAX_LISTED else "")
    by = " and ".join(c.name for c in rows.contest)
    found.ask.append(f"{len(parts)} contests were found, by {by}: {listed}. {TOGETHER}")


def _keys(found: Guess, rows: Rows, groups: FileProfile, sides: list[Column], some: np.ndarray) -> dict[str, str]:
    """What [data] says of one contest: units that only one file has, lines that are absent, people without a vote."""
    here = [" / ".join(parts) for parts in zip(*(groups[name].entries for name in rows.units))]
    every = [" / ".join(parts) for parts in zip(*(rows.profile[name].entries for name in rows.units))]
    there = [every[i] for i in some]
    name = " / ".join(v for c in rows.contest if (v := c.value(int(some[0]))))
    about = f"{name}: " if name else ""
    frame = pd.DataFrame({"u": there, "o": rows.option.codes[some], "v": rows.votes.amounts[some]})
    more: dict[str, str] = {}
    lone = [len(set(a) - set(b)) for a, b in ((here, there), (there, here))]
    if any(lone):
        more["unmatched"] = "drop"
        found.ask.append(
            f"{about}{lone[0]} of {len(here)} units have groups and no votes, {lone[1]} of {len(set(there))} votes and "
            "no groups; they are left out."
        )
    options = frame["o"].nunique()
    if any(n < options for n in frame.groupby("u")["o"].nunique().tolist()):
        more["absent"] = "zero"
        found.ask.append(f"{about}some candidates have no row in some units; they count as no votes.")
    cast: Any = frame.groupby("u")["v"].sum()
    both = [i for i, u in enumerate(here) if u in cast.index]
    if not both:
        raise DataError(
            f"{about}No unit of {groups.path.name} is in {rows.profile.path.name}.", hint="write units alike in both."
        )
    people = np.sum([c.amounts[both] for c in sides], axis=0)
    counted = cast.reindex([here[i] for i in both]).to_numpy()
    one, two = (Side([Column(w, x, None, len(x), 0)], "count") for w, x in (("groups", people), ("votes", counted)))
    how = relation(one, two)
    word = groups.given.get("mismatch") or {"equal": "drop" if how.out is not None else None}.get(how.word, how.word)
    if word in ("no_vote", "rescale", "drop"):
        more["mismatch"] = word
        meaning = {"no_vote": "those missing are counted as people who didn't vote", "rescale": "both are rescaled"}
        found.ask.append(
            f"{about}votes and people in the groups are {100 * how.apart:.0f}% apart in the median unit: "
            f"{meaning.get(word, 'units where they differ are left out')} (mismatch = {word!r})."
        )
    return more
