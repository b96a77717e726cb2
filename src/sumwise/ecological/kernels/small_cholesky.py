"""Cholesky factors of small matrices inside compiled loops, where a call to LAPACK would cost more than the work."""

from __future__ import annotations

import numpy as np

from sumwise.inference.kernels.compiled import njit


@njit(cache=True)
def factor(a: np.ndarray, lower: np.ndarray) -> None:
    """Write the Cholesky factor of a (its lower triangle is read) into `lower`; a vanishing pivot becomes 1e-12."""
    n = a.shape[0]
    for i in range(n):
        for j in range(i + 1):
            s = a[i, j]
            for k in range(j):
                s -= lower[i, k] * lower[j, k]
            if i == j:
                lower[i, i] = np.sqrt(max(s, 1e-12))
            else:
                lower[i, j] = s / lower[j, j]


@njit(cache=True)
def solve(lower: np.ndarray, b: np.ndarray) -> None:
    """Overwrite b by the solution of a x = b, given a's Cholesky factor."""
    n = lower.shape[0]
    for i in range(n):
        s = b[i]
        for k in range(i):
            s -= lower[i, k] * b[k]
        b[i] = s / lower[i, i]
    for i in range(n - 1, -1, -1):
        s = b[i]
        for k in range(i + 1, n):
            s -= lower[k, i] * b[k]
        b[i] = s / lower[i, i]
