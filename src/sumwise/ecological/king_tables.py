"""King's two strategies for tables larger than 2 x 2."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sumwise.fit import Fit
from sumwise.kernels import king as kernel
from sumwise.kernels.chains import split_r_hat
from sumwise.kernels.raking import rake
from sumwise.kernels.simplex_sampler import sample_shares
from sumwise.margins import Margins

__all__ = ["TableResult", "fit_iterated", "fit_multivariate"]

R_HAT = 1.05
CHAINS = 4


class TableResult(NamedTuple):
    """Unit shares (n, R, C), draws of the overall shares, the record, and how far two ways to a share differ."""

    cells: np.ndarray
    draws: np.ndarray
    fit: Fit
    change: float
    tol: float
    disagreement: float = 0.0
    mean_disagreement: float = 0.0


def fit_iterated(margins: Margins, priors, n_draws: int, scale: float, max_iter: int, rng) -> TableResult:
    """Every cell by 2 x 2 tables from the rows' side and from the columns' side, averaged and raked to the margins.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Margins
    >>> from sumwise.ecological.king_tables import fit_iterated
    >>> from sumwise.kernels.king import KingPriors
    >>> rows = np.array([[80.0, 20.0], [30.0, 70.0], [50.0, 50.0], [10.0, 90.0]])
    >>> m = Margins(rows, rows @ [[0.6, 0.3, 0.1], [0.2, 0.3, 0.5]])
    >>> fit_iterated(m, KingPriors(), 50, 0.5, 100, np.random.default_rng(0)).draws.shape
    (50, 2, 3)
    """
    full = margins[margins.totals > 0]
    rows, cols, weight = full.rows, full.cols, np.array(full.weights, dtype=float)
    options = (weight, priors, n_draws, scale, max_iter, rng)
    by_rows, draws_rows, slope_rows, course = _side(rows, cols, *options)
    by_cols, draws_cols, slope_cols, more = _side(cols, rows, *options)
    counts = [by_rows, by_cols.transpose(0, 2, 1)]
    draws = [draws_rows, draws_cols.transpose(0, 2, 1)]
    size = np.maximum(rows.sum(axis=0)[:, None], 1e-300)
    ways = [c.sum(axis=0) / size for c in counts]
    gap = np.abs(ways[0] - ways[1])
    guide = np.maximum((counts[0] + counts[1]) / 2, 1e-9)
    cells = np.zeros((margins.n_units, margins.n_rows, margins.n_cols))
    cells[margins.totals > 0] = _rake_each(rows, cols, guide)
    pooled = np.concatenate([d / size for d in draws])[rng.permutation(2 * n_draws)[:n_draws]]
    slope = max(slope_rows, slope_cols)
    course = course + more
    fit = Fit(objective=float(sum(course)), n_iter=len(course), converged=slope < 0.1, history={"objective": course})
    return TableResult(cells, pooled, fit, slope, 0.1, float(gap.max()), float(gap.mean()))


def _side(rows, cols, weight, priors, n_draws, scale, max_iter, rng):
    """Counts (n, R, C) and draws of their sums, each row against the rest by each column against the rest."""
    n, n_rows = rows.shape
    n_cols = cols.shape[1]
    total = rows.sum(axis=1)
    none = np.zeros((n, 0))
    counts, sums = np.empty((n, n_rows, n_cols)), np.empty((n_draws, n_rows, n_cols))
    steepest, course = 0.0, []
    for r in range(n_rows):
        for c in range(n_cols):
            data = kernel.KingData(rows[:, r] / total, cols[:, c] / total, weight, none, none)
            phi, covariance, record, _ = kernel.maximise(data, priors, max_iter, starts=1)
            draws, _ = kernel.resample(phi, covariance, data, priors, n_draws, scale, rng=rng, factor=1)
            share, _ = kernel.simulate(draws, data, rng=rng)
            counts[:, r, c] = share.mean(axis=0) * rows[:, r]
            sums[:, r, c] = share @ rows[:, r]
            steepest = max(steepest, float(np.abs(record.jac).max() / max(abs(record.fun), 1.0)))
            course.append(-float(record.fun))
    return counts, sums, steepest, course


def _rake_each(rows, cols, guide):
    """Every unit's own guide, scaled to its margins; as row shares."""
    out = np.empty_like(guide)
    for i in range(len(rows)):
        shares = guide[i] / guide[i].sum(axis=1, keepdims=True)
        out[i] = rake(rows[i : i + 1], cols[i : i + 1], np.log(shares))[0]
    return out


def fit_multivariate(margins: Margins, n_draws: int, rng) -> TableResult:
    """A truncated normal of all shares at once, by Gibbs sampling inside every unit's polytope.

    Given the units' shares, means and variances are drawn without the truncation constant, which has no closed form in
    more than two dimensions.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Margins
    >>> from sumwise.ecological.king_tables import fit_multivariate
    >>> rows = np.array([[80.0, 20.0], [30.0, 70.0], [50.0, 50.0], [10.0, 90.0]])
    >>> m = Margins(rows, rows @ [[0.6, 0.3, 0.1], [0.2, 0.3, 0.5]])
    >>> fit_multivariate(m, 100, np.random.default_rng(0)).draws.shape
    (100, 2, 3)
    """
    overall = np.log(np.maximum(margins.cols.sum(axis=0) / margins.cols.sum(), 1e-9))
    neutral = rake(margins.rows, margins.cols, np.tile(overall, (margins.n_rows, 1))) * margins.rows[:, :, None]
    weight = np.array(margins.weights, dtype=float)
    each = -(-n_draws // CHAINS)
    states = [neutral.copy() for _ in range(CHAINS)]
    for state, chain_rng in zip(states, rng.spawn(CHAINS)):
        sample_shares(state, margins.rows, weight, 1, max(each, 100), chain_rng)  # burn in
    runs = [sample_shares(s, margins.rows, weight, each, 4, g) for s, g in zip(states, rng.spawn(CHAINS))]
    size = np.maximum(margins.rows.sum(axis=0)[:, None], 1e-300)
    chains = np.stack([totals for totals, _ in runs]) / size
    average = np.mean([mean for _, mean in runs], axis=0)
    x = np.broadcast_to(margins.rows[:, :, None], average.shape)
    cells = np.divide(average, x, out=np.zeros_like(average), where=x > 0)
    worst = float(split_r_hat(chains).max())
    course = chains.mean(axis=(0, 2, 3)).tolist()
    fit = Fit(objective=worst, n_iter=each * 4, converged=worst < R_HAT, history={"mean share": course})
    return TableResult(cells, chains.reshape(-1, *chains.shape[2:])[:n_draws], fit, worst - 1, R_HAT - 1)
