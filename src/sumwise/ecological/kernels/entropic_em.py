"""Row shares common to all units, by an EM whose E step rakes every unit to both of its margins.

The objective, over the shares p (R, C) of all units together, is

    F(p) = sum_i [ w_i D_i(p) + g_i/2 log det V_i ] - alpha sum_rc log p_rc

where D_i is the least Kullback-Leibler divergence sum_r x_r KL(b_r, p_r) over tables b with the unit's margins (so
that b is the raking of p), V_i the covariance of the column totals given b, and w_i = weight / (1 + rho (N_i - 1)),
scaled to mean 1, allows for units that vary more than multinomial draws do. With rho = alpha = 0 and g = 1 it is the
Laplace approximation to the multinomial likelihood of the column totals given the row totals. It is symmetric in rows
and columns up to the determinant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import prange

from sumwise.ecological.kernels import BLOCK, LEAST
from sumwise.ecological.kernels.batched_raking import Units, em_pass, is_small
from sumwise.ecological.kernels.raking import spread_targets, summed, tilt
from sumwise.ecological.kernels.small_cholesky import solve
from sumwise.inference.kernels.compiled import njit


class RakingProblem(NamedTuple):
    """What F is made of: margins and weights of n units, overdispersion, the determinant's weight and pseudo-counts."""

    rows: np.ndarray  # (n, R)
    cols: np.ndarray  # (n, C)
    weight: np.ndarray  # (n,)
    rho: float = 0.0
    gamma: float = 1.0  # g_i over the unit's weight
    alpha: float = 0.0

    def units(self) -> Units:
        """The units before the first pass over them."""
        scale = unit_scales(self.rows.sum(axis=1), self.weight, self.rho)
        return Units(self.rows, self.cols, scale, self.weight, np.zeros(self.cols.shape), np.zeros(len(self.rows)))


class SharesSolution(NamedTuple):
    """Log shares, the units' divergences, the course (objective and change per step), and whether it settled."""

    log_shares: np.ndarray
    divergence: np.ndarray
    objectives: np.ndarray
    changes: np.ndarray
    converged: bool
    slopes: np.ndarray | None = None  # (k, C), where there are covariates


def unit_scales(totals: np.ndarray, weights: np.ndarray, rho: float) -> np.ndarray:
    """w_i = weight_i / (1 + rho (N_i - 1)), scaled so that a mean unit has its weight.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.kernels.entropic_em import unit_scales
    >>> unit_scales(np.array([100.0, 300.0]), np.ones(2), 0.0)
    array([1., 1.])
    """
    spread = 1 + rho * np.maximum(totals - 1, 0.0)
    return weights * (1 + rho * max(float(totals.mean()) - 1, 0.0)) / spread


@njit(cache=True)
def subtract_pull(x: np.ndarray, b: np.ndarray, lower: np.ndarray, weight: float, moment: np.ndarray) -> None:
    """Add the pull of log det V on log p_r: -x_r b_rc (diag(V^-1)_c / 2 - (V^-1 b_r)_c), centred on each row."""
    n_rows, n_cols = b.shape
    diagonal, line, pull = np.empty(n_cols), np.empty(n_cols), np.empty(n_cols)
    for c in range(n_cols):
        for e in range(n_cols):
            line[e] = 0.0
        line[c] = 1.0
        solve(lower, line)
        diagonal[c] = line[c]
    for r in range(n_rows):
        if x[r] <= 0:
            continue
        for c in range(n_cols):
            line[c] = b[r, c]
        solve(lower, line)
        mean = 0.0
        for c in range(n_cols):
            pull[c] = x[r] * (0.5 * diagonal[c] - line[c])
            mean += b[r, c] * pull[c]
        for c in range(n_cols):
            moment[r, c] -= weight * b[r, c] * (pull[c] - mean)


@njit(cache=True)
def _chunk(units: Units, log_shares: np.ndarray, span: np.ndarray, options: np.ndarray, moment: np.ndarray) -> float:
    """One pass over units span[0] to span[1]; adds to moment (2, R, C), returns this part of the objective."""
    rows, scale, weight, divergence = units.rows, units.scale, units.weight, units.divergence
    n_rows, n_cols = log_shares.shape
    gamma, newton, tol = options[0], int(options[1]), options[2]
    work = np.empty((2 * n_cols + 3, n_cols))
    b = np.empty((n_rows, n_cols))
    target = np.empty(n_cols)
    value = 0.0
    for i in range(span[0], span[1]):
        total = summed(rows[i])
        divergence[i] = 0.0
        if total <= 0 or weight[i] <= 0:
            continue
        for c in range(n_cols):
            target[c] = units.cols[i, c] * (1 - LEAST) + LEAST * total / n_cols
        tilt(log_shares, rows[i], target, units.tilts[i], b, newton, tol, work)
        lower = work[n_cols : 2 * n_cols]
        for r in range(n_rows):
            for c in range(n_cols):
                if rows[i, r] > 0:
                    moment[0, r, c] += scale[i] * rows[i, r] * b[r, c]
                    if b[r, c] > 1e-100:
                        divergence[i] += rows[i, r] * b[r, c] * (np.log(b[r, c]) - log_shares[r, c])
        value += scale[i] * divergence[i]
        if gamma <= 0:
            continue
        for c in range(n_cols):
            value += weight[i] * gamma * np.log(lower[c, c])
        subtract_pull(rows[i], b, lower, weight[i] * gamma, moment[1])
    return value


def _update(moment: np.ndarray, log_shares: np.ndarray, alpha: float) -> tuple[np.ndarray, float]:
    """The M step: shares in proportion to expected counts, pull and pseudo-counts; and the prior's part of F."""
    new, value = log_shares.copy(), 0.0
    for r, size in enumerate(moment[0].sum(axis=1)):
        if size > 0:
            value -= alpha * float(log_shares[r].sum())
            kept = np.maximum(moment[0, r] + moment[1, r] + alpha, 1e-7 * size)
            new[r] = np.log(kept / kept.sum())
    return new, value


@njit(cache=True, parallel=True)
def _chunks(units: Units, log_shares: np.ndarray, options: np.ndarray, moments: np.ndarray, values: np.ndarray) -> None:
    n, chunks = units.rows.shape[0], len(values)
    for k in prange(chunks):
        span = np.array([k * n // chunks, (k + 1) * n // chunks])
        values[k] = _chunk(units, log_shares, span, options, moments[k])


def em_step(units: Units, log_shares: np.ndarray, options: np.ndarray, alpha: float) -> tuple[np.ndarray, float]:
    """One EM step; the units' tilts and divergence are updated. Returns new log shares and F at the old ones.

    options: (gamma, Newton steps, tolerance of a tilt).
    """
    rows, cols = units.rows, units.cols
    if is_small(rows, cols):
        moment, value = em_pass(units, spread_targets(cols, rows.sum(axis=1)), log_shares, options)
    elif len(rows) > BLOCK:
        chunks = 4 * len(rows) // BLOCK
        moments, values = np.zeros((chunks, 2, *log_shares.shape)), np.zeros(chunks)
        _chunks(units, log_shares, options, moments, values)
        moment, value = moments.sum(axis=0), float(values.sum())
    else:
        moment = np.zeros((2, *log_shares.shape))
        value = _chunk(units, log_shares, np.array([0, len(rows)]), options, moment)
    new, prior = _update(moment, log_shares, alpha)
    return new, value + prior


def normalised(log_shares: np.ndarray) -> np.ndarray:
    """Log shares whose rows sum to one, none below the floor.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.kernels.entropic_em import normalised
    >>> np.exp(normalised(np.log([[2.0, 6.0]])))
    array([[0.25, 0.75]])
    """
    top = log_shares.max(axis=1, keepdims=True)
    centred = log_shares - top - np.log(np.exp(log_shares - top).sum(axis=1, keepdims=True))
    return np.maximum(centred, np.log(LEAST))


def common_shares(
    problem: RakingProblem, start: np.ndarray, *, max_iter: int = 200, tol: float = 1e-4
) -> SharesSolution:
    """Minimise F over the shares, from `start`, by EM steps and squared extrapolation (Varadhan and Roland 2008).

    An extrapolation that makes F worse is taken back. It stops when no share moves by more than `tol` in an EM step, or
    when F, a log-likelihood, moves by less than 1e-3 (per thousand units, if there are more) over four steps: it may
    circle round a flat optimum.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.kernels.entropic_em import RakingProblem, common_shares
    >>> rows = np.array([[80.0, 20.0], [30.0, 70.0], [50.0, 50.0], [10.0, 90.0]])
    >>> cols = rows @ np.array([[0.9, 0.1], [0.3, 0.7]])
    >>> done = common_shares(RakingProblem(rows, cols, np.ones(4), gamma=0.0), np.full((2, 2), 0.5), tol=1e-7)
    >>> np.exp(done.log_shares).round(3)
    array([[0.9, 0.1], [0.3, 0.7]])
    """
    units, options = problem.units(), np.array([problem.gamma, 2.0, 1e-6])

    def em(point: np.ndarray) -> tuple[np.ndarray, float]:
        return em_step(units, point, options, problem.alpha)

    first = normalised(np.log(np.maximum(start, 1e-7)))
    here, course = accelerated(em, first, len(first), len(problem.rows), max_iter, tol, units.tilts)
    em_step(units, here, np.array([problem.gamma, 50.0, 1e-9]), problem.alpha)
    return SharesSolution(here, units.divergence, *course)


def accelerated(
    em: Callable[..., Any], here: np.ndarray, n_rows: int, n_units: int, max_iter: int, tol: float, tilts: np.ndarray
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray, bool]]:
    """The point that EM steps lead to, by squared extrapolation; F and the change at every step; whether it settled.

    Rows of a point after `n_rows` are slopes. `tilts` are taken back with a point, in place.
    """
    safe, safe_tilts, best, longest, taken_back = here, tilts.copy(), np.inf, 4.0, False
    objectives, changes, converged = [], [], False
    for _ in range(max_iter):
        first, value = em(here)[:2]
        if value > best + 1e-6 * abs(best) and not taken_back:
            here, longest, taken_back = safe, max(longest / 4, 1.0), True
            tilts[:] = safe_tilts
            continue
        taken_back, best = False, value
        objectives.append(value)
        moved = np.exp(first[:n_rows]) - np.exp(here[:n_rows]), 0.25 * (first[n_rows:] - here[n_rows:])
        changes.append(max(float(np.abs(m).max(initial=0.0)) for m in moved))
        if changes[-1] < tol or settled(objectives, n_units):
            here, converged = first, True
            break
        second, between = em(first)[:2]
        safe, safe_tilts = second, tilts.copy()
        if between > value + 1e-6 * abs(value):
            here = second if n_rows < len(here) else normalised(0.5 * (first + second))
            continue
        here, longest = extrapolated(here, first, second, longest, n_rows)
    return here, (np.asarray(objectives), np.asarray(changes), converged)


def settled(objectives: list[float], n_units: int) -> bool:
    """Whether F moved by less than 1e-3 over four steps; in large data by less than that per thousand units."""
    last = objectives[-5:]
    return len(last) == 5 and max(last) - min(last) < 1e-3 * max(1.0, n_units / 1000)


def extrapolated(
    here: np.ndarray, first: np.ndarray, second: np.ndarray, longest: float, n_rows: int
) -> tuple[np.ndarray, float]:
    """Go on from a point along the two EM steps after it, and how far the next time; rows after `n_rows` are slopes."""
    step, second_difference = first - here, second - 2 * first + here
    mass = np.exp(first)  # cells that vanish must not rule the length
    mass[n_rows:] = 0.25
    length = np.sqrt(np.sum(mass * step**2) / max(float(np.sum(mass * second_difference**2)), 1e-300))
    length = max(length, 1.0)
    if length > longest:
        length, longest = longest, min(2 * longest, 64.0)
    new = here + 2 * length * step + length**2 * second_difference
    new[:n_rows] = normalised(new[:n_rows])
    return new, longest
