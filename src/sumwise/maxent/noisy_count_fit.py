"""Mu from noisy counts: weighted by their noise over all tables at once, on rows drawn from the model.

Training takes cells one by one: where a cell is mostly noise, its penalty is raised. But the counts of all tables
answer to mu together, and the likelihood of noisy counts weighs residuals by how they do. Besides, an association that
is no larger than noise is best taken for none: each table's own penalty follows from its counts (see
`interaction_penalty`). Of an attribute with many levels the noise of rare ones would pass for people: see
`level_counts`.
"""

from __future__ import annotations

import math

import numpy as np

from sumwise.maxent.engines import Parameters
from sumwise.maxent.fitted_model import LogLinearModel
from sumwise.maxent.kernels.level_counts import level_counts
from sumwise.maxent.kernels.loglinear import log_sum
from sumwise.maxent.kernels.noisy_counts import NoisyCounts, fit_noisy_counts
from sumwise.maxent.kernels.table_logistic import cell_design
from sumwise.maxent.noisy_label_fit import centred
from sumwise.maxent.penalties import interaction_penalty
from sumwise.maxent.sufficient_statistics import SufficientStatistics

FLOOR = 0.01  # of the mean count of a table's cells: the least variance that its counts are weighted by
MANY = 20  # levels from which the distribution of their counts is estimated; level_counts.json: 10 gain little


def noisy_count_fit(
    stats: SufficientStatistics, model: LogLinearModel, codes: np.ndarray, now: Parameters
) -> tuple[np.ndarray, np.ndarray]:
    """Mu (P,), and the counts (P,) that the rows have under it.

    codes (m, D): rows drawn from `model`, unless all cells of x are fewer; now: its parameters, but that theta and
    offsets may be others.
    """
    lay, weights = stats.layout, np.ones(len(codes))
    if math.prod(map(float, lay.sizes)) <= len(codes):
        codes, weights = model.all_cells()
    moved = log_sum(model.scores(codes, now), axis=1) - log_sum(model.scores(codes), axis=1)
    weights = weights * np.exp(moved - moved.max())
    counts, variance, seen = stats.data.counts.copy(), np.empty(lay.n_params), stats.seen.counts > 0
    for t, term in enumerate(lay.terms):
        at, noise = stats.part(t), stats.noise.counts[stats.part(t)]
        if len(term) == 1 and len(noise) >= MANY and noise.all() and seen[at].all():
            counts[at], noise = level_counts(counts[at], noise, stats.n)
        variance[at] = np.maximum(noise, FLOOR * stats.n / math.prod(lay.shape(term)))
    observed = NoisyCounts(
        counts,
        np.where(seen, variance, np.inf),
        stats.n,
        lambda v: centred(stats, v[None], stats.seen.counts[None])[0],
        seen & lay.own_places(),
    )
    design = cell_design(lay, codes)
    return fit_noisy_counts(design, weights, observed, interaction_penalty(stats), now.mu)
