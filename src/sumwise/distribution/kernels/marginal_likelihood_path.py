"""Marginal likelihood of a Gaussian process for a whole path of noise levels, from one eigendecomposition."""

from __future__ import annotations

import numpy as np

__all__ = ["NOISE", "evidence_path"]

NOISE = 10.0 ** np.arange(-8, 2.01, 0.25)
"""Noise variances that are tried, relative to the mean diagonal of the kernel matrix."""


def evidence_path(gram: np.ndarray, targets: np.ndarray, inflation: np.ndarray | None = None) -> tuple[float, float]:
    """Largest log marginal likelihood over noise levels l, and the best l.

    y ~ N(0, s (K + l D)) with s in closed form: s = y'(K + l D)^-1 y / n, so that the log likelihood is
    -n/2 log(2 pi e s) - 1/2 log det(K + l D). gram (n, n), targets (n, k), whose columns share l and have their own s;
    inflation (n,) is the diagonal of D, default 1.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.distribution.kernels.marginal_likelihood_path import evidence_path
    >>> rng = np.random.default_rng(0)
    >>> noise = evidence_path(np.zeros((50, 50)) + np.eye(50) * 1e-9, rng.normal(size=(50, 1)))[0]
    >>> bool(np.isfinite(noise))
    True
    """
    n = len(gram)
    root = np.ones(n) if inflation is None else np.sqrt(inflation)
    values, vectors = np.linalg.eigh(gram / np.outer(root, root))  # of what has white noise
    values = np.maximum(values, 0.0)
    squares = (vectors.T @ (targets / root[:, None])) ** 2
    best = (-np.inf, 1.0)
    for noise in NOISE * max(float(np.mean(np.diag(gram))), 1e-300):
        total = values + noise
        scale = np.maximum((squares / total[:, None]).sum(axis=0) / n, 1e-300)
        spread = 0.5 * np.log(total).sum() + np.log(root).sum()
        evidence = float((-0.5 * n * np.log(2 * np.pi * np.e * scale) - spread).sum())
        if evidence > best[0]:
            best = (evidence, float(noise))
    return best
