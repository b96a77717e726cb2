"""Tables as another sample of individuals, and other noise, might have given them; made of the tables alone.

Deviations of all tables are correlated through individuals, so they are taken from individuals: rows drawn from a model
of the tables.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sumwise.maxent.kernels.contrastive import Moments
from sumwise.maxent.kernels.loglinear import Layout
from sumwise.maxent.kernels.reconcile import built, effect, subsets
from sumwise.maxent.sufficient_statistics import SufficientStatistics


def jittered(
    stats: SufficientStatistics, codes: np.ndarray, labels: np.ndarray, rng: np.random.Generator
) -> SufficientStatistics:
    """Statistics as another sample of individuals, and other noise, might have given them.

    The deviations have the covariances of the rows (m, D) and labels (m,), scaled to the population, and noise its own.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Tables
    >>> from sumwise.maxent.sufficient_statistics import sufficient_statistics
    >>> from sumwise.maxent.resampling import jittered
    >>> t = Tables.from_frame({"a": [0, 0, 1], "y": [1, 0, 1]}, ["a"], label="y", order=1)
    >>> rng = np.random.default_rng(0)
    >>> other = jittered(sufficient_statistics(t), np.array([[0], [0], [1]]), np.array([1, 0, 1]), rng)
    >>> other.data.counts.sum().round(9)
    np.float64(3.0)
    """
    weight = rng.standard_normal(len(codes))
    weight = (weight - weight.mean()) * np.sqrt(stats.n / len(codes))
    counts, sums = _noisy_sums(stats, codes, labels, weight, rng)
    totals = drawn_totals(stats, rng)
    sums += spread_totals(stats.layout, totals)
    data = Moments(stats.data.counts + counts * stats.seen.counts, stats.data.sums + sums * stats.seen.sums)
    shares = stats.shares + np.bincount(labels, weights=weight, minlength=len(stats.shares)) / stats.n
    shares = shares + (np.array([-totals[0], totals[0]]) if len(totals) == 1 else totals - totals.mean()) / stats.n
    shares = np.maximum(shares, 1.0 / (stats.n + 1.0))
    shares = shares / shares.sum()
    return replace(stats, data=data, shares=shares)


def _noisy_sums(
    stats: SufficientStatistics, codes: np.ndarray, labels: np.ndarray, weights: np.ndarray, rng: np.random.Generator
) -> Moments:
    """Weights (m,) summed over the rows in every cell, and over those of each class, with new noise."""
    classes = range(1 if len(stats.data.sums) == 1 else 0, len(stats.shares))
    noise = drawn_noise(stats, rng)
    counts = sums_by_cell(stats.layout, codes, weights) + noise.counts
    sums = np.stack([sums_by_cell(stats.layout, codes, weights * (labels == k)) for k in classes])
    return Moments(counts, sums + noise.sums)


def sums_by_cell(lay: Layout, codes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Sums (P,) of weights (m,) over the rows in every cell."""
    out = np.zeros(lay.n_params)
    for t in range(len(lay.terms)):
        begin, end = lay.term_starts[t], lay.term_starts[t + 1]
        place = lay.row_parameters(t, codes)  # named: freed at once, its memory is fetched anew for every term
        out[begin:end] = np.bincount(place - begin, weights=weights, minlength=end - begin)
    return out


def drawn_totals(stats: SufficientStatistics, rng: np.random.Generator) -> np.ndarray:
    """Deviations (C,) that noise might have given the label's totals."""
    none = np.zeros(len(stats.data.sums))
    return none if stats.totals is None else np.sqrt(stats.totals) * rng.standard_normal(len(none))


def spread_totals(lay: Layout, totals: np.ndarray) -> np.ndarray:
    """A deviation of totals (C,) as one of all tables (C, P): shared evenly by their cells, as reconciled tables do."""
    each = np.repeat([1.0 / np.prod(lay.shape(term), dtype=float) for term in lay.terms], np.diff(lay.term_starts))
    return totals[:, None] * each


def drawn_noise(stats: SufficientStatistics, rng: np.random.Generator) -> Moments:
    """Deviations that noise might have given counts (P,) and label sums (C, P), with the covariance of the two.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Domain, Table, Tables
    >>> from sumwise.maxent.sufficient_statistics import sufficient_statistics
    >>> from sumwise.maxent.resampling import drawn_noise
    >>> from sumwise.noise import Gaussian
    >>> both, one = Gaussian(np.sqrt(8.0)), Gaussian(2.0)
    >>> table = Table("a", [400.0, 600.0], [100.0, 300.0], both, label_noise=one)
    >>> stats, rng = sufficient_statistics(Tables([table], Domain({"a": 2}), n=1000)), np.random.default_rng(0)
    >>> draws = [drawn_noise(stats, rng) for _ in range(2000)]
    >>> np.cov([d.counts[0] - d.counts[1] for d in draws], [d.sums[0, 0] - d.sums[0, 1] for d in draws]).round()
    array([[17.,  8.],
           [ 8.,  8.]])
    """
    sums = np.stack([_noise(stats, v, rng) for v in stats.noise.sums])
    if stats.shared is None:
        return Moments(_noise(stats, stats.noise.counts, rng), sums)
    slope = np.where(stats.noise.sums > 0, stats.shared / np.maximum(stats.noise.sums, 1e-300), 0.0)
    rest = np.maximum(stats.noise.counts - (slope * stats.shared).sum(axis=0), 0.0)
    return Moments((slope * sums).sum(axis=0) + _noise(stats, rest, rng), sums)


def _noise(stats: SufficientStatistics, variance: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Deviations (P,) of noise: every effect of a table has its own, so that tables agree."""
    if not variance.any():
        return np.zeros_like(variance)
    lay = stats.layout
    effects: dict[tuple[int, ...], np.ndarray] = {(): np.zeros(())}
    out = np.zeros_like(variance)
    for t in sorted(range(len(lay.terms)), key=lambda t: len(lay.terms[t])):
        term, at = lay.terms[t], stats.part(t)
        if lay.sparse_cells(t) is not None:
            continue  # sparse tables are exact
        draw = (np.sqrt(variance[at]) * rng.standard_normal(at.stop - at.start)).reshape(lay.shape(term))
        whole = all(s in effects for s in subsets(term) if len(s) < len(term))
        effects[term] = effect(draw) if whole else draw
        out[at] = (built(term, effects) if whole else draw).ravel()
    return out
