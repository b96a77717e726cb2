"""King's two strategies for tables larger than 2 x 2."""

# Names are bound in loops that run at least once.
# pyright: reportPossiblyUnboundVariable=false

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sumwise.ecological.identification import relative_weights
from sumwise.ecological.kernels import king as kernel
from sumwise.ecological.kernels import king_multivariate as table_kernel
from sumwise.ecological.kernels.raking import rake
from sumwise.errors import DataError
from sumwise.fit import Fit
from sumwise.margins import Margins
from sumwise.progress import track

MAX_FREE_SHARES = 20  # free shares in the multivariate strategy
# With fewer units for each parameter draws cover far less than they should (30 for the five of 2 x 2 tables):
# benchmarks/ecological_simulated.py at 0286d963.
UNITS_PER_PARAMETER = 6
STEPS, TRIES = 160, 3  # of the climb to the mode, and how often it may begin
DISTANCE, UNCERTAIN = 1.0, 2.0  # from the mode in standard errors; a standard deviation of the log posterior
EDGE = 0.999  # correlation from which the likelihood is too steep for a search


class TableResult(NamedTuple):
    """Unit shares (n, R, C), draws of the overall shares, the record, and how far two ways to a share differ."""

    cells: np.ndarray
    draws: np.ndarray
    fit: Fit
    change: float
    tol: float
    disagreement: float = 0.0
    mean_disagreement: float = 0.0
    correlated: int = 0  # 2 x 2 tables whose search ended at a correlation of 1 and no mode
    integration_error: float | None = None


def fit_iterated(margins: Margins, priors, n_draws: int, max_iter: int, rng) -> TableResult:
    """Every cell by 2 x 2 tables from the rows' side and from the columns' side, averaged and raked to the margins.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Margins
    >>> from sumwise.ecological.king_tables import fit_iterated
    >>> from sumwise.ecological.kernels.king import KingPriors
    >>> rows = np.array([[80.0, 20.0], [30.0, 70.0], [50.0, 50.0], [10.0, 90.0]])
    >>> m = Margins(rows, rows @ [[0.6, 0.3, 0.1], [0.2, 0.3, 0.5]])
    >>> fit_iterated(m, KingPriors(), 50, 100, np.random.default_rng(0)).draws.shape
    (50, 2, 3)
    """
    full = margins[margins.totals > 0]
    rows, cols, weight = full.rows, full.cols, relative_weights(full)
    options = (weight, priors, n_draws, max_iter, rng)
    by_rows, draws_rows, distance_rows, course, edges = _side(rows, cols, *options)
    by_cols, draws_cols, distance_cols, more, other_edges = _side(cols, rows, *options)
    counts = [by_rows, by_cols.transpose(0, 2, 1)]
    draws = [draws_rows, draws_cols.transpose(0, 2, 1)]
    size = np.maximum(rows.sum(axis=0)[:, None], 1e-300)
    ways = [c.sum(axis=0) / size for c in counts]
    gap = np.abs(ways[0] - ways[1])
    guide = np.maximum((counts[0] + counts[1]) / 2, 1e-9)
    cells = np.zeros((margins.n_units, margins.n_rows, margins.n_cols))
    cells[margins.totals > 0] = _rake_each(rows, cols, guide)
    pooled = np.concatenate([d / size for d in draws])[rng.permutation(2 * n_draws)[:n_draws]]
    distance = max(distance_rows, distance_cols)
    course = course + more
    done = distance < kernel.DISTANCE
    fit = Fit(objective=float(sum(course)), n_iter=len(course), converged=done, history={"objective": course})
    gaps = float(gap.max()), float(gap.mean())
    return TableResult(cells, pooled, fit, distance, kernel.DISTANCE, *gaps, edges + other_edges)


def _side(rows, cols, weight, priors, n_draws, max_iter, rng):
    """Counts (n, R, C) and draws of their sums, each row against the rest by each column against the rest."""
    n, n_rows = rows.shape
    n_cols = cols.shape[1]
    total = rows.sum(axis=1)
    none = np.zeros((n, 0))
    counts, sums = np.empty((n, n_rows, n_cols)), np.empty((n_draws, n_rows, n_cols))
    farthest, course, edges = 0.0, [], 0
    for r, c in track(list(np.ndindex(n_rows, n_cols)), "Cells"):
        data = kernel.KingData(rows[:, r] / total, cols[:, c] / total, weight, none, none)
        phi, covariance, record, _ = kernel.maximise(data, priors, max_iter, starts=1)
        draws, _ = kernel.resample(phi, covariance, data, priors, n_draws, rng=rng, factor=1)
        share, _ = kernel.simulate(draws, data, rng=rng)
        counts[:, r, c] = share.mean(axis=0) * rows[:, r]
        sums[:, r, c] = share @ rows[:, r]
        distance = kernel.distance_to_mode(record.jac, covariance)
        edges += distance >= kernel.DISTANCE and abs(np.tanh(phi[4])) > EDGE
        farthest = max(farthest, distance)
        course.append(-float(record.fun))
    return counts, sums, farthest, course, edges


def _rake_each(rows, cols, guide):
    """Every unit's own guide, scaled to its margins; as row shares."""
    out = np.empty_like(guide)
    for i in range(len(rows)):
        shares = guide[i] / guide[i].sum(axis=1, keepdims=True)
        out[i] = rake(rows[i : i + 1], cols[i : i + 1], np.log(shares))[0]
    return out


def fit_multivariate(margins: Margins, priors, n_draws: int, max_iter: int, rng, full: bool = False) -> TableResult:
    """A truncated normal of all shares at once, its mode found by scoring and every unit's table sampled.

    The largest outcome is the one whose share is left out as the rest of the row: the others are less correlated. It
    has converged where the mode is known to less than its standard errors, and the truncation constant well enough that
    the log posterior is: over other sets of points it has a standard deviation below 2. A climb that ends elsewhere,
    where estimates of the constant mislead, is begun again from other tables, up to three times.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Margins
    >>> from sumwise.ecological.king_tables import fit_multivariate
    >>> from sumwise.ecological.kernels.king import KingPriors
    >>> rows = np.array([[80.0, 20.0], [30.0, 70.0], [50.0, 50.0], [10.0, 90.0]])
    >>> m = Margins(rows, rows @ [[0.6, 0.4], [0.2, 0.8]])
    >>> fit_multivariate(m, KingPriors(), 20, 100, np.random.default_rng(0)).draws.shape
    (20, 2, 2)
    """
    if margins.n_rows * (margins.n_cols - 1) > MAX_FREE_SHARES:
        raise DataError(
            f"King's multivariate strategy has a normal of {margins.n_rows * (margins.n_cols - 1)} shares; "
            f"its estimate of the truncation constant is trusted up to {MAX_FREE_SHARES}.",
            hint="strategy='iterated', EcologicalEM(), or merge groups and outcomes.",
        )
    units = margins[margins.totals > 0]
    if full:
        _refuse_few_units(units)
    order = _largest_last(units)
    scales = (priors.erho, priors.esigma, priors.ebeta)
    for _ in range(TRIES):
        data = table_kernel.table_data(
            units.row_shares, units.col_shares[:, order], relative_weights(units), scales, full, rng=rng
        )
        mode = table_kernel.climb(data, min(max_iter, STEPS), rng=rng)
        error = table_kernel.integration_error(mode.phi, data, rng=rng)
        if mode.distance < DISTANCE and error < UNCERTAIN:
            break
    average = np.zeros((units.n_units, units.n_rows, units.n_cols))
    sums = np.empty((n_draws, units.n_rows, units.n_cols))
    for k, shares in enumerate(table_kernel.simulate(mode, data, n_draws, rng=rng)):
        average[:, :, order] += shares / n_draws
        sums[k][:, order] = np.einsum("ir,irc->rc", units.rows, shares)
    cells = np.zeros((margins.n_units, margins.n_rows, margins.n_cols))
    cells[margins.totals > 0] = average
    size = np.maximum(units.rows.sum(axis=0)[:, None], 1e-300)
    done = mode.distance < DISTANCE and error < UNCERTAIN
    fit = Fit(mode.phi, n_iter=len(mode.course), converged=done, history={"distance": mode.course})
    return TableResult(cells, sums / size, fit, mode.distance, DISTANCE, integration_error=error)


def _refuse_few_units(units: Margins) -> None:
    """Refuse a full covariance, a correlation for every pair of shares, where units are too few to estimate it."""
    size = units.n_rows * (units.n_cols - 1)
    n = 2 * size + size * (size - 1) // 2
    if units.n_units < UNITS_PER_PARAMETER * n:
        raise DataError(
            f"A full covariance of {size} shares has {n} parameters; there are {units.n_units} units.",
            hint=f"strategy='multivariate', or at least {UNITS_PER_PARAMETER * n} units.",
        )


def _largest_last(margins: Margins) -> np.ndarray:
    """Columns in their order but the largest last; two columns as they are."""
    order = np.arange(margins.n_cols)
    if margins.n_cols == 2:
        return order
    largest = int(np.argmax(margins.cols.sum(axis=0)))
    return np.append(np.delete(order, largest), largest)
