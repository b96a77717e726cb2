"""Gibbs sampling of whole tables with both margins fixed, under Dirichlet-multinomial rows."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sumwise.inference.kernels.compiled import njit


@njit(cache=True)
def _ratio(table: np.ndarray, alpha: np.ndarray, r: int, s: int, c: int, d: int, k: int) -> float:
    """Weight of the table after k + 1 people moved into (r, c) and (s, d), over that after k."""
    up = (table[r, c] + k + alpha[r, c]) * (table[s, d] + k + alpha[s, d])
    up /= (table[r, c] + k + 1.0) * (table[s, d] + k + 1.0)
    down = (table[r, d] - k - 1 + alpha[r, d]) * (table[s, c] - k - 1 + alpha[s, c])
    return up * (table[r, d] - k) * (table[s, c] - k) / down


@njit(cache=True)
def _mass(table: np.ndarray, alpha: np.ndarray, r: int, s: int, c: int, d: int) -> float:
    """Sum of the weights of all tables with people moved into (r, c) and (s, d), relative to none moved."""
    weight, total = 1.0, 0.0
    for k in range(min(table[r, d], table[s, c])):
        weight *= _ratio(table, alpha, r, s, c, d, k)
        total += weight
        if weight < 1e-14 * (1 + total) and k > 20:
            break
    return total


@njit(cache=True)
def _walk(table: np.ndarray, alpha: np.ndarray, r: int, s: int, c: int, d: int, left: float) -> int:
    """How many are moved into (r, c) and (s, d) when `left` of the mass is still to be passed."""
    weight, last = 1.0, min(table[r, d], table[s, c])
    for k in range(last):
        weight *= _ratio(table, alpha, r, s, c, d, k)
        left -= weight
        if left <= 0:
            return k + 1
    return last if weight > 0 else 0


@njit(cache=True)
def _swap(table: np.ndarray, alpha: np.ndarray, r: int, s: int, c: int, d: int, uniform: float) -> None:
    """Draw delta exactly for n_rc + delta, n_rd - delta, n_sc - delta, n_sd + delta, given all else.

    The weight of a table is the product over cells of Gamma(n + alpha) / n!; the ratio of neighbours is rational, so
    that one pass over the range of delta, outwards from 0, gives the whole conditional distribution.
    """
    up = _mass(table, alpha, r, s, c, d)
    down = _mass(table, alpha, r, s, d, c)
    left = uniform * (1 + up + down) - 1
    if left <= 0:
        return
    delta = _walk(table, alpha, r, s, c, d, left) if left <= up else -_walk(table, alpha, r, s, d, c, left - up)
    table[r, c] += delta
    table[s, d] += delta
    table[r, d] -= delta
    table[s, c] -= delta


@njit(cache=True)
def sweep_tables(tables: np.ndarray, alpha: np.ndarray, rng: np.random.Generator) -> None:
    """Update every unit's table once by moves on its 2 x 2 sub-tables, in place; tables (n, R, C) of whole numbers.

    Small tables have every pair of rows with every pair of columns, large ones as many random pairs as cells.
    """
    n, n_rows, n_cols = tables.shape
    pairs = n_rows * (n_rows - 1) * n_cols * (n_cols - 1) // 4
    every = pairs <= 2 * n_rows * n_cols
    for i in range(n):
        if every:
            for r in range(n_rows):
                for s in range(r):
                    for c in range(n_cols):
                        for d in range(c):
                            _swap(tables[i], alpha, r, s, c, d, rng.random())
            continue
        for _ in range(n_rows * n_cols):
            r, c = int(rng.random() * n_rows), int(rng.random() * n_cols)  # rng.integers takes a second to compile
            s = (r + 1 + int(rng.random() * (n_rows - 1))) % n_rows
            d = (c + 1 + int(rng.random() * (n_cols - 1))) % n_cols
            _swap(tables[i], alpha, r, s, c, d, rng.random())


class Row(NamedTuple):
    """Row r of all tables (n, R, C), and the gamma prior of its concentrations."""

    tables: np.ndarray
    r: int
    shape: float
    rate: float


@njit(cache=True)
def _log_density(row: Row, alpha_row: np.ndarray) -> float:
    """Log of the Dirichlet-multinomial density of a row in all units and of the prior of its concentrations."""
    value, strength = 0.0, 0.0
    for c in range(alpha_row.shape[0]):
        strength += alpha_row[c]
        value += row.shape * math.log(alpha_row[c]) - row.rate * alpha_row[c]  # a density of log alpha
    top, base = math.lgamma(strength), np.empty(alpha_row.shape[0])
    for c in range(alpha_row.shape[0]):
        base[c] = math.lgamma(alpha_row[c])
    for i in range(row.tables.shape[0]):
        size = 0
        for c in range(alpha_row.shape[0]):
            count = row.tables[i, row.r, c]
            size += count
            if count > 0:
                value += math.lgamma(count + alpha_row[c]) - base[c]
        if size > 0:
            value += top - math.lgamma(size + strength)
    return value


@njit(cache=True)
def _density_at(row: Row, start: np.ndarray, alpha_row: np.ndarray, along: int, place: float) -> float:
    """Move log alpha_r by `place` from `start`, in all shares or in share `along`, and return the log density there."""
    for c in range(alpha_row.shape[0]):
        alpha_row[c] = start[c] * math.exp(place) if along < 0 or along == c else start[c]
    return _log_density(row, alpha_row)


@njit(cache=True)
def _slice_along(row: Row, alpha_row: np.ndarray, along: int, width: float, rng: np.random.Generator) -> None:
    """A slice-sampling step of log alpha_r (Neal 2003, stepping out), in place; loops compile faster than arrays."""
    start = np.empty(alpha_row.shape[0])
    for c in range(alpha_row.shape[0]):
        start[c] = alpha_row[c]
    level = _log_density(row, start) + math.log(rng.random())
    low = -width * rng.random()
    high = low + width
    for end in range(2):
        for _ in range(8):
            place = low if end == 0 else high
            if _density_at(row, start, alpha_row, along, place) < level:
                break
            if end == 0:
                low -= width
            else:
                high += width
    for _ in range(50):
        place = low + (high - low) * rng.random()
        if _density_at(row, start, alpha_row, along, place) >= level:
            return
        if place < 0:
            low = place
        else:
            high = place
    for c in range(alpha_row.shape[0]):
        alpha_row[c] = start[c]


@njit(cache=True)
def sweep_concentrations(
    tables: np.ndarray, alpha: np.ndarray, width: float, shape: float, rate: float, rng: np.random.Generator
) -> None:
    """Update the concentrations alpha (R, C): each row's strength, then each of its shares, by slice sampling."""
    for r in range(alpha.shape[0]):
        for along in range(-1, alpha.shape[1]):
            _slice_along(Row(tables, r, shape, rate), alpha[r], along, width, rng)


@njit(cache=True)
def sample_chain(
    tables: np.ndarray, alpha: np.ndarray, n_keep: int, thin: int, shape: float, rate: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Run one chain in place; returns totals and concentrations (n_keep, R, C), and mean tables (n, R, C)."""
    n, n_rows, n_cols = tables.shape
    totals, kept = np.zeros((n_keep, n_rows, n_cols)), np.empty((n_keep, n_rows, n_cols))
    mean = np.zeros(tables.shape)
    for k in range(n_keep):
        for _ in range(thin):
            sweep_tables(tables, alpha, rng)
            sweep_concentrations(tables, alpha, 0.5, shape, rate, rng)
        for r in range(n_rows):
            for c in range(n_cols):
                kept[k, r, c] = alpha[r, c]
                for i in range(n):
                    totals[k, r, c] += tables[i, r, c]
                    mean[i, r, c] += tables[i, r, c] / n_keep
    return totals, kept, mean


def largest_remainder(x: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Whole numbers near each row of x (n, k) that sum to `totals` (n,): floors, and 1 more for the largest remainders.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.kernels.table_sampler import largest_remainder
    >>> largest_remainder(np.array([[1.4, 2.3, 0.3]]), np.array([4]))
    array([[2, 2, 0]])
    """
    floors = np.floor(x + 1e-9).astype(np.int64)
    missing = totals - floors.sum(axis=1)
    rank = np.argsort(np.argsort(-(x - floors), axis=1, kind="stable"), axis=1)
    return floors + (rank < missing[:, None])


def north_west(rows: np.ndarray, cols: np.ndarray, guide: np.ndarray) -> np.ndarray:
    """A whole table with these margins near the guide (n, R, C): its floors where there is room, the rest in order.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.kernels.table_sampler import north_west
    >>> north_west(np.array([[3, 2]]), np.array([[4, 1]]), np.array([[[2.7, 0.3], [1.6, 0.4]]]))
    array([[[3, 0], [1, 1]]])
    """
    n_rows, n_cols = rows.shape[1], cols.shape[1]
    tables = np.zeros(guide.shape, dtype=np.int64)
    x, t, floors = rows.astype(np.int64), cols.astype(np.int64), guide.astype(np.int64)
    for most in (floors, None):
        for r in range(n_rows):
            for c in range(n_cols):
                whole = np.minimum(x[:, r], t[:, c])
                if most is not None:
                    whole = np.minimum(whole, most[:, r, c])
                tables[:, r, c] += whole
                x[:, r] -= whole
                t[:, c] -= whole
    return tables
