"""CountPlan: what to count, without a word about which engine counts it."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from sumwise import checks
from sumwise.display import finding_html
from sumwise.domain import Domain
from sumwise.encoding import Encoding
from sumwise.errors import DataError

OPERATIONS = ("==", "!=", "<", "<=", ">", ">=", "in", "not in", "missing", "not missing")


@dataclass(frozen=True, slots=True)
class CountPlan:
    """What to count: which rows of which source, over which attributes, with which label.

    Parameters
    ----------
    source : path, frame, SQL query or Spark frame
        Where the rows are. A path is a CSV, Parquet or Arrow file, a folder of Parquet files, or a DuckDB database.
    attributes : sequence of str
        What to count over: columns, or attributes of `encoding`.
    label : str, optional
        A column of 0 and 1 gives label sums; any other column one class per distinct value.
    order : int >= 1, default 2
        Count every subset of this many attributes.
    subsets : sequence of sequences of str, optional
        Count these subsets instead.
    where : sequence of (column, operation, value), optional
        Rows to keep: all conditions hold. Operations are ``== != < <= > >=``, ``in`` and ``not in`` (with a list),
        and ``missing`` and ``not missing`` (without a value). A missing value meets no condition but ``missing``.
    weight : str, optional
        Column of row weights, 0 or more.
    domain : Domain, optional
        The levels to count over; default: those in the rows. A level outside it is an error.
    encoding : Encoding, optional
        How raw columns become levels. Attributes without a rule there are columns taken as they are.
    suppress_below : number, optional
        Withhold cells with a count above 0 and below this: they become NaN with bounds, never zero.
    complementary : bool, default True
        Withhold others too, so that nobody can work a small count out from the total, the other tables and the label
        sums: its least and largest possible value stay ``ceil(suppress_below) - 1`` apart, by linear programmes over
        the joint table. Refused where that is too large to check, or impossible. False withholds small counts alone,
        which can often be worked out by subtraction.
    table : str, optional
        The table to read where `source` is a database file that has several.
    person : str, optional
        The column that names the person whose row it is; with it, `max_rows` or `max_cells` bounds what is counted.
    max_rows : int, optional
        The most rows of one person that are counted, a random choice where there are more.
    max_cells : int, optional
        The most different rows (by attributes and label) of one person that are counted, each once.
    max_weight : float >= 0, optional
        The largest weight that a row counts with: larger ones are clipped.
    seed : int >= 0, default 0
        Seed of the choice of rows: the same rows, whatever their order, give the same tables.

    Examples
    --------
    >>> from sumwise.aggregate import CountPlan
    >>> plan = CountPlan("rows.parquet", ["age", "city", "job"], label="click", where=[("age", ">=", 18)])
    >>> plan.wanted
    (('age', 'city'), ('age', 'job'), ('city', 'job'))
    """

    source: Any
    attributes: tuple[str, ...]
    label: str | None = None
    order: int = 2
    subsets: tuple[tuple[str, ...], ...] | None = None
    where: tuple[tuple, ...] = ()
    weight: str | None = None
    domain: Domain | None = None
    encoding: Encoding | None = None
    suppress_below: float | None = None
    table: str | None = None
    person: str | None = None
    max_rows: int | None = None
    max_cells: int | None = None
    max_weight: float | None = None
    seed: int = 0
    complementary: bool = True

    def __post_init__(self):
        attributes = _names(self.attributes, "attributes")
        object.__setattr__(self, "attributes", attributes)
        named = ((self.label, "label"), (self.weight, "weight"), (self.table, "table"), (self.person, "person"))
        for name, what in named:
            if name is not None and (not isinstance(name, str) or not name):
                raise DataError(f"{what} is {name!r}.", hint=f"name a {'table' if what == 'table' else 'column'}.")
        if self.label in attributes or self.weight in attributes or (self.label and self.label == self.weight):
            raise DataError("A column plays two parts among attributes, label and weight.", hint="name each once.")
        object.__setattr__(self, "subsets", self._checked_subsets())
        object.__setattr__(self, "where", checked_conditions(self.where))
        self._check_levels()
        if self.suppress_below is not None:
            checks.at_least(self.suppress_below, "suppress_below", 0, whole_number=False)
        self._check_contributions()

    def _repr_html_(self) -> str:
        counted = "row weights" if self.weight else "rows"
        words = f"A plan to count {counted} in {len(self.wanted):,} tables over {', '.join(self.attributes)}"
        words += f", with sums of {self.label}." if self.label else "."
        more = [f"Counts below {self.suppress_below:g} are withheld."] if self.suppress_below else []
        return finding_html(" ".join([words, *more]))

    def _check_contributions(self) -> None:
        for name in ("max_rows", "max_cells"):
            if getattr(self, name) is not None:
                checks.at_least(getattr(self, name), name, 1)
        checks.at_least(self.seed, "seed", 0)
        if self.person is not None and self.max_rows is None and self.max_cells is None:
            raise DataError("person is given without a bound.", hint="say max_rows=..., max_cells=..., or both.")
        if self.person is not None and self.person in self.attributes:
            raise DataError(
                f"Column {self.person!r} names persons, and is an attribute: its levels would show each of them.",
                hint="leave it out of the attributes.",
            )
        if self.person is None and (self.max_rows is not None or self.max_cells is not None):
            raise DataError("max_rows and max_cells need person=....", hint="name the column that names persons.")
        if self.max_weight is not None:
            checks.at_least(self.max_weight, "max_weight", 0, whole_number=False)
            if self.weight is None or not self.max_weight > 0:
                raise DataError(f"max_weight is {self.max_weight!r}.", hint="it needs weight=..., and is above 0.")

    @property
    def rows_per_person(self) -> int | None:
        """The most rows of one person that are counted; None where they are not bounded."""
        bounds = [b for b in (self.max_rows, self.max_cells) if b is not None]
        return min(bounds) if bounds else None

    @property
    def wanted(self) -> tuple[tuple[str, ...], ...]:
        """The tables that will be counted, each by its attributes."""
        return self.subsets or tuple(combinations(self.attributes, self.order))

    def _checked_subsets(self) -> tuple | None:
        if self.subsets is None:
            checks.at_least(self.order, "order", 1)
            if self.order > len(self.attributes):
                raise DataError(f"order is {self.order}, but there are {len(self.attributes)} attributes.")
            return None
        if isinstance(self.subsets, str) or not isinstance(self.subsets, Sequence) or not self.subsets:
            raise DataError(f"subsets is {self.subsets!r}.", hint="give a list such as [('age', 'city'), ('job',)].")
        subsets = tuple(_names((s,) if isinstance(s, str) else s, "a subset") for s in self.subsets)
        for subset in subsets:
            for name in subset:
                checks.known(name, self.attributes, "attribute")
        checks.unique([frozenset(s) for s in subsets], "subsets")
        return subsets

    def _check_levels(self) -> None:
        if self.encoding is not None and not isinstance(self.encoding, Encoding):
            raise DataError(f"encoding is of type {type(self.encoding).__name__}.", hint="see Encoding.fit.")
        if self.domain is None:
            return
        if not isinstance(self.domain, Domain):
            raise DataError(f"domain is of type {type(self.domain).__name__}.", hint="give a Domain.")
        if self.encoding is not None:
            raise DataError("Both a domain and an encoding are given.", hint="an encoding has its own domain.")
        for name in self.attributes:
            checks.known(name, self.domain, "attribute")
            if None in self.domain.levels(name):
                raise DataError(
                    f"The domain has a level for missing values of {name!r}.",
                    hint="use an Encoding, which names that level.",
                )


def checked_conditions(where: Any) -> tuple[tuple, ...]:
    """Conditions as (column, operation, value); the value of ``missing`` is None, that of ``in`` a tuple.

    Examples
    --------
    >>> from sumwise.aggregate.plan import checked_conditions
    >>> checked_conditions([("age", ">=", 18), ("city", "in", ["Bern"]), ("job", "missing")])
    (('age', '>=', 18), ('city', 'in', ('Bern',)), ('job', 'missing', None))
    """
    if where is None:
        return ()
    if isinstance(where, str) or not isinstance(where, Iterable):
        raise DataError(f"where is {where!r}.", hint="give a list such as [('age', '>=', 18)].")
    return tuple(_condition(c) for c in where)


def _condition(given: Any) -> tuple:
    if isinstance(given, str) or not isinstance(given, Sequence) or len(given) not in (2, 3):
        raise DataError(f"A condition is {given!r}.", hint="give (column, operation, value), as in ('age', '>=', 18).")
    column, operation, *value = given
    if not isinstance(column, str) or not column:
        raise DataError(f"A condition names the column {column!r}.", hint="columns are named by text.")
    checks.choice(operation, f"The operation on {column!r}", OPERATIONS)
    if operation in ("missing", "not missing"):
        return column, operation, None
    if not value:
        raise DataError(f"The condition on {column!r} lacks a value.", hint=f"give ({column!r}, {operation!r}, value).")
    if operation in ("in", "not in"):
        if isinstance(value[0], str) or not isinstance(value[0], Iterable):
            raise DataError(f"The condition {operation!r} on {column!r} needs a list; got {value[0]!r}.")
        return column, operation, tuple(_scalar(v, column) for v in value[0])
    return column, operation, _scalar(value[0], column)


def _scalar(value: Any, column: str) -> Any:
    value = checks.plain(value)
    if not isinstance(value, str | bool | numbers.Real) or value != value:
        raise DataError(
            f"The condition on {column!r} compares with {value!r}.",
            hint="compare with text, a number or a boolean; use 'missing' for missing values.",
        )
    return value


def _names(given: Any, what: str) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise DataError(f"{what} is {given!r}.", hint="give a list of names.")
    names = tuple(given)
    if not names:
        raise DataError(f"{what} is empty.", hint="name at least one column.")
    for name in names:
        if not isinstance(name, str) or not name:
            raise DataError(f"{what} contains {name!r}.", hint="columns are named by text.")
    return checks.unique(names, what)
