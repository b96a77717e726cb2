"""private_encoding: cut points and lists of levels learned from rows under a privacy budget."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from sumwise import checks
from sumwise.aggregate.declared import declared_rows, value_counts
from sumwise.encoding import Encoding
from sumwise.encoding.declaration import Declaration, PrivateCuts, PrivateLevels
from sumwise.encoding.rules import Cuts, Levels
from sumwise.errors import DataError
from sumwise.extras import require
from sumwise.privacy.accounting import check_promise, epsilon_of_mu, mu_of_epsilon
from sumwise.privacy.budget import Budget, checked_budget
from sumwise.privacy.ledger import source_digests
from sumwise.privacy.mechanisms import GRID, Mechanism, mechanism
from sumwise.privacy.release import UNSAID, PersonBounds, neighbours

BINS = 1000  # between which cut points are chosen, evenly over the range: .1% of it is as fine as noise allows
BLOCKS = (100, 10, 1)  # bins of each histogram: sums over 100 and 10 bins have the noise of one


def private_encoding(
    rows: Any,
    declaration: Declaration | Mapping[str, Any],
    epsilon: float,
    delta: float = 0.0,
    budget: Budget | None = UNSAID,
    *,
    what: str = "private_encoding",
    **options: Any,
) -> Encoding:
    """Learn the cut points and levels of a declaration from rows so that they reveal little about any one person.

    Parameters
    ----------
    rows : path or data frame
        A CSV, Parquet or Arrow file, a folder of Parquet files, a DuckDB database, or a frame.
    declaration : Declaration, or mapping of attributes
        What is known of the rows; a mapping is its ``attributes``.
    epsilon : float > 0
        Privacy loss of all cut points and lists together, shared equally by the attributes that cost any.
    delta : float in [0, 1), default 0
        Needed above 0 for lists of levels: half of it is shared by their thresholds. With a delta noise is Gaussian,
        which is far less for many attributes; without one it is geometric.
    budget : Budget or None
        The budget that the loss is charged to; it has no default, as in :func:`release`.
    what : str
        What the budget's ledger calls it.
    **options
        ``table``, ``threads`` and ``memory_limit``, as in :func:`sumwise.aggregate.aggregate`.

    Returns
    -------
    Encoding
        Whose rules count as given, not learned, where tables are released. Tables that are counted with it state this
        loss in their provenance, beside that of their own release.

    See Also
    --------
    release_rows : Levels, counts and release in one step, with one promise.

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
    declaration = as_declaration(declaration)
    checks.at_least(epsilon, "epsilon", 0, whole_number=False)
    checks.at_least(delta, "delta", 0, whole_number=False)
    if epsilon <= 0:
        raise DataError(f"epsilon is {epsilon!r}; it must be above 0.", hint="smaller means more noise.")
    check_promise(epsilon, delta)
    checked_budget(budget)
    bounds = PersonBounds(declaration.max_rows)
    loss = LevelsLoss.of(float(epsilon), float(delta))
    check_lists(declaration, loss)
    require("opendp.prelude", extra="privacy")
    with declared_rows(rows, declaration, **options) as engine:
        counted = histograms(engine, declaration)
        if budget is not None and counted:
            budget.spend_all([loss.entry(declaration)], what, [] if budget.path is None else source_digests(rows))
    rules = learned_rules(counted, declaration, loss, bounds)
    return Encoding(rules, releases=[_promise(loss, declaration, bounds)] if counted else ())


def as_declaration(given: Any) -> Declaration:
    """A declaration, or one of attributes alone."""
    if isinstance(given, Declaration):
        return given
    if isinstance(given, Mapping):
        return Declaration(given)
    raise DataError(f"declaration is of type {type(given).__name__}.", hint="give a Declaration, or its attributes.")


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

    def entry(self, declaration: Declaration) -> dict[str, float]:
        """The loss as a ledger's entry."""
        own = {"epsilon": self.epsilon} if self.mu is None else {"mu": self.mu}
        return own | ({"delta": self.delta} if _lists(declaration) else {})


def split_loss(epsilon: float, delta: float, share: float, pure: bool) -> tuple[LevelsLoss, float, float]:
    """Split a privacy loss between levels, which have this share of it, and the tables that are counted with them.

    Parameters
    ----------
    epsilon, delta : float
        The loss of both together.
    share : float in (0, 1)
    pure : bool
        Whether the tables' mechanism has an epsilon, else mu of Gaussian noise, whose squares add up.

    Returns
    -------
    levels : LevelsLoss
    epsilon, delta : float
        The loss that is left for the tables.
    """
    if pure:
        return LevelsLoss.of(epsilon * share, delta), epsilon * (1 - share), 0.0
    left, threshold = delta * (1 - share), delta * share
    squared = mu_of_epsilon(epsilon, left) ** 2
    rest, mu = epsilon_of_mu(math.sqrt(squared * (1 - share)), left), math.sqrt(squared * share)
    return LevelsLoss(epsilon_of_mu(mu, threshold), mu, threshold), rest * (1 - 1e-9), left


def check_lists(declaration: Declaration, loss: LevelsLoss | None) -> None:
    """Refuse lists of levels without a delta."""
    lists = _lists(declaration)
    if lists and (loss is None or not loss.delta > 0):
        raise DataError(f"The levels of {lists[0]!r} need a delta above 0.", hint="as 1e-6; or declare values=[...].")


def _lists(declaration: Declaration) -> list[str]:
    return [n for n, rule in declaration.learned.items() if isinstance(rule, PrivateLevels)]


def histograms(engine: Any, declaration: Declaration) -> dict[str, dict[Any, int]]:
    """The exact counts that cut points and levels are learned from: of bins, or of values."""
    return {
        name: _bins(engine, rule) if isinstance(rule, PrivateCuts) else value_counts(engine, rule.column)
        for name, rule in declaration.learned.items()
    }


def learned_rules(
    counted: dict[str, dict[Any, int]], declaration: Declaration, loss: LevelsLoss | None, bounds: PersonBounds
) -> dict[str, Any]:
    """The declared rules, with those that `counted` and noise give."""
    rules, lists = dict(declaration.attributes), _lists(declaration)
    reach = int(PersonBounds(bounds.rows, replace=bounds.replace).reach)  # rows that come or go
    for name, rule in declaration.learned.items():
        assert loss is not None
        share = loss.share(len(counted))
        if isinstance(rule, PrivateCuts):
            rules[name] = _noisy_cuts(counted[name], rule, loss.mechanism, share, reach)
        else:
            rules[name] = _noisy_levels(counted[name], rule, share, loss.delta / len(lists), reach)
    return rules


def _promise(loss: LevelsLoss, declaration: Declaration, bounds: PersonBounds) -> dict[str, Any]:
    """What tables counted with the encoding say about it."""
    delta = 0.0 if loss.mu is None else loss.delta * (2 if _lists(declaration) else 1)
    return {
        "mechanism": loss.mechanism.name,
        "of": "levels and cut points",
        "epsilon": loss.epsilon,
        "delta": delta,
        "neighbours": neighbours(bounds),
        "unit of privacy": "a row" if declaration.person is None else "a person",
    }


def _bins(engine: Any, rule: PrivateCuts) -> dict[int, int]:
    low, step = (engine.dialect.literal(v) for v in (rule.low, (rule.high - rule.low) / BINS))
    place = f"CAST(least(greatest(floor(({{}} - {low}) / {step}), 0), {BINS - 1}) AS INTEGER)"
    return value_counts(engine, rule.column, place)


def _noisy_cuts(counted: dict[int, int], rule: PrivateCuts, noise: Mechanism, loss: float, rows: int) -> Cuts:
    fine = np.zeros(BINS)
    fine[list(counted)] = list(counted.values())
    scale = noise.scale(float(rows), loss / len(BLOCKS))  # a row is in one bin of each histogram
    noisy = {size: noise.add(fine.reshape(-1, size).sum(axis=1), scale) for size in BLOCKS}
    counts = noisy[BLOCKS[0]]
    for size, parent in zip(BLOCKS[1:], BLOCKS):  # parts add up to their whole, which has less noise than their sum
        parts = noisy[size].reshape(-1, parent // size)
        counts = (parts + (counts - parts.sum(axis=1))[:, None] / parts.shape[1]).ravel()
    edges = rule.low + (rule.high - rule.low) / BINS * np.array(even_cuts(counts, rule.bins))
    return Cuts(rule.column, tuple(edges.tolist()), rule.missing)


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


def _noisy_levels(counted: dict[Any, int], rule: PrivateLevels, rho: float, delta: float, rows: int) -> Levels:
    dp = require("opendp.prelude", extra="privacy")
    dp.enable_features("contrib")
    domain = dp.map_domain(dp.atom_domain(T="i64"), dp.atom_domain(T="i64"))
    metric = dp.l02inf_distance(dp.absolute_distance(T="i64"))
    scale = mechanism("gaussian").scale(float(rows), rho)
    threshold = rows + math.ceil(-scale * ndtri(delta / rows))

    def measurement(limit: int) -> Any:
        return dp.m.make_gaussian_threshold(domain, metric, scale=scale * GRID, threshold=limit * GRID)

    while measurement(threshold).map((rows, rows * GRID, rows * GRID))[1] > delta:
        threshold += max(1, int(0.01 * scale))
    values = list(counted)
    noisy = measurement(threshold)({i: n * GRID for i, n in enumerate(counted.values())})
    frequent = sorted((i for i, n in noisy.items() if n >= rule.min_count * GRID), key=lambda i: -noisy[i])
    levels = sorted(values[i] for i in frequent[: rule.max_levels])
    free = [v for v in levels if v not in (rule.other, rule.missing)]  # a value of that name goes there
    return Levels(rule.column, tuple(free), rule.other, rule.missing)
