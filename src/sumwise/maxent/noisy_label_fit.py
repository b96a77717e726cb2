"""Theta from label sums: noisy ones weighted by their noise, on rows drawn from the model or given without labels.

The steps of training take cells one by one: where a cell is mostly noise, its penalty is raised. But what a residual
says of theta depends on how all sums answer to theta together. So where tables have noise, training leaves the model of
x, and theta is fitted to the label sums on rows drawn from it, by least squares over all tables at once.
"""

from __future__ import annotations

import math

import numpy as np

from sumwise.errors import DataError
from sumwise.maxent.kernels.noisy_sums import FLOOR, NoisySums, fit_noisy_sums
from sumwise.maxent.kernels.reconcile import effect, subsets
from sumwise.maxent.kernels.table_logistic import cell_design, fit_sums
from sumwise.maxent.sufficient_statistics import SufficientStatistics

MOST_ENTRIES = 6_000_000  # of the design, so that rows fit in memory
FEWEST, PER_CHAIN = 10_000, 6  # rows at least; rows drawn for every chain
MOST_RATIO = 4.0  # a cell of the rows is taken for at most this many times as many
# Of the penalties that tables get of their own; settled on Bank, a survey and latent classes at epsilon .1, 1 and 10
OWN_ROUNDS, OWN_ROWS = 3, 15_000  # fits that estimate them, and rows for each
OWN_RANGE = 1 / 8, 32.0  # times the penalty given; of tables of one attribute, 1 to 32


def n_rows(stats: SufficientStatistics, n_chains: int) -> int:
    """Number of rows to draw from the model of x."""
    return max(FEWEST, min(PER_CHAIN * n_chains, MOST_ENTRIES // len(stats.layout.terms)))


def noisy_label_fit(stats: SufficientStatistics, codes: np.ndarray, penalty: np.ndarray, begin=None) -> tuple:
    """Theta (C, P), offsets (K,), loss, iterations and success, from rows of level codes (m, D) without labels.

    penalty (C, P), of cells without noise: the noise is weighed here. begin: theta and offsets to start from.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Domain, Table, Tables
    >>> from sumwise.maxent.sufficient_statistics import sufficient_statistics
    >>> from sumwise.maxent.noisy_label_fit import noisy_label_fit
    >>> from sumwise.noise import Gaussian
    >>> table = Table("a", [4000.0, 6000.0], [1000.0, 3000.0], noise=Gaussian(10.0))
    >>> stats = sufficient_statistics(Tables([table], Domain({"a": 2}), n=10_000))
    >>> rows = np.repeat([[0], [1]], [400, 600], axis=0)
    >>> theta, offsets, *_ = noisy_label_fit(stats, rows, np.full((1, 2), 1e-3))
    >>> (1 / (1 + np.exp(-theta[0] - offsets[1]))).round(3)
    array([0.25, 0.5 ])
    """
    lay, weights = stats.layout, np.full(len(codes), stats.n / len(codes))
    if math.prod(map(float, lay.sizes)) < len(codes):
        free = codes[:, : len(lay.sizes)].T
        cells, counts = np.unique(np.ravel_multi_index(tuple(free), lay.sizes), return_counts=True)
        codes = lay.with_crossed(np.column_stack(np.unravel_index(cells, lay.sizes)))
        weights = counts * weights[0]
    design = cell_design(lay, codes)
    sums = observed_sums(stats, design.T @ weights)
    return fit_noisy_sums(design, weights, sums, np.maximum(penalty, 1e-9), begin)


def own_penalties(stats: SufficientStatistics, codes: np.ndarray, penalty: np.ndarray, begin=None) -> tuple:
    """Penalties (C, P) with one of its own for every table, by empirical Bayes, and the theta and offsets last fitted.

    The theta of a table are treated as draws from a normal distribution. Its precision is twice the penalty. It is
    estimated by the number of parameters that the label sums determine, divided by the sum of their squares (MacKay
    1992); the information of each cell is taken alone. Where noise hides a table, its penalty rises to its limit;
    that of a larger table falls where rates really differ.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Domain, Table, Tables
    >>> from sumwise.maxent.noisy_label_fit import own_penalties
    >>> from sumwise.maxent.sufficient_statistics import sufficient_statistics
    >>> from sumwise.noise import Gaussian
    >>> half, noise = np.full(4, 2500.0), Gaussian(5.0)
    >>> differ, alike = np.array([200.0, 2300.0, 400.0, 2100.0]), np.full(4, 1250.0)
    >>> made = [Table("a", half, differ, noise), Table("b", half, alike, noise)]
    >>> stats = sufficient_statistics(Tables(made, Domain({"a": 4, "b": 4}), n=10_000))
    >>> rows = np.random.default_rng(0).integers(0, 4, (4000, 2))
    >>> own_penalties(stats, rows, np.ones((1, 8)))[0][0, [0, -1]].round(1).tolist()
    [1.0, 32.0]
    """
    lay, out, codes = stats.layout, np.array(penalty, dtype=float), codes[:OWN_ROWS]
    weights = np.full(len(codes), stats.n / len(codes))
    design = cell_design(lay, codes)
    sums = observed_sums(stats, design.T @ weights)
    rates = (stats.shares[1:] if len(sums.sums) == 1 else stats.shares)[:, None]
    sampled = np.maximum((design.T @ weights) * rates * (1 - rates), FLOOR)
    information = sampled**2 / (sums.variance + sampled)
    for _ in range(OWN_ROUNDS):
        begin = fit_noisy_sums(design, weights, sums, np.maximum(out, 1e-9), begin)[:2]
        for t, term in enumerate(lay.terms):
            at, shape = stats.part(t), lay.shape(term)
            if at.stop - at.start != math.prod(shape):  # a table that lists its cells
                continue
            free = math.prod(1.0 - 1.0 / s for s in shape)  # of its parameters, the rest being those of smaller tables
            determined = free * float(np.sum(information[:, at] / (information[:, at] + 2 * out[:, at])))
            value = 0.5 * determined / max(float(np.sum(begin[0][:, at] ** 2)), 1e-12)
            low, high = 1.0 if len(term) == 1 else OWN_RANGE[0], OWN_RANGE[1]  # rare levels are mostly noise
            out[:, at] = np.clip(value, low * penalty[:, at], high * penalty[:, at])
    return out, begin


def observed_sums(stats: SufficientStatistics, here: np.ndarray | None) -> NoisySums:
    """The label sums, their noise, and how many individuals a cell has for each that the rows have.

    here (P,): counts of the rows, scaled to the population. The observed counts correct them as far as they are
    precise: the noise of a count against its own sampling variance. What is left of a count's noise in a corrected sum
    is part of the noise that sums are weighted by.
    """
    ratio, variance = np.ones(stats.layout.n_params), stats.noise.sums
    if here is not None:
        share = stats.seen.counts * here / np.maximum(here + stats.noise.counts, 1e-9)
        ratio = np.clip((here + share * (stats.data.counts - here) + 1.0) / (here + 1.0), 0.0, MOST_RATIO)
        rates = (stats.shares[1:] if len(variance) == 1 else stats.shares)[:, None]
        variance = stats.noise_per_count(rates, share)
    variance = np.where(stats.seen.sums > 0, variance, np.inf)
    return NoisySums(stats.data.sums, variance, ratio, stats.n, stats.shares, lambda v: centred(stats, v))


def centred(stats: SufficientStatistics, values: np.ndarray, seen: np.ndarray | None = None) -> np.ndarray:
    """Values (C, P) with, of every table, what its smaller tables determine taken out; tables with unseen cells stay.

    seen (C, P): which cells are; those of the label sums by default.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Tables
    >>> from sumwise.maxent.sufficient_statistics import sufficient_statistics
    >>> from sumwise.maxent.noisy_label_fit import centred
    >>> t = Tables.from_frame({"a": [0, 0, 1], "b": [1, 0, 1], "y": [1, 0, 1]}, ["a", "b"], label="y")
    >>> values = np.array([[3.0, 1.0, 1.0, 1.0, 4.0, 2.0, 4.0, 2.0]])  # of a x b, then a, then b
    >>> centred(sufficient_statistics(t), values)
    array([[ 0.5, -0.5, -0.5,  0.5,  1. , -1. ,  1. , -1. ]])
    """
    lay, out = stats.layout, values.copy()
    there, seen = set(lay.terms), stats.seen.sums if seen is None else seen
    for t, term in enumerate(lay.terms):
        at, shape = stats.part(t), lay.shape(term)
        if at.stop - at.start != math.prod(shape) or any(s and s not in there for s in subsets(term)):
            continue
        for k in range(len(values)):
            if seen[k, at].all():
                out[k, at] = effect(values[k, at].reshape(shape)).ravel()
    return out


def fit_on_rows(stats: SufficientStatistics, codes: np.ndarray, plain: np.ndarray) -> tuple:
    """Theta (C, P), offsets (K,), loss, iterations and success, from rows of level codes (m, D) without labels.

    plain (C, P): penalties of theta, of cells without noise. Label sums are compared per count: a cell's sum is scaled
    by how many of the rows are in it over how many were counted, so that what the rows have too many of by chance is
    not taken for fewer labels. Noisy sums are weighted by their noise.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import synthetic
    >>> from sumwise.maxent.penalties import penalties_of
    >>> from sumwise.maxent.noisy_label_fit import fit_on_rows
    >>> from sumwise.maxent.sufficient_statistics import sufficient_statistics
    >>> example = synthetic.xor(2000, random_state=0)
    >>> stats = sufficient_statistics(example.tables)
    >>> codes = example.frame()[["x1", "x2", "x3"]].to_numpy()
    >>> theta, *_ = fit_on_rows(stats, codes, penalties_of(stats, 1.0, 1.0).sums)
    >>> theta.shape
    (1, 18)
    """
    known = (codes >= 0).all(axis=1)
    if not known.any():
        raise DataError("No row has levels that all tables have.", hint="give rows of the same population.")
    codes, lay = codes[known], stats.layout
    design = cell_design(lay, codes)
    here = np.asarray(design.sum(axis=0)).ravel() * (stats.n / len(codes))
    few = 1.0 + stats.n / len(codes)  # a few rows stand for many: their error is that of noise n / m times the sampling
    if stats.noisy:
        return noisy_label_fit(stats, codes, few * plain)
    ratio = np.where(stats.data.counts > 0, here / np.maximum(stats.data.counts, 1e-9), 0.0)
    sums = stats.data.sums * ratio
    seen = stats.seen.sums * stats.seen.counts
    held = np.where(seen > 0, few * plain, 1e9)  # a cell without a label sum says nothing
    return fit_sums(design, sums * seen, stats.shares, stats.n, np.maximum(held, 1e-9))
