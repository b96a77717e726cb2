"""Gibbs sampling of units' row shares with both margins fixed, under truncated normal shares (King, R x C)."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

__all__ = ["sample_shares"]


@njit(cache=True)
def _ndtr(z):
    return 0.5 * math.erfc(-z * 0.7071067811865476)


@njit(cache=True)
def _between(mean, sd, low, high, uniform):
    """A quantile of a normal truncated to [low, high], by bisection of its distribution function."""
    a, b = (low - mean) / sd, (high - mean) / sd
    flip = a > 0
    if flip:
        a, b = -b, -a
        uniform = 1 - uniform
    left, right = max(a, -37.0), min(b, 37.0)
    if right <= left:
        return low if a > 0 or (flip and a > -37) else high
    start = _ndtr(left)
    goal = start + uniform * (_ndtr(right) - start)
    for _ in range(60):
        middle = 0.5 * (left + right)
        if _ndtr(middle) < goal:
            left = middle
        else:
            right = middle
        if right - left < 1e-10:
            break
    z = 0.5 * (left + right)
    value = mean + sd * (-z if flip else z)
    return min(max(value, low), high)


@njit(cache=True)
def _move(cells, x, mean, precision, r, s, c, d, uniform):
    """Draw the transfer delta between the four cells of rows r, s and columns c, d exactly; cells are counts."""
    low = -min(cells[r, c], cells[s, d])
    high = min(cells[r, d], cells[s, c])
    if high - low <= 1e-12 * (x[r] + x[s]):
        return
    curve, slope = 0.0, 0.0
    for k in range(4):
        row = r if k < 2 else s
        col = c if k % 2 == 0 else d
        sign = 1.0 if k in (0, 3) else -1.0
        share = cells[row, col] / x[row]
        curve += precision[row, col] / x[row] ** 2
        slope -= sign * precision[row, col] * (share - mean[row, col]) / x[row]
    delta = _between(slope / curve, 1 / math.sqrt(curve), low, high, uniform)
    cells[r, c] = max(cells[r, c] + delta, 0.0)
    cells[s, d] = max(cells[s, d] + delta, 0.0)
    cells[r, d] = max(cells[r, d] - delta, 0.0)
    cells[s, c] = max(cells[s, c] - delta, 0.0)


@njit(cache=True)
def _hyper(cells, rows, weight, mean, precision, rng):
    """Draw means and precisions of the shares given all units' shares; a vague inverse gamma prior on variances."""
    n, n_rows, n_cols = cells.shape
    for r in range(n_rows):
        for c in range(n_cols):
            count, total, square = 0.0, 0.0, 0.0
            for i in range(n):
                if rows[i, r] > 0:
                    share = cells[i, r, c] / rows[i, r]
                    count += weight[i]
                    total += weight[i] * share
                    square += weight[i] * share * share
            if count <= 0:
                continue
            centre = total / count
            spread = max(square - count * centre**2, 0.0) + 2e-4
            precision[r, c] = min(rng.gamma(0.5 * (count + 1)) / (0.5 * spread), 1e8)
            mean[r, c] = centre + rng.standard_normal() / math.sqrt(precision[r, c] * count)


@njit(cache=True)
def sample_shares(cells, rows, weight, n_keep, thin, rng):
    """Run one chain on counts `cells` (n, R, C), in place.

    Shares are normal about a common mean, truncated to what each unit's margins allow; moves on 2 x 2 sub-tables keep
    the margins. Returns totals (n_keep, R, C) and mean counts (n, R, C).
    """
    n, n_rows, n_cols = cells.shape
    mean, precision = np.zeros((n_rows, n_cols)), np.ones((n_rows, n_cols))
    _hyper(cells, rows, weight, mean, precision, rng)
    totals = np.zeros((n_keep, n_rows, n_cols))
    average = np.zeros((n, n_rows, n_cols))
    for k in range(n_keep):
        for _ in range(thin):
            for i in range(n):
                for r in range(n_rows):
                    for s in range(r):
                        if rows[i, r] <= 0 or rows[i, s] <= 0:
                            continue
                        for c in range(n_cols):
                            d = (c + 1 + rng.integers(0, n_cols - 1)) % n_cols
                            _move(cells[i], rows[i], mean, precision, r, s, c, d, rng.random())
            _hyper(cells, rows, weight, mean, precision, rng)
        for i in range(n):
            totals[k] += cells[i]
            average[i] += cells[i] / n_keep
    return totals, average
