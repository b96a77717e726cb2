"""Masses of normals on simplices and on tables with both margins fixed, by sequential conditioning (GHK)."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from sumwise.kernels.truncated_normal import _log_gap

__all__ = ["draw_tables", "log_simplices_mass", "quantile_between", "tables_log_likelihood"]

LOG_ROOT = 0.9189385332046727  # log sqrt(2 pi)

# Wichura 1988, AS 241: rational functions for the centre, the tails and the far tails, highest power first
# fmt: off
CENTRE = np.array(
    [
        2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457,
        13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.3871328727963666080,
        5226.4952788528545610, 28729.085735721942674, 39307.895800092710610, 21213.794301586595867,
        5394.1960214247511077, 687.18700749205790830, 42.313330701600911252, 1.0,
    ]
).reshape(2, 8)
TAIL = np.array(
    [
        7.74545014278341407640e-4, 2.27238449892691845833e-2, 0.241780725177450611770, 1.27045825245236838258,
        3.64784832476320460504, 5.76949722146069140550, 4.63033784615654529590, 1.42343711074968357734,
        1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2, 0.148103976427480074590,
        0.689767334985100004550, 1.67638483018380384940, 2.05319162663775882187, 1.0,
    ]
).reshape(2, 8)
FAR = np.array(
    [
        2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3, 2.65321895265761230930e-2,
        0.296560571828504891230, 1.78482653991729133580, 5.46378491116411436990, 6.65790464350110377720,
        2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5, 7.86869131145613259100e-4,
        1.48753612908506148525e-2, 0.136929880922735805310, 0.599832206555887937690, 1.0,
    ]
).reshape(2, 8)
# fmt: on


@njit(cache=True)
def _ratio(table, z):
    top, bottom = 0.0, 0.0
    for k in range(8):
        top = top * z + table[0, k]
        bottom = bottom * z + table[1, k]
    return top / bottom


@njit(cache=True)
def _lower_ndtri(p):
    """The normal quantile of p (AS 241)."""
    q = p - 0.5
    if abs(q) <= 0.425:
        return q * _ratio(CENTRE, 0.180625 - q * q)
    root = math.sqrt(-math.log(p if q < 0 else 1 - p))
    z = _ratio(TAIL, root - 1.6) if root <= 5 else _ratio(FAR, root - 5.0)
    return -z if q < 0 else z


@njit(cache=True)
def quantile_between(a, b, uniform):
    """Quantile `uniform` of a standard normal truncated to [a, b]; in either tail by its lower one.

    Examples
    --------
    >>> from sumwise.kernels.transport_normal import quantile_between
    >>> round(quantile_between(-1.0, 1.0, 0.5), 6), round(quantile_between(8.0, 9.0, 0.5), 4)
    (0.0, 8.0849)
    """
    flip = a > 0
    if flip:
        a, b, uniform = -b, -a, 1 - uniform
    if b < -37:  # beyond double precision the density falls like an exponential
        z = b + math.log(uniform + (1 - uniform) * math.exp(b * (b - a))) / -b
    else:
        start = 0.5 * math.erfc(-a * 0.7071067811865476)
        p = start + uniform * (0.5 * math.erfc(-b * 0.7071067811865476) - start)
        z = _lower_ndtri(min(max(p, 1e-300), 1 - 1e-16))
    z = min(max(z, a), b)
    return -z if flip else z


@njit(cache=True)
def _root(matrix):
    """Cholesky's lower triangle, with a floor under the pivots."""
    size = matrix.shape[0]
    out = np.zeros((size, size))
    for j in range(size):
        for i in range(j, size):
            value = matrix[i, j]
            for k in range(j):
                value -= out[i, k] * out[j, k]
            out[i, j] = math.sqrt(max(value, 1e-14)) if i == j else value / out[j, j]
    return out


@njit(cache=True)
def _walk(uniform, mean, root, x, t, table, z):
    """Fill the rows `x` cell by cell, each from its normal given those before, truncated to what is left.

    Bounds in this order are exact: whatever lies inside them can be completed. A row of size 0 has no say in `t` and
    is filled inside its simplex. Writes shares into `table`; returns the log of the product of masses. In a column
    that the unit doesn't have, shares are known, and their density stands for the mass.
    """
    n_cols = t.shape[0]
    left = t.copy()
    total, k = 0.0, 0
    for r in range(x.shape[0]):
        free = x[r] <= 0
        size = 1.0 if free else x[r]
        rest, later, after = size, left.sum(), t.sum()
        for c in range(n_cols - 1):
            later -= left[c]
            after -= t[c]
            low = 0.0 if free else max(rest - later, 0.0) / size
            high = rest / size if free else min(rest, left[c]) / size
            centre = mean[k]
            for j in range(k):
                centre += root[k, j] * z[j]
            a, b = (low - centre) / root[k, k], (high - centre) / root[k, k]
            if not free and (t[c] <= 1e-9 or after <= 1e-9):
                z[k] = a
                total += -0.5 * a * a - math.log(root[k, k]) - LOG_ROOT
            else:
                b = max(a, b)
                total += _log_gap(a, b)
                z[k] = quantile_between(a, b, uniform[k])
            share = min(max(centre + root[k, k] * z[k], low), max(low, high))
            table[r, c] = share
            rest = max(rest - size * share, 0.0)
            if not free:
                left[c] = max(left[c] - size * share, 0.0)
            k += 1
        table[r, n_cols - 1] = rest / size
        if not free:
            left[n_cols - 1] = max(left[n_cols - 1] - rest, 0.0)
    return total


@njit(cache=True)
def _log_mean_exp(values):
    top = values.max()
    return top + math.log(np.exp(values - top).mean())


@njit(cache=True)
def log_simplices_mass(mean, covariance, n_rows, points):
    """Log of the mass of a normal of all rows' first C - 1 shares where every row's shares lie in the simplex.

    mean (R (C - 1),), row by row; points (m, R (C - 1)) in the unit cube. With one outcome and one row it is exact.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.kernels.transport_normal import log_simplices_mass
    >>> square = log_simplices_mass(np.full(2, 0.5), 0.25 * np.eye(2), 2, np.full((1, 2), 0.5))
    >>> round(float(np.exp(square)), 4)  # of two independent shares within one sd of their means
    0.4661
    """
    n_cols = mean.shape[0] // n_rows + 1
    root = _root(covariance)
    x, t = np.zeros(n_rows), np.zeros(n_cols)
    table, z = np.empty((n_rows, n_cols)), np.empty(mean.shape[0])
    values = np.empty(points.shape[0])
    for m in range(points.shape[0]):
        values[m] = _walk(points[m], mean, root, x, t, table, z)
    return _log_mean_exp(values)


@njit(cache=True)
def _given(mean, covariance, cross, gap, order):
    """Mean and covariance given whitened deviations `gap`, of the rows in `order` but the last."""
    width = gap.shape[0]
    kept = (order.shape[0] - 1) * width
    centre, rest = np.empty(kept), np.empty((kept, kept))
    for i in range(kept):
        k = order[i // width] * width + i % width
        centre[i] = mean[k]
        for c in range(width):
            centre[i] += cross[k, c] * gap[c]
        for j in range(kept):
            m = order[j // width] * width + j % width
            rest[i, j] = covariance[k, m]
            for c in range(width):
                rest[i, j] -= cross[k, c] * cross[m, c]
    return centre, rest


@njit(cache=True)
def _given_columns(mean, covariance, x, t, order):
    """Log density of t, and mean and root of all rows but the last in `order` given t, before truncation."""
    width = t.shape[0] - 1
    size, n_rows = mean.shape[0], x.shape[0]
    cross, spread, gap = np.zeros((size, width)), np.zeros((width, width)), t[:width].copy()
    for r in range(n_rows):
        for c in range(width):
            gap[c] -= x[r] * mean[r * width + c]
            cross[:, c] += x[r] * covariance[:, r * width + c]
    for r in range(n_rows):
        spread += x[r] * cross[r * width : (r + 1) * width]
    root = _root(spread)
    log_density = 0.0
    for c in range(width):  # forward substitution, of the gap and of the cross-covariances at once
        for e in range(c):
            gap[c] -= root[c, e] * gap[e]
            cross[:, c] -= root[c, e] * cross[:, e]
        gap[c] /= root[c, c]
        cross[:, c] /= root[c, c]
        log_density -= 0.5 * gap[c] ** 2 + math.log(root[c, c]) + LOG_ROOT
    centre, rest = _given(mean, covariance, cross, gap, order)
    return log_density, centre, _root(rest)


@njit(cache=True)
def _last_is_largest(x):
    order = np.arange(x.shape[0])
    largest = np.argmax(x)
    order[largest:-1] = order[largest + 1 :]
    order[-1] = largest
    return order


@njit(cache=True)
def tables_log_likelihood(x, t, weight, mean, covariance, points, outside):
    """Log-likelihood of the units' column shares t (n, C) given their row shares x (n, R).

    sum_i weight_i [ log N(t_i) + log S_i - log R ]: S_i is the mass of the shares given t_i where the table is one,
    and R that of all rows' simplices. Both are estimated on fixed points in the unit cube, `points` (m, (R-1)(C-1)) and
    `outside` (m, R(C-1)), so that the sum is smooth in mean and covariance. With 2 x 2 tables S_i is exact.
    """
    n, n_rows = x.shape
    table, z = np.empty((n_rows - 1, t.shape[1])), np.empty(points.shape[1])
    values = np.empty(points.shape[0])
    mass = log_simplices_mass(mean, covariance, n_rows, outside)
    total = 0.0
    for i in range(n):
        order = _last_is_largest(x[i])
        density, centre, root = _given_columns(mean, covariance, x[i], t[i], order)
        first = x[i][order[:-1]]
        for m in range(points.shape[0]):
            values[m] = _walk(points[m], centre, root, first, t[i], table, z)
        total += weight[i] * (density + _log_mean_exp(values) - mass)
    return total


@njit(cache=True)
def draw_tables(x, t, mean, covariance, points, rng):
    """One table of row shares (n, R, C) per unit given its margins, by sampling-importance-resampling.

    `points` (m, (R-1)(C-1)) are shifted at random for each unit. Returns the tables and the mean, over units, of the
    effective share of the m proposals.
    """
    n, n_rows = x.shape
    n_cols, size = t.shape[1], points.shape[0]
    out = np.empty((n, n_rows, n_cols))
    tables, values = np.empty((size, n_rows - 1, n_cols)), np.empty(size)
    z = np.empty(points.shape[1])
    quality = 0.0
    for i in range(n):
        order = _last_is_largest(x[i])
        _, centre, root = _given_columns(mean, covariance, x[i], t[i], order)
        first = x[i][order[:-1]]
        shift = rng.random(points.shape[1])
        for m in range(size):
            values[m] = _walk((points[m] + shift) % 1.0, centre, root, first, t[i], tables[m], z)
        chance = np.cumsum(np.exp(values - values.max()))
        picked = min(np.searchsorted(chance, rng.random() * chance[-1]), size - 1)
        quality += chance[-1] ** 2 / np.sum(np.exp(2 * (values - values.max()))) / (size * n)
        rest = t[i].copy()
        for r in range(n_rows - 1):
            out[i, order[r]] = tables[picked, r]
            rest -= first[r] * tables[picked, r]
        out[i, order[-1]] = np.maximum(rest, 0.0) / x[i, order[-1]]
    return out, quality
