"""Marginal likelihood of a Gaussian process for a whole path of noise levels, from one eigendecomposition."""

from __future__ import annotations

import numpy as np

NOISE = 10.0 ** np.arange(-8, 2.01, 0.25)
"""Noise variances that are tried, relative to the mean diagonal of the kernel matrix."""


def marginal_likelihoods(
    gram: np.ndarray, targets: np.ndarray, inflation: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Noise levels l, (p,), and the log marginal likelihood at each, (p,).

    y ~ N(0, s (K + l D)) with s in closed form: s = y'(K + l D)^-1 y / n, so that the log likelihood is
    -n/2 log(2 pi e s) - 1/2 log det(K + l D). gram (n, n), targets (n, k), whose columns share l and have their own s;
    inflation (n,) is the diagonal of D, default 1.
    """
    n = len(gram)
    root = np.ones(n) if inflation is None else np.sqrt(inflation)
    values, vectors = np.linalg.eigh(gram / np.outer(root, root))  # of what has white noise
    values = np.maximum(values, 0.0)
    squares = (vectors.T @ (targets / root[:, None])) ** 2
    levels = NOISE * max(float(np.mean(np.diag(gram))), 1e-300)
    logs = np.empty(len(levels))
    for i, noise in enumerate(levels):
        total = values + noise
        scale = np.maximum((squares / total[:, None]).sum(axis=0) / n, 1e-300)
        spread = 0.5 * np.log(total).sum() + np.log(root).sum()
        logs[i] = (-0.5 * n * np.log(2 * np.pi * np.e * scale) - spread).sum()
    return levels, logs


def marginal_likelihood_path(
    gram: np.ndarray, targets: np.ndarray, inflation: np.ndarray | None = None
) -> tuple[float, float]:
    """Largest log marginal likelihood over noise levels, and the best level; see `marginal_likelihoods`."""
    levels, logs = marginal_likelihoods(gram, targets, inflation)
    best = int(np.argmax(logs))
    return float(logs[best]), float(levels[best])
