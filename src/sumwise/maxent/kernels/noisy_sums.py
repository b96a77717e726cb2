"""Logistic regression on label sums observed with noise: weighted least squares on the sums, effect by effect."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sumwise.inference.kernels.minimise import minimise
from sumwise.maxent.kernels.loglinear import log_sum

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

FLOOR = 0.25  # least sampling variance of a sum, so that cells without rows have a finite weight


class NoisySums(NamedTuple):
    """Label sums to be met.

    sums (C, P) of one class for two classes, else of each; variance (C, P) of their noise, infinite where unknown;
    ratio (P,) by which the rows' own sums are multiplied, since rows have too many or too few of a cell; n: the
    population; shares (K,) of the classes; centred: (C, P) to (C, P), takes out of every table what smaller ones
    determine.
    """

    sums: np.ndarray
    variance: np.ndarray
    ratio: np.ndarray
    n: float
    shares: np.ndarray
    centred: Callable[[np.ndarray], np.ndarray]


def fit_noisy_sums(
    design: csr_matrix,
    weights: np.ndarray,
    observed: NoisySums,
    penalty: np.ndarray,
    begin: tuple[np.ndarray, np.ndarray] | None = None,
    max_iter: int = 150,
) -> tuple[np.ndarray, np.ndarray, float, int, bool]:
    """Minimise half the sum of (expected - observed)^2 / (noise + sampling variance), plus penalty theta^2.

    The gradient weighs residuals by how the sums answer to theta. Where noise is large this is the likelihood of the
    sums; dividing each cell's residual by its own variance alone would forget that cells answer together.

    design (m, P) indicators of rows without labels; weights (m,): individuals that a row stands for; penalty (C, P);
    begin: (theta, offsets) to start from. Returns theta (C, P), offsets (K,), the
    loss, the number of iterations, and whether it ended by itself.
    """
    shape, weight = observed.sums.shape, weights[:, None]
    kept = slice(1, 2) if shape[0] == 1 else slice(None)
    turned = design.T.tocsr()
    rates = observed.shares[kept][:, None]
    sampled = np.maximum((turned @ weights) * rates * (1 - rates), FLOOR)
    trust = 1.0 / (observed.variance + sampled)
    goal, whole = observed.centred(observed.sums), 1.0 / (observed.n * observed.shares[kept])
    pace = 1.0 / np.sqrt(2 * penalty + sampled**2 * trust)

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        theta, offsets = x[: pace.size].reshape(shape) * pace, x[pace.size :]
        score = design @ theta.T + offsets
        if shape[0] == 1:
            score = np.column_stack([np.zeros(len(score)), score])
        p = np.exp(score - log_sum(score, axis=1)[:, None])[:, kept]
        off = observed.centred(observed.ratio * (turned @ (weight * p)).T) - goal
        total = (weight * p).sum(axis=0) - observed.n * observed.shares[kept]
        value = 0.5 * np.sum(trust * off**2) + 0.5 * np.sum(whole * total**2) + np.sum(penalty * theta**2)
        pull = design @ (observed.ratio * observed.centred(trust * off)).T + whole * total
        pull = weight * p * (pull - np.sum(p * pull, axis=1, keepdims=True))
        gradient = (turned @ pull).T + 2 * penalty * theta
        return value, np.concatenate([(gradient * pace).ravel(), pull.sum(axis=0)])

    if begin is None:
        begin = np.zeros(shape), np.log(observed.shares / observed.shares[0])
    first = np.concatenate([(begin[0] / pace).ravel(), (begin[1] - begin[1][0])[kept]])
    options = {"maxiter": max_iter, "maxfun": 2 * max_iter, "gtol": 1e-6 * observed.n, "ftol": 1e-7, "maxcor": 15}
    result = minimise(loss, first, jac=True, method="L-BFGS-B", options=options)
    theta, offsets = result.x[: pace.size].reshape(shape) * pace, result.x[pace.size :]
    offsets = np.concatenate([[0.0], offsets]) if shape[0] == 1 else offsets - offsets[0]
    return theta, offsets, float(result.fun), int(result.nit), bool(result.success)
