"""King's model of R x C tables: its parameters, its posterior and simulation of units."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize, nnls
from scipy.stats import qmc

from sumwise.kernels import transport_normal as tp
from sumwise.kernels.king import KingPriors, _hessian

__all__ = [
    "TableData",
    "integration_error",
    "limits",
    "log_posterior",
    "maximise",
    "natural",
    "resample",
    "simulate",
    "table_data",
]

UNIT_POINTS, MASS_POINTS, DRAW_POINTS = 64, 2048, 32
START = -1.9  # a log standard deviation
FARTHEST = 1.0  # standard deviations that a mean may lie outside [0, 1]
OUTSIDE, NARROW, WIDE, CORRELATED = 4.0, 0.05, 1.0, 1.0  # of means and correlations on King's scale, and of sds


class TableData(NamedTuple):
    """Row shares x (n, R), column shares t (n, C), weights, and points in the unit cube for both kinds of mass."""

    x: np.ndarray
    t: np.ndarray
    weight: np.ndarray
    points: np.ndarray
    outside: np.ndarray


def table_data(x: np.ndarray, t: np.ndarray, weight: np.ndarray, *, rng) -> TableData:
    """Shifted Sobol points next to the data: one fixed set for every unit's mass, one for the constant."""
    inner, outer = (x.shape[1] - 1) * (t.shape[1] - 1), x.shape[1] * (t.shape[1] - 1)
    size = 2 if inner == 1 else UNIT_POINTS  # a single interval is exact
    points = [_cube(m, dims, rng) for dims, m in ((inner, size), (outer, MASS_POINTS))]
    return TableData(np.ascontiguousarray(x), np.ascontiguousarray(t), np.array(weight, dtype=float), *points)


def _cube(size: int, dims: int, rng) -> np.ndarray:
    return (qmc.Sobol(dims, scramble=False).random(size) + rng.random(dims)) % 1.0


def _equal(phi: float, size: int) -> np.ndarray:
    """A correlation matrix with one correlation, in (-1 / (size - 1), 1); tanh(phi) for two."""
    if size == 1:
        return np.ones((1, 1))
    grown = np.exp(2 * np.clip(phi, -15.0, 15.0))
    return np.full((size, size), (grown - 1) / (grown + size - 1)) + np.eye(size) * size / (grown + size - 1)


def natural(phi: np.ndarray, n_rows: int, n_cols: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means and standard deviations (R (C - 1),) and the covariance of all rows' first C - 1 shares.

    As in 2 x 2 (King 1997, section 7.4): mean = phi (1/4 + sd^2) + 1/2, sd = exp(phi). Shares of one outcome have one
    correlation between any two rows, shares of one row one between any two outcomes, other pairs their product.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.kernels.king_multivariate import natural
    >>> mean, sd, covariance = natural(np.array([0.0, 0.0, -1.0, -1.0, 0.5]), 2, 2)
    >>> round(float(covariance[0, 1] / np.prod(sd)), 4) == round(float(np.tanh(0.5)), 4)
    True
    """
    width = n_cols - 1
    size = n_rows * width
    sd = np.maximum(np.exp(np.minimum(phi[size : 2 * size], 5.0)), 1e-3)
    within = phi[2 * size + 1] if width > 1 else 0.0
    mean = phi[:size] * (0.25 + sd**2) + 0.5
    return mean, sd, np.kron(_equal(phi[2 * size], n_rows), _equal(within, width)) * np.outer(sd, sd)


def limits(n_rows: int, n_cols: int) -> tuple[np.ndarray, np.ndarray]:
    """The box of phi that is searched: beyond it masses are so small, or so bent, that their estimates mislead."""
    size = n_rows * (n_cols - 1)
    tail = np.full(1 + (n_cols > 2), CORRELATED if n_rows * n_cols > 4 else 3.0)
    low = np.concatenate([np.full(size, -OUTSIDE), np.full(size, np.log(NARROW)), -tail])
    return low, np.concatenate([np.full(size, OUTSIDE), np.full(size, np.log(WIDE)), tail])


def log_posterior(phi: np.ndarray, data: TableData, priors: KingPriors) -> float:
    """Log-likelihood of the units (see `transport_normal.tables_log_likelihood`) plus King's log priors.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.kernels.king import KingPriors
    >>> from sumwise.kernels.king_multivariate import log_posterior, table_data
    >>> x, t = np.array([[0.3, 0.7], [0.6, 0.4]]), np.array([[0.5, 0.5], [0.4, 0.6]])
    >>> data = table_data(x, t, np.ones(2), rng=np.random.default_rng(0))
    >>> round(float(log_posterior(np.zeros(5), data, KingPriors())), 2)
    -3.09
    """
    n_rows, n_cols = data.x.shape[1], data.t.shape[1]
    mean, sd, covariance = natural(phi, n_rows, n_cols)
    if sd.max() > 50:
        return -1e10
    value = tp.tables_log_likelihood(data.x, data.t, data.weight, mean, covariance, data.points, data.outside)
    if priors.erho > 0:
        value -= float(np.sum(phi[2 * len(mean) :] ** 2)) / (2 * priors.erho**2)
    if priors.esigma > 0:
        value -= float(np.sum(sd**2)) / (2 * priors.esigma**2)
    if priors.ebeta > 0:
        value -= float(np.sum(np.maximum(np.maximum(-mean, mean - 1), 0.0) ** 2)) / (2 * priors.ebeta)
    if n_rows * n_cols > 4:  # where a mass is far out in a corner, its estimate misleads
        beyond = np.maximum(np.maximum(-mean, mean - 1) / sd - FARTHEST, 0.0)
        value -= float(data.weight.sum() * np.sum(beyond**2))
    return float(value) if np.isfinite(value) else -1e10


def maximise(data: TableData, priors: KingPriors, max_iter: int = 500):
    """The mode of the posterior, the covariance there and SciPy's record.

    L-BFGS in the box of `limits`, from Goodman's shares. The record's slope leaves out what points out of the box.
    """
    n_rows, width = data.x.shape[1], data.t.shape[1] - 1
    size = n_rows * width
    first = np.zeros(2 * size + 1 + (width > 1))
    first[size : 2 * size] = START
    root = np.sqrt(data.weight)[:, None]
    shares = np.stack([nnls(root * data.x, root[:, 0] * data.t[:, c])[0] for c in range(width + 1)], axis=1)
    shares = np.clip(shares / np.maximum(shares.sum(axis=1, keepdims=True), 1e-9), 0.02, 0.98)[:, :width]
    first[:size] = (shares.ravel() - 0.5) / (0.25 + np.exp(2 * START))

    def loss(phi):
        return -log_posterior(phi, data, priors)

    low, high = limits(n_rows, width + 1)
    options = {"maxiter": max_iter, "maxfun": 10**6, "gtol": 1e-2, "ftol": 1e-8, "maxls": 30}
    first = np.clip(first, low, high)
    done = minimize(loss, first, method="L-BFGS-B", bounds=np.stack([low, high], axis=1), options=options)
    outward = ((done.x <= low) & (done.jac > 0)) | ((done.x >= high) & (done.jac < 0))
    done.jac = np.where(outward, 0.0, done.jac)
    values, vectors = np.linalg.eigh(_hessian(loss, done.x))
    return done.x, (vectors / np.maximum(values, 1.0)) @ vectors.T, done


def integration_error(phi, data: TableData, priors: KingPriors, *, rng, times: int = 4) -> float:
    """Standard deviation of the log posterior at phi over other sets of points: how far the masses are uncertain."""
    other = (table_data(data.x, data.t, data.weight, rng=rng) for _ in range(times))
    return float(np.std([log_posterior(phi, one, priors) for one in other] + [log_posterior(phi, data, priors)]))


def resample(phi, covariance, data: TableData, priors: KingPriors, n_draws: int, scale: float, *, rng):
    """As `king.resample`, with as many proposals as draws: draws of phi and the effective number behind them.

    Proposals outside the box of `limits` are moved to its edge and keep their weight: an approximation where the mode
    is at an edge.
    """
    n_proposals = 2 * -(-n_draws // 2)
    half = rng.standard_normal((n_proposals // 2, len(phi)))
    z = np.concatenate([half, -half])
    proposals = phi + z @ (scale * np.linalg.cholesky(covariance + 1e-12 * np.eye(len(phi)))).T
    low, high = limits(data.x.shape[1], data.t.shape[1])
    proposals = np.clip(proposals, low, high)
    log_weight = np.array([log_posterior(p, data, priors) for p in proposals]) + 0.5 * np.sum(z**2, axis=1)
    weight = np.exp(log_weight - log_weight.max())
    weight = np.minimum(weight, weight.mean() * np.sqrt(n_proposals))  # truncated importance sampling (Ionides 2008)
    weight /= weight.sum()
    return proposals[rng.choice(n_proposals, size=n_draws, p=weight)], float(1 / np.sum(weight**2))


def simulate(draws: np.ndarray, data: TableData, *, rng):
    """For every draw of phi, a table per unit: yields row shares (n, R, C) and how even the proposals' weights were."""
    n_rows, n_cols = data.x.shape[1], data.t.shape[1]
    points = data.points[:DRAW_POINTS]
    for phi in draws:
        mean, _, covariance = natural(phi, n_rows, n_cols)
        yield tp.draw_tables(data.x, data.t, mean, covariance, points, rng)
