"""The GHK simulator: masses of normals on simplices by sequential conditioning, and draws of normals between bounds."""

from __future__ import annotations

import math

import numpy as np

from sumwise.ecological.kernels.truncated_normal import log_gap
from sumwise.inference.kernels.compiled import njit

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
def _ratio(table: np.ndarray, z: float) -> float:
    top, bottom = 0.0, 0.0
    for k in range(8):
        top = top * z + table[0, k]
        bottom = bottom * z + table[1, k]
    return top / bottom


@njit(cache=True)
def _lower_ndtri(p: float) -> float:
    """The normal quantile of p (AS 241)."""
    q = p - 0.5
    if abs(q) <= 0.425:
        return q * _ratio(CENTRE, 0.180625 - q * q)
    root = math.sqrt(-math.log(p if q < 0 else 1 - p))
    z = _ratio(TAIL, root - 1.6) if root <= 5 else _ratio(FAR, root - 5.0)
    return -z if q < 0 else z


@njit(cache=True)
def quantile_between(a: float, b: float, uniform: float) -> float:
    """Quantile `uniform` of a standard normal truncated to [a, b]; in either tail by its lower one.

    Examples
    --------
    >>> from sumwise.ecological.kernels.ghk_simulator import quantile_between
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
def _root(matrix: np.ndarray) -> np.ndarray:
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
def _walk(uniform: np.ndarray, mean: np.ndarray, root: np.ndarray, n_rows: int, z: np.ndarray) -> float:
    """Fill the rows share by share, each from its normal given those before, truncated to what is left of its row.

    Returns the log of the product of masses; z holds the draws.
    """
    width = mean.shape[0] // n_rows
    total, rest = 0.0, 1.0
    for k in range(mean.shape[0]):
        if k % width == 0:
            rest = 1.0
        centre = mean[k]
        for j in range(k):
            centre += root[k, j] * z[j]
        a, b = -centre / root[k, k], (rest - centre) / root[k, k]
        total += log_gap(a, b)
        z[k] = quantile_between(a, b, uniform[k])
        rest = max(rest - min(max(centre + root[k, k] * z[k], 0.0), rest), 1e-12)
    return total


@njit(cache=True)
def _log_mean_exp(values: np.ndarray) -> float:
    top = values.max()
    return top + math.log(np.exp(values - top).mean())


@njit(cache=True)
def log_simplices_mass(mean: np.ndarray, covariance: np.ndarray, n_rows: int, points: np.ndarray) -> float:
    """Log of the mass of a normal of all rows' first C - 1 shares where every row's shares lie in the simplex.

    mean (R (C - 1),), row by row; points (m, R (C - 1)) in the unit cube. With one outcome and one row it is exact.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.kernels.ghk_simulator import log_simplices_mass
    >>> square = log_simplices_mass(np.full(2, 0.5), 0.25 * np.eye(2), 2, np.full((1, 2), 0.5))
    >>> round(float(np.exp(square)), 4)  # of two independent shares within one sd of their means
    0.4661
    """
    root = _root(covariance)
    z, values = np.empty(mean.shape[0]), np.empty(points.shape[0])
    for m in range(points.shape[0]):
        values[m] = _walk(points[m], mean, root, n_rows, z)
    return _log_mean_exp(values)
