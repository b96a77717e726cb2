"""The plan in SQL: the same statements for every engine but for a few words that a `Dialect` holds.

Columns of the source are called ``c0``, ``c1``, ... and attributes ``a0``, ``a1``, ..., by position: names that
users choose never reach a statement. Values of users reach it as literals, quoted here, or as tables of levels
that the engine is handed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sumwise.encoding import Encoding
from sumwise.encoding.rules import BASE, PRIME, SALT_STEP, Cross, Cuts, Hashed, Levels, Target
from sumwise.encoding.values import kind_of
from sumwise.errors import DataError


@dataclass(frozen=True, slots=True)
class Dialect:
    """The few words in which engines differ.

    Examples
    --------
    >>> from sumwise.aggregate.sql import DUCKDB, SPARK
    >>> DUCKDB.text, SPARK.text, DUCKDB.source
    ('VARCHAR', 'STRING', 'sumwise_source')
    """

    name: str
    text: str  # the type of text
    hex_number: str  # text of hex digits to a number
    backslash: bool  # whether a backslash escapes within a literal
    hint: str = ""  # a hint that small tables are sent to all workers
    prefix: str = "sumwise_"  # of every relation that we name, so that none of the user's is hidden

    @property
    def source(self) -> str:
        """The name of the relation that holds the rows."""
        return f"{self.prefix}source"

    def literal(self, value: Any) -> str:
        """A value as SQL.

        Examples
        --------
        >>> from sumwise.aggregate.sql import DUCKDB, SPARK
        >>> DUCKDB.literal("it's"), SPARK.literal("a\\\\b")
        ("'it''s'", "'a\\\\\\\\b'")
        """
        if isinstance(value, bool):
            return "TRUE" if value else "FALSE"
        if isinstance(value, str):
            if "\0" in value:
                raise DataError(f"A value contains a zero character: {value!r}.", hint="no engine can compare it.")
            if self.backslash:
                return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
            return "'" + value.replace("'", "''") + "'"
        if isinstance(value, int) and abs(value) < 2**63:
            return str(value)
        number = float(value)
        if math.isinf(number):
            return f"CAST('{'-' if number < 0 else ''}Infinity' AS DOUBLE)"
        return f"CAST('{number!r}' AS DOUBLE)"


DUCKDB = Dialect("duckdb", "VARCHAR", "CAST(('0x' || {}) AS BIGINT)", backslash=False)
SPARK = Dialect(
    "spark",
    "STRING",
    "CAST(conv({}, 16, 10) AS BIGINT)",
    backslash=True,
    hint="/*+ BROADCAST({}) */",
)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the source: what the user calls it, what SQL calls it, and what it holds.

    Examples
    --------
    >>> from sumwise.aggregate.sql import Column
    >>> Column("it's", "c0", "number", floating=True).missing()
    '(c0 IS NULL OR isnan(c0))'
    """

    name: str
    sql: str
    kind: str  # "text", "number", "bool" or "other"
    floating: bool = False  # NaN is possible
    plain_text: bool = True  # text as such; else it is cast to text (dates, categories)
    whole: bool = False  # an integer type
    range: tuple[int, int] | None = None  # where it is known: no value is missing, all are whole and within

    def missing(self) -> str:
        """SQL that is true where the value is missing."""
        return f"({self.sql} IS NULL OR isnan({self.sql}))" if self.floating else f"({self.sql} IS NULL)"

    def value(self, dialect: Dialect) -> str:
        """SQL of the value, text where it is neither number nor boolean."""
        if self.kind == "other":
            raise DataError(f"Column {self.name!r} has neither text, numbers nor booleans.", hint="convert it first.")
        return self.sql if self.plain_text else f"CAST({self.sql} AS {dialect.text})"


@dataclass(frozen=True, slots=True)
class Lookup:
    """A small table (value, code) that a statement joins, under its alias.

    Examples
    --------
    >>> from sumwise.aggregate.sql import Lookup
    >>> Lookup("k0", ("x", "y"), (0, 1), "text").arrow().to_pylist()
    [{'value': 'x', 'code': 0}, {'value': 'y', 'code': 1}]
    """

    alias: str
    values: tuple
    codes: tuple
    kind: str

    def arrow(self) -> Any:
        """The lookup as a pyarrow table."""
        import pyarrow as pa

        values: Any = self.values
        whole = all(isinstance(v, int) and abs(v) < 2**63 for v in values)
        if self.kind == "number" and not whole:
            inexact = [v for v in values if float(v) != v]
            if inexact:
                why = "has more than 64 bits" if abs(inexact[0]) >= 2**63 else "has other levels that are fractions"
                raise DataError(
                    f"The level {inexact[0]} {why}; no engine can compare it.", hint="turn the column into text."
                )
            values = [float(v) for v in values]
        kinds = {"text": pa.string(), "bool": pa.bool_(), "number": pa.int64() if whole else pa.float64()}
        return pa.table({"value": pa.array(values, kinds[self.kind]), "code": pa.array(self.codes, pa.int32())})


@dataclass(slots=True)
class Statement:
    """One SELECT over the source: what it selects, which lookups it joins, which rows it keeps.

    ``outer`` computes more from what was selected, in a SELECT around it; empty where nothing more is needed.

    Examples
    --------
    >>> from sumwise.aggregate.sql import DUCKDB, Statement
    >>> statement = Statement(DUCKDB, where=" WHERE c1 > 0")
    >>> statement.add("c0 + 1", "a0")
    >>> statement.text("rows")
    'SELECT c0 + 1 AS a0 FROM rows AS s WHERE c1 > 0'
    """

    dialect: Dialect
    select: list[str] = field(default_factory=list)
    lookups: list[Lookup] = field(default_factory=list)
    joins: list[str] = field(default_factory=list)
    outer: list[str] = field(default_factory=list)
    where: str = ""
    over: Statement | None = None  # another statement that this one selects from, instead of the source

    def text(self, source: str) -> str:
        """The statement, over a relation called ``source``."""
        hint = ""
        if self.lookups and self.dialect.hint:
            hint = self.dialect.hint.format(", ".join(k.alias for k in self.lookups)) + " "
        joins = "".join(f" {j}" for j in self.joins)
        source = source if self.over is None else f"({self.over.text(source)})"
        inner = f"SELECT {hint}{', '.join(self.select)} FROM {source} AS s{joins}{self.where}"
        return f"SELECT {', '.join(self.outer)} FROM ({inner}) AS p" if self.outer else inner

    def on(self, engine: Any) -> str:
        """The statement over the rows of an engine, which then knows the lookups."""
        for lookup in self.lookups:
            engine.add_lookup(lookup)
        return self.text(self.dialect.source)

    def add(self, expression: str, name: str) -> None:
        """Select one more expression under a name."""
        self.select.append(f"{expression} AS {name}")
        if self.outer:
            self.outer.append(name)


def condition(columns: dict[str, Column], conditions: Sequence[tuple], dialect: Dialect) -> str:
    """The WHERE clause of conditions that were checked by the plan; empty where there are none.

    Examples
    --------
    >>> from sumwise.aggregate.sql import DUCKDB, Column, condition
    >>> condition({"age": Column("age", "c0", "number")}, [("age", ">=", 18)], DUCKDB)
    ' WHERE (NOT (c0 IS NULL) AND c0 >= 18)'
    """
    parts = [_one_condition(columns[c], operation, value, dialect) for c, operation, value in conditions]
    return f" WHERE {' AND '.join(parts)}" if parts else ""


def _one_condition(column: Column, operation: str, value: Any, dialect: Dialect) -> str:
    if operation == "missing":
        return column.missing()
    if operation == "not missing":
        return f"NOT {column.missing()}"
    values = value if isinstance(value, tuple) else (value,)
    kind = kind_of(values, column.name)
    if values and kind != column.kind:
        raise DataError(
            f"A condition compares column {column.name!r}, which contains {column.kind}, with {kind}: {values[0]!r}."
        )
    left = column.value(dialect)
    if operation in ("in", "not in"):
        if not values:
            return "FALSE" if operation == "in" else f"NOT {column.missing()}"
        listed = ", ".join(dialect.literal(v) for v in values)
        return f"(NOT {column.missing()} AND {left} {operation.upper()} ({listed}))"
    word = {"==": "=", "!=": "<>"}.get(operation, operation)
    return f"(NOT {column.missing()} AND {left} {word} {dialect.literal(value)})"


def codes_statement(
    encoding: Encoding, attributes: Sequence[str], columns: dict[str, Column], dialect: Dialect, where: str = ""
) -> Statement:
    """Level codes of attributes, as ``a0``, ``a1``, ...; NULL where a value has no level.

    Examples
    --------
    >>> from sumwise.aggregate.sql import DUCKDB, Column, codes_statement
    >>> from sumwise.encoding import Encoding
    >>> from sumwise.encoding.rules import Cuts
    >>> age = Column("age", "c0", "number")
    >>> codes_statement(Encoding({"age": Cuts("age", (18,))}), ["age"], {"age": age}, DUCKDB).text("rows")
    "SELECT CASE WHEN (c0 IS NULL) THEN NULL WHEN c0 < CAST('18.0' AS DOUBLE) THEN 0 ELSE 1 END AS a0 FROM rows AS s"
    """
    statement = Statement(dialect, where=where)
    crosses = [name for name in attributes if isinstance(encoding[name], Cross)]
    if not crosses:
        for i, name in enumerate(attributes):
            statement.add(_code(encoding[name], columns, statement), f"a{i}")
        return statement
    parts = dict.fromkeys(p for name in attributes for p in getattr(encoding[name], "of", (name,)))
    for i, name in enumerate(parts):
        statement.add(_code(encoding[name], columns, statement), f"p{i}")
    place = {name: f"p{i}" for i, name in enumerate(parts)}
    for i, name in enumerate(attributes):
        rule = encoding[name]
        code = _cross([place[p] for p in rule.of], rule) if isinstance(rule, Cross) else place[name]
        statement.outer.append(f"{code} AS a{i}")
    return statement


def class_code(column: Column, classes: tuple, statement: Statement) -> str:
    """SQL of a class's code, by a lookup where it needs one.

    Examples
    --------
    >>> from sumwise.aggregate.sql import DUCKDB, Column, Statement, class_code
    >>> statement = Statement(DUCKDB)
    >>> class_code(Column("kind", "c0", "text"), ("a", "b"), statement)
    'CASE WHEN (c0 IS NULL) THEN NULL ELSE COALESCE(sumwise_k0.code, NULL) END'
    >>> statement.joins
    ['LEFT JOIN sumwise_k0 ON c0 = sumwise_k0.value']
    """
    return _looked_up(column, Levels(column.name, classes), statement)


def _code(rule: Any, columns: dict[str, Column], statement: Statement) -> str:
    column = columns[rule.column]
    if isinstance(rule, Cuts):
        return _cuts(column, rule)
    if isinstance(rule, Hashed):
        return _hashed(column, rule, statement.dialect)
    return _looked_up(column, rule, statement)


def _code_or_null(code: int) -> str:
    return "NULL" if code < 0 else str(code)


def _cuts(column: Column, rule: Cuts) -> str:
    if column.kind not in ("number", "bool"):
        raise DataError(
            f"Column {column.name!r} has {column.kind}; cut points need numbers.", hint="convert it, or use 'levels'."
        )
    edges = [DUCKDB.literal(float(e)) for e in rule.edges]  # an edge is a double in every engine
    left = f"CAST({column.sql} AS DOUBLE)" if column.floating or column.kind == "bool" else column.sql
    steps = " ".join(f"WHEN {left} < {e} THEN {i}" for i, e in enumerate(edges))
    return (
        f"CASE WHEN {column.missing()} THEN {_code_or_null(rule.missing_code)} {steps} ELSE {len(edges)} END".replace(
            "  ", " "
        )
    )


def _hashed(column: Column, rule: Hashed, dialect: Dialect) -> str:
    text = f"CAST({column.value(dialect)} AS {dialect.text})"
    unfit = ""
    if column.floating:
        text = f"CAST(CAST({column.sql} AS BIGINT) AS {dialect.text})"
        unfit = f" WHEN {column.sql} <> floor({column.sql}) THEN NULL"
    digits = f"substr(md5(concat('{rule.salt}:', {text})), 1, 8)"
    number = dialect.hex_number.format(digits)
    return (
        f"CASE WHEN {column.missing()} THEN {_code_or_null(rule.missing_code)}{unfit} ELSE {number} % {rule.cells} END"
    )


def _cross(parts: list[str], rule: Cross) -> str:
    """`rules.cross_cell`, step by step; a NULL part makes the cell NULL."""
    x = str((SALT_STEP * rule.salt + 1) % PRIME)
    for part in parts:
        x = f"(({BASE} * CAST({x} AS BIGINT) + {part} + 1) % {PRIME})"
    square = f"(({x} * {x}) % {PRIME})"
    fourth = f"(({square} * {square}) % {PRIME})"
    return f"((({fourth} * {x}) % {PRIME}) % {rule.cells})"


def _looked_up(column: Column, rule: Levels | Target, statement: Statement) -> str:
    codes = rule.cells if isinstance(rule, Target) else tuple(range(len(rule.values)))
    kind = kind_of(rule.values, column.name)
    unseen, missing = _code_or_null(rule.unseen_code), _code_or_null(rule.missing_code)
    if rule.values and column.kind != kind:
        raise DataError(
            f"Column {column.name!r} contains {column.kind}; its levels are {kind}: {rule.values[0]!r}.",
            hint="convert the column, or the levels.",
        )
    if not rule.values:
        return f"CASE WHEN {column.missing()} THEN {missing} ELSE {unseen} END"
    if kind == "number" and isinstance(rule, Levels) and _consecutive(rule.values):
        return _shifted(column, rule, unseen, missing)
    alias = f"{statement.dialect.prefix}k{len(statement.lookups)}"
    left = column.value(statement.dialect)
    statement.lookups.append(Lookup(alias, rule.values, codes, kind))
    statement.joins.append(f"LEFT JOIN {alias} ON {left} = {alias}.value")
    return f"CASE WHEN {column.missing()} THEN {missing} ELSE COALESCE({alias}.code, {unseen}) END"


def _consecutive(values: tuple) -> bool:
    return all(isinstance(v, int) and v == values[0] + i and abs(v) < 2**31 for i, v in enumerate(values))


def _shifted(column: Column, rule: Levels, unseen: str, missing: str) -> str:
    low, high = rule.values[0], rule.values[-1]
    if column.range is not None and low <= column.range[0] and column.range[1] <= high:
        return f"(CAST({column.sql} AS INTEGER) - {low})"
    whole = f" AND {column.sql} = floor({column.sql})" if column.floating else ""
    return (
        f"CASE WHEN {column.missing()} THEN {missing} WHEN {column.sql} BETWEEN {low} AND {high}{whole} "
        f"THEN CAST({column.sql} AS INTEGER) - {low} ELSE {unseen} END"
    )


def grouped(inner: str, subsets: Sequence[Sequence[int]], n_classes: int | None, labelled: bool, weighted: bool) -> str:
    """Count subsets of ``a0``, ``a1``, ... in one pass: GROUPING SETS over the codes of `inner`.

    The statement gives the codes (NULL where an attribute is not of the set) and ``n``, the counts, weighted where
    rows have weights ``w``; with a 0/1 label also ``s``, its sums; with classes the label ``y`` is grouped too.
    Codes are never NULL themselves (-1 stands for a value without a level), so which codes are not NULL shows the
    set of a line.

    Examples
    --------
    >>> from sumwise.aggregate.sql import grouped
    >>> grouped("FROM t", [(0, 1), (1,)], None, labelled=False, weighted=False)
    'SELECT a0, a1, count(*) AS n FROM (FROM t) AS coded GROUP BY GROUPING SETS ((a0, a1), (a1))'
    """
    by_class = [] if n_classes is None else ["y"]
    columns = [f"a{a}" for a in sorted({a for s in subsets for a in s})] + by_class
    sets = ", ".join("(" + ", ".join([f"a{a}" for a in s] + by_class) + ")" for s in subsets)
    select = [*columns, f"{'sum(w)' if weighted else 'count(*)'} AS n"]
    if labelled and n_classes is None:
        select.append(f"{'sum(w * y)' if weighted else 'sum(y)'} AS s")
    return f"SELECT {', '.join(select)} FROM ({inner}) AS coded GROUP BY GROUPING SETS ({sets})"
