"""Declared rows: every value is read by its declared type alone, and every row counts or not by itself.

Nothing that a row says decides how another row is read, whether work succeeds, or what a message says: that is what a
private release of the counts needs, and what guessing types from a file, or refusing a bad value, would break.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from sumwise.aggregate import sources
from sumwise.aggregate.contributions import bound_rows
from sumwise.aggregate.counters import Counter
from sumwise.aggregate.on_duckdb import DuckDBEngine
from sumwise.aggregate.plan import CountPlan
from sumwise.aggregate.rows_to_tables import code_statement, tables_of
from sumwise.aggregate.sql import Column, Dialect
from sumwise.encoding import Encoding
from sumwise.encoding.declaration import Declaration
from sumwise.errors import DataError
from sumwise.io.formats.connection import identifier
from sumwise.progress import Progress
from sumwise.provenance import Provenance
from sumwise.tables import Tables


@contextmanager
def declared_rows(source: Any, declaration: Declaration, **options: Any) -> Iterator[DuckDBEngine]:
    """The rows of a source as declared: typed, without rows that say nothing, bounded by person.

    They are read once, on entry: what is wrong with a file shows before anything is computed or spent.

    Parameters
    ----------
    source : path or frame
        A CSV, Parquet or Arrow file, a folder of Parquet files, a DuckDB database, or a frame.
    declaration : Declaration
    **options
        ``table``, ``threads`` and ``memory_limit``, as in `sumwise.aggregate.aggregate`.

    Examples
    --------
    >>> from sumwise.aggregate.declared import declared_rows
    >>> from sumwise.encoding import Declaration
    >>> people = Declaration({"age": {"kind": "cuts", "at": [18]}})
    >>> with declared_rows({"age": ["17", "forty", None]}, people) as engine:
    ...     engine.table("SELECT c0 FROM sumwise_source").column("c0").to_pylist()
    [17.0, None, None]
    """
    if sources.is_query(source):
        raise DataError("A query may type its columns by their rows.", hint="give the file, frame or database itself.")
    if sources.is_sheet(source):
        raise DataError(
            f"{os.fspath(source)!r} is read by what its cells contain: one of them could decide how.",
            hint="write private rows as CSV or Parquet, or give a data frame.",
        )
    with DuckDBEngine(source, tuple(declaration.types), by_row=True, **options) as engine:
        given, dialect = engine.columns, engine.dialect
        engine.columns = {
            name: Column(name, f"c{i}", "number" if kind == "binary" else kind, floating=kind == "number")
            for i, (name, kind) in enumerate(declaration.types.items())
        }
        select = [
            f"{_declared(given[c], kind, declaration, dialect)} AS c{i}"
            for i, (c, kind) in enumerate(declaration.types.items())
        ]
        rows = f"SELECT {', '.join(select)} FROM {dialect.source}"
        needed = [c for c in (declaration.person, declaration.label, declaration.weight) if c is not None]
        said = [f"NOT {engine.columns[c].missing()}" for c in needed]
        engine.replace_rows(f"SELECT * FROM ({rows}) AS d{' WHERE ' if said else ''}{' AND '.join(said)}")
        bound_rows(_plan(declaration), engine, tuple(declaration.types))
        yield engine


def _declared(column: Column, kind: str, declaration: Declaration, dialect: Dialect) -> str:
    """SQL of a value as declared, NULL if it is not of the type, or not one of the classes."""
    value = typed(column, kind, dialect)
    if column.name == declaration.weight:
        clipped = f"least(greatest({value}, 0.0), {dialect.literal(float(declaration.max_weight or 0.0))})"
        return f"CASE WHEN NOT isnan({value}) THEN {clipped} END"
    if column.name == declaration.label and declaration.classes is not None:
        classes = ", ".join(dialect.literal(c) for c in declaration.classes)
        return f"CASE WHEN {value} IN ({classes}) THEN {value} END"
    return value


def typed(column: Column, kind: str, dialect: Dialect) -> str:
    """SQL of a value read as a type, NULL where it is not one: text, number, bool, or binary for 0 and 1.

    The text of a whole number is the same whether its column is of whole numbers, of doubles or of text.

    Examples
    --------
    >>> from sumwise.aggregate.declared import typed
    >>> from sumwise.aggregate.sql import DUCKDB, Column
    >>> typed(Column("age", "c0", "text"), "text", DUCKDB)
    "nullif(c0, '')"
    """
    text = f"CAST({column.sql} AS {dialect.text})"
    if column.kind == "text" and column.plain_text:
        text = column.sql
    elif column.kind == "number" and not column.whole:
        number = f"CAST({column.sql} AS DOUBLE)"
        whole = f"CAST(TRY_CAST({number} AS BIGINT) AS {dialect.text})"
        text = f"CAST({number} AS {dialect.text})"
        plain = f"CASE WHEN {number} = floor({number}) THEN coalesce({whole}, {text}) ELSE {text} END"
        text = f"CASE WHEN isnan({number}) THEN NULL ELSE {plain} END"
    if kind == "text":
        return f"nullif({text}, '')"
    word = f"lower(trim({text}))"
    if kind == "number":
        if column.kind in ("number", "bool"):
            return f"CAST({column.sql} AS DOUBLE)"
        return f"CASE {word} WHEN 'true' THEN 1 WHEN 'false' THEN 0 ELSE TRY_CAST({word} AS DOUBLE) END"
    if kind == "bool":
        return f"CASE {word} WHEN 'true' THEN TRUE WHEN 'false' THEN FALSE END"
    return f"CASE WHEN {word} IN ('1', '1.0', 'true') THEN 1 WHEN {word} IN ('0', '0.0', 'false') THEN 0 END"


def value_counts(engine: DuckDBEngine, column: str, value: str = "{}") -> dict[Any, int]:
    """How many declared rows have each value of a column, or of an expression of it; in order, without missing ones."""
    given = engine.columns[column]
    rows = f"SELECT {value.format(given.sql)} AS v FROM {engine.dialect.source} AS s WHERE NOT {given.missing()}"
    table = engine.table(f"SELECT v, count(*) AS n FROM ({rows}) AS g GROUP BY v ORDER BY v")
    return dict(zip(table.column("v").to_pylist(), table.column("n").to_pylist()))


def score_rows(engine: DuckDBEngine, declaration: Declaration, model: Any) -> None:
    """Replace declared rows by the model's prediction for each, which is all that `declaration` counts them by.

    The model's own SELECT computes it, row by row: values that it has no level for don't stop it.
    """
    kept = [c for c in (declaration.label, declaration.weight) if c is not None]
    named = ", ".join(f"{column.sql} AS {identifier(name)}" for name, column in engine.columns.items())
    scored = model.to_sql("sumwise_people", keep=kept)
    columns = [*(r.column for r in declaration.attributes.values()), *kept]
    select = ", ".join(f"{identifier(name)} AS c{i}" for i, name in enumerate(columns))
    people = f"WITH sumwise_people AS (SELECT {named} FROM {engine.dialect.source}) SELECT * FROM ({scored}) AS p"
    engine.replace_rows(f"SELECT {select} FROM ({people}) AS s WHERE {identifier(columns[0])} IS NOT NULL")
    kinds = {name: engine.columns[name] for name in kept}
    engine.columns = {
        name: replace(kinds[name], sql=f"c{i}") if name in kinds else Column(name, f"c{i}", "number", floating=True)
        for i, name in enumerate(columns)
    }


def count_declared(
    engine: DuckDBEngine, declaration: Declaration, encoding: Encoding, order: int = 2, subsets: Sequence | None = None
) -> Tables:
    """The tables of declared rows: by all cells, whatever the rows fill.

    Parameters
    ----------
    engine : DuckDBEngine
        As `declared_rows` gives it.
    declaration : Declaration
    encoding : Encoding
        The declared rules, with those that were learned privately.
    order, subsets
        As in `sumwise.aggregate.CountPlan`.
    """
    plan = _plan(declaration, encoding, order, subsets)
    sizes = [len(encoding[a].levels) for a in plan.attributes]
    place = {a: i for i, a in enumerate(plan.attributes)}
    wanted = [tuple(place[a] for a in s) for s in plan.wanted]
    n_classes = None if declaration.classes is None else len(declaration.classes)
    counter = Counter(wanted, sizes, n_classes, declaration.weight is not None, engine.threads)
    statement = code_statement(plan, encoding, declaration.classes, engine)
    with Progress("Counting rows", None, 0) as progress:
        engine.count(statement, counter, progress)
    rows = None if declaration.person is None else declaration.max_rows
    provenance = Provenance(
        declaration.weight is not None, declaration.max_weight, rows, (), releases=tuple(encoding.releases)
    )
    return tables_of(plan, encoding, declaration.classes, counter.tables(), provenance)


def _plan(
    declaration: Declaration, encoding: Encoding | None = None, order: int = 1, subsets: Sequence | None = None
) -> CountPlan:
    """What to count, of rows that an engine has already."""
    attributes = tuple(declaration.attributes)
    bounds = {} if declaration.person is None else {"person": declaration.person, "max_rows": declaration.max_rows}
    weight = {} if declaration.weight is None else {"weight": declaration.weight, "max_weight": declaration.max_weight}
    return CountPlan(None, attributes, declaration.label, order, subsets, encoding=encoding, **bounds, **weight)  # type: ignore[arg-type]
