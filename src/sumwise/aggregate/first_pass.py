"""The first pass over the rows that are to be counted: how many, which levels and classes, valid weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from sumwise.aggregate.plan import CountPlan
from sumwise.aggregate.sql import Column, condition
from sumwise.encoding import Encoding
from sumwise.encoding.rules import Cross, Levels
from sumwise.encoding.values import canonical, kind_of
from sumwise.errors import DataError, UnknownName
from sumwise.frames import check_classes, distinct_texts

MAX_CLASSES = 1000
FEWEST_ROWS = 100  # in fewer, many columns have a level for every other row by chance
MAX_RANGE = 2**15
MAX_RANGE_CELLS = 2**25


def check_rows(plan: CountPlan, engine: Any) -> int:
    """The number of rows; none at all, a missing label or an unfit weight is an error.

    Examples
    --------
    >>> from sumwise.aggregate import CountPlan, first_pass
    >>> from sumwise.aggregate.on_duckdb import DuckDBEngine
    >>> rows = {"a": [5, 7, 7], "y": ["p", "q", "q"]}
    >>> with DuckDBEngine(rows, ("a", "y")) as engine:
    ...     first_pass.check_rows(CountPlan(rows, ["a"], label="y", order=1), engine)
    3
    """
    where = condition(engine.columns, plan.where, engine.dialect)
    select = ["count(*) AS n"]
    if plan.label is not None:
        select.append(_sum(engine.columns[plan.label].missing(), "no_label"))
    if plan.weight is not None:
        weight = engine.columns[plan.weight]
        if weight.kind not in ("number", "bool"):
            raise DataError(
                f"The weights in column {weight.name!r} are {weight.kind}.",
                hint="weights are numbers; read_buckets reads counts that were withheld, such as '<5'.",
            )
        select.append(_sum(weight.missing(), "no_weight"))
        select.append(_sum(f"CAST({weight.sql} AS DOUBLE) < 0", "negative"))
        select.append(_sum(f"CAST({weight.sql} AS DOUBLE) = CAST('Infinity' AS DOUBLE)", "infinite"))
    found = summary_of(engine, ", ".join(select), where)
    n = int(found["n"])
    if not n:
        raise DataError(
            "There are no rows to count.", hint="look at the source, and at the conditions if there are any."
        )
    for key, what in {
        "no_label": f"The label {plan.label!r} is missing",
        "no_weight": f"The weight {plan.weight!r} is missing",
        "negative": f"The weight {plan.weight!r} is negative",
        "infinite": f"The weight {plan.weight!r} is infinite",
    }.items():
        if found.get(key):
            raise DataError(
                f"{what} in {int(found[key])} of {n} rows.", hint="correct such rows, or leave them out by where=[...]."
            )
    return n


def matching_rows(engine: Any, conditions: Sequence[tuple]) -> int:
    """How many rows meet all conditions.

    Examples
    --------
    >>> from sumwise.aggregate import first_pass
    >>> from sumwise.aggregate.on_duckdb import DuckDBEngine
    >>> with DuckDBEngine({"a": [5, 7, 7]}, ("a",)) as engine:
    ...     first_pass.matching_rows(engine, [("a", ">", 5)])
    2
    """
    return int(summary_of(engine, "count(*) AS n", condition(engine.columns, conditions, engine.dialect))["n"])


def summary_of(engine: Any, select: str, where: str, more: str = "") -> dict[str, Any]:
    """What a SELECT says of the rows under a WHERE clause and one condition more."""
    also = more and f" {'AND' if where else 'WHERE'} {more}"
    return engine.table(f"SELECT {select} FROM {engine.dialect.source} AS s{where}{also}").to_pylist()[0]


def _sum(predicate: str, name: str) -> str:
    return f"sum(CASE WHEN {predicate} THEN 1 ELSE 0 END) AS {name}"


def check_present(engine: Any, names: Sequence[str], where: str) -> None:
    """Refuse missing values, and note the range of whole numbers, in one pass over some columns.

    Examples
    --------
    >>> from sumwise.aggregate import CountPlan, first_pass
    >>> from sumwise.aggregate.on_duckdb import DuckDBEngine
    >>> rows = {"a": [5, 7, 7], "y": ["p", "q", "q"]}
    >>> with DuckDBEngine(rows, ("a", "y")) as engine:
    ...     first_pass.check_present(engine, ["a"], where="")
    ...     engine.columns["a"].range
    (5, 7)
    """
    if not names:
        return
    columns: list[Column] = [engine.columns[n] for n in names]
    select = [_sum(c.missing(), f"m{i}") for i, c in enumerate(columns)]
    for i, c in enumerate(columns):
        select += [f"min({c.sql}) AS low{i}", f"max({c.sql}) AS high{i}"] if c.whole else []
    found = summary_of(engine, f"count(*) AS n, {', '.join(select)}", where)
    for i, c in enumerate(columns):
        if found[f"m{i}"]:
            raise DataError(
                f"Column {c.name!r} is missing in {int(found[f'm{i}'])} of {found['n']} rows.",
                hint="leave such rows out by where=[...], or make missing a level with an Encoding.",
            )
        if c.whole and found["n"]:
            engine.columns[c.name] = replace(c, range=(int(found[f"low{i}"]), int(found[f"high{i}"])))


def distinct_values(engine: Any, names: Sequence[str], where: str) -> dict[str, tuple]:
    """The sorted distinct values of some columns, in one pass.

    Examples
    --------
    >>> from sumwise.aggregate import CountPlan, first_pass
    >>> from sumwise.aggregate.on_duckdb import DuckDBEngine
    >>> rows = {"a": [5, 7, 7], "y": ["p", "q", "q"]}
    >>> with DuckDBEngine(rows, ("a", "y")) as engine:
    ...     first_pass.distinct_values(engine, ["a", "y"], where="")
    {'a': (5, 7), 'y': ('p', 'q')}
    """
    if not names:
        return {}
    columns: list[Column] = [engine.columns[n] for n in names]
    inner = ", ".join(f"{c.value(engine.dialect)} AS v{i}" for i, c in enumerate(columns))
    sets = ", ".join(f"(v{i})" for i in range(len(columns)))
    listed = ", ".join(f"v{i}" for i in range(len(columns)))
    inside = f"SELECT {inner} FROM {engine.dialect.source} AS s{where}"
    found = engine.table(f"SELECT {listed} FROM ({inside}) AS v GROUP BY GROUPING SETS ({sets})")
    return {c.name: _sorted(found.column(f"v{i}"), c.name, engine) for i, c in enumerate(columns)}


def _sorted(column: Any, name: str, engine: Any) -> tuple:
    values = {canonical(v) for v in column.drop_null().to_pylist()} - {None}
    if name in engine.categories:
        return engine.categories[name]
    distinct_texts(levels := tuple(sorted(values)), name)
    return levels


def full_encoding(plan: CountPlan, engine: Any, n_rows: int = 0) -> tuple[Encoding, tuple[str, ...]]:
    """A rule for every attribute of the plan: from its encoding, its domain, or the rows themselves.

    Also the attributes whose levels are all whole numbers from the least to the largest, which spares a search for
    the distinct ones: counting will show which of them occur, and `without_empty_levels` keeps those.
    Columns that identify people, as the number of rows shows, are refused.

    Examples
    --------
    >>> from sumwise.aggregate import CountPlan, first_pass
    >>> from sumwise.aggregate.on_duckdb import DuckDBEngine
    >>> rows = {"a": [5, 7, 7], "y": ["p", "q", "q"]}
    >>> with DuckDBEngine(rows, ("a", "y")) as engine:
    ...     encoding, ranges = first_pass.full_encoding(CountPlan(rows, ["a", "y"]), engine)
    >>> encoding["a"].levels, ranges
    ((5, 6, 7), ('a',))
    """
    given = {} if plan.encoding is None else plan.encoding.rules
    plain = [a for a in plan.attributes if a not in given]
    ranges: dict[str, tuple] = {}
    if plan.domain is not None:
        levels = {a: plan.domain.levels(a) for a in plain}
    else:
        where = condition(engine.columns, plan.where, engine.dialect)
        check_present(engine, plain, where)
        ranges = _ranges(plan, plain, given, engine)
        read = distinct_values(engine, [a for a in plain if a not in ranges], where)
        refuse_identifiers({a: len(values) for a, values in read.items()}, n_rows)
        levels = {**ranges, **read}
    rules = {a: given.get(a) or Levels(a, levels[a]) for a in plan.attributes}
    parts = {p: given[p] for r in rules.values() if isinstance(r, Cross) for p in r.of if p not in rules}
    learned = plain if plan.domain is None else [a for a in plain if a in plan.domain.learned]
    return Encoding({**rules, **parts}, learned), tuple(ranges)


def _ranges(plan: CountPlan, plain: list[str], given: Any, engine: Any) -> dict[str, tuple]:
    counted = {a for s in plan.wanted for a in s}
    if plan.weight is not None:  # a level of weightless rows occurs, and counts nothing
        return {}
    ranges = {}
    for a in plain:
        known = engine.columns[a].range
        if known is not None and a in counted and a not in engine.categories and known[1] - known[0] < MAX_RANGE:
            ranges[a] = tuple(range(known[0], known[1] + 1))
    sizes = {a: len(ranges[a]) if a in ranges else len(given[a].levels) if a in given else 1 for a in counted}
    cells = sum(math.prod(sizes[a] for a in s) for s in plan.wanted)
    return ranges if cells <= MAX_RANGE_CELLS else {}


def refuse_identifiers(levels: dict[str, int], n_rows: int) -> None:
    """Refuse columns of which most levels have one row: they identify people, or are numbers too fine to count.

    Examples
    --------
    >>> from sumwise.aggregate.first_pass import refuse_identifiers
    >>> refuse_identifiers({"town": 30, "id": 900}, n_rows=1000)
    Traceback (most recent call last):
    sumwise.errors.DataError: Column 'id' has 900 levels in 1,000 rows, fewer than two rows each: ... Hint: ...
    """
    for name, size in levels.items() if n_rows >= FEWEST_ROWS else ():
        if 2 * size > n_rows:
            raise DataError(
                f"Column {name!r} has {size:,} levels in {n_rows:,} rows, fewer than two rows each: it identifies "
                "people, or is a number too fine to count.",
                hint="leave it out by naming the other attributes (-a), give it cut points, or merge rare levels by "
                "max_levels (--encode); person=... if it names persons.",
            )


def without_empty_levels(
    encoding: Encoding, attributes: tuple[str, ...], subsets: Sequence[tuple[str, ...]], counted: list
) -> tuple[Encoding, list]:
    """Drop the levels of some attributes that no row has, from the encoding and from the tables.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.aggregate.first_pass import without_empty_levels
    >>> from sumwise.encoding import Encoding
    >>> from sumwise.encoding.rules import Levels
    >>> counted = [(np.array([1.0, 0.0, 2.0]), np.zeros(3))]
    >>> encoding, tables = without_empty_levels(Encoding({"a": Levels("a", (5, 6, 7))}), ("a",), [("a",)], counted)
    >>> encoding["a"].levels, tables[0][0]
    ((5, 7), array([1., 2.]))
    """
    kept = {}
    for a in attributes:
        t = next(i for i, s in enumerate(subsets) if a in s)
        counts = counted[t][0]
        occurs = counts.sum(axis=tuple(i for i, b in enumerate(subsets[t]) if b != a)) > 0
        if not occurs.all():
            kept[a] = np.flatnonzero(occurs)
    if not kept:
        return encoding, counted
    rules = dict(encoding.rules)
    for a, index in kept.items():
        rules[a] = Levels(a, tuple(rules[a].values[i] for i in index))
    out = []
    for subset, arrays in zip(subsets, counted):
        for axis, a in enumerate(subset):
            if a in kept:
                arrays = tuple(np.take(x, kept[a], axis=axis) for x in arrays)  # noqa: PLW2901
        out.append(arrays)
    return Encoding(rules, encoding.learned), out


def classes_of(plan: CountPlan, engine: Any) -> tuple | None:
    """The classes of the label; None where it is 0 and 1.

    Examples
    --------
    >>> from sumwise.aggregate import CountPlan, first_pass
    >>> from sumwise.aggregate.on_duckdb import DuckDBEngine
    >>> rows = {"a": [5, 7, 7], "y": ["p", "q", "q"]}
    >>> with DuckDBEngine(rows, ("a", "y")) as engine:
    ...     first_pass.classes_of(CountPlan(rows, ["a"], label="y", order=1), engine)
    ('p', 'q')
    """
    column = engine.columns[plan.label]
    where = condition(engine.columns, plan.where, engine.dialect)
    value, most = column.value(engine.dialect), MAX_CLASSES + 1
    sql = f"SELECT DISTINCT {value} AS v FROM {engine.dialect.source} AS s{where} LIMIT {most}"
    values = tuple(sorted(canonical(v) for v in engine.table(sql).column("v").to_pylist()))
    if set(values) <= {0, 1} and column.kind != "text":
        return None
    check_classes(values, str(plan.label))
    if len(values) > MAX_CLASSES:
        raise DataError(f"The label {plan.label!r} has more than {MAX_CLASSES} values.", hint="is it a label?")
    return values


def refuse_unseen(encoding: Encoding, engine: Any, statement_of: Any) -> NoReturn:
    """Say which attribute has a value without a level, which value, and in how many rows.

    Examples
    --------
    >>> from sumwise import Domain
    >>> from sumwise.aggregate import aggregate
    >>> aggregate({"a": [0, 1, 2, 2]}, ["a"], order=1, domain=Domain({"a": 2}))
    Traceback (most recent call last):
    sumwise.errors.UnknownName: Attribute 'a' has no level for 2 rows. Most often: 2, 2 times. Hint: ...
    """
    for name in encoding.attributes:
        rule = encoding[name]
        if isinstance(rule, Cross):
            continue
        statement = statement_of(name)
        column = engine.columns[rule.column]
        statement.add(column.value(engine.dialect), "v")
        inner = statement.on(engine)
        sql = f"SELECT v, count(*) AS n FROM ({inner}) AS u WHERE a0 IS NULL GROUP BY v ORDER BY n DESC, v LIMIT 1000"
        found = engine.table(sql).to_pylist()
        if found:
            value, rows = canonical(found[0]["v"]), sum(int(f["n"]) for f in found)
            what = "missing" if value is None else repr(value)
            least = "at least " if len(found) == 1000 else ""
            raise UnknownName(
                f"Attribute {name!r} has no level for {least}{rows} rows. Most often: {what}, {found[0]['n']} times.",
                hint="add the level to the domain, or use an Encoding with an 'other' or 'missing' level.",
            )
    raise DataError("Some code is negative, and no attribute shows which.", hint="please report this.")


class EngineSummary:
    """What fitting an encoding asks of one raw column, computed by an engine.

    Examples
    --------
    >>> from sumwise.aggregate import first_pass
    >>> from sumwise.aggregate.on_duckdb import DuckDBEngine
    >>> with DuckDBEngine({"x": [1.0, 4.0, None]}, ("x",)) as engine:
    ...     summary = first_pass.EngineSummary(engine, "x", where="")
    ...     summary.n_missing, summary.range()
    (1, (1.0, 4.0))
    """

    def __init__(self, engine: Any, column: str, where: str, label: str | None = None):
        self.engine, self.where, self.label = engine, where, label
        self.column: Column = engine.columns[column]
        self.n_missing = int(self._summary(_sum(self.column.missing(), "m"), "")["m"] or 0)

    def _summary(self, select: str, more: str) -> dict[str, Any]:
        return summary_of(self.engine, select, self.where, more)

    def _number(self) -> str:
        if self.column.kind not in ("number", "bool"):
            raise DataError(f"Column {self.column.name!r} contains {self.column.kind}; cut points need numbers.")
        return f"CAST({self.column.sql} AS DOUBLE)"

    def _above(self, limit: float = -np.inf) -> str:
        more = "" if limit == -np.inf else f" AND {self._number()} > {self.engine.dialect.literal(float(limit))}"
        return f"NOT {self.column.missing()}{more}"

    def range(self, above: float = -np.inf) -> tuple[float, float]:
        """Least and largest number of those above a limit; NaN where there is none."""
        x = self._number()
        found = self._summary(f"min({x}) AS low, max({x}) AS high", self._above(above))
        return (np.nan, np.nan) if found["low"] is None else (found["low"], found["high"])

    def quantiles(self, q: np.ndarray, above: float = -np.inf) -> np.ndarray:
        """Quantiles of the numbers above a limit, interpolated linearly."""
        function = "quantile_cont" if self.engine.dialect.name == "duckdb" else "percentile"
        array = f"[{', '.join(map(repr, q.tolist()))}]"
        array = array if self.engine.dialect.name == "duckdb" else f"array({array[1:-1]})"
        return np.array(self._summary(f"{function}({self._number()}, {array}) AS q", self._above(above))["q"])

    def next_values(self, edges: np.ndarray) -> np.ndarray:
        """The least number that is no smaller than each edge."""
        if not len(edges):
            return np.zeros(0)
        x, literal = self._number(), self.engine.dialect.literal
        wanted = ", ".join(
            f"min(CASE WHEN {x} >= {literal(float(e))} THEN {x} END) AS v{i}" for i, e in enumerate(edges)
        )
        return np.array(list(self._summary(wanted, self._above()).values()), dtype=float)

    def value_counts(self, label: bool = False) -> tuple[list, np.ndarray, np.ndarray | None]:
        """Distinct values in order, their counts and label sums."""
        sums = ""
        if label:
            column = self.engine.columns[self.label]
            self._check_binary(column)
            sums = f", sum(CAST({column.sql} AS INTEGER)) AS s"
        value = self.column.value(self.engine.dialect)
        kept = f"{self.engine.dialect.source} AS s{self.where} {'AND' if self.where else 'WHERE'} {self._above()}"
        found = self.engine.table(f"SELECT {value} AS v, count(*) AS n{sums} FROM {kept} GROUP BY {value}")
        values = [canonical(v) for v in found.column("v").to_pylist()]
        kind_of(tuple(values), self.column.name)
        known = self.engine.categories.get(self.column.name)
        names = sorted(values) if known is None else list(known)  # a category that no row has counts 0
        place = {v: i for i, v in enumerate(names)}
        at = [place[v] for v in values]
        n, s = np.zeros(len(names), dtype=np.int64), np.zeros(len(names))
        n[at] = found.column("n").to_numpy()
        if label:
            s[at] = found.column("s").to_numpy()
        return names, n, s if label else None

    def _check_binary(self, column: Column) -> None:
        if column.kind in ("text", "other"):
            raise DataError(f"The label {column.name!r} must be 0 or 1; it is {column.kind}.")
        bad = f"({column.missing()} OR CAST({column.sql} AS DOUBLE) NOT IN (0, 1))"
        found = self._summary(f"count(*) AS n, min({column.sql}) AS v", bad)
        if found["n"]:
            raise DataError(
                f"The label {column.name!r} must be 0 or 1; {found['n']} rows are not. One has {found['v']!r}.",
                hint="turn the label into 0 and 1 first.",
            )
