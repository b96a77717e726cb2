"""Rows to bags: individuals sorted into their bags by an engine, with class counts where there is a label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.aggregate import first_pass, sql
from sumwise.aggregate.plan import CountPlan
from sumwise.aggregate.rows_to_tables import opened
from sumwise.bags import Bags
from sumwise.encoding.values import canonical
from sumwise.errors import DataError


def aggregate_bags(
    source: Any,
    bag: str,
    features: Sequence[str],
    weight: str | None = None,
    label: str | None = None,
    engine: str = "duckdb",
    *,
    where: Any = (),
    table: str | None = None,
    **options: Any,
) -> Any:
    """Sort rows of individuals into bags, and count the classes of each bag.

    Parameters
    ----------
    source
        As in :func:`~sumwise.aggregate.aggregate`.
    bag : str
        The column that says which bag an individual is of.
    features : list of str
        Columns to keep; text and booleans become codes, with their levels. Missing values are an error.
    weight : str, optional
        Column of weights, 0 or more.
    label : str, optional
        A column of classes, counted per bag and then forgotten.
    engine, where, table, **options
        As in :func:`~sumwise.aggregate.aggregate`.

    Returns
    -------
    bags : Bags
        Bags in the order of their ids; within a bag rows are sorted, so that every engine gives the same.
    counts : ndarray, only with a label
        (n_bags,) rows of class 1 for a 0/1 label, (n_bags, n_classes) for classes, in their sorted order; weighted
        if rows are.

    See Also
    --------
    aggregate : Tables of counts.

    Examples
    --------
    >>> from sumwise.aggregate import aggregate_bags
    >>> people = {"puma": ["s", "r", "s"], "age": [31, 40, 25], "votes": [1, 0, 1]}
    >>> bags, counts = aggregate_bags(people, bag="puma", features=["age"], label="votes")
    >>> bags.ids, bags.sizes, counts
    (array(['r', 's'], dtype='<U1'), array([1, 2]), array([0., 2.]))
    """
    if isinstance(features, str) or not len(features):
        raise DataError(f"features is {features!r}.", hint="give a list of columns.")
    plan = CountPlan(source, (bag, *features), label, 1, None, where, weight, table=table)
    needed = [*plan.attributes, *(c for c in (label, weight) if c), *(c for c, _, _ in plan.where)]
    with opened(source, tuple(dict.fromkeys(needed)), engine, table, **options) as opened_engine:
        first_pass.check_rows(plan, opened_engine)
        classes = None if label is None else first_pass.classes_of(plan, opened_engine)
        return _sorted_into_bags(plan, opened_engine, classes)


def _sorted_into_bags(plan: CountPlan, engine: Any, classes: tuple | None) -> Any:
    bag, *features = plan.attributes
    columns = engine.columns
    where = sql.condition(columns, plan.where, engine.dialect)
    coded = [f for f in features if columns[f].kind != "number"]
    first_pass.check_present(engine, plan.attributes, where)
    levels = first_pass.distinct_values(engine, coded, where)
    statement = sql.Statement(engine.dialect, where=where)
    statement.add(columns[bag].value(engine.dialect), "b")
    for i, f in enumerate(features):
        code = sql.class_code(columns[f], levels[f], statement) if f in levels else columns[f].sql
        statement.add(f"CAST({code} AS DOUBLE)", f"x{i}")
    if plan.label is not None:
        column = columns[plan.label]
        y = column.sql if classes is None else sql.class_code(column, classes, statement)
        statement.add(f"CAST({y} AS INTEGER)", "y")
    if plan.weight is not None:
        statement.add(f"CAST({columns[plan.weight].sql} AS DOUBLE)", "w")
    order = ", ".join(str(i + 1) for i in range(len(statement.select)))
    found = engine.table(f"{statement.on(engine)} ORDER BY {order}")
    return _bags(found, features, levels, classes)


def _bags(found: Any, features: list[str], levels: dict[str, tuple], classes: tuple | None) -> Any:
    ids = [canonical(v) for v in found.column("b").to_pylist()]
    starts = [i for i in range(len(ids)) if i == 0 or ids[i] != ids[i - 1]]
    offsets = np.array([*starts, len(ids)], dtype=np.int64)
    order = sorted(
        range(len(starts)), key=lambda i: ids[starts[i]]
    )  # engines sort text alike, numbers and booleans too
    checks.unique([ids[s] for s in starts], "bags")
    values = np.column_stack([found.column(f"x{i}").to_numpy() for i in range(len(features))])
    names = found.column_names
    weights = found.column("w").to_numpy() if "w" in names else None
    bags = Bags(values, offsets, weights, [ids[s] for s in starts], features, levels)
    bags = bags if order == sorted(order) else bags[np.array(order)]
    if "y" not in names:
        return bags
    y = found.column("y").to_numpy().astype(np.int64)
    which = np.repeat(np.arange(len(starts)), np.diff(offsets))
    w = np.ones(len(y)) if weights is None else weights
    if classes is None:
        return bags, np.bincount(which, weights=w * y, minlength=len(starts))[order]
    k = len(classes)
    counts = np.bincount(which * k + y, weights=w, minlength=len(starts) * k).reshape(-1, k)
    return bags, counts[order]
