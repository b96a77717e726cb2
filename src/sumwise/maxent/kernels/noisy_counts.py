"""A log-linear model of x on counts observed with noise: weighted least squares on the counts, effect by effect."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sumwise.inference.kernels.minimise import minimise

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


class NoisyCounts(NamedTuple):
    """Counts to be met.

    counts (P,); variance (P,) of their noise, infinite where unknown; n: the population; centred: (P,) to (P,), takes
    out of every table what smaller ones determine; free (P,): which parameters may move.
    """

    counts: np.ndarray
    variance: np.ndarray
    n: float
    centred: Callable[[np.ndarray], np.ndarray]
    free: np.ndarray


def fit_noisy_counts(
    design: csr_matrix,
    weights: np.ndarray,
    observed: NoisyCounts,
    penalty: np.ndarray,
    begin: np.ndarray,
    max_iter: int = 100,
) -> tuple[np.ndarray, np.ndarray]:
    """Minimise half the sum of (expected - observed)^2 / noise, plus penalty mu^2; return mu and expected counts (P,).

    design (m, P): indicators of rows that stand for the distribution of x at mu = `begin`, with shares that are
    proportional to weights (m,). At another mu their weights are multiplied by exp(phi . (mu - begin)).
    """
    turned = design.T.tocsr()
    precision = 1.0 / observed.variance
    here = turned @ (weights * (observed.n / weights.sum()))
    free = observed.free & (here > 0)  # rows say nothing of a cell that has none
    pace = np.where(free, 1.0 / np.sqrt(2 * penalty + np.maximum(here, 0.5) ** 2 * precision + 1e-9), 0.0)

    def expected(mu: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        score = design @ (mu - begin)
        mass = weights * np.exp(score - score.max())
        mass *= observed.n / mass.sum()
        return mass, turned @ mass

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        mu = begin + x * pace
        mass, counts = expected(mu)
        off = observed.centred(counts - observed.counts)
        pull = design @ observed.centred(precision * off)
        pull -= np.sum(mass * pull) / observed.n
        gradient = turned @ (mass * pull) + 2 * penalty * mu
        return 0.5 * float(np.sum(precision * off**2)) + float(np.sum((penalty * mu**2)[free])), gradient * pace

    options = {"maxiter": max_iter, "maxfun": 2 * max_iter, "ftol": 1e-7, "maxcor": 15}
    found = minimise(loss, np.zeros(len(begin)), jac=True, method="L-BFGS-B", options=options)
    mu = begin + found.x * pace
    return mu, expected(mu)[1]
