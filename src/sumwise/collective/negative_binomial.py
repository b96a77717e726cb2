"""Negative binomial noise (overdispersed counts): a mixture of Poisson problems, solved round by round."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import gammaln

from sumwise.collective.counts import CountsFit, dense
from sumwise.fit import warn_not_converged
from sumwise.noise import Gaussian, NegativeBinomial, Poisson
from sumwise.table import Table
from sumwise.tables import Tables

ROUNDS = 200
LEAST_MEAN = 0.1  # of a count, where a variance is needed: that of an expected count of 0 is not 0


def is_overdispersed(tables: Any) -> bool:
    """Whether some table has negative binomial noise."""
    return isinstance(tables, Tables) and any(isinstance(t.noise, NegativeBinomial) for t in tables)


def solve_overdispersed(tables: Tables, solve: Callable[[Tables], CountsFit], tol: float) -> CountsFit:
    """The most likely tables where some noise is negative binomial: a stationary point.

    With ``r = 1 / dispersion`` and mean m, ``-log p = (y + r) log(m + r) - y log m``: its first term is concave and
    lies below its tangent, so that replacing it by the tangent at the counts of the last round (Poisson noise of rate
    ``rate (y + r) / (m + r)``) gives a certified convex problem whose answer lowers the true objective.
    """
    factors: dict[int, Any] = {}  # per table; none at first: plain Poisson noise
    history: list[float] = []
    fit: Any = None
    for _ in range(ROUNDS):
        made = Tables([_as_poisson(t, factors.get(k, 1.0)) for k, t in enumerate(tables)], tables.domain, n=tables.n)
        fit = solve(made)
        at = {k: dense(fit.table(*t.attributes)) for k, t in enumerate(tables) if isinstance(t.noise, NegativeBinomial)}
        history.append(fit.objective + sum(_excess(tables.tables[k], factors.get(k, 1.0), c) for k, c in at.items()))
        if len(history) > 1 and abs(history[-2] - history[-1]) <= tol * max(abs(history[-1]), 1e-300):
            return _finished(fit, history, True)
        factors = {k: _factor(tables.tables[k], c) for k, c in at.items()}
    warn_not_converged(ROUNDS, history[-2] - history[-1], tol * abs(history[-1]), stacklevel=4)
    return _finished(fit, history, False)


def gaussian_twin(tables: Tables, fit: CountsFit) -> Tables:
    """The tables with normal noise of the variance at the fitted counts: same gradient there, Fisher's curvature."""
    return Tables([_as_gaussian(t, dense(fit.table(*t.attributes))) for t in tables], tables.domain, n=tables.n)


def _as_poisson(table: Table, factor: Any) -> Table:
    if not isinstance(table.noise, NegativeBinomial):
        return table
    rate = np.broadcast_to(table.noise.rate * factor, table.shape)
    return replace(table, noise=Poisson(rate))


def _factor(table: Table, cells: np.ndarray) -> np.ndarray:
    noise: Any = table.noise
    r = 1.0 / noise.dispersion
    return (np.nan_to_num(table.counts) + r) / (noise.rate * cells + r)


def _as_gaussian(table: Table, cells: np.ndarray) -> Table:
    if not isinstance(table.noise, NegativeBinomial):
        return table
    noise = table.noise
    at = np.maximum(cells, LEAST_MEAN / noise.rate)
    sd = np.broadcast_to(np.sqrt(noise.variance(at)) / noise.rate, table.shape)
    return replace(table, counts=table.counts / noise.rate, noise=Gaussian(sd))


def _excess(table: Table, factor: Any, cells: np.ndarray) -> float:
    """-log p of the negative binomial less that of the Poisson noise that stood for it; counts need not be whole."""
    noise: Any = table.noise
    seen, r = ~np.isnan(table.counts), 1.0 / noise.dispersion
    y, mean = np.nan_to_num(table.counts), noise.rate * cells
    wide = (y + r) * np.log1p(mean / r) + y * np.log(r) - gammaln(y + r) + gammaln(r)
    poisson = factor * mean - y * np.log(factor)
    return float(np.where(seen, wide - poisson, 0.0).sum())


def _finished(fit: CountsFit, history: list[float], converged: bool) -> CountsFit:
    return replace(
        fit,
        objective=history[-1],
        gap=float("nan"),
        n_iter=len(history),
        converged=converged,
        history={"objective": np.array(history)},
        multipliers=None,
        dual=None,
    )
