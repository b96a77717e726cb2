"""Contribution bounds: at most this many rows, or different rows, of one person are counted; the rest is left out.

Which rows those are depends on the person's own rows and a seed alone, never on others: so a person can change the
counts by what was kept of them, and by nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sumwise.aggregate.first_pass import summary_of
from sumwise.aggregate.plan import CountPlan
from sumwise.aggregate.sql import Column, condition
from sumwise.errors import DataError


def bound_rows(plan: CountPlan, engine: Any, columns: Sequence[str]) -> None:
    """Replace the rows of an engine by those that the plan's bounds leave of each person."""
    if plan.person is None:
        return
    person: Column = engine.columns[plan.person]
    where = condition(engine.columns, plan.where, engine.dialect)
    missing = summary_of(engine, "count(*) AS n", where, person.missing())["n"]
    if missing:
        raise DataError(
            f"Column {plan.person!r}, which names persons, is missing in {int(missing)} rows.",
            hint="leave such rows out by where=[...]: whose they are decides how much one person can change.",
        )
    used = [engine.columns[c] for c in columns]
    counted = [engine.columns[c] for c in columns if c not in (plan.person, plan.weight)]
    names, limit, all_rows = ", ".join(c.sql for c in used), int(plan.rows_per_person or 1), plan.max_cells is None
    rows = f"FROM {engine.dialect.source} AS s{where}"
    many = f"{person.sql} IN (SELECT {person.sql} {rows} GROUP BY {person.sql} HAVING count(*) > {limit})"
    also = "AND" if where else "WHERE"
    # in an order that is random by person: by a hash of the seed, the row, and which of its like it is
    like = ", ".join(dict.fromkeys([person.sql, *(c.sql for c in (used if all_rows else counted))]))
    text = ", ".join(f"coalesce(CAST({c.sql} AS {engine.dialect.text}), '')" for c in used)
    order = f"md5(concat_ws('|', '{int(plan.seed)}', {text}))"
    inner = (
        f"SELECT {names}, row_number() OVER (PARTITION BY {like} ORDER BY {order}, {names}) AS sumwise_copy "
        f"{rows}{f' {also} {many}' if all_rows else ''}"
    )
    once = "" if all_rows else " WHERE sumwise_copy = 1"
    key = f"md5(concat_ws('|', '{int(plan.seed)}', CAST(sumwise_copy AS {engine.dialect.text}), {text}))"
    ranked = (
        f"SELECT {names}, row_number() OVER (PARTITION BY {person.sql} ORDER BY {key}, {names}, sumwise_copy) "
        f"AS sumwise_place FROM ({inner}) AS t{once}"
    )
    kept = f"SELECT {names} FROM ({ranked}) AS r WHERE sumwise_place <= {limit}"
    # nothing is put in order for persons within their bound, who are most
    engine.replace_rows(f"SELECT {names} {rows} {also} NOT {many} UNION ALL {kept}" if all_rows else kept)
