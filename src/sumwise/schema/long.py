"""Margins with options in rows: a line for each unit and option, of one contest or of several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from sumwise.errors import DataError
from sumwise.schema.columns import WORDS, Column, Grid, agreement, has_word, is_constant, joined, number_text, row_keys
from sumwise.schema.declared import Schema
from sumwise.schema.margins import entry, one_or_list, settle
from sumwise.schema.questions import Interview
from sumwise.schema.relation import Side, Sides, relate
from sumwise.schema.rows import called_total, listed, read_counts
from sumwise.schema.sides import AGREE, is_total

REPEATED = 1.5  # rows per unit, from which on units stand in several rows


@dataclass(frozen=True)
class Long:
    """Which columns of a long file are what."""

    unit: tuple[str, ...]
    option: str
    votes: str
    side: str | None = None  # the column that distinguishes groups from outcomes; None: groups repeat in columns
    row: str | None = None  # what that column calls groups
    col: str | None = None
    contest: tuple[str, ...] = ()


def long_margins(grid: Grid, iv: Interview) -> Schema | None:
    """The schema of a file with options in rows; None if it isn't one."""
    long = _long(grid, iv)
    if long is None:
        return None
    if not long.unit:
        raise DataError(
            f"{grid.name} has only one unit, or one per contest.",
            hint="give several units (precincts, say), named in a column, with rows of both sides for each.",
        )
    leave = _totals(grid, long, iv)
    part = grid.without(leave)
    votes = part[long.votes]
    data: dict[str, Any] = {}
    read_counts(part, votes, iv, leave, data)
    part = part.without(set(leave) & {*part.rows.tolist()})
    return _with_side(part, long, iv, leave, data) if long.side else _repeated(part, long, iv, leave, data)


def _columns(grid: Grid) -> tuple[list[Column], list[Column]]:
    """Columns that name, and columns that count."""
    few = [c for c in grid.columns if c.numbers is not None and c.is_whole and c.distinct < len(grid) / 2]
    texts = [c for c in grid.columns if c.numbers is None or (c in few and c.called("unit", "side", "contest"))]
    texts += [c for c in grid.columns if c not in texts and c.name.lower() in WORDS["option_names"] and c.is_whole]
    return texts, [c for c in grid.columns if c not in texts and c.numbers is not None]


def _long(grid: Grid, iv: Interview) -> Long | None:
    texts, numbers = _columns(grid)
    votes = [c for c in numbers if c.name.lower() in WORDS["votes"]] or numbers
    words = {*WORDS["side_values"]}
    pairs = [c for c in texts if c.distinct == 2 and not c.missing.any()]
    sides = [c for c in pairs if c.called("side") or {w.lower() for w in c.words} & words]
    sides += [c for c in pairs if c not in sides and _equal_in_units(c, texts, votes)]
    if sides and len(numbers) == 1:
        return _of_side(iv, sides[0], [c for c in texts if c is not sides[0]], votes[0])
    named = [c for c in texts if c.called("unit")]
    options = [c for c in texts if c not in named and has_word(c.name, "cand*")]
    if not (options and named and votes and votes[0].distinct > 1):
        return None
    units = row_keys(named)
    if len(np.unique(units)) >= len(grid) / REPEATED:
        return None
    if not any(is_constant(c.numbers, units) and c.distinct > 2 for c in numbers):
        raise DataError(
            f"{grid.name} holds outcomes alone, and in rows: no column counts groups of people per unit.",
            hint="give the file of the groups too: sumwise init groups.csv outcomes.csv.",
        )
    contest = tuple(c.name for c in texts if c.called("contest") and c.distinct > 1 and c not in named)
    return Long(tuple(c.name for c in named), options[0].name, votes[0].name, contest=contest)


def _equal_in_units(side: Column, texts: list[Column], votes: list[Column]) -> bool:
    """Whether the two values of a column have other options each, with equal sums in every unit."""
    if len(votes) != 1 or np.isnan(votes[0].numbers).any():
        return False
    rest = [c for c in texts if c is not side]
    first = side.codes == side.codes[0]
    for option in (c for c in rest if not {*c.codes[first].tolist()} & {*c.codes[~first].tolist()}):
        units = [c for c in rest if c is not option]
        if not units or not option.distinct < len(first) / 2:
            continue
        keys = row_keys(units)
        one, two = (np.bincount(keys, np.where(at, votes[0].numbers, 0.0)) for at in (first, ~first))
        if len(one) > 1 and agreement(one, two) >= AGREE:
            return True
    return False


def _of_side(iv: Interview, side: Column, rest: list[Column], votes: Column) -> Long | None:
    values = list(dict.fromkeys(side.texts))
    first = np.array(side.texts, dtype=object) == values[0]

    def apart(c: Column) -> bool:
        return not set(np.unique(c.codes[first]).tolist()) & set(np.unique(c.codes[~first]).tolist())

    option = next((c for c in rest if apart(c) or c.name.lower() in WORDS["option_names"]), None)
    if option is None:
        return None
    known = [v for v in values if any(has_word(v, w) for w in WORDS["rows_side"])]
    words = f"{side.name}: which are the groups of people?"
    row = known[0] if len(known) == 1 else iv.ask("groups_are", words, {v: v for v in values})
    units = [c for c in rest if c is not option and c.distinct > 1]
    contest = [c for c in units if c.called("contest") and not c.called("unit")] if len(units) > 1 else []
    contest += [c for c in units if c not in contest and c.name.lower() == "district"] if contest else []
    unit = tuple(c.name for c in units if c not in contest)
    col = next(v for v in values if v != row)
    return Long(unit, option.name, votes.name, side.name, row, col, tuple(c.name for c in contest))


def _totals(grid: Grid, long: Long, iv: Interview) -> dict[int, str]:
    bad = called_total([grid[n] for n in (*long.unit, long.option) if grid[n].numbers is None])
    rows = grid.rows[bad].tolist()
    if not rows:
        return {}
    words = f"{len(rows)} rows are called like totals (rows {listed(rows)}). Are they?"
    options = {"yes, leave them out": True, "no, they are units and options": False}
    return dict.fromkeys(rows, "a line of totals") if iv.ask("totals", words, options) else {}


def _contests(grid: Grid, long: Long) -> dict[str, tuple[Grid, dict[str, str]]]:
    """The rows of every contest, with what its columns hold."""
    if not long.contest:
        return {"": (grid, {})}
    columns = [grid[n] for n in long.contest]
    columns = [c for c in columns if c.distinct > 1] or columns[:1]
    keys, labels = row_keys(columns), joined(columns)
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(keys[order]) != 0])
    made = {}
    for at in np.split(order, starts[1:]):
        rows = np.zeros(len(grid), dtype=bool)
        rows[at] = True
        only = {c.name: c.texts[at[0]] for c in columns}
        made[labels[at[0]]] = (grid.keep(rows), only)
    return made


def pivot(grid: Grid, long: Long, options: np.ndarray, iv: Interview, data: dict[str, Any]) -> Grid:
    """A row per unit and a column per option, of the rows that are asked for."""
    at = np.flatnonzero(options)
    units, labels = pd.factorize(row_keys([grid[n] for n in long.unit]))
    kinds, names = pd.factorize(np.array(grid[long.option].texts, dtype=object)[at])
    cell = units[at] * len(names) + kinds
    twice = pd.Series(cell).duplicated().to_numpy()
    if twice.any():
        i = at[int(np.argmax(twice))]
        raise DataError(
            f"{grid.name}: a unit has two lines for one option: row {grid.rows[i]} ({grid[long.option].texts[i]!r}).",
            hint="add them up, or drop one; if they are of several contests, name each in a column of its own.",
        )
    values = np.zeros(len(labels) * len(names))
    values[cell] = grid[long.votes].numbers[at]
    filled = np.bincount(cell, minlength=len(values)) > 0
    if not filled.all():
        _ask_absent(grid, iv, data, int((~filled).sum()), names[int(np.argmin(filled)) % len(names)])
    first = np.unique(units, return_index=True)[1]
    table = values.reshape(len(labels), len(names))
    columns = [_number_column(str(n), table[:, k]) for k, n in enumerate(names)]
    ids = [grid[n].keep(first) for n in long.unit]
    return Grid(grid.name, [*ids, *columns], grid.rows[first])


def _number_column(name: str, values: np.ndarray) -> Column:
    codes, found = pd.factorize(values)
    return Column(name, codes, [number_text(x) for x in found], values)


def _ask_absent(grid: Grid, iv: Interview, data: dict[str, Any], n: int, option: str) -> None:
    words = f"{grid.name}: {n} units have no row for an option (first: option {option!r})"
    data["absent"] = iv.ask("absent", f"{words}. Does that mean 0?", {"yes: nobody chose it": "zero"}, stop=words)


def _with_side(grid: Grid, long: Long, iv: Interview, leave: dict[int, str], data: dict[str, Any]) -> Schema:
    entries = []
    for name, (part, only) in _contests(grid, long).items():
        side = np.array(part[str(long.side)].texts, dtype=object)
        sides = [pivot(part, long, side == word, iv, data) for word in (long.row, long.col)]
        entries.append((name, only, *_related(part, long, sides, iv)))
    columns = {
        "unit": one_or_list(long.unit),
        "side": long.side,
        "option": long.option,
        "votes": long.votes,
        "row": long.row,
        "col": long.col,
    }
    if len(entries) == 1:
        _, _, relation, rows = entries[0]
        leave |= rows
        data |= {k: v for k, v in entry(relation).items() if k == "mismatch"}
        contests: tuple = ()
    else:
        iv.remarks.append(f"{len(entries)} contests were found in {', '.join(long.contest)}.")
        contests = tuple(
            {
                "name": name,
                "only": only,
                **({"mismatch": relation.mismatch} if relation.mismatch != "raise" else {}),
                **({"leave_out": sorted({**leave, **rows})} if rows else {}),
            }
            for name, only, relation, rows in entries
        )
    if leave:
        data["leave_out"] = sorted(leave)
    return Schema("ecological", data, columns, contests)


def _related(part: Grid, long: Long, sides: list[Grid], iv: Interview) -> tuple:
    """How the sides of one contest are related, and the rows of the file that are left out."""
    one, two = sides
    if len(one) != len(two) or (one.rows.tolist() != two.rows.tolist() and not _same_units(one, two, long)):
        raise DataError(
            f"{part.name}: some units have rows of one side only.", hint="add the other side, or leave them out."
        )
    groups, outcomes = ([c for c in g.columns if c.name not in long.unit] for g in sides)
    groups, outcomes = _without_totals(groups), _without_totals(outcomes)
    both = Sides(one, groups, outcomes, [], np.ones(len(one), dtype=bool), iv)
    relation = relate(both, Side(tuple(c.name for c in groups)), Side(tuple(c.name for c in outcomes)), True)
    if not relation.leave_out:
        return relation, {}
    keys = row_keys([part[n] for n in long.unit])
    firsts = np.isin(part.rows, list(relation.leave_out))
    bad = np.isin(keys, keys[firsts])
    return relation, dict.fromkeys(part.rows[bad].tolist(), next(iter(relation.leave_out.values())))


def _same_units(one: Grid, two: Grid, long: Long) -> bool:
    return joined([one[n] for n in long.unit]) == joined([two[n] for n in long.unit])


def _without_totals(columns: list[Column]) -> list[Column]:
    return [c for c in columns if not (c.name.lower() == "all" and is_total(c))] or columns


def _repeated(grid: Grid, long: Long, iv: Interview, leave: dict[int, str], data: dict[str, Any]) -> Schema:
    """Options in rows beside groups that repeat in every row of a unit."""
    entries = []
    skip = {*long.unit, long.option, long.votes, *long.contest}
    for name, (part, only) in _contests(grid, long).items():
        wide = pivot(part, long, np.ones(len(part), dtype=bool), iv, data)
        keys = row_keys([part[n] for n in long.unit])
        options = [c for c in wide.columns if c.name not in long.unit]
        groups = [c for c in part.columns if c.numbers is not None and c.name not in skip]
        groups = [c for c in groups if is_constant(c.numbers, keys)]
        first = np.flatnonzero(np.isin(part.rows, wide.rows))
        groups = [
            c.keep(first) for c in groups if c.called("race", "age", "sex", "tenure", "either") or not is_total(c)
        ]
        groups = [c for c in groups if c.distinct > 1 and not c.called("unused")]
        one = Grid(grid.name, [*wide.columns, *groups], wide.rows)
        made = settle(one, iv, groups, {"": options}, [], False, {})
        entries.append((name, only, made))
    return _together(grid, long, entries, leave, data)


def _together(
    grid: Grid,
    long: Long,
    entries: list[tuple[str, dict[str, str], Schema]],
    leave: dict[int, str],
    data: dict[str, Any],
) -> Schema:
    first = entries[0][2]
    groups = first.columns["groups"]
    columns = {"unit": one_or_list(long.unit), "groups": groups, "option": long.option, "votes": long.votes}
    contests = []
    for name, only, made in entries:
        bad = made.data.get("leave_out", [])
        keys = row_keys([grid[n] for n in long.unit])
        rows = grid.rows[np.isin(keys, keys[np.isin(grid.rows, bad)])].tolist() if bad else []
        own = {k: v for k, v in made.data.items() if k == "mismatch"}
        own |= {"leave_out": sorted({*leave, *rows})} if rows else {}
        contests.append({"name": name, "only": only, **own})
    if len(contests) == 1:
        data |= {k: v for k, v in contests[0].items() if k not in ("name", "only")}
        contests = []
    if leave and "leave_out" not in data:
        data["leave_out"] = sorted(leave)
    return Schema("ecological", data, columns, tuple(contests))
