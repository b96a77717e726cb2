"""Margins: one row per unit with two sides that sum to the same, or one row per unit, side and option."""

from __future__ import annotations

from typing import Any

import numpy as np

from sumwise.study.profile_file import Column, Look
from sumwise.study.recognise.guess import Guess

__all__ = ["guess"]

METHODS = ("EcologicalEM", "King", "MultinomialDirichlet", "Goodman", "Bounds")
UNITS = (
    "unit*",
    "precinct*",
    "district*",
    "county",
    "ward*",
    "box*",
    "mesa",
    "region*",
    "fips",
    "id",
    "name",
    "geoid",
    "dist",
    "icpsr",
)
GROUPS = (
    "white*",
    "black*",
    "hisp*",
    "asian*",
    "natam",
    "latino*",
    "race*",
    "other",
    "male*",
    "female*",
    "men",
    "women",
    "young*",
    "old*",
    "age*",
    "bvap",
    "ovap",
    "wvap",
    "hvap",
    "vap",
    "pop",
    "x",
)
OUTCOMES = (
    "dem*",
    "rep*",
    "gop",
    "vote*",
    "turnout",
    "noturnout",
    "yes",
    "no",
    "abstain",
    "novote",
    "t",
    "y",
    "for",
    "non",
    "party",
    "cand*",
)
TOTALS = ("total*", "n", "all", "turnout", "voters", "ballots", "pop", "sum")
MOST = 60  # columns that are searched for sides


def guess(looks: list[Look]) -> Guess | None:
    """Margins in one file, long or wide, or in two files with the same units."""
    if len(looks) == 2:
        return _two(*looks)
    if len(looks) != 1:
        return None
    return _long(looks[0]) or _counts(looks[0]) or _shares(looks[0])


# --- long


def _long(look: Look) -> Guess | None:
    names = {c.name for c in look.columns}
    if not {"side", "votes", "unit"} <= names:
        return None
    side = look["side"]
    if side.distinct != 2 or side.texts is None:
        return None
    option = "option" if "option" in names else next((c.name for c in look.columns if c.name in ("k", "name")), None)
    if option is None:
        return None
    first, second = list(dict.fromkeys(side.texts.dropna().tolist()))
    if {first, second} == {"row", "col"}:
        first, second = "row", "col"
    columns = {"unit": "unit", "side": "side", "option": option, "votes": "votes", "row": first, "col": second}
    told = {("columns", "row"): "what the groups' side is called", ("columns", "col"): "and that of the outcomes"}
    seen, data, ask = "one row per unit, side and option: margins in long form", {}, []
    rest = [c for c in look.columns if c.name not in columns.values() and c.distinct > 1]
    if rest:
        data["only"] = {c.name: _first(c) for c in rest}
        told["data", "only"] = "the file holds several contests; this is the first"
        ask.append(f"which contest to fit, by {' and '.join(c.name for c in rest)}.")
    return _finished(look, 1.0, seen, data, columns, told, ask)


def _first(column: Column) -> str:
    return str(column.texts.iloc[0]) if column.numbers is None else f"{column.numbers[0]:g}"


# --- wide, counts


def _counts(look: Look) -> Guess | None:
    numeric = [c for c in look.columns if c.counts and not c.shares][:MOST]
    if look.n_rows < 2 or len(numeric) < 3:
        return None
    sides = _equal_sides(numeric, look.n_rows) or _near_sides(numeric)
    if sides is None:
        return None
    groups, outcomes, total, off = _ordered(sides)
    columns = _with_unit(look, groups + outcomes)
    told: dict[tuple[str, str], str] = {
        ("columns", "groups"): "who they are; swap with outcomes if it is the other way round"
    }
    columns |= {"groups": [c.name for c in groups], "outcomes": [c.name for c in outcomes]}
    if total is not None:
        columns["total"] = total.name
    data: dict[str, Any] = {}
    ask = []
    score = 0.9
    if off > 0:
        data["mismatch"] = "rescale"
        told["data", "mismatch"] = (
            "scales both sides to one total; no_vote adds an outcome for those missing; raise refuses"
        )
        ask.append(f"groups and outcomes don't add up to the same: they are {100 * off:.1f}% apart in the median unit.")
        score = 0.7
    if not _worded(groups, outcomes):
        ask.append("which side holds the groups was guessed from the order of the columns.")
    return _finished(look, score, "one row per unit, two sides that add up: margins", data, columns, told, ask)


Sides = tuple[list[Column], list[Column], "Column | None", float]


def _equal_sides(columns: list[Column], n_rows: int) -> Sides | None:
    """Two runs of neighbouring columns with equal sums in every row; the first two that aren't parts of each other."""
    values = np.array([c.numbers for c in columns])
    sums = np.vstack([np.zeros(n_rows), np.cumsum(values, axis=0)])
    n = len(columns)
    runs = [(i, j) for i in range(n) for j in range(i + 2, n + 1)]
    if not runs:
        return None
    scale = np.maximum(1.0, values.max())
    by_sum: dict[bytes, list[tuple[int, int]]] = {}
    for i, j in runs:
        key = np.round((sums[j] - sums[i]) / scale, 9).tobytes()
        by_sum.setdefault(key, []).append((i, j))
    best: tuple[tuple[bool, int], Sides] | None = None
    for key, found in by_sum.items():
        total = next((c for c in columns if np.round(c.numbers / scale, 9).tobytes() == key), None)
        apart = _apart([(i, j) for i, j in found if total is None or total not in columns[i:j]])
        if len(apart) < 2 or not (sums[apart[0][1]] - sums[apart[0][0]]).any():
            continue
        one, two = ([columns[k] for k in range(i, j)] for i, j in apart[:2])
        rank = (total is not None, -len(one) - len(two))
        if best is None or rank > best[0]:
            best = (rank, (one, two, total, 0.0))
    return None if best is None else best[1]


def _apart(runs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Runs that don't overlap, the shortest first, in the order of the file."""
    kept: list[tuple[int, int]] = []
    for i, j in sorted(runs, key=lambda run: (run[1] - run[0], run[0])):
        if all(j <= a or b <= i for a, b in kept):
            kept.append((i, j))
    return sorted(kept)


def _near_sides(columns: list[Column]) -> Sides | None:
    """Sides known by their names, whose sums are near each other."""
    groups = [c for c in columns if _called(c, GROUPS) and not c.shares]
    outcomes = [c for c in columns if c not in groups and not c.shares and not _called(c, (*TOTALS, *UNITS))]
    if len(groups) < 2 or len(outcomes) < 2:
        return None
    total = next((c for c in columns if _called(c, TOTALS) and c not in groups), None)
    sums = [_sums(side) for side in (groups, outcomes)]
    with np.errstate(divide="ignore", invalid="ignore"):
        off = float(np.nanmedian(np.abs(sums[0] - sums[1]) / np.maximum(sums[0], sums[1])))
    return (groups, outcomes, total, max(off, 1e-9)) if off < 0.3 else None


# --- wide, shares


def _shares(look: Look) -> Guess | None:
    shares = [c for c in look.columns if c.shares]
    totals = [
        c for c in look.columns if c.counts and not c.shares and c.distinct > 2 and _called(c, (*TOTALS, "total.votes"))
    ]
    if len(shares) < 2 or look.n_rows < 3:
        return None
    total = totals[0] if totals else None
    runs = _whole_runs(shares)
    told: dict[tuple[str, str], str] = {}
    ask: list[str] = []
    groups, outcomes = _named_sides(shares, runs)
    columns = _with_unit(look, groups + outcomes)
    columns |= {"groups": [c.name for c in groups], "outcomes": [c.name for c in outcomes]}
    for side, key, rest in ((groups, "rest_group", "all others"), (outcomes, "rest_outcome", "none of these")):
        if not np.allclose(_sums(side), 1, atol=5e-3):
            columns[key] = rest
            told["columns", key] = "a name for the rest of everybody"
    data: dict[str, Any] = {}
    if total is None:
        ask.append("there is no column of totals, which shares need; until one is named, every unit counts alike.")
        columns["total"] = 1000
        told["columns", "total"] = "no column of totals: every unit counts as this many people"
    else:
        columns["total"] = total.name
    if not _worded(groups, outcomes):
        ask.append("which side holds the groups was guessed from the order of the columns.")
    if all(any(_called(c, OUTCOMES) for c in side) for side in (groups, outcomes)):
        ask.append("both sides read like outcomes; groups say who people are.")
    over = [c for side in (groups, outcomes) for c in side if np.max(_sums(side)) > 1 + 1e-6]
    if over:
        data["mismatch"] = "rescale"
        told["data", "mismatch"] = "some shares add up to more than 1; rescale makes them 1"
    ids = {c.name for c in shares} | {str(columns["total"])}
    others = [c for c in look.columns if c.name not in ids and not _called(c, UNITS)]
    if others:
        ask.append(f"not used: {', '.join(c.name for c in others[:8])}{', ...' if len(others) > 8 else ''}.")
    score = 0.8 if total is not None else 0.4
    return _finished(look, score, "one row per unit, shares of two kinds: margins", data, columns, told, ask)


def _whole_runs(shares: list[Column]) -> list[list[Column]]:
    """Neighbouring shares that add up to 1."""
    runs, i = [], 0
    while i < len(shares):
        for j in range(i + 2, min(i + 12, len(shares)) + 1):
            if np.allclose(_sums(shares[i:j]), 1, atol=5e-3):
                runs.append(shares[i:j])
                i = j - 1
                break
        i += 1
    return runs


def _named_sides(shares: list[Column], runs: list[list[Column]]) -> tuple[list[Column], list[Column]]:
    if len(runs) >= 2:
        one, two = runs[0], runs[-1]
    elif len(runs) == 1:
        one = runs[0]
        two = [next(c for c in shares if c not in one)] if len(shares) > len(one) else one[1:]
    else:
        groups = [c for c in shares if _called(c, GROUPS)]
        if groups and len(groups) < len(shares):
            rest = [c for c in shares if c not in groups]
            return groups, [c for c in rest if _called(c, OUTCOMES)] or rest
        one, two = shares[:1], shares[1:2]
    groups, outcomes, _, _ = _ordered((one, two, None, 0.0))
    return groups, outcomes


# --- two files


def _two(one: Look, two: Look) -> Guess | None:
    """Groups in one file and outcomes in the other, with a column of the same name for the units."""
    shared = [c.name for c in one.columns if c.name in {d.name for d in two.columns} and c.distinct == one.n_rows]
    if not shared or abs(one.n_rows - two.n_rows) > 0.5 * max(one.n_rows, two.n_rows):
        return None
    unit = next((name for name in shared if _called(one[name], UNITS)), shared[0])
    sides = [[c for c in look.columns if c.counts and c.name != unit and not _called(c, TOTALS)] for look in (one, two)]
    if min(map(len, sides)) < 2:
        return None
    groups, outcomes, _, _ = _ordered((sides[0], sides[1], None, 0.0))
    swapped = groups is sides[1]
    first, second = (two, one) if swapped else (one, two)
    columns = {"unit": unit, "groups": [c.name for c in groups], "outcomes": [c.name for c in outcomes]}
    found = Guess(
        "ecological",
        0.85,
        "two files with the same units: margins",
        {"groups_file": str(first.path), "outcomes_file": str(second.path)},
        columns,
        methods=METHODS,
    )
    first_sums, second_sums = (np.sort(_sums(side)) for side in (groups, outcomes))
    if len(first_sums) != len(second_sums) or not np.allclose(first_sums, second_sums):
        found.data["mismatch"] = "rescale"
        found.comments["data", "mismatch"] = (
            "the two sides don't add up to the same; raise refuses, no_vote adds an outcome"
        )
        found.ask.append("groups and outcomes don't add up to the same.")
    return found


# --- what all share


def _sums(columns: list[Column]) -> np.ndarray:
    return np.sum(np.array([c.numbers for c in columns], dtype=float), axis=0)


def _called(column: Column, words: tuple[str, ...]) -> bool:
    return Look.is_called(column, words)


def _worded(groups: list[Column], outcomes: list[Column]) -> bool:
    return any(_called(c, GROUPS) for c in groups) or any(_called(c, OUTCOMES) for c in outcomes)


def _ordered(sides: Sides) -> Sides:
    """The side that reads like groups first."""
    one, two, total, off = sides

    def points(groups: list[Column], outcomes: list[Column]) -> float:
        return float(np.mean([_called(c, GROUPS) for c in groups]) + np.mean([_called(c, OUTCOMES) for c in outcomes]))

    return (two, one, total, off) if points(two, one) > points(one, two) else sides


def _with_unit(look: Look, used: list[Column]) -> dict[str, Any]:
    """The column, or the two, that tell units apart."""
    free = [c for c in look.columns if c not in used and c.missing == 0 and not _called(c, TOTALS)]
    alone = [c for c in free if c.distinct == look.n_rows]
    called = [c for c in alone if _called(c, UNITS)] or [c for c in alone if c.texts is not None]
    if called:
        return {"unit": called[0].name}
    named = [c for c in free if _called(c, UNITS) or (c.texts is not None and c.distinct > 1)]
    for i, a in enumerate(named):
        for b in named[i + 1 :]:
            if len(set(zip(a.codes.tolist(), b.codes.tolist()))) == look.n_rows:
                return {"unit": [a.name, b.name]}
    return {}


def _repeating(columns: list[Column], n_rows: int) -> list[str]:
    """Words on columns that are called like units and don't tell them apart."""
    return [
        f"{c.name} has {c.distinct:,} values in {n_rows:,} rows and doesn't tell units apart; rows get numbers."
        for c in columns
        if 1 < c.distinct < n_rows
    ]


def _finished(
    look: Look, score: float, seen: str, data: dict, columns: dict, told: dict[tuple[str, str], str], ask: list[str]
) -> Guess:
    opening, words = look.opening()
    told |= words
    if "unit" not in columns:
        sides = {*columns["groups"], *columns["outcomes"], columns.get("total")}
        ask += _repeating([c for c in look.columns if c.name not in sides and _called(c, UNITS)], look.n_rows)
    seen = f"{seen}; {look.n_rows:,} rows"
    return Guess("ecological", score, seen, {**opening, **data}, columns, comments=told, ask=ask, methods=METHODS)
