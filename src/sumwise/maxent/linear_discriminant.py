"""Linear discriminant analysis from pair tables: where training starts, and what it has to beat.

Pair tables have all second moments of the levels' indicators, and one-way tables their means by class: all that
Fisher's discriminant needs of individuals. Its coefficients are in closed form, but for the solution of one linear
system.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.linalg import LinearOperator, cg

from sumwise.maxent.engines import Parameters
from sumwise.maxent.sufficient_statistics import SufficientStatistics


def linear_discriminant(stats: SufficientStatistics, penalty: np.ndarray) -> Parameters | None:
    """Theta of the one-way tables, and offsets; None where the tables are noisy or lack those of some attribute.

    penalty (C, P) : of theta, added to the within-class scatter on the scale of a logistic regression's information,
    which at rate p is p (1 - p) times the scatter.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.maxent.linear_discriminant import linear_discriminant
    >>> from sumwise.maxent.penalties import penalties_of
    >>> from sumwise.maxent.sufficient_statistics import sufficient_statistics
    >>> stats = sufficient_statistics(synthetic.rows(20_000, sizes=[3, 3], rate=0.3, random_state=0).tables())
    >>> anchor = linear_discriminant(stats, penalties_of(stats, 1.0, 1.0).sums)
    >>> anchor.theta[0, :9].any(), anchor.theta[0, 9:].any()  # of the pair, of the levels
    (np.False_, np.True_)
    """
    lay, n = stats.layout, stats.n
    single = {term[0]: t for t, term in enumerate(lay.terms) if len(term) == 1}
    if stats.noisy or len(single) < len(lay.sizes) or not (stats.seen.counts.all() and stats.seen.sums.all()):
        return None
    at = np.concatenate([np.arange(stats.part(t).start, stats.part(t).stop) for t in single.values()])
    starts = dict(zip(single, np.cumsum([0, *(lay.levels[a] for a in single)])))
    together, mean = _pair_counts(stats, starts, len(at)), stats.data.counts[at] / n
    binary = len(stats.data.sums) == 1
    sums = stats.data.sums[:, at]
    shares = stats.shares[1:] if binary else stats.shares
    by_class = np.vstack([stats.data.counts[at] - sums[0], sums[0]]) if binary else sums
    means = by_class / np.maximum(n * stats.shares, 1e-300)[:, None]
    within = (n * mean, np.sum((n * stats.shares)[:, None] * means**2, axis=0))
    theta = np.zeros_like(stats.data.sums)
    for k, share in enumerate(shares):
        weight, pull = share * (1 - share), 2 * penalty[k, at]
        other = means[0] if binary else (n * mean - by_class[k]) / max(n * (1 - share), 1e-300)
        gap = (means[1] if binary else means[k]) - other

        def information(v: np.ndarray, weight: float = weight, pull: np.ndarray = pull) -> np.ndarray:
            v = v.ravel()
            return weight * (together @ v - means.T @ (n * stats.shares * (means @ v))) + pull * v

        scale = weight * (within[0] - within[1]) + pull
        invert = LinearOperator((len(at),) * 2, lambda v, scale=scale: v.ravel() / np.maximum(scale, 1e-12))  # type: ignore[arg-type]
        theta[k, at], _ = cg(LinearOperator((len(at),) * 2, information), weight * n * gap, M=invert, rtol=1e-6)  # type: ignore[arg-type]
    middle = 0.5 * (means + means[:1]) if binary else means
    offsets = np.log(np.maximum(stats.shares, 1e-300))
    offsets -= np.concatenate([[0.0], middle[1:] @ theta[0, at]]) if binary else np.sum(middle * theta[:, at], axis=1)
    return Parameters(np.zeros(lay.n_params), theta, offsets - offsets[0])


def _pair_counts(stats: SufficientStatistics, starts: dict[int, int], size: int) -> csr_array:
    """Counts (L, L) of individuals with both of two levels; as if independent where no table has both attributes."""
    lay, n, pairs = stats.layout, stats.n, {}
    for t, term in enumerate(lay.terms):
        if len(term) > 1 and t not in lay.bare:
            level = np.unravel_index(stats.cells(t), lay.shape(term))
            counts = stats.data.counts[stats.part(t)][: len(stats.cells(t))]
            for i, a in enumerate(term):
                for j, b in enumerate(term[i + 1 :], i + 1):
                    pairs.setdefault((a, b), (level[i], level[j], counts))
    rows, columns, values = [], [], []

    def put(a: int, b: int, level_a: np.ndarray, level_b: np.ndarray, counts: np.ndarray) -> None:
        rows.append(starts[a] + level_a)
        columns.append(starts[b] + level_b)
        values.append(counts)

    for a in starts:
        put(a, a, np.arange(lay.levels[a]), np.arange(lay.levels[a]), n * stats.margin(a))
        for b in starts:
            if a < b:
                even = n * np.outer(stats.margin(a), stats.margin(b)) if (a, b) not in pairs else None
                cells = (*map(np.ravel, np.indices(even.shape)), even.ravel()) if even is not None else pairs[a, b]
                put(a, b, *cells)
                put(b, a, cells[1], cells[0], cells[2])
    each = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    return coo_array(each, shape=(size, size)).tocsr()
