"""The Hessian of a log-linear model times many vectors, over rows of level codes: compiled, without forming it.

The log-normaliser of p(x, y) proportional to exp(phi(x) . (mu + theta_y) + offset_y) has the covariance of its features
as Hessian.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sumwise.inference.kernels.compiled import njit


class Moves(NamedTuple):
    """Moves of parameters, or data, for B vectors: mu (P, B), theta (C, P, B), offsets (C, B)."""

    mu: np.ndarray
    theta: np.ndarray
    offsets: np.ndarray

    def plus(self, other: Moves, factor: np.ndarray) -> Moves:
        """self + factor * other, a factor per vector."""
        return Moves(*(a + factor * b for a, b in zip(self, other)))

    def dot(self, other: Moves) -> np.ndarray:
        """Inner products (B,)."""
        return sum(np.sum(a * b, axis=tuple(range(a.ndim - 1))) for a, b in zip(self, other))  # type: ignore[return-value]


@njit(error_model="numpy", fastmath={"reassoc", "contract"}, cache=True)
def hessian_products(  # noqa: C901, PLR0912 - one loop over rows
    cells: np.ndarray, weights: np.ndarray, shares: np.ndarray, mean: np.ndarray, given: Moves, out: Moves
) -> None:
    """Add the covariance of features times the vectors `given` to `out`.

    cells (m, T): parameters that row i has; weights (m,) summing to the population; shares (m, C): P(class | x) of the
    classes that have a row of theta. Vectors, B of them: counts (P, B), labels (C, P, B), offsets (C, B); outputs of
    the same shapes. mean (B,): expected score of an individual under each vector.
    """
    counts, labels, offsets = given.mu, given.theta, given.offsets
    m, n_terms = cells.shape
    n_scores, _, n_vectors = labels.shape
    base, score = np.empty(n_vectors, counts.dtype), np.empty((n_scores, n_vectors), counts.dtype)
    for i in range(m):
        for b in range(n_vectors):
            base[b] = -mean[b]
        score[:] = offsets
        for t in range(n_terms):
            c = cells[i, t]
            for b in range(n_vectors):
                base[b] += counts[c, b]
            for k in range(n_scores):
                for b in range(n_vectors):
                    score[k, b] += labels[k, c, b]
        for b in range(n_vectors):
            whole = base[b]
            for k in range(n_scores):
                whole += shares[i, k] * score[k, b]
                score[k, b] = weights[i] * shares[i, k] * (base[b] + score[k, b])  # E[(score - mean) 1(y = k) | x]
            base[b] = weights[i] * whole  # E[score - mean | x]
        for t in range(n_terms):
            c = cells[i, t]
            for b in range(n_vectors):
                out.mu[c, b] += base[b]
            for k in range(n_scores):
                for b in range(n_vectors):
                    out.theta[k, c, b] += score[k, b]
        for k in range(n_scores):
            for b in range(n_vectors):
                out.offsets[k, b] += score[k, b]
