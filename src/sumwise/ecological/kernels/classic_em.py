"""Two classic EM algorithms for shares common to all units: multinomial, and its normal approximation."""

from __future__ import annotations

import numpy as np

from sumwise.ecological.kernels.small_cholesky import factor, solve
from sumwise.inference.kernels.compiled import njit


@njit(cache=True)
def _finish(moment: np.ndarray, shares: np.ndarray) -> float:
    """Shares in proportion to expected counts, in place; returns the largest change."""
    change = 0.0
    for r in range(shares.shape[0]):
        size = moment[r].sum()
        if size <= 0:
            continue
        for c in range(shares.shape[1]):
            new = max(moment[r, c] / size, 1e-9)
            change = max(change, abs(new - shares[r, c]))
            shares[r, c] = new
    return change


@njit(cache=True)
def multinomial_em(
    rows: np.ndarray, cols: np.ndarray, weight: np.ndarray, start: np.ndarray, max_iter: int, tol: float
) -> tuple[np.ndarray, int, float]:
    """Each of a column's people belongs to row r with probability proportional to x_r p_rc; p from the expected counts.

    rows (n, R), cols (n, C), weight (n,), start (R, C). Returns shares, steps and the last change.
    """
    shares = start.copy()
    n, n_rows = rows.shape
    n_cols = cols.shape[1]
    change, steps = np.inf, 0
    while steps < max_iter and not change < tol:
        steps += 1
        moment = np.zeros((n_rows, n_cols))
        for i in range(n):
            for c in range(n_cols):
                s = 0.0
                for r in range(n_rows):
                    s += rows[i, r] * shares[r, c]
                if s > 0:
                    for r in range(n_rows):
                        moment[r, c] += weight[i] * cols[i, c] * rows[i, r] * shares[r, c] / s
        change = _finish(moment, shares)
    return shares, steps, change


@njit(cache=True)
def _deviation(
    x: np.ndarray, t: np.ndarray, shares: np.ndarray, v: np.ndarray, lower: np.ndarray, a: np.ndarray
) -> None:
    """Write V^-1 (t - E t) into a."""
    n_rows, n_cols = shares.shape
    total = x.sum()
    v[:] = total / n_cols**2
    a[:] = t
    for r in range(n_rows):
        for c in range(n_cols):
            w = x[r] * shares[r, c]
            a[c] -= w
            v[c, c] += w
            for e in range(c + 1):
                v[c, e] -= w * shares[r, e]
    for c in range(n_cols):
        v[c, c] += 1e-6 * total
    factor(v, lower)
    solve(lower, a)


@njit(cache=True)
def normal_em(
    rows: np.ndarray, cols: np.ndarray, weight: np.ndarray, start: np.ndarray, max_iter: int, tol: float
) -> tuple[np.ndarray, int, float]:
    """Expected counts given the column totals under the normal approximation to multinomial rows.

    E n_r = x_r (p_r + (diag p_r - p_r p_r') V^-1 (t - E t)), cut at 0. Arguments and result as in `multinomial_em`.
    """
    shares = start.copy()
    n, n_rows = rows.shape
    n_cols = cols.shape[1]
    v, lower, a, line = np.empty((n_cols, n_cols)), np.zeros((n_cols, n_cols)), np.empty(n_cols), np.empty(n_cols)
    change, steps = np.inf, 0
    while steps < max_iter and not change < tol:
        steps += 1
        moment = np.zeros((n_rows, n_cols))
        for i in range(n):
            if rows[i].sum() <= 0:
                continue
            _deviation(rows[i], cols[i], shares, v, lower, a)
            for r in range(n_rows):
                mean = 0.0
                for c in range(n_cols):
                    mean += shares[r, c] * a[c]
                s = 0.0
                for c in range(n_cols):
                    line[c] = max(shares[r, c] * (1 + a[c] - mean), 0.0)
                    s += line[c]
                for c in range(n_cols):
                    moment[r, c] += weight[i] * rows[i, r] * line[c] / s
        change = _finish(moment, shares)
    return shares, steps, change


ALGORITHMS = {"multinomial": multinomial_em, "normal": normal_em}
