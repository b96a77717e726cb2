"""Gibbs sampling of whole tables with both margins fixed, under Dirichlet-multinomial rows."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sumwise.inference.kernels.compiled import njit

LONG = 1000  # moves of a swap above which slice sampling is faster than a pass over all of them
SLICED = 8  # of so many updates of concentrations one is a slice-sampling step, which can reach every value


class Block(NamedTuple):
    """Four cells, n_rc and n_sd that gain k people and n_rd and n_sc that lose them, with their concentrations."""

    rc: float
    sd: float
    rd: float
    sc: float
    a_rc: float
    a_sd: float
    a_rd: float
    a_sc: float


@njit(cache=True)
def _ratio(b: Block, k: int) -> float:
    """Weight of the table after k + 1 people moved, over that after k."""
    up = (b.rc + k + b.a_rc) * (b.sd + k + b.a_sd) * (b.rd - k) * (b.sc - k)
    return up / ((b.rc + k + 1) * (b.sd + k + 1) * (b.rd - k - 1 + b.a_rd) * (b.sc - k - 1 + b.a_sc))


@njit(cache=True)
def _mass(b: Block) -> float:
    """Sum of the weights of all tables with people moved, relative to none moved."""
    weight, total = 1.0, 0.0
    for k in range(int(min(b.rd, b.sc))):
        weight *= _ratio(b, k)
        total += weight
        if weight < 1e-14 * (1 + total) and k > 20:
            break
    return total


@njit(cache=True)
def _walk(b: Block, left: float) -> int:
    """How many are moved when `left` of the mass is still to be passed."""
    weight, last = 1.0, int(min(b.rd, b.sc))
    for k in range(last):
        weight *= _ratio(b, k)
        left -= weight
        if left <= 0:
            return k + 1
    return last if weight > 0 else 0


@njit(cache=True)
def _log_gamma(x: float) -> float:
    """Log of the gamma function for x > 0 by Stirling's series, to 1e-12; twice as fast as the one of libm."""
    product = 1.0
    while x < 8.0:
        product *= x
        x += 1.0
    z = 1 / (x * x)
    series = (1 / 12 - z * (1 / 360 - z * (1 / 1260 - z * (1 / 1680 - z / 1188)))) / x
    value = (x - 0.5) * math.log(x) - x + 0.9189385332046727 + series  # log of the root of 2 pi
    return value - math.log(product) if product != 1.0 else value


@njit(cache=True)
def _log_weight(b: Block, k: int) -> float:
    """Log weight of the table after k people moved."""
    gains = _log_gamma(b.rc + k + b.a_rc) - _log_gamma(b.rc + k + 1.0)
    gains += _log_gamma(b.sd + k + b.a_sd) - _log_gamma(b.sd + k + 1.0)
    losses = _log_gamma(b.rd - k + b.a_rd) - _log_gamma(b.rd - k + 1.0)
    return gains + losses + _log_gamma(b.sc - k + b.a_sc) - _log_gamma(b.sc - k + 1.0)


@njit(cache=True)
def _slice_move(b: Block, rng: np.random.Generator) -> int:
    """How many are moved, by slice sampling from the whole range, shrunk towards 0 (Neal 2003, figure 5)."""
    low, high = -int(min(b.rc, b.sd)), int(min(b.rd, b.sc))
    level = _log_weight(b, 0) + math.log(rng.random())
    while low < high:
        k = low + int(rng.random() * (high - low + 1))
        if k == 0 or _log_weight(b, k) >= level:
            return k
        if k < 0:
            low = k + 1
        else:
            high = k - 1
    return 0


@njit(cache=True)
def _exact_move(b: Block, uniform: float) -> int:
    """How many are moved, drawn from their conditional distribution given all else.

    The weight of a table is the product over cells of Gamma(n + alpha) / n!; the ratio of neighbours is rational, so
    that one pass over the range, outwards from 0, gives the whole distribution.
    """
    back = Block(b.rd, b.sc, b.rc, b.sd, b.a_rd, b.a_sc, b.a_rc, b.a_sd)
    up, down = _mass(b), _mass(back)
    left = uniform * (1 + up + down) - 1
    if left <= 0:
        return 0
    return _walk(b, left) if left <= up else -_walk(back, left - up)


@njit(cache=True)
def _swap(table: np.ndarray, alpha: np.ndarray, r: int, s: int, c: int, d: int, rng: np.random.Generator) -> None:
    """Update n_rc + k, n_rd - k, n_sc - k, n_sd + k given all else, in place."""
    b = Block(
        float(table[r, c]),
        float(table[s, d]),
        float(table[r, d]),
        float(table[s, c]),
        alpha[r, c],
        alpha[s, d],
        alpha[r, d],
        alpha[s, c],
    )
    moves = min(b.rc, b.sd) + min(b.rd, b.sc)
    if moves == 0:
        return
    k = _slice_move(b, rng) if moves > LONG else _exact_move(b, rng.random())
    table[r, c] += k
    table[s, d] += k
    table[r, d] -= k
    table[s, c] -= k


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
                            _swap(tables[i], alpha, r, s, c, d, rng)
            continue
        for _ in range(n_rows * n_cols):
            r, c = int(rng.random() * n_rows), int(rng.random() * n_cols)  # rng.integers takes a second to compile
            s = (r + 1 + int(rng.random() * (n_rows - 1))) % n_rows
            d = (c + 1 + int(rng.random() * (n_cols - 1))) % n_cols
            _swap(tables[i], alpha, r, s, c, d, rng)


class Row(NamedTuple):
    """One row of all tables: counts (C, n) and their sums (n,), and the gamma prior of its concentrations."""

    counts: np.ndarray
    sizes: np.ndarray
    shape: float
    rate: float


@njit(cache=True)
def _log_rising(counts: np.ndarray, alpha: float) -> float:
    """Sum over units of log Gamma(count + alpha) - log Gamma(alpha)."""
    value, n = 0.0, 0
    for i in range(counts.shape[0]):
        if counts[i] > 0:
            value += _log_gamma(counts[i] + alpha)
            n += 1
    return value - n * _log_gamma(alpha)


@njit(cache=True)
def _log_share(row: Row, c: int, alpha: float) -> float:
    """What share c adds to the log density of the row and of the prior; a density of log alpha."""
    return _log_rising(row.counts[c], alpha) + row.shape * math.log(alpha) - row.rate * alpha


@njit(cache=True)
def _density_at(row: Row, start: np.ndarray, terms: np.ndarray, along: int, place: float) -> float:
    """The log Dirichlet-multinomial density with log alpha moved by `place`, in all shares or in share `along`.

    `terms` (C,) are what the shares add at `start`, so that those that stay are not computed again.
    """
    value, strength = 0.0, 0.0
    for c in range(start.shape[0]):
        alpha = start[c] * math.exp(place) if along < 0 or along == c else start[c]
        strength += alpha
        value += _log_share(row, c, alpha) if along < 0 or along == c else terms[c]
    return value - _log_rising(row.sizes, strength)


@njit(cache=True)
def _step_out(
    row: Row, alpha_row: np.ndarray, terms: np.ndarray, along: int, level: float, end: float, step: float
) -> float:
    """An end of the slice's interval, moved by steps until it is outside."""
    for _ in range(8):
        if _density_at(row, alpha_row, terms, along, end) < level:
            break
        end += step
    return end


@njit(cache=True)
def _slice_along(
    row: Row, alpha_row: np.ndarray, terms: np.ndarray, along: int, width: float, rng: np.random.Generator
) -> None:
    """A slice-sampling step of log alpha_r (Neal 2003, stepping out), in place, as are the `terms` of its shares."""
    strength, level = 0.0, math.log(rng.random())
    for c in range(alpha_row.shape[0]):
        strength += alpha_row[c]
        level += terms[c]
    level -= _log_rising(row.sizes, strength)
    first = width * rng.random()
    low = _step_out(row, alpha_row, terms, along, level, -first, -width)
    high = _step_out(row, alpha_row, terms, along, level, width - first, width)
    for _ in range(50):
        place = low + (high - low) * rng.random()
        if _density_at(row, alpha_row, terms, along, place) >= level:
            for c in range(alpha_row.shape[0]):
                if along < 0 or along == c:
                    alpha_row[c] *= math.exp(place)
                    terms[c] = _log_share(row, c, alpha_row[c])
            return
        if place < 0:
            low = place
        else:
            high = place


@njit(cache=True)
def sweep_concentrations(
    tables: np.ndarray, alpha: np.ndarray, width: float, shape: float, rate: float, rng: np.random.Generator
) -> None:
    """Update the concentrations alpha (R, C): each row's strength, then each of its shares, by slice sampling."""
    n, n_rows, n_cols = tables.shape
    counts, sizes, terms = np.empty((n_cols, n)), np.empty(n), np.empty(n_cols)
    for r in range(n_rows):
        for i in range(n):
            sizes[i] = 0.0
            for c in range(n_cols):
                counts[c, i] = tables[i, r, c]
                sizes[i] += tables[i, r, c]
        row = Row(counts, sizes, shape, rate)
        for c in range(n_cols):
            terms[c] = _log_share(row, c, alpha[r, c])
        for along in range(-1, n_cols):
            _slice_along(row, alpha[r], terms, along, width, rng)


@njit(cache=True)
def _gamma_slopes(x: float) -> tuple[float, float]:
    """First and second derivative of the log of the gamma function for x > 0, by their asymptotic series, to 1e-9."""
    first, second = 0.0, 0.0
    while x < 8.0:
        first -= 1 / x
        second += 1 / (x * x)
        x += 1.0
    z = 1 / (x * x)
    first += math.log(x) - 0.5 / x - z * (1 / 12 - z * (1 / 120 - z * (1 / 252 - z / 240)))
    second += 1 / x + 0.5 * z + z / x * (1 / 6 - z * (1 / 30 - z * (1 / 42 - z / 30)))
    return first, second


@njit(cache=True)
def _rising_slopes(counts: np.ndarray, alpha: float) -> tuple[float, float]:
    """First and second derivative of `_log_rising` in alpha."""
    first, second = 0.0, 0.0
    at, bent_at = _gamma_slopes(alpha)
    for i in range(counts.shape[0]):
        if counts[i] > 0:
            slope, bend = _gamma_slopes(counts[i] + alpha)
            first += slope - at
            second += bend - bent_at
    return first, second


@njit(cache=True)
def _conditional_mode(row: Row, log_alpha: np.ndarray) -> bool:
    """Newton steps to the mode of the log concentrations (C,) given the tables, in place; whether they got there.

    The Hessian is a diagonal and a matrix of rank one. Its diagonal has the value that it has at the mode, where the
    slope in alpha of the likelihood and of ``rate`` make up for ``shape``.
    """
    n_cols = log_alpha.shape[0]
    slopes, bends = np.empty(n_cols), np.empty(n_cols)
    for _ in range(50):
        strength = np.exp(log_alpha).sum()
        first, second = _rising_slopes(row.sizes, strength)
        along, room = 0.0, 1.0
        for c in range(n_cols):
            alpha = math.exp(log_alpha[c])
            slope, bend = _rising_slopes(row.counts[c], alpha)
            slopes[c] = alpha * (slope - first - row.rate) + row.shape
            bends[c] = alpha * alpha * bend - row.shape
            along += alpha * slopes[c] / bends[c]
            room -= second * alpha * alpha / bends[c]
        if room <= 0:
            return False
        largest = 0.0
        for c in range(n_cols):
            step = -(slopes[c] + second * math.exp(log_alpha[c]) * along / room) / bends[c]
            step = min(max(step, -1.0), 1.0)
            log_alpha[c] += step
            largest = max(largest, abs(step))
        if largest < 1e-7:
            return True
    return False


@njit(cache=True)
def reflect_concentrations(
    tables: np.ndarray, alpha: np.ndarray, start: np.ndarray, shape: float, rate: float, rng: np.random.Generator
) -> None:
    """Move each row's log concentrations to the other side of their mode given the tables, in place.

    Given tables, concentrations are nearly normal and near their mode; tables then follow them. Drawn anew each time,
    the two walk at random in small steps; reflected, they keep their direction (Adler 1981). The mode is sought from
    `start` (R, C), so that it depends on the tables alone: the move is its own inverse, accepted by Metropolis' rule.
    """
    n, n_rows, n_cols = tables.shape
    counts, sizes = np.empty((n_cols, n)), np.empty(n)
    mode, reflected = np.empty(n_cols), np.empty(n_cols)
    for r in range(n_rows):
        for i in range(n):
            sizes[i] = 0.0
            for c in range(n_cols):
                counts[c, i] = tables[i, r, c]
                sizes[i] += tables[i, r, c]
        row = Row(counts, sizes, shape, rate)
        for c in range(n_cols):
            mode[c] = math.log(start[r, c])
        if not _conditional_mode(row, mode):
            continue
        gain = _log_rising(sizes, alpha[r].sum())
        for c in range(n_cols):
            reflected[c] = math.exp(2 * mode[c]) / alpha[r, c]
            gain += _log_share(row, c, reflected[c]) - _log_share(row, c, alpha[r, c])
        gain -= _log_rising(sizes, reflected.sum())
        if math.log(rng.random()) < gain:
            alpha[r] = reflected


@njit(cache=True)
def sample_chain(
    tables: np.ndarray, alpha: np.ndarray, n_keep: int, thin: int, shape: float, rate: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Run one chain in place; returns totals and concentrations (n_keep, R, C), and mean tables (n, R, C)."""
    n, n_rows, n_cols = tables.shape
    totals, kept = np.zeros((n_keep, n_rows, n_cols)), np.empty((n_keep, n_rows, n_cols))
    mean, start = np.zeros(tables.shape), alpha.copy()
    for k in range(n_keep):
        for sweep in range(k * thin, (k + 1) * thin):
            sweep_tables(tables, alpha, rng)
            if sweep % SLICED == 0:
                sweep_concentrations(tables, alpha, 0.5, shape, rate, rng)
            else:
                reflect_concentrations(tables, alpha, start, shape, rate, rng)
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
