"""Roles that a person names, column by column: the way out of every question, and of files of no form that is known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sumwise.errors import DataError
from sumwise.schema.bags import individuals, matched, unlabelled
from sumwise.schema.columns import Grid
from sumwise.schema.declared import Schema
from sumwise.schema.margins import contests_of, settle
from sumwise.schema.outcome_rows import outcomes_in_rows, sides_in_two
from sumwise.schema.questions import COLUMNS, Interview, Unanswered
from sumwise.schema.rows import sums_of_others
from sumwise.schema.series import finished
from sumwise.schema.sides import is_total, kind_of
from sumwise.schema.tables import check_cells

FORMS = {
    "ecological": "a unit with counts of people (margins)",
    "proportions": "a person in a group, of which counts are known",
    "distribution": "a sample in a group, of which a response is known",
    "maxent": "a cell of a table, or a person to be counted into tables",
    "collective": "a count of one time and place",
}
ROLES = {  # that show which form it is
    "ecological": ("groups", "outcomes", "total"),
    "distribution": ("response",),
    "proportions": ("counts", "counts_total", "bag"),
    "collective": ("time", "place", "count"),
    "maxent": ("label", "attributes", "label_sum"),
}
NO_COLUMN = "no column"


def named_schema(grids: list[Grid], iv: Interview, family: str | None) -> Schema:
    """The schema of columns that a person names."""
    roles = {key.removeprefix(COLUMNS) for key in iv.answers if key.startswith(COLUMNS)}
    family = family or next((f for f, own in ROLES.items() if roles & {*own}), None)
    if family is None:
        family = iv.ask("form", f"What is a row of {grids[0].name}?", {text: f for f, text in FORMS.items()})
        if "form" not in iv.answers:
            raise Unanswered
    if family in ("proportions", "distribution"):
        return _bags(grids, iv, str(family))
    if family == "ecological" and len(grids) == 2:
        rows = outcomes_in_rows(grids, iv)
        return rows or sides_in_two(*matched(grids, iv), lambda both: named_margins(both, iv))
    return {"ecological": named_margins, "collective": _series, "maxent": _tables}[str(family)](grids[0], iv)


def _check(iv: Interview) -> None:
    """Stop here while columns aren't named."""
    if any(question.key.startswith(COLUMNS) for question in iv.open):
        raise Unanswered


def named_margins(grid: Grid, iv: Interview) -> Schema:
    """Margins with a row per unit."""
    grid = grid.without(leave := sums_of_others(grid, iv))
    numeric = {c.name: c for c in grid.columns if c.numbers is not None}
    groups = iv.columns("columns.groups", "Which columns are the groups of people?", tuple(numeric))
    rest = tuple(n for n in numeric if n not in groups)
    outcomes = iv.columns("columns.outcomes", "Which columns are what they chose?", rest)
    _check(iv)
    rest = tuple(n for n in rest if n not in outcomes)
    totals = [numeric[n] for n in rest if is_total(numeric[n])]
    one, two = [numeric[n] for n in groups], [numeric[n] for n in outcomes]
    shares = all(kind_of(side[0]) != "count" for side in (one, two))
    if "columns.total" in iv.answers or (shares and not totals and rest and "people" not in iv.answers):
        words = "Which column counts everybody?"
        named = iv.ask("columns.total", words, {n: n for n in rest} | {NO_COLUMN: None})
        totals = [] if named is None else [numeric[named]]
    return settle(grid, iv, one, contests_of(one, two, iv), totals, False, leave)


def _bags(grids: list[Grid], iv: Interview, family: str) -> Schema:
    """Individuals in bags, in one file, or with what is known of the bags in a second one."""
    people, results, bag, key = grids[0], None, None, None
    if len(grids) == 2:
        people, results, one, two = matched(grids, iv)
        bag, key = one.name, two.name
    if bag is None:
        bag = iv.column("columns.bag", "Which column says in which group a row is?", people.names)
    source = people if results is None else results
    role = "response" if family == "distribution" else "counts"
    free = tuple(c.name for c in source.columns if c.name not in (bag, key))
    columns: dict[str, Any] = {"bag": bag}
    if family == "proportions" and results is None and not {"columns.counts", "columns.label"} & {*iv.answers}:
        words = {"label": "a label of every row", "counts": "counts of its group, in every row"}
        role = iv.ask("known", "What is known?", {text: k for k, text in words.items()})
    role = "label" if "columns.label" in iv.answers else role
    texts = {
        "response": "Which column is the response?",
        "counts": "Which columns are the counts of the classes?",
        "label": "Which column is the label?",
    }
    if role == "counts":
        columns["counts"] = iv.columns("columns.counts", texts[role], free)
        if "columns.counts_total" in iv.answers:
            columns["counts_total"] = iv.column("columns.counts_total", "Of how many are they?", free)
    else:
        columns[role] = iv.column(f"columns.{role}", texts[role], free)
    _check(iv)
    taken = {str(bag), *(c for v in columns.values() for c in ([v] if isinstance(v, str) else v))}
    kinds = {kind_of(source[c]) for c in columns.get("counts", ())} - {"count"}
    if kinds:
        columns["counts_in"] = kinds.pop()
    if results is not None and key != bag:
        columns["counts_bag" if role == "counts" else "responses_bag"] = key
    made = individuals(people, iv, family, columns, taken)
    if results is None:
        return made
    named = {"counts_file" if role == "counts" else "responses_file": results.path}
    options = {"totals": "scale"} if "counts_total" in columns else {}
    return replace(made, data={**made.data, **named}, options=options)


def _series(grid: Grid, iv: Interview) -> Schema:
    """Counts with a row per time and place."""
    asked = {"time": "is the time", "place": "is the place", "count": "is the count"}
    found = {k: iv.column(f"columns.{k}", f"Which column {text}?", grid.names) for k, text in asked.items()}
    _check(iv)
    time, place, count = (grid[name] for name in found.values())
    if count.numbers is None:
        raise DataError(f"Column {count.name!r} contains no numbers.", hint="name the column of counts.")
    return finished(grid, iv, (time, [place], count), None, {})


def _tables(grid: Grid, iv: Interview) -> Schema:
    """Rows with a label, or cells with a count and the sum of a label."""
    roles = {"rows": "people, with a label", "cells": "cells of tables, with a count and the sum of a label"}
    kind = "cells" if "columns.label_sum" in iv.answers else "rows"
    if not {"columns.label", "columns.label_sum"} & {*iv.answers}:
        kind = iv.ask("rows", "What are the rows?", {text: k for k, text in roles.items()})
    if kind == "rows":
        label = iv.column("columns.label", "Which column is to be predicted?", grid.names)
        _check(iv)
        attributes = [c.name for c in grid.columns if c.name != label and 2 <= c.distinct < len(grid)]
        if "columns.attributes" in iv.answers:
            attributes = iv.columns("columns.attributes", "Which columns are the attributes?", tuple(attributes))
        blanks = sorted(unlabelled(grid, grid[label], iv))
        return Schema("maxent", {"missing": blanks} if blanks else {}, {"label": label, "attributes": attributes})
    names = tuple(c.name for c in grid.columns if c.numbers is not None)
    count = iv.column("columns.count", "Which column counts people?", names)
    total = iv.column("columns.label_sum", "Which column is the sum of the label?", names)
    _check(iv)
    check_cells(grid, grid[count], grid[total])
    attributes = [c.name for c in grid.columns if c.name not in (count, total)]
    return Schema("maxent", {"kind": "cells"}, {"attributes": attributes, "count": count, "label_sum": total})
