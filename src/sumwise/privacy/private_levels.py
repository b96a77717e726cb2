"""private_encoding: cut points and lists of levels learned from rows under a privacy budget."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri

from sumwise import checks, frames
from sumwise.encoding import Encoding
from sumwise.encoding.learning import fitted_rule, parsed_spec
from sumwise.encoding.rules import Cuts, Levels
from sumwise.encoding.values import factorized, kind_of, numbers_of
from sumwise.errors import DataError
from sumwise.extras import require
from sumwise.privacy.accounting import (
    check_promise,
    epsilon_of_mu,
    epsilon_of_rho,
    mu_of_epsilon,
    rho_of_epsilon,
)
from sumwise.privacy.budget import Budget
from sumwise.privacy.ledger import rows_fingerprint
from sumwise.privacy.mechanisms import GRID, Mechanism, mechanism
from sumwise.privacy.release import UNSAID, PersonBounds, neighbours

if TYPE_CHECKING:
    import pandas as pd

BINS = 1000  # between which cut points are chosen, evenly over the range
BLOCKS = (100, 10, 1)  # histograms are counted over so many of them each


def private_encoding(
    rows: Any,
    spec: Any,
    epsilon: float,
    delta: float = 0.0,
    max_rows: int = 1,
    budget: Budget | None = UNSAID,
    *,
    person: str | None = None,
    what: str = "private_encoding",
    rows_per_person: int | None = None,
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
        cost nothing; ``"levels"`` keeps the levels whose noisy count passes a threshold (needs a delta) and
        ``min_count``, where given, or, with ``"values": [...]``, those. Every rule has a level for missing values, and
        every list of levels one for others.
    epsilon : float > 0
        Privacy loss of all cut points and lists together, shared equally by the attributes that cost any.
    delta : float in [0, 1), default 0
        Needed above 0 for lists of levels: half of it is shared by their thresholds. With a delta noise is Gaussian,
        which is far less for many attributes; without one it is geometric.
    max_rows : int >= 1, default 1
        The most rows that one person has.
    budget : Budget or None
        The budget that the loss is charged to; it has no default, as in :func:`release`.
    person : str, optional
        The column that names persons: the first ``max_rows`` rows of each are looked at, and no others.
    what : str
        What the budget's ledger calls it.
    rows_per_person : int, optional
        The name of `max_rows` until version 0.2; it warns, and will be removed in version 0.3.

    Returns
    -------
    Encoding
        Whose rules count as given, not learned, where tables are released. Tables that are counted with it state this
        loss in their provenance, beside that of their own release.

    See Also
    --------
    release : Tables with noise.

    Notes
    -----
    Cut points come from a noisy histogram over 1,000 bins of the range and its sums over ten and a hundred of them, so
    that all cuts of an attribute cost no more than one; a value that many rows share has a bin of its own, and the
    other cuts go to the rest. Lists of levels are chosen by OpenDP's Gaussian mechanism with a threshold.

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
    if rows_per_person is not None:
        if max_rows != 1:
            raise DataError("rows_per_person is the old name of max_rows; both are given.", hint="leave the old out.")
        warnings.warn(
            "private_encoding(rows_per_person=...) is now max_rows=...; the old name will be removed in version 0.3.",
            DeprecationWarning,
            stacklevel=2,
        )
        max_rows = rows_per_person
    checks.at_least(epsilon, "epsilon", 0, whole_number=False)
    checks.at_least(delta, "delta", 0, whole_number=False)
    if epsilon <= 0:
        raise DataError(f"epsilon is {epsilon!r}; it must be above 0.", hint="smaller means more noise.")
    check_promise(epsilon, delta)
    loss = LevelsLoss.of(float(epsilon), float(delta))
    return learned_privately(rows, spec, loss, PersonBounds(max_rows), budget, person=person, what=what)


@dataclass(frozen=True, slots=True)
class LevelsLoss:
    """What levels and cut points cost together: epsilon, or mu of Gaussian noise and delta of thresholds."""

    epsilon: float
    mu: float | None = None
    delta: float = 0.0

    @classmethod
    def of(cls, epsilon: float, delta: float) -> LevelsLoss:
        """Half of a delta goes to thresholds, half to the noise."""
        return cls(epsilon, mu_of_epsilon(epsilon, delta / 2), delta / 2) if delta else cls(epsilon)

    @property
    def mechanism(self) -> Mechanism:
        return mechanism("geometric" if self.mu is None else "gaussian")

    def share(self, parts: int) -> float:
        """The loss of one of so many equal parts, in the unit of the mechanism."""
        return (self.epsilon if self.mu is None else self.mu**2 / 2) / parts

    def spend(self, budget: Budget, what: str, data: str, lists: bool) -> None:
        """Take it from a budget."""
        unit = {"epsilon": self.epsilon} if self.mu is None else {"mu": self.mu}
        budget.spend(**unit, what=what, delta=self.delta if lists else 0.0, data=() if budget.path is None else [data])


def split_loss(epsilon: float, delta: float, share: float, unit: str) -> tuple[LevelsLoss, float, float]:
    """Split a privacy loss between levels, which have this share of it, and the tables that are counted with them.

    Parameters
    ----------
    epsilon, delta : float
        The loss of both together.
    share : float in (0, 1)
    unit : {"epsilon", "mu", "rho"}
        In which losses of the tables' mechanism add up: "mu", by its squares, for Gaussian noise, "rho" where tables
        are selected, too.

    Returns
    -------
    levels : LevelsLoss
    epsilon, delta : float
        The loss that is left for the tables.
    """
    if unit == "epsilon":
        return LevelsLoss.of(epsilon * share, delta), epsilon * (1 - share), 0.0
    left = delta * (1 - share)
    if unit == "mu":
        whole = mu_of_epsilon(epsilon, left) ** 2 / 2
        rest = epsilon_of_mu(math.sqrt(2 * whole * (1 - share)), left)
    else:
        whole = rho_of_epsilon(epsilon, left)
        rest = epsilon_of_rho(whole * (1 - share), left)
    mu, threshold = math.sqrt(2 * whole * share), delta * share
    return LevelsLoss(epsilon_of_mu(mu, threshold), mu, threshold), rest * (1 - 1e-9), left


def learned_privately(
    rows: Any,
    spec: Any,
    loss: LevelsLoss,
    bounds: PersonBounds,
    budget: Budget | None,
    *,
    person: str | None = None,
    what: str = "private_encoding",
) -> Encoding:
    """`private_encoding`, with the loss in the units of its mechanism."""
    asked = {n: _request(n, a) for n, a in _with_ranges(spec).items()}
    reach = int(bounds.reach)  # rows that come or go; twice a person's own where they are replaced
    if budget is UNSAID or (budget is not None and not isinstance(budget, Budget)):
        raise DataError("budget is not given.", hint="give budget=Budget(...), or budget=None for no ledger at all.")
    costly = {n: a for n, a in asked.items() if isinstance(a, dict) and a["kind"] in ("quantiles", "levels")}
    lists = [n for n, a in costly.items() if a["kind"] == "levels"]
    if lists and not loss.delta > 0:
        raise DataError(
            f"The levels of {lists[0]!r} need a delta above 0.", hint="as 1e-6; or give them: values=[...]."
        )
    wanted = dict.fromkeys([*(a.get("column", n) for n, a in costly.items()), *([person] if person else [])])
    frame = frames.to_pandas(rows, tuple(wanted))
    if costly and budget is not None:
        loss.spend(budget, what, rows_fingerprint(frame), bool(lists))
    frame = _first_rows(frame, person, bounds.rows)
    share, rules = loss.share(max(len(costly), 1)), {}
    for name, a in asked.items():
        column = a.get("column", name) if isinstance(a, dict) else name
        if name not in costly:
            rules[name] = fitted_rule(name, a, _NoRows())
        elif a["kind"] == "levels":
            rules[name] = _private_levels(frame[column], column, a, share, loss.delta / len(lists), reach)
        else:
            rules[name] = _private_quantiles(frame[column], column, a, loss.mechanism, share, reach)
    return Encoding(rules, releases=[_promise(loss, bool(lists), bounds)] if costly else ())


def _first_rows(frame: pd.DataFrame, person: str | None, most: int) -> pd.DataFrame:
    """The first rows of each person: whatever others have, they stay the same."""
    if person is None:
        return frame
    if frame[person].isna().to_numpy().any():
        raise DataError(
            f"Column {person!r}, which names persons, has missing values.",
            hint="leave such rows out: whose they are decides how much one person can change.",
        )
    return frame.loc[(frame.groupby(person, sort=False).cumcount() < most).to_numpy()]


def _promise(loss: LevelsLoss, lists: bool, bounds: PersonBounds) -> dict[str, Any]:
    """What tables counted with the encoding say about it."""
    whole = 2 * loss.delta if lists else loss.delta
    return {
        "mechanism": loss.mechanism.name,
        "of": "levels and cut points",
        "epsilon": loss.epsilon,
        "delta": whole if loss.mu is not None else 0.0,
        "neighbours": neighbours(bounds),
    }


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
            extra[name] = {k: given.pop(k) for k in ("range", "values") if k in given}
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
    for option in ("min_count", "max_levels"):
        if a.get(option) is not None:
            checks.at_least(a[option], option, 1)
    if a["kind"] in ("quantiles", "width"):
        low, high = _range(name, a)
        bins = int(checks.at_least(a.get("bins", 10), "bins", 2))
        if a["kind"] == "width":
            edges = np.linspace(low, high, bins + 1)[1:-1]
            return Cuts(a.get("column", name), tuple(edges.tolist()), a["missing"] or None)
    if a["kind"] == "levels" and "values" in a:
        return Levels(a.get("column", name), tuple(a["values"]), a.get("other", "other") or None, a["missing"] or None)
    return a


def _range(name: str, a: dict) -> tuple[float, float]:
    given: Any = a.get("range")
    pair = isinstance(given, list | tuple) and len(given) == 2 and all(isinstance(v, Real) for v in given)
    low, high = (float(given[0]), float(given[1])) if pair else (math.nan, math.nan)
    if not -math.inf < low < high < math.inf:
        raise DataError(
            f"Attribute {name!r} needs a range that doesn't come from the rows; got {given!r}.",
            hint="range = [0, 100], as anybody would guess it.",
        )
    return low, high


def _private_quantiles(column: Any, name: str, a: dict, noise: Mechanism, loss: float, rows: int) -> Cuts:
    low, high = _range(name, a)
    bins = int(a.get("bins", 10))
    values = numbers_of(column, name)
    values = np.clip(values[~np.isnan(values)], low, high)
    fine = np.minimum((values - low) / (high - low) * BINS, BINS - 1).astype(int)
    scale = noise.scale(float(rows), loss / len(BLOCKS))  # a row is in one bin of each histogram
    noisy = {}
    for size in BLOCKS:
        counts = np.bincount(fine // size, minlength=BINS // size).astype(float)
        noisy[size] = noise.add(counts, scale)
    counts = noisy[BLOCKS[0]]
    for size, parent in zip(BLOCKS[1:], BLOCKS):  # parts add up to their whole, which has less noise than their sum
        parts = noisy[size].reshape(-1, parent // size)
        counts = (parts + (counts - parts.sum(axis=1))[:, None] / parts.shape[1]).ravel()
    edges = low + (high - low) / BINS * np.array(even_cuts(counts, bins))
    return Cuts(name, tuple(edges.tolist()), a["missing"] or None)


def even_cuts(counts: np.ndarray, bins: int) -> list[int]:
    """Places between bins of a noisy histogram that make parts of about equal counts, at most this many.

    A bin with more than its part stays alone, and what is left is shared by the parts that are left.
    """
    totals = np.maximum.accumulate(np.concatenate([[0.0], np.cumsum(counts)]))
    cuts: list[int] = []
    start = 0
    while len(cuts) < bins - 1:
        each = (totals[-1] - totals[start]) / (bins - len(cuts))
        place = int(np.searchsorted(totals, totals[start] + each))
        if place - start > 1 and totals[place] - totals[start] > 1.5 * each:  # a heavy bin begins a part
            place -= 1
        if each <= 0 or place >= len(counts):
            break
        cuts.append(place)
        start = place
    return cuts


def _private_levels(column: Any, name: str, a: dict, rho: float, delta: float, rows: int) -> Levels:
    codes, values = factorized(column)
    kind_of(tuple(values), name)
    counts = np.bincount(codes[codes >= 0], minlength=len(values))
    dp = require("opendp.prelude", extra="privacy")
    dp.enable_features("contrib")
    domain = dp.map_domain(dp.atom_domain(T="i64"), dp.atom_domain(T="i64"))
    metric = dp.l02inf_distance(dp.absolute_distance(T="i64"))
    scale = mechanism("gaussian").scale(float(rows), rho)
    threshold = rows + math.ceil(-scale * ndtri(delta / rows))

    def made(limit: int) -> Any:
        return dp.m.make_gaussian_threshold(domain, metric, scale=scale * GRID, threshold=limit * GRID)

    while made(threshold).map((rows, rows * GRID, rows * GRID))[1] > delta:
        threshold += max(1, int(0.01 * scale))
    noisy = made(threshold)({i: int(n) * GRID for i, n in enumerate(counts)})
    fewest = float(a.get("min_count") or 0) * GRID  # of the noisy counts, which costs nothing more
    kept = {i: n for i, n in noisy.items() if n >= fewest}
    found = sorted((values[i] for i in kept), key=lambda v: (str(type(v)), v))
    most = a.get("max_levels")
    if most is not None and len(found) > int(most):
        by_count = sorted(kept, key=lambda i: -kept[i])[: int(most)]
        found = sorted(values[i] for i in by_count)
    return Levels(name, tuple(found), a.get("other", "other") or None, a["missing"] or None)
