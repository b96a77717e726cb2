"""Raking and its EM pass in NumPy, all units at once: for small problems, which end before a kernel is compiled.

The steps are those of `raking` and `entropic_em`; the two agree to rounding.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

LONGEST = 8.0  # the largest step of a tilt
MOST_CELLS, MOST_COLUMNS = 2_000, 6  # beyond, compiled loops over units save more than they take to compile
_compiled = ContextVar("compiled", default=False)


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
    >>> is_small(np.ones((200, 3)), np.ones((200, 3))), is_small(np.ones((300, 3)), np.ones((300, 3)))
    (True, False)
    """
    return not _compiled.get() and cols.shape[1] <= MOST_COLUMNS and rows.size * cols.shape[1] <= MOST_CELLS


def tilt_units(
    log_shares: np.ndarray, rows: np.ndarray, targets: np.ndarray, tilts: np.ndarray, max_iter: int, tol: float
):
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
    n, n_cols = targets.shape
    totals = targets.sum(axis=1)
    shares, value = _tilted(log_shares, rows, targets, tilts)
    lower = np.zeros((n, n_cols, n_cols))
    units = np.arange(n)  # those that still move
    for k in range(max_iter + 1):
        gradient, lower[units] = _curvature(rows[units], targets[units], shares[units])
        moving = np.abs(gradient).max(axis=1) >= tol * totals[units]
        if k == max_iter or not moving.any():
            break
        units, gradient = units[moving], gradient[moving]
        step = _solve(lower[units], gradient)
        slope = (gradient * step).sum(axis=1)
        longest = np.abs(step).max(axis=1)
        length = np.where(longest <= LONGEST, 1.0, LONGEST / np.maximum(longest, LONGEST))
        before, start = tilts[units], value[units]
        search = np.arange(len(units))
        while search.size:
            u = units[search]
            tilts[u] = before[search] + length[search, None] * step[search]
            shares[u], value[u] = _tilted(log_shares, rows[u], targets[u], tilts[u])
            enough = start[search] - 1e-4 * length[search] * slope[search] + 1e-10 * totals[u]
            search = search[(value[u] > enough) & (length[search] >= 1e-4)]
            length[search] *= 0.5
    return shares, lower


def _tilted(log_shares: np.ndarray, rows: np.ndarray, targets: np.ndarray, tilts: np.ndarray):
    present = rows[:, :, None] > 0
    logits = np.where(present, log_shares, 0.0) + tilts[:, None, :]
    top = logits.max(axis=2, keepdims=True)
    shares = np.exp(logits - top)
    sums = shares.sum(axis=2, keepdims=True)
    value = (rows * (top + np.log(sums))[:, :, 0]).sum(axis=1) - (targets * tilts).sum(axis=1)
    return shares / sums, value


def _curvature(rows: np.ndarray, targets: np.ndarray, shares: np.ndarray):
    """The gradient and the factor of V, as `raking.curvature` and `small_cholesky.factor` give them."""
    n_cols = targets.shape[1]
    counts = rows[:, :, None] * shares
    sums = counts.sum(axis=1)
    v = -np.einsum("irc,ire->ice", counts, shares)
    here = np.arange(n_cols)
    v[:, here, here] += sums
    trace = np.trace(v, axis1=1, axis2=2)
    v += (trace / n_cols**2)[:, None, None]
    v[:, here, here] += (1e-7 * trace / n_cols + 1e-12)[:, None]
    lower = np.zeros_like(v)
    for i in range(n_cols):
        for j in range(i + 1):
            s = v[:, i, j] - (lower[:, i, :j] * lower[:, j, :j]).sum(axis=1)
            lower[:, i, j] = np.sqrt(np.maximum(s, 1e-12)) if i == j else s / lower[:, j, j]
    return targets - sums, lower


def _solve(lower: np.ndarray, b: np.ndarray):
    x = b.copy()
    n_cols = b.shape[1]
    for i in range(n_cols):
        x[:, i] = (x[:, i] - (lower[:, i, :i] * x[:, :i]).sum(axis=1)) / lower[:, i, i]
    for i in range(n_cols - 1, -1, -1):
        x[:, i] = (x[:, i] - (lower[:, i + 1 :, i] * x[:, i + 1 :]).sum(axis=1)) / lower[:, i, i]
    return x


def em_pass(
    rows: np.ndarray,
    targets: np.ndarray,
    scale: np.ndarray,
    weight: np.ndarray,
    log_shares: np.ndarray,
    tilts: np.ndarray,
    divergence: np.ndarray,
    options: np.ndarray,
):
    """`entropic_em._chunk` for every unit: the moments (2, R, C) and the objective; tilts and divergence in place."""
    gamma, newton, tol = options[0], int(options[1]), options[2]
    moment = np.zeros((2, *log_shares.shape))
    divergence[:] = 0.0
    units = np.flatnonzero((rows.sum(axis=1) > 0) & (weight > 0))
    if units.size == 0:
        return moment, 0.0
    x, moved = rows[units], tilts[units]
    shares, lower = tilt_units(log_shares, x, targets[units], moved, newton, tol)
    tilts[units] = moved
    counts = x[:, :, None] * shares
    moment[0] = np.einsum("i,irc->rc", scale[units], counts)
    logs = np.log(np.where(shares > 1e-100, shares, 1.0)) - np.where(shares > 1e-100, log_shares, 0.0)
    divergence[units] = (counts * logs).sum(axis=(1, 2))
    value = float(scale[units] @ divergence[units])
    if gamma > 0:
        weights = weight[units] * gamma
        diagonal = np.diagonal(lower, axis1=1, axis2=2)
        value += float(weights @ np.log(diagonal).sum(axis=1))
        moment[1] = -np.einsum("i,irc->rc", weights, _pull(x, shares, lower))
    return moment, value


def _pull(x: np.ndarray, shares: np.ndarray, lower: np.ndarray):
    """What `entropic_em.subtract_pull` subtracts from the moments of each unit, without its weight."""
    inverse = np.linalg.inv(lower)
    inverse = np.swapaxes(inverse, 1, 2) @ inverse
    diagonal = np.diagonal(inverse, axis1=1, axis2=2)[:, None, :]
    pull = x[:, :, None] * (0.5 * diagonal - shares @ inverse)
    return shares * (pull - (shares * pull).sum(axis=2, keepdims=True))


def polish_units(rows: np.ndarray, cols: np.ndarray, shares: np.ndarray, max_iter: int, tol: float):
    """`raking._polish` for every unit, in place: scale the cells to both margins, columns first."""
    totals = cols.sum(axis=1)
    units = np.arange(len(rows))
    for _ in range(max_iter):
        x, b = rows[units], shares[units]
        sums = (x[:, :, None] * b).sum(axis=1)
        b *= np.where(sums > 0, cols[units] / np.where(sums > 0, sums, 1.0), 0.0)[:, None, :]
        s = b.sum(axis=2)
        used = (x > 0) & (s > 0)
        gap = np.where(used, x * np.abs(s - 1), 0.0).max(axis=1)
        shares[units] = b / np.where(used, s, 1.0)[:, :, None]
        units = units[gap > tol * totals[units]]
        if units.size == 0:
            break
