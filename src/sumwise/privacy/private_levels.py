"""private_encoding: cut points and lists of levels learned from rows under a privacy budget."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from sumwise import checks, frames
from sumwise.encoding import Encoding
from sumwise.encoding.learning import fitted_rule, parsed_spec
from sumwise.encoding.rules import Cuts, Levels
from sumwise.encoding.values import factorized, kind_of, numbers_of
from sumwise.errors import DataError
from sumwise.extras import require
from sumwise.privacy.accounting import check_promise
from sumwise.privacy.budget import Budget
from sumwise.privacy.release import UNSAID

CANDIDATES = 1000  # cut points to choose from, evenly over the range
FREE = ("cross", "cuts", "hash", "width")


def private_encoding(
    rows: Any,
    spec: Any,
    epsilon: float,
    delta: float = 0.0,
    rows_per_person: int = 1,
    budget: Budget | None = UNSAID,
    *,
    what: str = "private_encoding",
) -> Encoding:
    """Learn an encoding from rows so that its levels and cut points reveal little about any one person.

    Parameters
    ----------
    rows : data frame
        Any frame that narwhals knows.
    spec : mapping
        As in :meth:`sumwise.encoding.Encoding.fit`, with what must be known beforehand:
        ``{"kind": "quantiles", "bins": 10, "range": [0, 100]}`` needs a range that doesn't come from the rows (values
        outside count as its ends); ``"width"`` with a range, ``"hash"``, ``"cuts"`` and ``"cross"`` learn nothing and
        cost nothing; ``"levels"`` keeps the levels whose noisy count passes a threshold (needs a delta), or, with
        ``"values": [...]``, those. Every rule has a level for missing values, and every list of levels one for others.
    epsilon : float > 0
        Privacy loss of all cut points and lists together, shared equally by the attributes that cost any.
    delta : float in [0, 1), default 0
        Needed above 0 for lists of levels, which share it.
    rows_per_person : int >= 1, default 1
        The most rows that one person has.
    budget : Budget or None
        Where to take the loss from; it must be said, as in :func:`release`.
    what : str
        What the budget's ledger calls it.

    Returns
    -------
    Encoding
        Whose rules count as given, not learned, where tables are released.

    Notes
    -----
    Quantiles are chosen by OpenDP's private quantile (an exponential mechanism over candidates), lists of levels by its
    Laplace mechanism with a threshold.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from sumwise.privacy import Budget, private_encoding
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({"age": rng.integers(18, 90, 5000), "town": ["Bern"] * 3000 + ["Rome"] * 1999 + ["Alp"]})
    >>> spec = {"age": {"kind": "quantiles", "bins": 2, "range": [0, 120]}, "town": "levels"}
    >>> encoding = private_encoding(people, spec, epsilon=1.0, delta=1e-6, budget=Budget(1.0, 1e-6))
    >>> encoding["town"].levels  # nobody learns of Alp
    ('Bern', 'Rome', 'other', 'missing')
    >>> 45 < encoding["age"].edges[0] < 60
    True
    """
    asked = {n: _request(n, a) for n, a in _with_ranges(spec).items()}
    checks.at_least(epsilon, "epsilon", 0, whole_number=False)
    checks.at_least(delta, "delta", 0, whole_number=False)
    checks.at_least(rows_per_person, "rows_per_person", 1)
    check_promise(epsilon, delta)
    if budget is UNSAID or (budget is not None and not isinstance(budget, Budget)):
        raise DataError("budget is not said.", hint="give budget=Budget(...), or budget=None for no ledger at all.")
    costly = {n: a for n, a in asked.items() if isinstance(a, dict) and a["kind"] in ("quantiles", "levels")}
    lists = [n for n, a in costly.items() if a["kind"] == "levels"]
    if lists and not delta > 0:
        raise DataError(
            f"The levels of {lists[0]!r} need a delta above 0.", hint="as 1e-6; or give them: values=[...]."
        )
    frame = frames.to_pandas(rows, tuple(dict.fromkeys(a.get("column", n) for n, a in costly.items())))
    if costly and budget is not None:
        budget.spend(epsilon, what=what, delta=delta if lists else 0.0)
    share, rules = epsilon / max(len(costly), 1), {}
    for name, a in asked.items():
        column = a.get("column", name) if isinstance(a, dict) else name
        if name not in costly:
            rules[name] = fitted_rule(name, a, _NoRows())
        elif a["kind"] == "levels":
            rules[name] = _private_levels(frame[column], column, a, share, delta / len(lists), rows_per_person)
        else:
            rules[name] = _private_quantiles(frame[column], column, a, share, rows_per_person)
    return Encoding(rules)


class _NoRows:
    """A summary for rules that learn nothing: whether values are missing is not looked at."""

    n_missing = 0


def _with_ranges(spec: Any) -> dict[str, Any]:
    """The requests, with ranges and values set aside while the rest is checked as usual."""
    extra: dict[str, dict] = {}
    plain = {}
    for name, a in spec.items() if isinstance(spec, Mapping) else ():
        given = dict(a) if isinstance(a, Mapping) else a
        if isinstance(given, dict):
            extra[name] = {k: given.pop(k) for k in ("range", "values", "candidates") if k in given}
        plain[name] = given
    asked = parsed_spec(plain if isinstance(spec, Mapping) else spec)
    return {n: {**a, **extra.get(n, {})} if isinstance(a, dict) else a for n, a in asked.items()}


def _request(name: str, a: Any) -> Any:
    """One request in full: with a level for missing values, and what must not come from the rows."""
    if not isinstance(a, dict) or a["kind"] == "cross":
        return a
    if a["kind"] == "target":
        raise DataError(
            f"Attribute {name!r} asks for target encoding, which has no private form here.", hint="use hash."
        )
    a = {"missing": "missing", **a}
    if a["kind"] in ("quantiles", "width"):
        low, high = _range(name, a)
        if a["kind"] == "width":
            edges = np.linspace(low, high, int(a.get("bins", 10)) + 1)[1:-1]
            return Cuts(a.get("column", name), tuple(edges.tolist()), a["missing"] or None)
    if a["kind"] == "levels" and "values" in a:
        return Levels(a.get("column", name), tuple(a["values"]), a.get("other", "other") or None, a["missing"] or None)
    return a


def _range(name: str, a: dict) -> tuple[float, float]:
    given = a.get("range")
    if not isinstance(given, list | tuple) or len(given) != 2 or not float(given[0]) < float(given[1]):
        raise DataError(
            f"Attribute {name!r} needs a range that doesn't come from the rows; got {given!r}.",
            hint="range = [0, 100], as anybody would guess it.",
        )
    return float(given[0]), float(given[1])


def _private_quantiles(column: Any, name: str, a: dict, epsilon: float, rows: int) -> Cuts:
    low, high = _range(name, a)
    bins = checks.at_least(a.get("bins", 10), "bins", 2)
    values = numbers_of(column, name)
    values = np.clip(values[~np.isnan(values)], low, high)
    dp = require("opendp.prelude", extra="privacy")
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="f64", nan=False)), dp.symmetric_distance()
    candidates = np.linspace(low, high, int(a.get("candidates", CANDIDATES)) + 1).tolist()
    each = epsilon / (bins - 1)
    edges = []
    for k in range(1, bins):

        def made(scale: float, alpha: float = k / bins) -> Any:
            return dp.m.make_private_quantile(*space, dp.max_divergence(), candidates, alpha, scale)

        scale = float(made(1.0).map(rows)) / each * (1 + 1e-9)
        measurement = made(scale)
        if float(measurement.map(rows)) > each * (1 + 1e-6):
            raise DataError(f"The quantiles of {name!r} would cost more than epsilon {each:g}.", hint="report this.")
        edges.append(float(measurement(values.tolist())))
    inner = sorted({e for e in edges if low < e < high})
    return Cuts(name, tuple(inner), a["missing"] or None)


def _private_levels(column: Any, name: str, a: dict, epsilon: float, delta: float, rows: int) -> Levels:
    codes, values = factorized(column)
    kind_of(tuple(values), name)
    counts = np.bincount(codes[codes >= 0], minlength=len(values))
    dp = require("opendp.prelude", extra="privacy")
    dp.enable_features("contrib")
    domain = dp.map_domain(dp.atom_domain(T="i64"), dp.atom_domain(T="i64"))
    metric = dp.l01inf_distance(dp.absolute_distance(T="i64"))
    scale = rows / epsilon * (1 + 1e-9)
    threshold = rows + math.ceil(scale * math.log(rows / (2 * delta))) + 1

    def made(limit: int) -> Any:
        return dp.m.make_laplace_threshold(domain, metric, scale=scale, threshold=limit)

    while made(threshold).map((rows, rows, rows))[1] > delta:
        threshold += max(1, int(scale))
    kept = made(threshold)({i: int(n) for i, n in enumerate(counts)})
    found = sorted((values[i] for i in kept), key=lambda v: (str(type(v)), v))
    most = a.get("max_levels")
    if most is not None and len(found) > int(most):
        by_count = sorted(kept, key=lambda i: -kept[i])[: int(most)]
        found = sorted(values[i] for i in by_count)
    return Levels(name, tuple(found), a.get("other", "other") or None, a["missing"] or None)
