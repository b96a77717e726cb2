"""Multinomial regression of moves on features: rows of a table, each a softmax of ``features @ weights``.

With counts c of moves from i to j the loss is ``-sum c_ij w.f_ij + sum_i c_i log sum_j exp(w.f_ij)``, which is convex;
it is the M step of a population whose individuals move by ``P(j | i) prop. to exp(w.f_ij)``.
"""

from __future__ import annotations

import numpy as np

from sumwise.inference.kernels.minimise import minimise


def row_log_probabilities(features: np.ndarray, weights: np.ndarray, allowed: np.ndarray | None = None) -> np.ndarray:
    """Log-probabilities (..., K) of the moves, for features (..., K, F); where not `allowed`, -inf."""
    logits = features @ weights
    if allowed is not None:
        logits = np.where(allowed, logits, -np.inf)
    logits -= logits.max(axis=-1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))


def loss_and_slope(
    features: np.ndarray, counts: np.ndarray, weights: np.ndarray, allowed: np.ndarray | None = None
) -> tuple[float, np.ndarray]:
    """The loss and its gradient (F,)."""
    logs = row_log_probabilities(features, weights, allowed)
    value = -float((counts * np.where(counts == 0, 0.0, logs)).sum())
    expected = counts.sum(axis=-1, keepdims=True) * np.exp(logs)
    return value, (expected - counts).reshape(-1) @ features.reshape(-1, features.shape[-1])


def curvature(
    features: np.ndarray, counts: np.ndarray, weights: np.ndarray, allowed: np.ndarray | None = None
) -> np.ndarray:
    """The Hessian (F, F): covariances of the features within the rows."""
    p = np.exp(row_log_probabilities(features, weights, allowed))
    totals = counts.sum(axis=-1)
    mean = (p[..., None, :] @ features)[..., 0, :]
    n_features = features.shape[-1]
    flat = features.reshape(-1, n_features)
    second = flat.T @ ((totals[..., None] * p).reshape(-1, 1) * flat)
    first = mean.reshape(-1, n_features)
    return second - first.T @ (totals.reshape(-1, 1) * first)


def fit_rows(
    parts: list[tuple[np.ndarray, np.ndarray, np.ndarray | None]], weights: np.ndarray, ridge: float = 0.0
) -> np.ndarray:
    """Weights that minimise the loss over several parts, plus ``ridge / 2 |w|^2``, from a start.

    Parameters
    ----------
    parts : list of (features, counts, allowed)
        Features (..., K, F), counts (..., K), allowed moves (..., K) or None.
    weights : (F,) array
    ridge : float

    Returns
    -------
    (F,) array

    Notes
    -----
    L-BFGS in coordinates in which the Hessian at the start is the identity, so that a warm start needs a few steps.
    """
    hessian = sum(curvature(f, c, weights, a) for f, c, a in parts) + ridge * np.eye(len(weights))
    scale = np.trace(hessian) / len(weights)
    values, vectors = np.linalg.eigh(hessian)
    known = values > 1e-12 * max(scale, 1e-300)  # along the other directions the counts say nothing
    turn = np.where(known, vectors / np.sqrt(np.where(known, values, 1.0)), 0.0)  # w = start + turn @ u

    def loss(u: np.ndarray) -> tuple[float, np.ndarray]:
        w = weights + turn @ u
        found = [loss_and_slope(f, c, w, a) for f, c, a in parts]
        value = sum(v for v, _ in found) + 0.5 * ridge * float(w @ w)
        return value, turn.T @ (sum(s for _, s in found) + ridge * w)

    first = loss(np.zeros(len(weights)))[0]
    options = {"maxiter": 50, "ftol": 1e-16, "gtol": 1e-9 * max(1.0, np.sqrt(abs(first)))}
    result = minimise(loss, np.zeros(len(weights)), jac=True, method="L-BFGS-B", options=options)
    return weights + turn @ result.x if result.fun <= first else weights
