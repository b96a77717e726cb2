"""Rows that are no units: sums of others, entries that are no counts, units in several rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from sumwise.errors import DataError
from sumwise.io.formats.numerals import is_withheld
from sumwise.schema.columns import WORDS, Column, Grid, has_word, is_constant, row_keys
from sumwise.schema.questions import Interview
from sumwise.schema.relation import listed

TOTAL_ROW = re.compile(
    r"((grand|sub|overall|county|state)[ -]?)?totals?\b.*|.*\b(sub)?totals?:?|average|mean|sum|summe|gesamt|all"
    r"|insgesamt|total geral|ensemble",
    re.IGNORECASE,
)
DASHES = ("-", "--", "\u2013", "\u2014")
FOOTNOTE = re.compile(r"([\d,]+)\s*([*†‡¹²³]|\(\w\)|\[\w\])")
MISSING_MOST = 0.3  # of all rows; beyond that, leaving them out is no answer
SMALLEST_SUM = 50  # people in a row that can't be the sum of its neighbours by chance


def called_total(columns: Sequence[Column]) -> np.ndarray:
    """Which rows one of the columns calls a total; none where it calls all rows so."""
    bad = np.zeros(len(columns[0].codes) if columns else 0, dtype=bool)
    for c in columns:
        hits = np.array([bool(w) and TOTAL_ROW.fullmatch(w) is not None for w in c.words], dtype=bool)
        if not hits[c.codes].all():
            bad |= hits[c.codes]
    return bad


def sums_of_others(grid: Grid, iv: Interview) -> dict[int, str]:
    """Rows that are sums of others, by their numbers; those that only their names call totals are asked about."""
    texts = [c for c in grid.columns if c.numbers is None]
    out = _sums(grid, [c for c in grid.columns if _clean(c)])
    odd = [i for i in np.flatnonzero(called_total(texts)) if int(grid.rows[i]) not in out] if texts else []
    if odd:
        word = next(c.texts[odd[0]] for c in texts if TOTAL_ROW.fullmatch(c.texts[odd[0]]))
        words = f"Row {grid.rows[odd[0]]} is called {word!r} ({len(odd)} such rows), and is not the sum of the others."
        if iv.ask("totals", f"{words} Is it a line of totals?", {"yes, leave it out": True, "no, it is a unit": False}):
            out |= {int(grid.rows[i]): "called a total" for i in odd}
    _remark(grid, iv, out)
    return out


def sums_among(grid: Grid, columns: Sequence[Column], leave: dict[int, str], iv: Interview) -> dict[int, str]:
    """Rows that are sums of others in the columns that are used, whatever other columns hold."""
    used = ~np.isin(grid.rows, list(leave))
    part = [c.keep(np.flatnonzero(used)) for c in columns if _clean(c)]
    out = _sums(Grid(grid.name, part, grid.rows[used]), part)
    _remark(grid, iv, out)
    return out


def _remark(grid: Grid, iv: Interview, out: dict[int, str]) -> None:
    iv.remarks += [f"Row {r} of {grid.name} is left out: {why}." for r, why in list(out.items())[:12]]
    if len(out) > 12:
        iv.remarks.append(f"{len(out)} rows of {grid.name} are left out in all: sums of others.")


def _sums(grid: Grid, columns: Sequence[Column]) -> dict[int, str]:
    """Rows whose entries in all of these columns are the sums of others."""
    out: dict[int, str] = {}
    if len(columns) > 2 and len(grid) > 4:
        values = np.column_stack([c.numbers for c in columns])
        last = int(np.argmax(values.sum(axis=1)))
        if np.allclose(2 * values[last], values.sum(axis=0)) and values[last].sum() > SMALLEST_SUM:
            out[int(grid.rows[last])] = "the sum of all other rows"
        for back in (False, True):
            ordered = values[::-1] if back else values
            for i in _sums_of_neighbours(ordered):
                out.setdefault(int(grid.rows[len(values) - 1 - i if back else i]), "the sum of the rows beside it")
            if len(out) > 1:
                break
    return out


def _clean(c: Column) -> bool:
    if c.numbers is None or c.odd or not c.is_whole:
        return False
    return not np.isnan(c.numbers).any() and bool((c.numbers >= 0).all())


def _sums_of_neighbours(values: np.ndarray) -> list[int]:
    """Rows that are the sum of those since the last such row."""
    start, totals, hits = 0, values.sum(axis=1), []
    run = np.vstack([np.zeros(values.shape[1]), values.cumsum(axis=0)])
    cumulative = np.concatenate([[0], totals.cumsum()])
    for i in range(len(values)):
        near = totals[i] > SMALLEST_SUM and abs(cumulative[i] - cumulative[start] - totals[i]) < 1e-6 * totals[i]
        if i - start > 1 and near and np.allclose(run[i] - run[start], values[i]):
            hits.append(i)
            start = i + 1
    return hits


def read_counts(grid: Grid, c: Column, iv: Interview, leave: dict[int, str], data: dict[str, Any]) -> None:
    """Ask about entries that are no counts, or refuse them; what stands for what is added to `data`."""
    for i, text in c.odd.items():
        if text in DASHES:
            words = (
                f"{grid.name}: column {c.name!r}, row {grid.rows[i]}: does {text!r} stand for none or for not known?"
            )
            zero = iv.ask("dash", words, {"none: 0": "zero", "not known": "missing"})
            data[zero] = sorted({*data.get(zero, []), text})
            c.numbers[i] = 0.0 if zero == "zero" else np.nan
        elif note := FOOTNOTE.fullmatch(text):
            words = (
                f"{grid.name}: column {c.name!r}, row {grid.rows[i]}: is {text!r} the number {note[1]} with a footnote?"
            )
            iv.ask("footnotes", words, {"yes": True}, stop=_no_number(grid, c, i))
            c.numbers[i] = float(note[1].replace(",", ""))
            data["footnotes"] = True
        else:
            what = "is withheld" if is_withheld(text) else "is not a number"
            hint = "a withheld count isn't known, and isn't 0: ask for it, or leave those rows out."
            bad = np.isin(np.arange(len(grid)), [j for j, t in c.odd.items() if is_withheld(t) == is_withheld(text)])
            grid.refuse(c, bad, what, hint if is_withheld(text) else "correct it, or leave that row out.")
    used = ~np.isin(grid.rows, list(leave))
    grid.refuse(c, used & (np.nan_to_num(c.numbers) < 0), "is negative", "counts start at 0.")
    bad = used & np.isnan(c.numbers)
    if not bad.any():
        return
    rows = grid.rows[bad].tolist()
    hint = "fill or drop such rows; a count of nothing is written 0."
    if len(rows) > MISSING_MOST * len(grid) or iv.answers.get("missing") == "stop":
        grid.refuse(c, bad, "is missing", hint)
    words = f"{grid.name}: column {c.name!r} is missing in {len(rows)} of {len(grid)} rows (rows {listed(rows)})"
    iv.ask("missing", f"{words}.", {"leave such units out": True}, stop=words)
    leave |= dict.fromkeys(rows, "a count is missing")


def _no_number(grid: Grid, c: Column, i: int) -> str:
    return f"{grid.name}: column {c.name!r} is not a number in row {grid.rows[i]}: {c.texts[i]!r}"


def several_rows(
    grid: Grid, iv: Interview, unit: tuple[str, ...], groups: list[Column], leave: dict[int, str], data: dict[str, Any]
) -> None:
    """Ask about rows that are the same, and about units that stand in several rows."""
    _doubled(grid, iv, groups, leave)
    named = [c for c in grid.columns if c.called("unit") and (c.numbers is None or c.is_whole)]
    named = [c for c in named if c not in groups and c.distinct < len(grid)]
    single = len(unit) == 1 and grid[unit[0]].called("unit") and grid[unit[0]].distinct == len(grid)
    if not named or single:
        return
    keys = row_keys(named)
    used = ~np.isin(grid.rows, list(leave))
    sizes = np.bincount(keys, used)[keys]
    repeated = np.unique(keys[(sizes > 1) & used])
    n_units = len(np.unique(keys))
    same = all(is_constant(c.numbers, keys) for c in groups)
    if not len(repeated) or not (len(repeated) <= 0.5 * n_units or (n_units * 3 > len(grid) and same)):
        return
    at = np.flatnonzero(keys == repeated[0])
    others = [c.name for c in grid.columns if c.numbers is None and c not in named and c.distinct > 1]
    others += [c.name for c in grid.columns if c.called("contest") and 1 < c.distinct < 10 and c.name not in others]
    name = " / ".join(c.texts[at[0]] for c in named)
    by = f", which {others[0]!r} distinguishes" if others else ""
    stand = "unit stands" if len(repeated) == 1 else "units stand"
    words = f"{len(repeated)} {stand} in several rows: {name!r} in rows {listed(grid.rows[at].tolist())}{by}"
    options = {
        "they are different units": "number",
        "leave them out": "leave",
        "one unit in pieces: add up the outcomes, take the groups once": "add",
    }
    choice = iv.ask("rows_of_units", f"{words}; people may be counted several times.", options, stop=words)
    if choice == "leave":
        leave |= dict.fromkeys(grid.rows[np.isin(keys, repeated)].tolist(), "a unit in several rows")
    else:
        data["repeated"] = choice


def _doubled(grid: Grid, iv: Interview, groups: list[Column], leave: dict[int, str]) -> None:
    keys = row_keys(grid.columns)
    again = pd.Series(keys).duplicated().to_numpy() & ~np.isin(grid.rows, list(leave))
    again &= np.any([c.numbers > 0 for c in groups], axis=0)
    if again.any():
        i = int(np.argmax(again))
        first = int(np.argmax(keys == keys[i]))
        words = f"{grid.name}: row {grid.rows[first]} and row {grid.rows[i]} are the same in every column"
        options = {"one was copied: leave it out": True, "both are units": False}
        if iv.ask("doubled", f"{words}.", options, stop=words):
            leave |= dict.fromkeys(grid.rows[again].tolist(), "the same as another row")


def unit_columns(grid: Grid, used: Sequence[Column]) -> tuple[str, ...]:
    """The column that names units, or two that do together."""
    free = [c for c in grid.columns if c not in used and not c.missing.any()]
    free = [c for c in free if c.numbers is None or c.called("unit")]
    for c in sorted(free, key=lambda c: not c.called("unit")):
        if c.distinct == len(grid):
            return (c.name,)
    for i, a in enumerate(free):
        for b in free[i + 1 :]:
            if len(np.unique(row_keys([a, b]))) == len(grid):
                return (a.name, b.name)
    return tuple(c.name for c in free if c.called("unit"))[:1]


def check_plain(grid: Grid, asked: Sequence[Column]) -> None:
    """Refuse texts of numbers with words, in columns called like counts."""
    for c in asked:
        there = [w for w in c.words if w]
        starts = [bool(re.match(r"\s*[\d$€£<~]", w)) for w in there]
        if there and np.mean(starts) > 0.8:
            raise DataError(
                f"{grid.name}: entries of {c.name!r} aren't plain numbers, such as {there[0]!r}.",
                hint="numbers that begin with 0 are treated as codes; write plain numbers, without units.",
            )


def known_word(words: Sequence[str], *lists: str) -> bool:
    """Whether any of these texts has a word of the lists."""
    return any(has_word(t, w) for t in words for key in lists for w in WORDS[key])
