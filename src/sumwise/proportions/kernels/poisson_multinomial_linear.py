"""Linear algebra in a few dimensions, inside compiled loops: short to compile, no calls to LAPACK."""

from __future__ import annotations

import math

import numpy as np

from sumwise.inference.kernels.compiled import njit


@njit(cache=True, error_model="numpy")
def cholesky(matrix: np.ndarray, ridge: float) -> np.ndarray:
    """Lower triangular L with L L' = matrix + ridge I; pivots that rounding made negative count as the ridge."""
    d = matrix.shape[0]
    lower = np.zeros((d, d))
    for j in range(d):
        for k in range(j + 1):
            part = matrix[j, k]
            for l in range(k):
                part -= lower[j, l] * lower[k, l]
            if j == k:
                lower[j, j] = math.sqrt(max(part + ridge, ridge, 1e-300))
            else:
                lower[j, k] = part / lower[k, k]
    return lower


@njit(cache=True, error_model="numpy")
def solve(lower: np.ndarray, right: np.ndarray) -> np.ndarray:
    """x with L L' x = right."""
    d = right.size
    x = right.copy()
    for j in range(d):
        for k in range(j):
            x[j] -= lower[j, k] * x[k]
        x[j] /= lower[j, j]
    for j in range(d - 1, -1, -1):
        for k in range(j + 1, d):
            x[j] -= lower[k, j] * x[k]
        x[j] /= lower[j, j]
    return x


@njit(cache=True, error_model="numpy")
def inverse(lower: np.ndarray) -> np.ndarray:
    """The inverse of L L'."""
    d = lower.shape[0]
    out = np.empty((d, d))
    unit = np.empty(d)
    for j in range(d):
        for k in range(d):
            unit[k] = 0.0
        unit[j] = 1.0
        column = solve(lower, unit)
        for k in range(d):
            out[k, j] = column[k]
    return out


@njit(cache=True, error_model="numpy")
def log_det(lower: np.ndarray) -> float:
    """log det(L L')."""
    total = 0.0
    for j in range(lower.shape[0]):
        total += 2.0 * math.log(lower[j, j])
    return total


@njit(cache=True, error_model="numpy")
def dot(x: np.ndarray, y: np.ndarray) -> float:
    """x . y"""
    total = 0.0
    for j in range(x.size):
        total += x[j] * y[j]
    return total
