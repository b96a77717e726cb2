"""Raking (iterative proportional fitting): the table nearest to given row shares with both margins, for many units."""

from __future__ import annotations

import numpy as np

from sumwise.ecological.kernels import LEAST
from sumwise.ecological.kernels.batched_raking import LONGEST, is_small, polish_units, tilt_units
from sumwise.ecological.kernels.small_cholesky import factor, solve
from sumwise.inference.kernels.compiled import njit


@njit(cache=True)
def summed(values: np.ndarray) -> float:
    """The sum of a vector. NumPy's own, and slices that are set at once, take longer to compile than all else here."""
    total = 0.0
    for k in range(values.shape[0]):
        total += values[k]
    return total


@njit(cache=True)
def tilted_rows(log_shares: np.ndarray, x: np.ndarray, t: np.ndarray, tilt_: np.ndarray, b: np.ndarray) -> float:
    """Write softmax(log p_r + tilt) into b (R, C); return the convex objective whose gradient is sum_r x_r b_r - t."""
    n_rows, n_cols = log_shares.shape
    value = 0.0
    for r in range(n_rows):
        if x[r] <= 0:
            continue
        top = -np.inf
        for c in range(n_cols):
            b[r, c] = log_shares[r, c] + tilt_[c]
            top = max(top, b[r, c])
        s = 0.0
        for c in range(n_cols):
            b[r, c] = np.exp(b[r, c] - top)
            s += b[r, c]
        for c in range(n_cols):
            b[r, c] /= s
        value += x[r] * (top + np.log(s))
    for c in range(n_cols):
        value -= t[c] * tilt_[c]
    return value


@njit(cache=True)
def curvature(x: np.ndarray, t: np.ndarray, b: np.ndarray, v: np.ndarray, gradient: np.ndarray) -> None:
    """Write V = sum_r x_r (diag b_r - b_r b_r') into the lower triangle of v, and t - sum_r x_r b_r into gradient.

    V is singular along the vector of ones, where nothing happens: a multiple of 11' is added.
    """
    n_rows, n_cols = b.shape
    for c in range(n_cols):
        gradient[c] = t[c]
        for e in range(n_cols):
            v[c, e] = 0.0
    for r in range(n_rows):
        if x[r] <= 0:
            continue
        for c in range(n_cols):
            w = x[r] * b[r, c]
            gradient[c] -= w
            v[c, c] += w
            for e in range(c + 1):
                v[c, e] -= w * b[r, e]
    trace = 0.0
    for c in range(n_cols):
        trace += v[c, c]
    for c in range(n_cols):
        v[c, c] += 1e-7 * trace / n_cols + 1e-12
        for e in range(c + 1):
            v[c, e] += trace / n_cols**2


@njit(cache=True)
def tilt(
    log_shares: np.ndarray,
    x: np.ndarray,
    t: np.ndarray,
    tilt_: np.ndarray,
    b: np.ndarray,
    max_iter: int,
    tol: float,
    work: np.ndarray,
) -> float:
    """Newton's method for the tilt with sum_r x_r b_r = t, from the tilt given; b is (R, C), `work` (2 C + 3, C).

    On return the factor of V at the last b lies in work[C : 2 C]. Returns how far the columns still are from t,
    relative to the unit's total.
    """
    n_cols = t.shape[0]
    v, lower = work[:n_cols], work[n_cols : 2 * n_cols]
    gradient, step, before = work[2 * n_cols], work[2 * n_cols + 1], work[2 * n_cols + 2]
    total = summed(t)
    value = tilted_rows(log_shares, x, t, tilt_, b)
    gap = 0.0
    for k in range(max_iter + 1):
        curvature(x, t, b, v, gradient)
        factor(v, lower)
        gap = 0.0
        for c in range(n_cols):
            gap = max(gap, abs(gradient[c]))
        gap /= total
        if gap < tol or k == max_iter:
            break
        for c in range(n_cols):
            before[c], step[c] = tilt_[c], gradient[c]
        solve(lower, step)
        slope, longest = 0.0, 0.0
        for c in range(n_cols):
            slope += gradient[c] * step[c]
            longest = max(longest, abs(step[c]))
        length = 1.0 if longest <= LONGEST else LONGEST / longest
        while True:
            for c in range(n_cols):
                tilt_[c] = before[c] + length * step[c]
            new = tilted_rows(log_shares, x, t, tilt_, b)
            if new <= value - 1e-4 * length * slope + 1e-10 * total or length < 1e-4:
                break
            length *= 0.5
        value = new
    return gap


@njit(cache=True)
def _polish(x: np.ndarray, t: np.ndarray, b: np.ndarray, max_iter: int, tol: float) -> float:
    """Scale the cells x_r b_rc to both margins, columns first; b becomes row shares again."""
    n_rows, n_cols = b.shape
    total = summed(t)
    gap = np.inf
    for _ in range(max_iter):
        for c in range(n_cols):
            s = 0.0
            for r in range(n_rows):
                s += x[r] * b[r, c]
            scale = t[c] / s if s > 0 else 0.0
            for r in range(n_rows):
                b[r, c] *= scale
        gap = 0.0
        for r in range(n_rows):
            s = summed(b[r])
            if x[r] <= 0 or s <= 0:
                continue
            gap = max(gap, x[r] * abs(s - 1))
            for c in range(n_cols):
                b[r, c] /= s
        if gap <= tol * total:
            break
    return gap / total


def rake(rows: np.ndarray, cols: np.ndarray, log_shares: np.ndarray) -> np.ndarray:
    """Row shares of every unit that have both its margins, nearest to the given shares in Kullback-Leibler divergence.

    Each cell is x_r p_rc a_r b_c: iterative proportional fitting, reached by Newton steps and finished by scaling.
    rows (n, R), cols (n, C), log_shares (R, C); returns (n, R, C). A group absent from a unit keeps the given shares.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.kernels.raking import rake
    >>> rake(np.array([[60.0, 40.0]]), np.array([[50.0, 50.0]]), np.log(np.full((2, 2), 0.5))).round(3)
    array([[[0.5, 0.5], [0.5, 0.5]]])
    """
    cells = np.repeat(np.exp(log_shares)[None], len(rows), axis=0)
    if not is_small(rows, cols):
        _rake(rows, cols, log_shares, cells, 50)
        return cells
    totals = rows.sum(axis=1)
    units = totals > 0
    x, t = rows[units], cols[units]
    shares, _ = tilt_units(log_shares, x, spread_targets(t, totals[units]), np.zeros_like(t), 50, 1e-10)
    polish_units(x, t, shares, 2000, 1e-13)
    cells[units] = np.where(x[:, :, None] > 0, shares, cells[units])
    return cells


def spread_targets(cols: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Column totals with `LEAST` of each unit's total spread over all, so that an empty column has a finite tilt.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.kernels.raking import spread_targets
    >>> spread_targets(np.array([[0.0, 50.0]]), np.array([50.0]))[0].round(9).tolist()
    [2.5e-05, 49.999975]
    """
    return cols * (1 - LEAST) + LEAST * totals[:, None] / cols.shape[1]


@njit(cache=True)
def _rake(rows: np.ndarray, cols: np.ndarray, log_shares: np.ndarray, cells: np.ndarray, max_iter: int) -> None:
    """Write the raked shares into cells (n, R, C), which hold the given shares."""
    n, n_rows = rows.shape
    n_cols = cols.shape[1]
    work = np.empty((2 * n_cols + 3, n_cols))
    target, shift = np.empty(n_cols), np.empty(n_cols)
    shares = cells[:1].copy()
    for i in range(n):
        total = summed(rows[i])
        if total <= 0:
            continue
        for c in range(n_cols):
            target[c] = cols[i, c] * (1 - LEAST) + LEAST * total / n_cols
            shift[c] = 0.0
        tilt(log_shares, rows[i], target, shift, cells[i], max_iter, 1e-10, work)
        _polish(rows[i], cols[i], cells[i], 2000, 1e-13)
        for r in range(n_rows):
            if rows[i, r] <= 0:
                for c in range(n_cols):
                    cells[i, r, c] = shares[0, r, c]
