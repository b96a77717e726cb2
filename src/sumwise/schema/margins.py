"""Margins in one wide file: which columns are groups, which are outcomes of which contest, and of whom they are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sumwise.errors import DataError
from sumwise.schema.columns import Column, Grid, agreement, sums
from sumwise.schema.declared import Schema
from sumwise.schema.questions import NAME, Interview
from sumwise.schema.relation import Relation, Side, Sides, check_scale, names, of_whom, relate, seats
from sumwise.schema.rows import check_plain, known_word, read_counts, several_rows, sums_of_others, unit_columns
from sumwise.schema.sides import (
    AGREE,
    KINDS,
    bases,
    category,
    equal_sums,
    inside,
    is_apart,
    is_total,
    kind_of,
    marked,
    may_be_candidates,
    proved_sides,
    segments,
    sums_to_hundred,
    variants,
)

ROUNDED = 0.02  # by which rounded shares may miss 1
MOST_SHARES = 9


def wide_margins(grid: Grid, iv: Interview) -> Schema:
    """The schema of margins with a row per unit."""
    leave = sums_of_others(grid, iv)
    part = grid.without(leave)
    texts = [c for c in part.columns if c.numbers is None]
    check_plain(part, [c for c in texts if category(c) or c.called("outcome") or is_total(c)])
    groups, runs, totals, proved = _named(part, iv) or _inferred(part, iv)
    return settle(part, iv, groups, runs, totals, proved, leave)


def _named(grid: Grid, iv: Interview) -> tuple | None:
    """The sides that a person names, column by column."""
    if NAME not in iv.answers.values() and not any(key.startswith("columns.") for key in iv.answers):
        return None
    iv.used |= {key for key, answer in iv.answers.items() if answer == NAME}
    numeric = {c.name: c for c in grid.columns if c.numbers is not None}
    listed = iv.columns("columns.groups", "Which columns are the groups of people?", tuple(numeric))
    rest = tuple(n for n in numeric if n not in listed)
    chosen = iv.columns("columns.outcomes", "Which columns are what they chose?", rest)
    totals = [c for n, c in numeric.items() if is_total(c) and n not in (*listed, *chosen)]
    if "columns.total" in iv.answers:
        totals = [numeric[n] for n in iv.columns("columns.total", "Which column counts everybody?", rest)]
    return [numeric[n] for n in listed], {"": [numeric[n] for n in chosen]}, totals, False


def _inferred(grid: Grid, iv: Interview) -> tuple:
    pool = [c for c in grid.columns if c.numbers is not None and not is_apart(c)]
    check_scale(grid, pool)
    order = {c.name: k for k, c in enumerate(grid.columns)}
    totals = [c for c in pool if is_total(c)]
    free = [c for c in pool if c not in totals]
    by_kind = {k: [c for c in free if kind_of(c) == k] for k in ("count", "share", "percent")}
    named: dict[tuple, list[Column]] = {}
    for kind, columns in by_kind.items():
        of_kind = {(kind, *k): v for k, v in bases(columns).items() if len(v) > 1 or kind != "count" or totals}
        named |= of_kind
    proved = proved_sides(free, totals, named, lambda c: order[c.name], iv) or equal_sums(free, iv)
    if not proved:
        return _unproved(grid, iv, named, by_kind, totals)
    options = {names(g, len(g)): (g, runs) for _, g, runs in proved}
    if len(options) > 1:
        words = "People are split into groups in several ways that add up: which?"
        groups, runs = iv.ask("groups", words, {**options, NAME: next(iter(options.values()))})
    else:
        groups, runs = next(iter(options.values()))
    return groups, _contest_names(runs), totals, True


def _contest_names(runs: Sequence[list[Column]]) -> dict[str, list[Column]]:
    if len(runs) == 1:
        return {"": runs[0]}
    heads = [r[0].head for r in runs]
    own = all(heads) and len({*heads}) == len(heads)
    return {h if own else f"{r[0].name} / {r[-1].name}": r for h, r in zip(heads, runs)}


# --- sides that names show and no sums confirm


def _unproved(
    grid: Grid, iv: Interview, named: dict[tuple, list[Column]], by_kind: dict[str, list[Column]], totals: list[Column]
) -> tuple:
    if not named:
        return _of_shares(grid, iv, by_kind, totals)
    groups, near = _groups(grid, iv, named, by_kind)
    taken = {c.name for b in named.values() for c in b} | {c.name for c in groups}
    rest, totals, kind = _outcomes(grid, groups, by_kind, totals, taken)
    runs = _runs(grid, rest, kind, totals, iv)
    contests = {f"{r[0].name} / {r[-1].name}": r for r in runs} if len(runs) > 1 else marked(runs[0] if runs else rest)
    sure = near or any(agreement(sums(groups), t.numbers) >= AGREE for t in totals)
    if not (sure and runs) or any(may_be_candidates(groups, r) for r in runs):
        _confirm(grid, iv, groups, [c for r in contests.values() for c in r])
    if len(contests) > 1:
        words = f"{len(contests)} contests were found by names: {', '.join(contests)}."
        options = {"yes, these are contests": contests, "no, one contest": {"": rest}, NAME: contests}
        contests = iv.ask("contests", words, options)
    return groups, contests, totals, False


def _of_shares(grid: Grid, iv: Interview, by_kind: dict[str, list[Column]], totals: list[Column]) -> tuple:
    """Shares without words for groups: both sides are asked for, if there is a total that they can be of."""
    shares = [c for kind in ("share", "percent") for c in by_kind[kind] if not c.called("unused")]
    if totals and 1 < len(shares) < MOST_SHARES:
        options = tuple(c.name for c in shares)
        words = "No name shows which columns are groups of people, and no sums. Which are?"
        listed = iv.columns("columns.groups", words, options)
        chosen = iv.columns(
            "columns.outcomes", "Which are what they chose?", tuple(n for n in options if n not in listed)
        )
        return [grid[n] for n in listed], {"": [grid[n] for n in chosen]}, totals, False
    texts = [c for c in grid.columns if c.numbers is None]
    swapped = next((c for c in texts[:1] if sum(known_word([w], *KINDS, "outcome") for w in c.words if w) > 1), None)
    odd = next((c for c in texts if re.match(r"0\d", c.words[0])), None)
    more = f" The rows of {swapped.name!r} read like groups and outcomes: give each unit a row." if swapped else ""
    more += f" Numbers that begin with 0 are treated as codes, as {odd.words[0]!r} in {odd.name!r}." if odd else ""
    raise DataError(
        f"{grid.name} has no form that is known: no columns read like groups of people, and no columns have equal "
        f"sums.{more}",
        hint="name the columns: --answer columns.groups=..., --answer columns.outcomes=...; or write a problem file.",
    )


def _groups(
    grid: Grid, iv: Interview, named: dict[tuple, list[Column]], by_kind: dict[str, list[Column]]
) -> tuple[list[Column], bool]:
    """The groups, of several bases one that is asked for; and whether shares of them sum to 1."""
    counted = {k: b for k, b in named.items() if kind_of(b[0]) == "count"} or named
    options = {names(b, len(b)): b for b in counted.values()}
    groups = next(iter(options.values()))
    if len(options) > 1:
        words = f"The groups are there {len(options)} times: which count the people?"
        groups = iv.ask("groups", words, {**options, NAME: groups})
    target = {"share": 1.0, "percent": 100.0}.get(kind_of(groups[0]))
    if target is None:
        return groups, False
    runs = inside(by_kind[kind_of(groups[0])], np.full(len(grid), target), Interview(), ROUNDED)
    near = [r for r in runs if {c.name for c in r} & {c.name for c in groups}]
    return (near[0], True) if near else (groups, False)


def _outcomes(
    grid: Grid, groups: list[Column], by_kind: dict[str, list[Column]], totals: list[Column], taken: set[str]
) -> tuple[list[Column], list[Column], str]:
    """What is left for outcomes, of the kind that is likeliest; totals without what is an outcome after all."""
    kind_first = kind_of(groups[0])
    for kind in ["count", "percent", "share"] if kind_first == "count" else [kind_first, "count"]:
        rest = [c for c in by_kind[kind] if c.name not in taken and c not in totals]
        rest = [c for c in rest if (kind == "count" or not c.called("unused")) and (c.is_whole or kind != "count")]
        if rest and (len(rest) > 1 or kind != "count" or rest[0].called("outcome")):
            reduced = variants(rest)
            return (reduced[1] if len(reduced) > 1 and len(reduced[1]) > 1 else rest), totals, kind
    cast = [t for t in totals if t.called("ballots") or t.called("outcome")][:1]
    if cast:
        return cast, [t for t in totals if t is not cast[0]], "count"
    raise DataError(
        f"{grid.name}: the nearest form is margins: {', '.join(repr(c.name) for c in groups)} read like groups; "
        "missing: columns that count what people chose.",
        hint="add the outcomes of each unit, or give a second file that has them; or name the columns: --answer "
        "columns.groups=..., --answer columns.outcomes=...",
    )


def _runs(grid: Grid, rest: list[Column], kind: str, totals: list[Column], iv: Interview) -> list[list[Column]]:
    """Runs of outcomes that sum to 1, 100 or a total; none if no sums show them."""
    if kind != "count":
        target = np.full(len(grid), 1.0 if kind == "share" else 100.0)
        return segments(rest, target, ROUNDED) or inside(rest, target, iv, ROUNDED)
    for t in totals:
        whole = [rest] if agreement(sums(rest), t.numbers) >= AGREE else None
        runs = whole or segments(rest, t.numbers) or inside(rest, t.numbers, iv)
        if runs:
            return runs
    return []


def _confirm(grid: Grid, iv: Interview, groups: list[Column], outcomes: list[Column]) -> None:
    taken = {c.name for c in (*groups, *outcomes)}
    loose = [c.name for c in grid.columns if c.numbers is not None and c.name not in taken]
    words = (
        f"No sums confirm it: {names(groups, 40)} are the groups, {names(outcomes, 40)} what they chose, "
        f"{', '.join(loose) or 'nothing'} neither?"
    )
    iv.ask("confirm", words, {"yes": True, NAME: True}, stop=f"{grid.name}: {words}")


# --- kinds, totals, rests and mismatches of the sides


def settle(
    grid: Grid,
    iv: Interview,
    groups: list[Column],
    contests: dict[str, list[Column]],
    totals: list[Column],
    proved: bool,
    leave: dict[int, str],
) -> Schema:
    """The schema of sides that were found."""
    leave, data = dict(leave), {}
    outcomes = [c for r in contests.values() for c in r]
    unit = unit_columns(grid, [*groups, *outcomes])
    for c in (*groups, *outcomes):
        read_counts(grid, c, iv, leave, data)
    several_rows(grid, iv, unit, groups, leave, data)
    ok = ~np.isin(grid.rows, list(leave))
    kind = "percent" if sums_to_hundred(groups) and not proved else kind_of(groups[0])
    entries: list[tuple[str, dict[str, Any]]] = []
    left: list[dict[int, str]] = []
    for k, (name, run) in enumerate(contests.items()):
        key = f".{name}" if k and len(contests) > 1 else ""
        sides = Sides(grid, groups, run, totals, ok, iv, key)
        out = "percent" if sums_to_hundred(run) and not proved else kind_of(run[0])
        a, b = Side(tuple(c.name for c in groups), kind), Side(tuple(c.name for c in run), out)
        relation = relate(sides, a, b, proved) if (kind, out) == ("count", "count") else of_whom(sides, a, b)
        left.append(relation.leave_out)
        entries += seats(relation, run) if relation.mismatch == "seats" else [(name, entry(relation))]
    return _schema(unit, groups, kind, entries, left, leave, data)


def entry(relation: Relation) -> dict[str, Any]:
    """What a problem file says of a contest."""
    g, o = relation.groups, relation.outcomes
    said = {
        "groups": list(g.columns),
        "groups_in": None if g.kind == "count" else g.kind,
        "rest_group": g.rest,
        "outcomes": list(o.columns),
        "outcomes_in": None if o.kind == "count" else o.kind,
        "rest_outcome": o.rest,
        "total": one_or_list(relation.total),
        "ballots": one_or_list(relation.ballots),
        "mismatch": None if relation.mismatch == "raise" else relation.mismatch,
    }
    return {k: v for k, v in said.items() if v is not None}


def one_or_list(columns: Sequence[str] | float) -> Any:
    """A column, a list of several, a number, or nothing."""
    if isinstance(columns, (int, float)):
        return columns
    return list(columns) if len(columns) > 1 else next(iter(columns), None)


def _schema(
    unit: tuple[str, ...],
    groups: list[Column],
    kind: str,
    entries: list[tuple[str, dict[str, Any]]],
    left: list[dict[int, str]],
    leave: dict[int, str],
    data: dict[str, Any],
) -> Schema:
    shared: dict[str, Any] = {"groups": [c.name for c in groups]}
    if kind != "count":
        shared["groups_in"] = kind
    columns: dict[str, Any] = {"unit": one_or_list(unit)} if unit else {}
    made = Schema("ecological", data, {**columns, **shared})
    if len(entries) == 1:
        said = dict(entries[0][1])
        leave = {**leave, **left[0]}
        more = {"mismatch": said.pop("mismatch")} if "mismatch" in said else {}
        made = replace(made, data={**data, **more}, columns={**columns, **shared, **said})
    else:
        listed = []
        for k, (name, said) in enumerate(entries):
            own = {key: v for key, v in said.items() if shared.get(key) != v}
            rows = {**leave, **left[min(k, len(left) - 1)]}
            extra = {"leave_out": sorted(rows)} if left[min(k, len(left) - 1)] else {}
            listed.append({"name": name, **own, **extra})
        made = replace(made, contests=tuple(listed))
    if leave:
        made = replace(made, data={**made.data, "leave_out": sorted(leave)})
    return made
