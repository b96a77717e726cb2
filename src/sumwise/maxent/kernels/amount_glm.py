"""Generalised linear models on rows without outcomes: sums of the outcome over the cells of tables are observed.

With eta = offset + design theta and A the cumulant function (A' the mean), minimise
(sum of weights A(eta) - total offset - sums . theta) / dispersion + sum penalty theta^2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sumwise.kernels.minimise import minimise

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

STEPS = 200  # of conjugate gradients at most
TOL = 1e-5
MAX_LOG_MEAN = 30.0  # of a log mean, so that no step overflows


class Family(NamedTuple):
    """Cumulant, mean and variance of an outcome by its linear score."""

    cumulant: object
    mean: object
    variance: object


def _exp(eta: np.ndarray) -> np.ndarray:
    return np.exp(np.minimum(eta, MAX_LOG_MEAN))


FAMILIES = {
    "gaussian": Family(lambda eta: 0.5 * eta**2, lambda eta: eta, np.ones_like),
    "poisson": Family(_exp, _exp, _exp),
}


class Targets(NamedTuple):
    """Sums (P,) of the outcome over cells, its total, and the penalty (P,) of each parameter."""

    sums: np.ndarray
    total: float
    penalty: np.ndarray


def fit_glm(
    design: csr_matrix,
    weights: np.ndarray,
    targets: Targets,
    family: str,
    dispersion: float,
    begin: tuple[np.ndarray, float] | None = None,
) -> tuple[np.ndarray, float, float, int, bool]:
    """Theta (P,), the offset, the loss, the number of iterations and whether it ended by itself.

    design (m, P), sparse; weights (m,): individuals that a row stands for.
    """
    kind, turned, n = FAMILIES[family], design.T.tocsr(), float(weights.sum())
    mean = targets.total / n
    start = mean if family == "gaussian" else np.log(max(mean, 1e-12))
    theta, offset = (np.zeros(targets.sums.shape), start) if begin is None else begin
    spread = kind.variance(np.full(1, start))[0]  # type: ignore[operator]
    pace = 1.0 / np.sqrt(turned @ weights * spread / dispersion + 2 * targets.penalty + 1e-9)
    whole = 1.0 / np.sqrt(n * spread / dispersion)

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        now, level = x[:-1] * pace, x[-1] * whole
        eta = design @ now + level
        value = np.sum(weights * kind.cumulant(eta)) - targets.total * level - targets.sums @ now  # type: ignore[operator]
        means = weights * kind.mean(eta)  # type: ignore[operator]
        gradient = (turned @ means - targets.sums) / dispersion + 2 * targets.penalty * now
        end = (means.sum() - targets.total) / dispersion
        value = value / dispersion + np.sum(targets.penalty * now**2)
        return value, np.append(gradient * pace, end * whole)

    first = np.append(theta / pace, offset / whole)
    options = {"maxiter": 500, "maxfun": 1000, "gtol": 1e-6 * np.sqrt(n), "ftol": 1e-13, "maxcor": 20}
    result = minimise(loss, first, jac=True, method="L-BFGS-B", options=options)
    return result.x[:-1] * pace, float(result.x[-1] * whole), float(result.fun), int(result.nit), bool(result.success)


class Drawing(NamedTuple):
    """What parameters' errors are drawn from: the weights of rows' outcomes (m,), penalties (P,), noise (P + 1, B).

    outcome: weight times variance over dispersion of every row; penalty: as trained with, raised where sums have noise;
    prior (P, B): those that the true parameters may have been drawn by, without that; noise: B draws of the noise of
    the sums and, last, of their total, over the dispersion.
    """

    outcome: np.ndarray
    penalty: np.ndarray
    prior: np.ndarray
    noise: np.ndarray


def drawn_errors(design: csr_matrix, given: Drawing, rng: np.random.Generator) -> np.ndarray:
    """Errors (B, P + 1) of theta and the offset, from sampling, noise and shrinkage alike, one per draw of noise.

    With S the information of the rows, theta errs by (S + 2 penalty)^-1 (e - 2 penalty theta_0), where e is noise plus
    sampling errors of covariance S, and the true theta_0 has the prior's, 1 / (2 prior).
    """
    n_draws = given.noise.shape[1]
    turned = design.T.tocsr()
    rows = np.sqrt(given.outcome)[:, None] * rng.standard_normal((len(given.outcome), n_draws))
    theta = rng.standard_normal((len(given.penalty), n_draws)) / np.sqrt(2 * given.prior)
    data = turned @ rows + given.noise[:-1]
    data -= 2 * given.penalty[:, None] * theta
    right = np.vstack([data, rows.sum(axis=0) + given.noise[-1]])
    diagonal = np.append(turned @ given.outcome + 2 * given.penalty, given.outcome.sum())[:, None]

    def times(x: np.ndarray) -> np.ndarray:
        eta = given.outcome[:, None] * (design @ x[:-1] + x[-1])
        return np.vstack([turned @ eta + 2 * given.penalty[:, None] * x[:-1], eta.sum(axis=0)])

    return conjugate_gradients(times, right, diagonal).T


def conjugate_gradients(times: Callable[..., Any], right: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
    """Solve for many right-hand sides (P, B) at once, scaled by the diagonal."""
    x, left = np.zeros_like(right), right.copy()
    scaled = left / diagonal
    direction, size = scaled.copy(), np.sum(left * scaled, axis=0)
    first = np.maximum(size, 1e-300)
    for _ in range(STEPS):
        turned = times(direction)
        step = size / np.maximum(np.sum(direction * turned, axis=0), 1e-300)
        x, left = x + step * direction, left - step * turned
        scaled = left / diagonal
        now = np.sum(left * scaled, axis=0)
        if np.all(now < TOL**2 * first):
            break
        direction, size = scaled + now / np.maximum(size, 1e-300) * direction, now
    return x
