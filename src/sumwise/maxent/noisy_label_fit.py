"""Theta from noisy label sums: each told sum weighs by its noise, and tables by what they share.

The steps of training take cells one by one: where a cell is mostly noise, its penalty is raised. But what a residual
says of theta depends on how all sums answer to theta together. So where tables have noise, training leaves the model of
x, and theta is fitted to the label sums on rows drawn from it, by least squares over all tables at once.
"""

from __future__ import annotations

import math

import numpy as np

from sumwise.maxent.kernels.noisy_sums import NoisySums, fit_noisy_sums
from sumwise.maxent.kernels.reconcile import effect, subsets
from sumwise.maxent.kernels.table_logistic import cell_design
from sumwise.maxent.sufficient_statistics import Sufficient

__all__ = ["centred", "n_rows", "told_sums", "weighed_theta"]

MOST_ENTRIES = 6_000_000  # of the design, so that rows fit in memory
FEWEST, PER_CHAIN = 10_000, 6  # rows at least; rows drawn for every chain
MOST_RATIO = 4.0  # a cell of the rows is taken for at most this many times as many


def n_rows(found: Sufficient, n_chains: int) -> int:
    """Number of rows to draw from the model of x.

    Examples
    --------
    >>> from sumwise import Tables
    >>> from sumwise.maxent.sufficient_statistics import sufficient
    >>> from sumwise.maxent.noisy_label_fit import n_rows
    >>> n_rows(sufficient(Tables.from_frame({"a": [0, 0, 1], "y": [1, 0, 1]}, ["a"], label="y", order=1)), 5000)
    30000
    """
    return max(FEWEST, min(PER_CHAIN * n_chains, MOST_ENTRIES // len(found.layout.terms)))


def weighed_theta(found: Sufficient, codes: np.ndarray, penalty: np.ndarray, begin=None, rescale: bool = True) -> tuple:
    """Theta (C, P), offsets (K,), loss, iterations and success, from rows of level codes (m, D) without labels.

    penalty (C, P), of cells without noise: the noise is weighed here. begin: theta and offsets to start from.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Domain, Table, Tables
    >>> from sumwise.maxent.sufficient_statistics import sufficient
    >>> from sumwise.maxent.noisy_label_fit import weighed_theta
    >>> from sumwise.noise import Gaussian
    >>> table = Table("a", [4000.0, 6000.0], [1000.0, 3000.0], noise=Gaussian(10.0))
    >>> found = sufficient(Tables([table], Domain({"a": 2}), n=10_000))
    >>> rows = np.repeat([[0], [1]], [400, 600], axis=0)
    >>> theta, offsets, *_ = weighed_theta(found, rows, np.full((1, 2), 1e-3))
    >>> (1 / (1 + np.exp(-theta[0] - offsets[1]))).round(3)
    array([0.25, 0.5 ])
    """
    lay, weights = found.layout, np.full(len(codes), found.n / len(codes))
    if math.prod(map(float, lay.sizes)) < len(codes):
        cells, counts = np.unique(np.ravel_multi_index(tuple(codes.T), lay.sizes), return_counts=True)
        codes, weights = np.column_stack(np.unravel_index(cells, lay.sizes)), counts * weights[0]
    design = cell_design(codes, lay.terms, lay.term_starts, lay.sizes, lay.listed)
    told = told_sums(found, design.T @ weights if rescale else None)
    centre = None if found.centre is None else found.centre.sums
    return fit_noisy_sums(design, weights, told, np.maximum(penalty, 1e-9), begin, centre=centre)


def told_sums(found: Sufficient, here: np.ndarray | None) -> NoisySums:
    """The label sums, their noise, and how many individuals a cell has for each that the rows have.

    here (P,): counts of the rows, scaled to the population. The told counts correct them as far as they are told well:
    a count and its noise against the sampling variance that the count itself has.
    """
    ratio = np.ones(found.layout.n_params)
    if here is not None:
        share = found.seen.counts * here / np.maximum(here + found.noise.counts, 1e-9)
        ratio = np.clip((here + share * (found.data.counts - here) + 1.0) / (here + 1.0), 0.0, MOST_RATIO)
    variance = np.where(found.seen.sums > 0, found.noise.sums, np.inf)
    return NoisySums(found.data.sums, variance, ratio, found.n, found.shares, lambda v: centred(found, v))


def centred(found: Sufficient, values: np.ndarray) -> np.ndarray:
    """Values (C, P) with, of every table, what its smaller tables tell taken out; tables with unseen cells stay.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Tables
    >>> from sumwise.maxent.sufficient_statistics import sufficient
    >>> from sumwise.maxent.noisy_label_fit import centred
    >>> t = Tables.from_frame({"a": [0, 0, 1], "b": [1, 0, 1], "y": [1, 0, 1]}, ["a", "b"], label="y")
    >>> centred(sufficient(t), np.array([[3.0, 1.0, 1.0, 1.0, 4.0, 2.0, 4.0, 2.0]]))  # of a x b, then a, then b
    array([[ 0.5, -0.5, -0.5,  0.5,  1. , -1. ,  1. , -1. ]])
    """
    lay, out = found.layout, values.copy()
    there = set(lay.terms)
    for t, term in enumerate(lay.terms):
        at, shape = found.part(t), lay.shape(term)
        if at.stop - at.start != math.prod(shape) or any(s and s not in there for s in subsets(term)):
            continue
        for k in range(len(values)):
            if found.seen.sums[k, at].all():
                out[k, at] = effect(values[k, at].reshape(shape)).ravel()
    return out
