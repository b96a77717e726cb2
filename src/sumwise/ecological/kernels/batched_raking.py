"""Raking and its EM pass in NumPy, all units at once: for small problems, which end before a kernel is compiled.

The steps are those of `raking` and `entropic_em`; the two agree to rounding.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

import numpy as np

LONGEST = 8.0  # the largest step of a tilt
# Up to here a fit with intervals takes about twice the time of compiled loops over units, 0.6 CPU-seconds in place of
# 0.4 for 400 units of 6 x 6, and to compile them takes 6.
MOST_CELLS, MOST_COLUMNS = 15_000, 8
MANY_CONTESTS = 10  # from which to compile takes less time than it saves, however small each contest is
_compiled = ContextVar("compiled", default=False)


class Units(NamedTuple):
    """Margins of n units, their scales w_i and weights, and what a pass over them updates in place."""

    rows: np.ndarray  # (n, R)
    cols: np.ndarray  # (n, C)
    scale: np.ndarray  # (n,)
    weight: np.ndarray  # (n,)
    tilts: np.ndarray  # (n, C), those of the last pass
    divergence: np.ndarray  # (n,), D_i


@contextmanager
def compiled_kernels(wanted: bool = True) -> Generator[None]:
    """Use compiled kernels for problems of any size: many small fits take a fifth of the time by them.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.kernels.batched_raking import compiled_kernels, is_small
    >>> with compiled_kernels():
    ...     is_small(np.ones((20, 2)), np.ones((20, 2)))
    False
    """
    token = _compiled.set(wanted)
    try:
        yield
    finally:
        _compiled.reset(token)


def is_small(rows: np.ndarray, cols: np.ndarray) -> bool:
    """Whether units, rows and columns are few enough for this file.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.kernels.batched_raking import is_small
    >>> is_small(np.ones((400, 6)), np.ones((400, 6))), is_small(np.ones((4000, 3)), np.ones((4000, 3)))
    (True, False)
    """
    return not _compiled.get() and cols.shape[1] <= MOST_COLUMNS and rows.size * cols.shape[1] <= MOST_CELLS


def tilt_units(
    log_shares: np.ndarray, rows: np.ndarray, targets: np.ndarray, tilts: np.ndarray, max_iter: int, tol: float
) -> tuple[np.ndarray, np.ndarray]:
    """`raking.tilt` for every unit; tilts (n, C) is updated in place. Returns shares (n, R, C) and factors (n, C, C).

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.kernels.batched_raking import tilt_units
    >>> rows, cols = np.array([[60.0, 40.0]]), np.array([[30.0, 70.0]])
    >>> shares, _ = tilt_units(np.log(np.full((2, 2), 0.5)), rows, cols, np.zeros((1, 2)), 20, 1e-12)
    >>> (rows @ shares[0]).round(6)
    array([[30., 70.]])
    """
    moved = _units_last(tilts)
    shares, lower = _tilt(log_shares, _units_last(rows), _units_last(targets), moved, max_iter, tol)
    tilts[:] = moved.T
    return np.moveaxis(shares, -1, 0), np.moveaxis(lower, -1, 0)


# From here on the units are the last axis: sums over a handful of rows or columns are then sums of long vectors, which
# take a third of the time. x (R, n), t and tilts (C, n), shares (R, C, n), factors (C, C, n).


def _units_last(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(np.moveaxis(values, 0, -1))


def _tilt(
    log_shares: np.ndarray, x: np.ndarray, t: np.ndarray, tilts: np.ndarray, max_iter: int, tol: float
) -> tuple[np.ndarray, np.ndarray]:
    n_cols, n = t.shape
    totals = t.sum(axis=0)
    shares, value = _tilted(log_shares, x, t, tilts)
    lower = np.zeros((n_cols, n_cols, n))
    units = np.arange(n)  # those that still move
    for k in range(max_iter + 1):
        here = slice(None) if len(units) == n else units
        gradient, lower[..., here] = _curvature(x[:, here], t[:, here], shares[..., here])
        moving = np.abs(gradient).max(axis=0) >= tol * totals[here]
        if k == max_iter or not moving.any():
            break
        units, gradient = units[moving], gradient[:, moving]
        step = _solve(lower[..., units], gradient)
        slope = (gradient * step).sum(axis=0)
        longest = np.abs(step).max(axis=0)
        length = np.where(longest <= LONGEST, 1.0, LONGEST / np.maximum(longest, LONGEST))
        before, start = tilts[:, units], value[units]
        search = np.arange(len(units))
        while search.size:
            u = units[search]
            tilts[:, u] = before[:, search] + length[search] * step[:, search]
            shares[..., u], value[u] = _tilted(log_shares, x[:, u], t[:, u], tilts[:, u])
            enough = start[search] - 1e-4 * length[search] * slope[search] + 1e-10 * totals[u]
            search = search[(value[u] > enough) & (length[search] >= 1e-4)]
            length[search] *= 0.5
    return shares, lower


def _tilted(log_shares: np.ndarray, x: np.ndarray, t: np.ndarray, tilts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    shares = np.where(x[:, None] > 0, log_shares[:, :, None], 0.0) + tilts
    top = shares.max(axis=1)
    shares -= top[:, None]
    np.exp(shares, out=shares)
    sums = shares.sum(axis=1)
    value = (x * (top + np.log(sums))).sum(axis=0) - (t * tilts).sum(axis=0)
    shares /= sums[:, None]
    return shares, value


def _curvature(x: np.ndarray, t: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The gradient and the factor of V, as `raking.curvature` and `small_cholesky.factor` give them."""
    n_cols = len(t)
    counts = x[:, None] * shares
    sums = counts.sum(axis=0)
    v = -_product(np.swapaxes(counts, 0, 1), shares)
    here = np.arange(n_cols)
    v[here, here] += sums
    trace = v[here, here].sum(axis=0)
    v += trace / n_cols**2
    v[here, here] += 1e-7 * trace / n_cols + 1e-12
    lower = np.zeros_like(v)
    for j in range(n_cols):
        pivot = np.sqrt(np.maximum(v[j, j], 1e-12))
        lower[j, j] = pivot
        below = lower[j + 1 :, j] = v[j + 1 :, j] / pivot
        v[j + 1 :, j + 1 :] -= below[:, None] * below
    return t - sums, lower


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The matrix product of every unit, (I, K, n) by (K, J, n)."""
    total = a[:, 0, None] * b[0]
    for k in range(1, len(b)):
        total += a[:, k, None] * b[k]
    return total


def _solve(lower: np.ndarray, b: np.ndarray) -> np.ndarray:
    x = b.copy()
    for j in range(len(b)):
        x[j] /= lower[j, j]
        x[j + 1 :] -= lower[j + 1 :, j] * x[j]
    for j in range(len(b) - 1, -1, -1):
        x[j] /= lower[j, j]
        x[:j] -= lower[j, :j] * x[j]
    return x


def em_pass(
    all_units: Units, targets: np.ndarray, log_shares: np.ndarray, options: np.ndarray
) -> tuple[np.ndarray, float]:
    """`entropic_em._chunk` for every unit: the moments (2, R, C) and the objective; tilts and divergence in place."""
    rows, _, scale, weight, tilts, divergence = all_units
    gamma, newton, tol = options[0], int(options[1]), options[2]
    moment = np.zeros((2, *log_shares.shape))
    divergence[:] = 0.0
    units = np.flatnonzero((rows.sum(axis=1) > 0) & (weight > 0))
    if units.size == 0:
        return moment, 0.0
    x, moved = _units_last(rows[units]), _units_last(tilts[units])
    shares, lower = _tilt(log_shares, x, _units_last(targets[units]), moved, newton, tol)
    tilts[units] = moved.T
    counts = x[:, None] * shares
    moment[0] = counts @ scale[units]
    logs = np.log(np.where(shares > 1e-100, shares, 1.0)) - np.where(shares > 1e-100, log_shares[:, :, None], 0.0)
    divergence[units] = (counts * logs).sum(axis=(0, 1))
    value = float(scale[units] @ divergence[units])
    if gamma > 0:
        weights = weight[units] * gamma
        diagonal = np.diagonal(lower, axis1=0, axis2=1)
        value += float(weights @ np.log(diagonal).sum(axis=1))
        moment[1] = -(_pull(x, shares, lower) @ weights)
    return moment, value


def _pull(x: np.ndarray, shares: np.ndarray, lower: np.ndarray) -> np.ndarray:
    """What `entropic_em.subtract_pull` subtracts from the moments of each unit, without its weight."""
    n_cols = len(lower)
    half = np.repeat(np.eye(n_cols)[:, :, None], lower.shape[-1], axis=2)  # the inverse of the factor
    for j in range(n_cols):
        half[j] /= lower[j, j]
        half[j + 1 :] -= lower[j + 1 :, j, None] * half[j]
    inverse = _product(np.swapaxes(half, 0, 1), half)
    diagonal = inverse[np.arange(n_cols), np.arange(n_cols)]
    pull = x[:, None] * (0.5 * diagonal - _product(shares, inverse))
    return shares * (pull - (shares * pull).sum(axis=1)[:, None])


def polish_units(rows: np.ndarray, cols: np.ndarray, shares: np.ndarray, max_iter: int, tol: float) -> None:
    """`raking._polish` for every unit, in place: scale the cells to both margins, columns first."""
    totals = cols.sum(axis=1)
    units = np.arange(len(rows))
    x, t, b = _units_last(rows), _units_last(cols), _units_last(shares)
    for _ in range(max_iter):
        sums = (x[:, None] * b).sum(axis=0)
        b *= np.where(sums > 0, t / np.where(sums > 0, sums, 1.0), 0.0)
        s = b.sum(axis=1)
        used = (x > 0) & (s > 0)
        gap = np.where(used, x * np.abs(s - 1), 0.0).max(axis=0)
        b /= np.where(used, s, 1.0)[:, None]
        shares[units] = np.moveaxis(b, -1, 0)
        left = gap > tol * totals[units]
        units, x, t, b = units[left], x[:, left], t[:, left], b[..., left]
        if units.size == 0:
            break
