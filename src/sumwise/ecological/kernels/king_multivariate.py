"""King's model of R x C tables: a truncated normal of all shares, sampled together with every unit's table.

Given the parameters a unit's table moves along cycles of four cells, on each of which it is a normal on an interval.
The mean of the tables' own scores is the gradient of the likelihood of the margins (Fisher's identity), so no unit's
polytope has to be integrated over; but for one truncation constant everything is in closed form.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.stats import qmc

from sumwise.ecological.kernels.ghk_simulator import log_simplices_mass, quantile_between
from sumwise.inference.kernels.compiled import njit

POINTS = 512  # for the truncation constant
NARROW, WIDE, CORRELATED, OUTSIDE = 0.05, 1.0, 1.0, 4.0  # the box of sds, of correlations and means on King's scale
FARTHEST = 0.5  # scale of the prior on how many standard deviations a mean lies outside [0, 1]
SWEEPS, SHAKES, BETWEEN = 20, 50, 8  # over the tables: per step, before the first step, between draws
HELD, FULL, LONGEST = 30, 60, 0.2  # steps without correlations, steps of full length, the longest of a parameter
EDGE = 0.03  # of the box: what is nearer is held by it
STEP = 1e-4  # of central differences


class TableData(NamedTuple):
    """Row shares x (n, R), column shares t (n, C), weights (n,), points in the unit cube; erho, esigma, ebeta.

    With `full`, every pair of shares has its own correlation.
    """

    x: np.ndarray
    t: np.ndarray
    weight: np.ndarray
    points: np.ndarray
    priors: tuple[float, float, float]
    full: bool = False


class Mode(NamedTuple):
    """The mode phi (P,), its covariance, the tables there, the distance left in standard errors, and the steps'."""

    phi: np.ndarray
    covariance: np.ndarray
    tables: np.ndarray
    distance: float
    course: list[float]


def table_data(
    x: np.ndarray,
    t: np.ndarray,
    weight: np.ndarray,
    priors: tuple[float, float, float],
    full: bool = False,
    *,
    rng: np.random.Generator,
) -> TableData:
    """The data with shifted Sobol points for the truncation constant."""
    dims = x.shape[1] * (t.shape[1] - 1)
    points = (qmc.Sobol(dims, scramble=False).random(POINTS) + rng.random(dims)) % 1.0
    x, t, weight = (np.array(a, dtype=float, order="C") for a in (x, t, weight))
    return TableData(x, t, weight, points, priors, full)


@njit(cache=True)
def _equal(phi: float, size: int) -> float:
    """One correlation for all pairs of `size` things, in (-1 / (size - 1), 1); tanh(phi) for two."""
    grown = math.exp(2 * min(max(phi, -15.0), 15.0))
    return (grown - 1) / (grown + size - 1)


@njit(cache=True)
def _all_correlations(tail: np.ndarray, size: int) -> np.ndarray:
    """The correlations of `size` things from tanh(tail), the partial ones given all before: always a valid matrix."""
    root = np.zeros((size, size))
    k = 0
    for i in range(size):
        rest = 1.0
        for j in range(i):
            partial = math.tanh(tail[k])
            root[i, j] = partial * math.sqrt(rest)
            rest *= 1 - partial**2
            k += 1
        root[i, i] = math.sqrt(rest)
    return root @ root.T


@njit(cache=True)
def natural(phi: np.ndarray, n_rows: int, n_cols: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means and standard deviations (R (C - 1),) and the covariance of all rows' first C - 1 shares.

    As in 2 x 2 (King 1997, section 7.4): mean = phi (1/4 + sd^2) + 1/2, sd = exp(phi). Shares of one outcome have one
    correlation between any two rows, shares of one row one between any two outcomes, other pairs their product; where
    phi has more than these two, every pair of shares has its own (partial) correlation.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.kernels.king_multivariate import natural
    >>> mean, sd, covariance = natural(np.array([0.0, 0.0, -1.0, -1.0, 0.5]), 2, 2)
    >>> round(float(covariance[0, 1] / np.prod(sd)), 4) == round(float(np.tanh(0.5)), 4)
    True
    """
    width = n_cols - 1
    size = n_rows * width
    sd = np.exp(np.minimum(phi[size : 2 * size], 5.0))
    mean = phi[:size] * (0.25 + sd**2) + 0.5
    if phi.size - 2 * size > 2:
        return mean, sd, _all_correlations(phi[2 * size :], size) * np.outer(sd, sd)
    between = _equal(phi[2 * size], n_rows)
    within = _equal(phi[2 * size + 1], width) if width > 1 else 0.0
    covariance = np.empty((size, size))
    for i in range(size):
        for j in range(size):
            one = 1.0 if i // width == j // width else between
            covariance[i, j] = sd[i] * sd[j] * one * (1.0 if i % width == j % width else within)
    return mean, sd, covariance


def limits(n_rows: int, n_cols: int, full: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """The box that parameters stay in: far outside it the truncation constant can't be estimated."""
    size = n_rows * (n_cols - 1)
    tail = np.full(size * (size - 1) // 2 if full and size > 2 else 1 + (n_cols > 2), CORRELATED)
    low = np.concatenate([np.full(size, -OUTSIDE), np.full(size, np.log(NARROW)), -tail])
    return low, np.concatenate([np.full(size, OUTSIDE), np.full(size, np.log(WIDE)), tail])


class UnitTable(NamedTuple):
    """One unit: its shares (R, C) and rows x (R,), the precision P of the free shares b, and v = P (b - mean)."""

    shares: np.ndarray
    x: np.ndarray
    v: np.ndarray
    precision: np.ndarray


@njit(cache=True)
def _slide(
    unit: UnitTable, where: np.ndarray, step: np.ndarray, low: float, high: float, rng: np.random.Generator
) -> float:
    """Move along the cells `where` by the steps `step` times a normal draw on [low, high]; update v = P (b - mean)."""
    v, precision = unit.v, unit.precision
    lin, quad = 0.0, 0.0
    for p in range(where.size):
        if where[p] >= 0:
            lin += step[p] * v[where[p]]
            for q in range(where.size):
                if where[q] >= 0:
                    quad += step[p] * step[q] * precision[where[p], where[q]]
    if not high - low > 1e-13:
        return 0.0
    root = math.sqrt(quad)
    centre = -lin / quad
    drawn = centre + quantile_between((low - centre) * root, (high - centre) * root, rng.random()) / root
    drawn = min(max(drawn, low), high)
    for p in range(where.size):
        if where[p] >= 0:
            for k in range(v.size):
                v[k] += drawn * step[p] * precision[k, where[p]]
    return drawn


@njit(cache=True)
def _cycle(unit: UnitTable, r: int, s: int, c: int, e: int, rng: np.random.Generator) -> None:
    """Shift shares round the cells (r, c), (r, e), (s, e), (s, c) of one unit; both margins stay."""
    shares, x = unit.shares, unit.x
    width = shares.shape[1] - 1
    small = min(x[r], x[s])
    up, down = small / x[r], small / x[s]
    low = max(-shares[r, c] / up, -shares[s, e] / down)
    high = min(shares[r, e] / up, shares[s, c] / down)
    where = np.array([r * width + c, -1 if e == width else r * width + e, s * width + c, s * width + e])
    if e == width:
        where[3] = -1
    step = np.array([up, -up, -down, down])
    drawn = _slide(unit, where, step, low, high, rng)
    shares[r, c] = max(shares[r, c] + up * drawn, 0.0)
    shares[r, e] = max(shares[r, e] - up * drawn, 0.0)
    shares[s, c] = max(shares[s, c] - down * drawn, 0.0)
    shares[s, e] = max(shares[s, e] + down * drawn, 0.0)


@njit(cache=True)
def _free_row(unit: UnitTable, r: int, rng: np.random.Generator) -> None:
    """Redraw a row that has nobody: its shares are free in the simplex."""
    shares, width = unit.shares, unit.shares.shape[1] - 1
    for c in range(width):
        where, step = np.array([r * width + c]), np.array([1.0])
        drawn = _slide(unit, where, step, -shares[r, c], shares[r, width], rng)
        shares[r, c] = max(shares[r, c] + drawn, 0.0)
        shares[r, width] = max(shares[r, width] - drawn, 0.0)


@njit(cache=True)
def _all_cycles(unit: UnitTable, rng: np.random.Generator) -> None:
    n_rows, n_cols = unit.shares.shape
    for r in range(n_rows):
        for s in range(r + 1, n_rows):
            for c in range(n_cols):
                for e in range(c + 1, n_cols):
                    if unit.x[r] > 0 and unit.x[s] > 0:
                        _cycle(unit, r, s, c, e, rng)


@njit(cache=True)
def _some_cycles(unit: UnitTable, n_cycles: int, rng: np.random.Generator) -> None:
    n_rows, n_cols = unit.shares.shape
    for _ in range(n_cycles):
        r, s = rng.integers(0, n_rows), rng.integers(0, n_rows - 1)
        c, e = rng.integers(0, n_cols), rng.integers(0, n_cols - 1)
        s += s >= r
        e += e >= c
        if unit.x[r] > 0 and unit.x[s] > 0:
            _cycle(unit, r, s, min(c, e), max(c, e), rng)


@njit(cache=True)
def sweep_tables(
    tables: np.ndarray, x: np.ndarray, mean: np.ndarray, precision: np.ndarray, rng: np.random.Generator
) -> None:
    """Move every unit's table along its cycles, each drawn from its exact conditional, in place.

    All cycles of small tables; of large ones as many random ones as twice the free shares.
    """
    n, n_rows, n_cols = tables.shape
    width = n_cols - 1
    every = n_rows * (n_rows - 1) * n_cols * width // 4
    moves = 2 * (n_rows - 1) * width
    v, gap = np.empty(mean.size), np.empty(mean.size)
    for i in range(n):
        shares = tables[i]
        for k in range(gap.size):
            gap[k] = shares[k // width, k % width] - mean[k]
        for k in range(gap.size):
            v[k] = 0.0
            for j in range(gap.size):
                v[k] += precision[k, j] * gap[j]
        unit = UnitTable(shares, x[i], v, precision)
        if every <= 2 * moves:
            _all_cycles(unit, rng)
        else:
            _some_cycles(unit, moves, rng)
        for r in range(n_rows):
            if x[i, r] <= 0:
                _free_row(unit, r, rng)


@njit(cache=True)
def unit_moments(
    tables: np.ndarray, x: np.ndarray, mean: np.ndarray, precision: np.ndarray, n_sweeps: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Means over sweeps of every unit's free shares b (n, D) and of b b' (n, D, D); `tables` go on in place."""
    n, _, n_cols = tables.shape
    width, size = n_cols - 1, mean.size
    first, second = np.zeros((n, size)), np.zeros((n, size, size))
    for _ in range(n_sweeps):
        sweep_tables(tables, x, mean, precision, rng)
        for i in range(n):
            for k in range(size):
                one = tables[i, k // width, k % width] / n_sweeps
                first[i, k] += one
                for j in range(size):
                    second[i, k, j] += one * tables[i, j // width, j % width]
    return first, second


def unit_values(phi: np.ndarray, first: np.ndarray, second: np.ndarray, n_rows: int, points: np.ndarray) -> np.ndarray:
    """Mean log density (n,) of each unit's tables, which are truncated normal, from their first two moments."""
    mean, _, covariance = natural(phi, n_rows, len(first[0]) // n_rows + 1)
    precision, (_, log_det) = np.linalg.inv(covariance), np.linalg.slogdet(covariance)
    scatter = np.einsum("ijk,jk->i", second, precision) - 2 * first @ (precision @ mean) + mean @ precision @ mean
    return -0.5 * (scatter + log_det) - log_simplices_mass(mean, covariance, n_rows, points)


def log_prior(phi: np.ndarray, n_rows: int, n_cols: int, priors: tuple[float, float, float]) -> float:
    """King's log priors, and one that keeps means near [0, 1], where the truncation constant is known."""
    erho, esigma, ebeta = priors
    mean, sd, _ = natural(phi, n_rows, n_cols)
    outside = np.maximum(np.maximum(-mean, mean - 1), 0.0)
    value = -0.5 * float(np.sum((outside / sd / FARTHEST) ** 2))
    if erho > 0:
        value -= float(np.sum(phi[2 * len(mean) :] ** 2)) / (2 * erho**2)
    if esigma > 0:
        value -= float(np.sum(sd**2)) / (2 * esigma**2)
    if ebeta > 0:
        value -= float(np.sum(outside**2)) / (2 * ebeta)
    return value


def _slopes(
    phi: np.ndarray, first: np.ndarray, second: np.ndarray, data: TableData
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores of all units (n, P), and slope (P,) and curvature (P,) of the prior."""
    n_rows, n_cols = data.x.shape[1], data.t.shape[1]
    middle = log_prior(phi, n_rows, n_cols, data.priors)
    scores, slope, curvature = np.empty((len(first), len(phi))), np.empty(len(phi)), np.empty(len(phi))
    for k in range(len(phi)):
        ahead, behind = phi.copy(), phi.copy()
        ahead[k] += STEP
        behind[k] -= STEP
        up, down = (unit_values(p, first, second, n_rows, data.points) for p in (ahead, behind))
        scores[:, k] = (up - down) / (2 * STEP)
        above, below = (log_prior(p, n_rows, n_cols, data.priors) for p in (ahead, behind))
        slope[k], curvature[k] = (above - below) / (2 * STEP), (above + below - 2 * middle) / STEP**2
    return scores, slope, curvature


def climb(data: TableData, max_iter: int, *, rng: np.random.Generator) -> Mode:
    """Find a mode by steps of scoring: slope over the units' outer products (Berndt, Hall, Hall and Hausman 1974).

    After the first steps lengths shrink, and the mean of the later half is taken; so are slope and information.
    """
    n, n_rows, n_cols = len(data.x), data.x.shape[1], data.t.shape[1]
    low, high = limits(n_rows, n_cols, data.full)
    tables, phi = _starting_point(data, rng)
    half, late = max_iter // 2, []
    course = []
    for k in range(max_iter):
        mean, _, covariance = natural(phi, n_rows, n_cols)
        sweeps = SWEEPS if k < half else 2 * SWEEPS
        first, second = unit_moments(tables, data.x, mean, np.linalg.inv(covariance), sweeps, rng)
        scores, slope, curvature = _slopes(phi, first, second, data)
        gradient = data.weight @ scores + slope
        if k < HELD:  # first where, then how far apart, then how tied: correlations of wrong means lead astray
            gradient[2 * mean.size :] = 0.0
        information = (scores * data.weight[:, None]).T @ scores + np.diag(np.maximum(-curvature, 0.0) + 1e-6 * n)
        step = np.linalg.solve(information, gradient)
        course.append(float(np.sqrt(max(gradient @ step, 0.0) / len(phi))))
        size = min(1.0, LONGEST / max(np.abs(step).max(), 1e-300)) / max(k - FULL, 1) ** 0.7
        if k >= half:
            late.append((phi, gradient, information))
        phi = np.clip(phi + size * step, low, high)
    phi, gradient, information = (np.mean([part[j] for part in late], axis=0) for j in range(3))
    outward = (phi < low + EDGE) & (gradient < 0) | (phi > high - EDGE) & (gradient > 0)
    gradient = np.where(outward, 0.0, gradient)
    covariance = np.linalg.inv(information)
    return Mode(phi, covariance, tables, float(np.sqrt(gradient @ covariance @ gradient / len(phi))), course)


def _starting_point(data: TableData, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Tables without association, shaken by a wide normal about them, and parameters that suit them."""
    n_rows, n_cols = data.x.shape[1], data.t.shape[1]
    size, (low, high) = n_rows * (n_cols - 1), limits(n_rows, n_cols, data.full)
    tables = np.repeat(data.t[:, None, :], n_rows, axis=1)
    centre = np.tile(data.t.mean(axis=0)[:-1], n_rows)
    for _ in range(SHAKES):
        sweep_tables(tables, data.x, centre, np.eye(size) / 0.3**2, rng)
    flat = tables[:, :, :-1].reshape(-1, size)
    sd = np.clip(flat.std(axis=0), 0.05, 0.5)
    phi = np.concatenate([(flat.mean(axis=0) - 0.5) / (0.25 + sd**2), np.log(sd), np.zeros(len(low) - 2 * size)])
    return tables, np.clip(phi, low, high)


def simulate(mode: Mode, data: TableData, n_draws: int, *, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Draws of phi from the normal about the mode, and for each all units' tables of row shares (n, R, C).

    The tables are one array that goes on moving: copy what is to stay.
    """
    n_rows, n_cols = data.x.shape[1], data.t.shape[1]
    low, high = limits(n_rows, n_cols, data.full)
    root, tables = np.linalg.cholesky(mode.covariance), mode.tables.copy()
    for z in rng.standard_normal((n_draws, len(mode.phi))):
        mean, _, covariance = natural(np.clip(mode.phi + root @ z, low, high), n_rows, n_cols)
        precision = np.linalg.inv(covariance)
        for _ in range(BETWEEN):
            sweep_tables(tables, data.x, mean, precision, rng)
        yield tables


def integration_error(phi: np.ndarray, data: TableData, *, rng: np.random.Generator, times: int = 8) -> float:
    """Standard deviation of the log posterior at phi over other sets of points: what the constant's estimate costs."""
    n_rows, n_cols = data.x.shape[1], data.t.shape[1]
    mean, _, covariance = natural(phi, n_rows, n_cols)
    shifts = rng.random((times, data.points.shape[1]))
    masses = [log_simplices_mass(mean, covariance, n_rows, (data.points + s) % 1.0) for s in shifts]
    return float(data.weight.sum() * np.std(masses))
