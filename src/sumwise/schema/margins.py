"""Margins in one wide file: which columns are groups, which are outcomes of which contest, and of whom they are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sumwise.errors import DataError
from sumwise.schema.columns import Column, Grid, agreement, parts, sums
from sumwise.schema.declared import Schema
from sumwise.schema.questions import Interview, NoForm
from sumwise.schema.relation import Relation, Side, Sides, ask_of_lines, check_scale, names, of_whom, relate, seats
from sumwise.schema.rows import (
    check_plain,
    known_word,
    read_counts,
    several_rows,
    sums_among,
    sums_of_others,
    unit_columns,
)
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
    may_be_swapped,
    proved_sides,
    segments,
    stated_errors,
    sums_to_hundred,
    variants,
)

ROUNDED = 0.02  # by which rounded shares may miss 1
MOST_RUNS = 6  # that are offered one by one
NAME_THEM = "name the columns: --answer columns.groups=..., --answer columns.outcomes=...; or write a problem file."


def wide_margins(grid: Grid, iv: Interview) -> Schema:
    """The schema of margins with a row per unit."""
    leave = sums_of_others(grid, iv)
    part = grid.without(leave)
    texts = [c for c in part.columns if c.numbers is None]
    check_plain(part, [c for c in texts if category(c) or c.called("outcome") or is_total(c)])
    groups, runs, totals, proved = _inferred(part, iv)
    return settle(part, iv, groups, runs, totals, proved, leave)


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
    options = {
        f"{names(g, len(g))} are the groups, {_listed(runs)} what they chose": (g, runs) for _, g, runs in proved
    }
    if len(options) > 1:
        words = "People are split into groups in several ways that add up: which?"
        groups, runs = iv.ask("groups", words, options)
    else:
        groups, runs = next(iter(options.values()))
    return groups, _which_contests(groups, _contest_names(runs), iv, True), totals, True


def _are_contests(runs: list[list[Column]]) -> bool:
    """Whether headings, marks (A1, B1, A2, B2) or words show that each run is a contest, and no split of people."""
    if len({r[0].head for r in runs} - {""}) == len(runs):
        return True
    if any(category(c) and not c.called("outcome") for r in runs for c in r):
        return False
    names_show = all(any(c.called("outcome") for c in r) for r in runs)
    ends = [[{parts(c.name)[place] for c in r} for r in runs] for place in (0, -1)]
    return names_show or any(all(len(m) == 1 for m in marks) and len(set.union(*marks)) == len(runs) for marks in ends)


def _listed(runs: Sequence[list[Column]]) -> str:
    return " | ".join(names(r, len(r)) for r in runs[:MOST_RUNS]) + (" | ..." if runs[MOST_RUNS:] else "")


def contests_of(groups: list[Column], outcomes: list[Column], iv: Interview) -> dict[str, list[Column]]:
    """The contests among outcomes that a person named: runs that sum to the groups, or that share a mark."""
    runs = segments(outcomes, sums(groups)) if kind_of(groups[0]) == kind_of(outcomes[0]) == "count" else None
    return _which_contests(groups, _contest_names(runs) if runs else marked(outcomes), iv)


def _which_contests(
    groups: list[Column], runs: dict[str, list[Column]], iv: Interview, proved: bool = False
) -> dict[str, list[Column]]:
    """Which of several runs are contests; not asked if sums prove the runs, and names show contests."""
    every = [c for r in runs.values() for c in r]
    if len(runs) == 1 or (proved and _are_contests([*runs.values()])):
        return runs
    options: dict[str, dict[str, list[Column]]] = {f"yes, these are {len(runs)} contests": runs}
    options |= {f"only {names(r)}": {"": r} for r in runs.values()} if len(runs) <= MOST_RUNS else {}
    options["no, one contest"] = {"": every}
    listed = " | ".join(names(r) for r in runs.values())
    return iv.ask("contests", f"{names(groups)} are the groups. Is each of these runs a contest: {listed}?", options)


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
        raise _no_form(grid)
    groups, near = _groups(grid, iv, named, by_kind, totals)
    taken = {c.name for b in named.values() for c in b} | {c.name for c in groups}
    rest, totals, kind = _outcomes(grid, groups, by_kind, totals, taken)
    runs = _runs(grid, rest, kind, totals, iv)
    contests = {f"{r[0].name} / {r[-1].name}": r for r in runs} if len(runs) > 1 else marked(runs[0] if runs else rest)
    sure = near or any(agreement(sums(groups), t.numbers) >= AGREE for t in totals)
    if not (sure and runs) or any(may_be_swapped(groups, r) for r in runs):
        confirm(grid, iv, groups, [c for r in contests.values() for c in r])
    return groups, _which_contests(groups, contests, iv), totals, False


def _no_form(grid: Grid) -> DataError:
    """That no words and no sums show sides, and what may be in the way."""
    texts = [c for c in grid.columns if c.numbers is None]
    swapped = next((c for c in texts[:1] if sum(known_word([w], *KINDS, "outcome") for w in c.words if w) > 1), None)
    odd = next((c for c in texts if re.match(r"0\d", c.words[0])), None)
    words = f"{grid.name} has no form that is known: no columns read like groups of people, and no columns have equal "
    if swapped is not None:
        rows = f"sums. The rows of {swapped.name!r} read like groups and outcomes."
        return DataError(f"{words}{rows}", hint="give each unit a row, and each group and outcome a column.")
    codes = (
        "" if odd is None else f" Numbers that begin with 0 are treated as codes, as {odd.words[0]!r} in {odd.name!r}."
    )
    return NoForm(f"{words}sums.{codes}", NAME_THEM)


def _groups(
    grid: Grid,
    iv: Interview,
    named: dict[tuple, list[Column]],
    by_kind: dict[str, list[Column]],
    totals: list[Column],
) -> tuple[list[Column], bool]:
    """The groups, of several bases one that is asked for; and whether shares of them sum to 1."""
    counted = {k: b for k, b in named.items() if kind_of(b[0]) == "count"} or named
    every = [{c.name for c in b} for b in counted.values()]
    options = {names(b, len(b)): b for b in counted.values() if not any({c.name for c in b} < other for other in every)}
    closed = {n: b for n, b in options.items() if any(agreement(sums(b), t.numbers) >= AGREE for t in totals)}
    options = closed if len(closed) == 1 else options
    groups = next(iter(options.values()))
    if len(options) > 1:
        words = f"The groups are there {len(options)} times: which count the people?"
        groups = iv.ask("groups", words, options)
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
    raise NoForm(
        f"{grid.name}: the nearest form is margins: {', '.join(repr(c.name) for c in groups)} read like groups; "
        "missing: columns that count what people chose.",
        f"add the outcomes of each unit, or give a second file that has them; or {NAME_THEM}",
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


def confirm(grid: Grid, iv: Interview, groups: list[Column], outcomes: list[Column]) -> None:
    """Ask whether the sides that names show are right, where no sums confirm them."""
    taken = {c.name for c in (*groups, *outcomes)}
    loose = [c.name for c in grid.columns if c.numbers is not None and c.name not in taken]
    shown = ", ".join(c.name if c.said == c.name else f"{c.name} ({c.said})" for c in groups[:40])
    words = (
        f"No sums confirm these roles. Groups: {shown}. What they chose: {names(outcomes, 40)}. "
        f"Neither: {', '.join(loose) or 'nothing'}. Is this right?"
    )
    iv.ask("confirm", words, {"yes": True}, stop=f"{grid.name}: {words}")


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
    leave |= sums_among(grid, [*groups, *outcomes], leave, iv)
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
        ask_of_lines(iv, key, run)
        sides = Sides(grid, groups, run, totals, ok, iv, key)
        sides = replace(sides, larger=_between(sides, groups, 2), cast=_between(sides, run, 1))
        out = "percent" if sums_to_hundred(run) and not proved else kind_of(run[0])
        a, b = Side(tuple(c.name for c in groups), kind), Side(tuple(c.name for c in run), out)
        relation = relate(sides, a, b, proved) if (kind, out) == ("count", "count") else of_whom(sides, a, b)
        left.append(relation.leave_out)
        entries += seats(relation, run) if relation.mismatch == "seats" else [(name, entry(relation))]
    errors = stated_errors(grid, groups, iv)
    return _schema(unit, groups, kind, entries, left, leave, data, errors)


def _between(sides: Sides, low: list[Column], times: int) -> list[Column]:
    """Columns that may count people, by their numbers: from the sum of `low` to the groups' (twice it), everywhere."""
    least, most = sums(low)[sides.ok], times * sums(sides.groups)[sides.ok]
    taken = {c.name for c in (*sides.groups, *sides.outcomes)}
    free = [c for c in sides.grid.columns if c.name not in taken and c.numbers is not None and c.is_whole]
    free = [c for c in free if not is_apart(c) and category(c) is None and kind_of(c) == "count"]
    counts = [(c, c.numbers[sides.ok]) for c in free]
    counts = [(c, n) for c, n in counts if not np.isnan(n).any() and (n > 0).any()]
    return [c for c, n in counts if ((least <= n) & (n <= most)).all()]


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


def entry_of(schema: Schema) -> dict[str, Any]:
    """What a schema of one contest says of it: its columns, and what is done where sums differ."""
    said = {k: v for k, v in schema.columns.items() if k != "unit"}
    return {**said, **({"mismatch": schema.data["mismatch"]} if "mismatch" in schema.data else {})}


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
    errors: dict[str, list[str]],
) -> Schema:
    shared: dict[str, Any] = {"groups": [c.name for c in groups], **errors}
    if kind != "count":
        shared["groups_in"] = kind
    columns: dict[str, Any] = {"unit": one_or_list(unit)} if unit else {}
    codes = {c.name: c.said for c in groups if c.said != c.name}
    made = Schema("ecological", data, {**columns, **shared}, names=codes)
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
