"""Optimal transport between normal distributions, in closed form."""

from __future__ import annotations

import numpy as np

from sumwise.distribution.kernels.segments import BLOCK


def covariance_roots(variances: np.ndarray, covariances: np.ndarray) -> np.ndarray:
    """Symmetric square roots (n, d, d) of covariances, given variances (n, d) and upper triangles (n, d(d-1)/2)."""
    n, d = variances.shape
    full = np.zeros((n, d, d))
    full[:, np.arange(d), np.arange(d)] = variances
    if d > 1:
        one, other = np.triu_indices(d, 1)
        full[:, one, other] = full[:, other, one] = covariances
    values, vectors = np.linalg.eigh(full)
    return (vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]) @ vectors.swapaxes(1, 2)


def gaussian_w2(means: np.ndarray, roots: np.ndarray, others: np.ndarray, other_roots: np.ndarray) -> np.ndarray:
    """Squared 2-Wasserstein distances (n, k) of N(m_i, R_i^2) and N(m'_j, R'_j^2).

    |m - m'|^2 + |R|^2 + |R'|^2 - 2 tr((R R'^2 R)^1/2), the trace being the sum of the singular values of R R'.
    """
    n, k, d = len(means), len(others), means.shape[1]
    out = ((means[:, None] - others) ** 2).sum(axis=2)
    out += (roots**2).sum(axis=(1, 2))[:, None] + (other_roots**2).sum(axis=(1, 2))
    step = max(1, BLOCK // max(1, k * d * d))
    for i in range(0, n, step):
        products = roots[i : i + step, None] @ other_roots[None]
        out[i : i + step] -= 2 * np.linalg.svd(products, compute_uv=False).sum(axis=2)
    return np.maximum(out, 0.0)
