"""Declaration: what is known of private rows before anybody looks at them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from sumwise import checks
from sumwise.display import record_html
from sumwise.encoding.learning import fitted_rule, parsed_spec
from sumwise.encoding.rules import Cross, Cuts, Hashed, Levels
from sumwise.encoding.values import kind_of
from sumwise.errors import DataError, UnknownName

TYPES = ("text", "number")
PUBLIC_RULES = (Levels, Cuts, Hashed, Cross)


@dataclass(frozen=True, slots=True)
class PrivateCuts:
    """Cut points that are to be learned privately: parts of about equal counts within a range that is public."""

    kind: ClassVar[str] = "quantiles"
    column: str
    bins: int
    low: float
    high: float
    missing: str = "missing"


@dataclass(frozen=True, slots=True)
class PrivateLevels:
    """A list of levels that is to be learned privately: those whose noisy count passes a threshold."""

    kind: ClassVar[str] = "levels"
    column: str
    type: str = "text"
    min_count: int = 1
    max_levels: int = 100
    other: str = "other"
    missing: str = "missing"


@dataclass(frozen=True)
class Declaration:
    """What is known of private rows before they are read: types, levels or cut points, and bounds.

    Rows are read by it alone, one by one: a value that is not of the declared type is missing, a level that is not
    declared is another level, and a row without a person, label or weight is left out. A line of a CSV file is a row: a
    value with a line break in it makes two rows that say nothing, so such rows are better kept as Parquet. So a row
    decides nothing about any other row, about whether work succeeds, or about a message.

    Parameters
    ----------
    attributes : mapping of str to rule
        As in :meth:`sumwise.encoding.Encoding.fit`, with what must not come from the rows: ``"levels"`` with
        ``"values": [...]``, cut points, ``"width"`` with ``"range": [low, high]``, ``"hash"`` and ``"cross"`` are
        public and cost nothing. ``"quantiles"`` with a range, and ``"levels"`` without values, are learned under the
        budget of a release; ``"type": "number"`` says that levels are numbers (default: text), ``"max_levels"``
        (default 100) how many are kept at most. Every attribute has a level for missing values.
    label : str, optional
        Column of 0 and 1, or of `classes`.
    classes : sequence, optional
        The classes of the label; default: 0 and 1.
    person : str, optional
        The column that names persons. Default: each row is a person of its own.
    max_rows : int >= 1, default 1
        How many rows of one person count, a random choice where there are more.
    weight : str, optional
        Column of row weights, clipped to 0 and `max_weight`.
    max_weight : float > 0, optional
        Needed with `weight`.
    budget : mapping, optional
        What all releases of the rows may cost, ``{"epsilon": 1.0, "delta": 1e-6, "mechanism": "gaussian"}``: epsilon,
        and the delta (default 0) and mechanism (default geometric) of a release that doesn't say its own.

    See Also
    --------
    sumwise.privacy.release_rows : Count declared rows and release the tables.

    Examples
    --------
    >>> from sumwise.encoding import Declaration
    >>> age = {"kind": "quantiles", "bins": 4, "range": [0, 120]}
    >>> sex = {"kind": "levels", "values": ["f", "m"]}
    >>> people = Declaration({"age": age, "sex": sex}, label="ill", person="id", max_rows=3)
    >>> people.types
    {'age': 'number', 'sex': 'text', 'ill': 'binary', 'id': 'text'}
    >>> list(people.learned)
    ['age']
    """

    attributes: Mapping[str, Any]
    label: str | None = None
    classes: tuple[Any, ...] | None = None
    person: str | None = None
    max_rows: int = 1
    weight: str | None = None
    max_weight: float | None = None
    budget: Mapping[str, Any] | None = None

    _repr_html_ = record_html

    def __post_init__(self):
        attributes = checks.mapping(self.attributes, "attributes")
        object.__setattr__(self, "attributes", {n: _declared(n, a) for n, a in _parsed(attributes).items()})
        for name in ("label", "person", "weight"):
            if getattr(self, name) is not None:
                checks.name_of_column(getattr(self, name), name)
        checks.at_least(self.max_rows, "max_rows", 1)
        if self.person is None and self.max_rows != 1:
            raise DataError("max_rows needs person=....", hint="name the column that names persons.")
        if (self.weight is None) != (self.max_weight is None):
            raise DataError("weight and max_weight go together.", hint="weights are clipped to max_weight.")
        if self.max_weight is not None:
            checks.positive(self.max_weight, "max_weight", ndim=0)
        if self.classes is not None:
            classes = tuple(checks.listing(self.classes, "classes", "give the classes of the label."))
            kind_of(classes, "classes")
            if self.label is None or len(checks.unique(classes, "classes")) < 2:
                raise DataError("classes need a label, and there are two or more.")
            object.__setattr__(self, "classes", classes)
        if self.budget is not None:
            object.__setattr__(self, "budget", _budget(self.budget))
        _ = self.types  # refuses columns that are declared twice

    @property
    def types(self) -> dict[str, str]:
        """What the values of each column are read as: text, number, bool, or binary for a label of 0 and 1."""
        types: dict[str, str] = {}
        for name, rule in self.attributes.items():
            for part in rule.of if isinstance(rule, Cross) else ():
                if part not in self.attributes or isinstance(self.attributes[part], Cross):
                    raise UnknownName(f"Cross {name!r} needs attribute {part!r}, which is not declared.")
            if isinstance(rule, Cross):
                continue
            kind = _type(rule)
            if types.setdefault(rule.column, kind) != kind:
                raise DataError(f"Column {rule.column!r} is declared as {types[rule.column]} and as {kind}.")
        label = "binary" if self.classes is None else kind_of(self.classes, "classes")
        for name, kind in ((self.label, label), (self.person, "text"), (self.weight, "number")):
            if name is not None and name in types:
                raise DataError(
                    f"Column {name!r} is declared twice.", hint="an attribute is no label, person or weight."
                )
            if name is not None:
                types[name] = kind
        return types

    @property
    def learned(self) -> dict[str, PrivateCuts | PrivateLevels]:
        """The attributes whose cut points or levels a release learns under its budget."""
        return {n: r for n, r in self.attributes.items() if not isinstance(r, PUBLIC_RULES)}

    @property
    def sizes(self) -> dict[str, int]:
        """The most levels that each attribute can have, whatever the rows."""
        sizes = {}
        for name, rule in self.attributes.items():
            if isinstance(rule, PrivateCuts):
                sizes[name] = rule.bins + 1
            else:
                sizes[name] = rule.max_levels + 2 if isinstance(rule, PrivateLevels) else len(rule.levels)
        return sizes

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Declaration:
        """The declaration that a file says: its keys, and under ``attributes`` one table per attribute.

        Examples
        --------
        >>> from sumwise.encoding import Declaration
        >>> Declaration.from_dict({"label": "ill", "attributes": {"age": {"kind": "cuts", "at": [18, 65]}}}).label
        'ill'
        """
        for name in checks.mapping(data, "The declaration"):
            checks.known(name, tuple(f.name for f in fields(cls)), "key of a declaration")
        if "attributes" not in data:
            raise DataError("The declaration has no attributes.", hint="add a table per attribute: [attributes.age].")
        return cls(**data)


def _budget(given: Any) -> dict[str, Any]:
    """A declared budget, with what it doesn't say."""
    given = checks.mapping(given, "budget")
    for name in given:
        checks.known(name, ("epsilon", "delta", "mechanism"), "key of a budget")
    epsilon, delta = (given.get(name, default) for name, default in (("epsilon", None), ("delta", 0.0)))
    checks.positive(epsilon, "epsilon of the budget", ndim=0)
    checks.at_least(delta, "delta of the budget", 0, whole_number=False)
    return {"epsilon": float(epsilon), "delta": float(delta), "mechanism": given.get("mechanism", "geometric")}


def _parsed(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The requests, with what only declarations have set aside while the rest is checked as usual."""
    extra: dict[str, dict[str, Any]] = {}
    plain: dict[str, Any] = {}
    for name, asked in attributes.items():
        plain[name] = dict(asked) if isinstance(asked, Mapping) else asked
        if isinstance(plain[name], dict):
            extra[name] = {k: plain[name].pop(k) for k in ("range", "values", "type") if k in plain[name]}
    parsed = parsed_spec(plain)
    return {n: {**a, **extra.get(n, {})} if isinstance(a, dict) else a for n, a in parsed.items()}


def _declared(name: str, asked: Any) -> Any:
    """The rule of an attribute, or what is to be learned of it."""
    if not isinstance(asked, dict):
        return _public(name, asked)
    kind, column = asked["kind"], checks.name_of_column(asked.get("column", name), f"column of {name!r}")
    missing, other = _level_name(asked, "missing"), _level_name(asked, "other")
    if kind == "target":
        raise DataError(f"Attribute {name!r} asks for target encoding, which has no private form.", hint="use hash.")
    if kind in ("quantiles", "width"):
        low, high = _range(name, asked)
        bins = int(checks.at_least(asked.get("bins", 10), "bins", 2))
        if kind == "quantiles":
            return PrivateCuts(column, bins, low, high, missing)
        return Cuts(column, tuple(np.linspace(low, high, bins + 1)[1:-1].tolist()), missing)
    if kind == "levels" and "values" in asked:
        return Levels(column, tuple(checks.listing(asked["values"], f"values of {name!r}")), other, missing)
    if kind == "levels":
        checks.choice(asked.get("type", "text"), f"type of {name!r}", TYPES)
        counts = {o: int(checks.at_least(asked[o], o, 1)) for o in ("min_count", "max_levels") if o in asked}
        return PrivateLevels(column, asked.get("type", "text"), other=other, missing=missing, **counts)
    return fitted_rule(name, {**asked, "missing": missing} if kind != "cross" else asked, _NoRows())


def _public(name: str, rule: Any) -> Any:
    """A rule made by hand, with somewhere to go for every value."""
    if not isinstance(rule, PUBLIC_RULES) or getattr(rule, "learned", False):
        raise DataError(
            f"The rule of attribute {name!r} was learned from rows: {rule!r}.",
            hint="declare levels or cut points, or ask for quantiles with a range, or for levels.",
        )
    if not isinstance(rule, Cross) and rule.missing_code < 0:
        raise DataError(
            f"The rule of attribute {name!r} has no level for missing values.", hint="add missing='missing'."
        )
    return rule


def _level_name(asked: dict[str, Any], option: str) -> str:
    given = asked.get(option, option)
    return given if isinstance(given, str) and given else option


def _range(name: str, asked: dict[str, Any]) -> tuple[float, float]:
    given: Any = asked.get("range")
    pair = isinstance(given, Sequence) and len(given) == 2 and all(isinstance(v, Real) for v in given)
    low, high = (float(given[0]), float(given[1])) if pair else (math.nan, math.nan)
    if not -math.inf < low < high < math.inf:
        raise DataError(
            f"Attribute {name!r} needs a range that doesn't come from the rows; got {given!r}.",
            hint="range = [0, 100], as anybody would guess it.",
        )
    return low, high


def _type(rule: Any) -> str:
    """What the values of a rule's column are read as."""
    if isinstance(rule, Cuts | PrivateCuts):
        return "number"
    if isinstance(rule, PrivateLevels):
        return rule.type
    return kind_of(rule.values, rule.column) if isinstance(rule, Levels) and rule.values else "text"


class _NoRows:
    """A summary for rules that learn nothing: whether values are missing is not looked at."""

    n_missing = 0
