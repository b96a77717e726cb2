"""How large effects of levels and of pairs of levels on an amount are: what tables of sums say of their variance.

Under noise the variance v of effects is poorly known, and a point estimate of it is often zero, which would leave no
room for effects at all. So its posterior is kept on a grid. The deviation of a cell of n individuals from what smaller
tables imply, times the root of n, is normal with variance s + noise / n + v n, where s is the variance of an amount. A
cell counts as much as it is free: a table of L levels has L - 1 free deviations.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sumwise.maxent.penalties import LARGE
from sumwise.maxent.sufficient_statistics import SufficientStatistics

USUAL = (0.5, 0.25)  # scale of the half-t prior of effects of levels and of pairs: in means, or standard deviations
FREEDOM = 4.0  # of that prior
ROOTS = np.exp(np.linspace(np.log(0.01), np.log(5.0), 120))  # of v, in the same unit


class Amounts(NamedTuple):
    """Sums of an amount over cells: their range, mean and variance, and the variance (P,) that noise gives the sums."""

    low: float
    width: float
    mean: float
    variance: float
    noise: np.ndarray


class EffectSizes(NamedTuple):
    """Posterior of the variance of effects on a grid: variances (G,) and weights (G,)."""

    variances: np.ndarray
    weights: np.ndarray

    @property
    def mean(self) -> float:
        """The posterior mean."""
        return float(self.weights @ self.variances)

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Variances (n,) drawn from the posterior."""
        return self.variances[rng.choice(len(self.variances), n, p=self.weights)]


def effect_sizes(stats: SufficientStatistics, given: Amounts, order: int, unit: float) -> EffectSizes:
    """Posterior of the variance of effects of levels (order 1), or of pairs of levels beyond their own (order 2).

    Pooled over tables of attributes of up to 100 levels. unit: the mean, or the standard deviation of amounts, squared;
    variances are in it.
    """
    grid = ROOTS**2
    scale = USUAL[min(order, len(USUAL)) - 1]
    # a half-t prior of the root of v; the grid is even in its logarithm
    log = -0.5 * (FREEDOM + 1.0) * np.log1p((ROOTS / scale) ** 2 / FREEDOM) + np.log(ROOTS)
    for n, free, squares, chance in _deviations(stats, given, order):
        variance = chance[:, None] + unit * grid * n[:, None]
        log -= 0.5 * np.sum(free[:, None] * (np.log(variance) + squares[:, None] / variance), axis=0)
    weights = np.exp(log - log.max())
    return EffectSizes(grid, weights / weights.sum())


def _deviations(stats: SufficientStatistics, given: Amounts, order: int):
    """By table: counts of cells, how free they are, squared deviations, and their variance without effects."""
    lay = stats.layout
    for t, term in enumerate(lay.terms):
        if len(term) != order or lay.is_crossed(t) or t in lay.bare or max(lay.shape(term)) > LARGE:
            continue
        at, cells = stats.part(t), stats.cells(t)
        n = (np.maximum(stats.data.counts[at], 0.0) * stats.seen.counts[at])[: len(cells)]
        used = n > 0
        levels = np.unravel_index(cells, lay.shape(term))
        design = np.column_stack([np.ones(len(cells)), *(np.eye(k)[v] for k, v in zip(lay.shape(term), levels))])
        design, n = (design[:, :1] if order == 1 else design)[used], n[used]
        off = (given.low - given.mean) + given.width * stats.data.sums[0, at][: len(cells)][used] / n
        root = np.sqrt(n)
        basis, scale, _ = np.linalg.svd(root[:, None] * design, full_matrices=False)
        basis = basis[:, scale > 1e-9 * scale[0]]
        left = root * off - basis @ (basis.T @ (root * off))
        free = np.maximum(1.0 - np.sum(basis**2, axis=1), 1e-9)
        yield n, free, left**2 / free, given.variance + given.noise[at][: len(cells)][used] / n
