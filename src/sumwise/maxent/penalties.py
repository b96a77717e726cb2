"""The penalty of every parameter: by the order of its table, by its noise, and by how many levels its attribute has.

A noisy count y of mean m has variance S + V, with S from the sampling of individuals and V from noise. Near its top the
likelihood of noisy tables is that of exact ones with the gradient m - y weighted by S / (S + V), so its penalised
optimum is that of exact tables whose penalty is multiplied by 1 + V / S, cell by cell.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.errors import DataError
from sumwise.maxent.engines import STRONG
from sumwise.maxent.kernels.contrastive import Moments
from sumwise.maxent.kernels.loglinear import Layout
from sumwise.maxent.sufficient_statistics import SufficientStatistics

FIXED = 1e12  # penalty of parameters that are left out: no count reaches it, and doubles hold it
PER_OTHER = 3.0  # penalty of pairs, for each attribute that one is paired with
LEAST = 0.02  # of a cell's count under independence is left to it, whatever the noise says
LEAST_OWN = 1e-3  # of a cell's counts are informative about its theta
MOST_RAISE = 8.0  # times that the penalty of a table's mu is raised at most
FREE = 1e-3  # penalty of mu for tables of one attribute, which noise hardly touches
OWN_RANGE = 1.0, 10.0  # of penalties of mu that are estimated from a table itself; survey and latent classes, odd seeds
ROUNDS = 50  # of weighing the moments anew
EDGE = 0.01  # rates of labels are kept this far from 0 and 1
LARGE = 100  # levels beyond which an attribute is large


def penalties_of(
    stats: SufficientStatistics, penalty_theta: Any, penalty_mu: Any, aware: bool = True, large: bool = True
) -> Moments:
    """Penalties of mu (P,) and theta (C, P).

    With `aware` they are larger where noise hides a cell, with `large` also for attributes of many levels, as
    `large_penalties` says.

    Examples
    --------
    >>> from sumwise import Tables
    >>> from sumwise.maxent.penalties import penalties_of
    >>> from sumwise.maxent.sufficient_statistics import sufficient_statistics
    >>> t = Tables.from_frame({"a": [0, 0, 1], "b": [1, 0, 1], "y": [1, 0, 1]}, ["a", "b"], label="y")
    >>> penalties_of(sufficient_statistics(t), (1.0, 48.0), 1.0).sums  # of a x b, then a, then b
    array([[48., 48., 48., 48.,  1.,  1.,  1.,  1.]])
    """
    both = ((penalty_theta, "penalty_theta"), (penalty_mu, "penalty_mu"))
    theta, mu = (penalties_by_order(stats.layout, penalty, name) for penalty, name in both)
    theta = np.broadcast_to(theta, stats.data.sums.shape)
    if large:
        theta = large_penalties(stats, theta, most=float(np.max(penalty_theta)))
    if not (aware and stats.noisy):
        return Moments(mu, theta)
    less = noise_ratio(stats)
    return Moments(mu * association_penalty(stats) * (1 + less.counts), theta * (1 + less.sums))


def penalties_by_order(lay: Layout, penalty: Any, name: str) -> np.ndarray:
    """Penalties (P,): one for tables of one attribute, of two, and so on, the last also for larger ones."""
    given = penalty if np.ndim(penalty) else [penalty]
    if not len(given):
        raise DataError(f"{name} is empty.", hint="give a number, or one for each order of tables.")
    return lay.by_order(np.array([checks.at_least(p, name, 0, whole_number=False) for p in given], dtype=float))


def usual_penalties(n_attributes: int) -> tuple[float, float]:
    """Penalties of theta for one-way tables and larger ones, where nothing else is known.

    An attribute of D is in D - 1 pairs. If interactions together move log-odds about as much whatever D is, those of
    one pair have a variance like 1 / (D - 1), and its inverse is the penalty. The factor is what "auto" chose on rows
    of `synthetic` with three to five attributes (5.5, 6.8, 14.5, 14.8 for the pairs, about 1 for levels).

    Examples
    --------
    >>> from sumwise.maxent.penalties import usual_penalties
    >>> usual_penalties(5), usual_penalties(14)
    ((1.0, 12.0), (1.0, 39.0))
    """
    return 1.0, PER_OTHER * max(n_attributes - 1, 1)


def noise_ratio(stats: SufficientStatistics) -> Moments:
    """V / S of every count and of every label sum, compared per count; 0 where tables are exact.

    Examples
    --------
    >>> from sumwise import Domain, Table, Tables
    >>> from sumwise.maxent.sufficient_statistics import sufficient_statistics
    >>> from sumwise.maxent.penalties import noise_ratio
    >>> from sumwise.noise import Gaussian
    >>> table = Table("a", [100.0, 900.0], [50.0, 450.0], noise=Gaussian(10.0))
    >>> noise_ratio(sufficient_statistics(Tables([table], Domain({"a": 2}), n=1000))).sums.round(2)
    array([[5.56, 5.56]])
    """
    if not stats.noisy:
        return Moments(np.zeros_like(stats.data.counts), np.zeros_like(stats.data.sums))
    counts = sampling_counts(stats)
    shares = stats.shares[1:] if len(stats.data.sums) == 1 else stats.shares
    rates = np.clip(shares, EDGE, 1 - EDGE)[:, None]
    sampled = counts * own_share(stats, counts) * rates * (1 - rates)
    return Moments(stats.noise.counts / counts, stats.noise_per_count(rates) / sampled)


def own_share(stats: SufficientStatistics, counts: np.ndarray) -> np.ndarray:
    """Share (P,) of each cell's counts that is informative about its own theta, once smaller tables have theirs.

    If nearly everybody is in one cell of its line, a change of its theta is one of the offset or of a main effect, and
    the few people in other cells are all that it is seen by: 1 - count / line, multiplied over the axes.
    """
    lay, out = stats.layout, np.ones(stats.layout.n_params)
    for t, term in enumerate(lay.terms):
        at, shape = stats.part(t), lay.shape(term)
        if at.stop - at.start != math.prod(shape):  # a table that lists its cells
            continue
        cells = counts[at].reshape(shape)
        for axis in range(len(shape)):
            out[at] *= (1.0 - cells / cells.sum(axis=axis, keepdims=True)).ravel()
    return np.maximum(out, LEAST_OWN)


def sampling_counts(stats: SufficientStatistics) -> np.ndarray:
    """Counts (P,) of all cells with most of the noise taken out, all above zero.

    Each table is drawn towards the product of its margins by the factor of James and Stein: not at all where it is far
    from that product for its noise, all the way where noise explains the difference.
    """
    independent, out = independent_counts(stats), np.empty(stats.layout.n_params)
    for t in range(len(stats.layout.terms)):
        part = stats.part(t)
        even = independent[part]
        counts, noise, seen = stats.data.counts[part], stats.noise.counts[part], stats.seen.counts[part]
        far = float(np.sum(seen * (counts - even) ** 2))
        near = 1.0 if far <= 0 else max(0.0, 1.0 - float(np.sum(seen * noise)) / far)
        out[part] = np.maximum(np.where(seen > 0, even + near * (counts - even), even), LEAST * even)
    return out


def independent_counts(stats: SufficientStatistics) -> np.ndarray:
    """Counts (P,) of all cells if the attributes were independent, all above zero."""
    margins, parts = _margins(stats), []
    for t, term in enumerate(stats.layout.terms):
        even, listed = _independent(margins, term, stats.n), stats.layout.sparse_cells(t)
        parts.append(even if listed is None else np.append(even[listed], max(stats.n - even[listed].sum(), 1.0)))
    return np.concatenate(parts)


def association_penalty(stats: SufficientStatistics) -> np.ndarray:
    """By how much (P,) the penalty of mu is raised where attributes of a noisy table are hardly correlated.

    Where y counts a cell of which independence expects e, (y - e) / e has variance tau^2 + (V + e) / e^2. The tau^2 of
    a table is found by weighted moments, and 1 / (2 tau^2) is the penalty that such a variance asks for. It is taken as
    far as the noise of a table exceeds its sampling error: nearly all of it where there is little but noise, none where
    there is less noise. Associations that are measured precisely, even weak ones, are better kept.

    Examples
    --------
    >>> from sumwise import Domain, Table, Tables
    >>> from sumwise.maxent.sufficient_statistics import sufficient_statistics
    >>> from sumwise.maxent.penalties import association_penalty
    >>> from sumwise.noise import Gaussian
    >>> half = [[400.0, 100.0], [100.0, 400.0]]
    >>> tied, free = [[800.0, 200.0], [200.0, 800.0]], [[520.0, 480.0], [490.0, 510.0]]
    >>> made = [Table(["a", "b"], tied, noise=Gaussian(60.0)), Table(["a", "c"], free, half, noise=Gaussian(60.0))]
    >>> tables = Tables(made, Domain({"a": 2, "b": 2, "c": 2}), n=2000)
    >>> association_penalty(sufficient_statistics(tables)).round(1)[[0, 4, -1]]
    array([1.4, 7. , 1. ])
    """
    lay, n, out = stats.layout, stats.n, np.ones(stats.layout.n_params)
    margins = _margins(stats)
    for t, term in enumerate(lay.terms):
        at = stats.part(t)
        if len(term) < 2 or not stats.noise.counts[at].any() or lay.sparse_cells(t) is not None:
            continue
        size = _association_variance(stats, at, _independent(margins, term, n))
        mostly = max(0.0, 1.0 - float(n / stats.noise.counts[at].sum()))
        out[at] = 1.0 + mostly * (np.clip(0.5 / size, 1.0, MOST_RAISE) - 1.0)
    return out


def interaction_penalty(stats: SufficientStatistics) -> np.ndarray:
    """Penalty (P,) of mu for a fit that weighs noise by itself: 1 / (2 tau^2) of each table, as in
    `association_penalty`; next to none for tables of one attribute.

    Examples
    --------
    >>> from sumwise import Domain, Table, Tables
    >>> from sumwise.maxent.sufficient_statistics import sufficient_statistics
    >>> from sumwise.maxent.penalties import interaction_penalty
    >>> from sumwise.noise import Gaussian
    >>> half = [[400.0, 100.0], [100.0, 400.0]]
    >>> table = Table(["a", "b"], [[800.0, 200.0], [200.0, 800.0]], half, noise=Gaussian(60.0))
    >>> stats = sufficient_statistics(Tables([table], Domain({"a": 2, "b": 2}), n=2000))
    >>> interaction_penalty(stats).round(3)[[0, -1]].tolist()
    [1.455, 0.001]
    """
    lay, out = stats.layout, np.full(stats.layout.n_params, FREE)
    margins = _margins(stats)
    for t, term in enumerate(lay.terms):
        if len(term) > 1 and lay.sparse_cells(t) is None:
            size = _association_variance(stats, stats.part(t), _independent(margins, term, stats.n))
            out[stats.part(t)] = np.clip(0.5 / size, *OWN_RANGE)
        elif len(term) > 1:
            out[stats.part(t)] = 1.0
    return out


def _association_variance(stats: SufficientStatistics, at: slice, even: np.ndarray) -> float:
    """tau^2 of one table, given the counts of its cells under independence."""
    chance = (stats.noise.counts[at] + even) / even**2
    far, size = ((stats.data.counts[at] - even) / even) ** 2, 0.5
    for _ in range(ROUNDS):
        weight = stats.seen.counts[at] / (chance + size) ** 2
        size = max(float(np.sum(weight * (far - chance)) / max(np.sum(weight), 1e-300)), 1e-6)
    return size


def _margins(stats: SufficientStatistics) -> list[np.ndarray]:
    """Shares of the levels of every attribute, none below 1 / n."""
    return [np.maximum(stats.margin(a), 1.0 / stats.n) for a in range(len(stats.layout.levels))]


def _independent(margins: list[np.ndarray], term: tuple[int, ...], n: float) -> np.ndarray:
    """Counts of a table's cells if its attributes were independent."""
    even = np.ones(1)
    for a in term:
        even = np.multiply.outer(even, margins[a]).ravel()
    return even * (n / even.sum())


def large_penalties(stats: SufficientStatistics, penalties: np.ndarray, most: float) -> np.ndarray:
    """Penalties of theta (C, P) with those of large attributes raised to what the tables themselves suggest.

    The log-odds of an attribute's levels are treated as draws from a normal distribution, whose variance v is estimated
    from the one-way table. The penalty that goes with it is 1 / (2 v); it is used where it lies above the one given,
    and never beyond `most`. Where g large attributes nearly determine each other, they share one effect, and g of them
    would be penalised for it as little as 1 / g of it: all penalties of their tables are multiplied by g.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Tables
    >>> from sumwise.maxent.penalties import large_penalties
    >>> from sumwise.maxent.sufficient_statistics import sufficient_statistics
    >>> rng = np.random.default_rng(0)
    >>> rows = {"site": rng.integers(0, 500, 9000), "click": rng.integers(0, 2, 9000)}  # clicks don't depend on it
    >>> stats = sufficient_statistics(Tables.from_frame(rows, ["site"], label="click", order=1))
    >>> large_penalties(stats, np.ones((1, 500)), most=48.0)[0, :3]
    array([48., 48., 48.])
    """
    lay, out = stats.layout, np.array(penalties, dtype=float)
    for t, term in enumerate(lay.terms):
        if len(term) == 1 and not lay.is_crossed(t) and lay.sizes[term[0]] > LARGE:
            wanted = np.minimum(1.0 / np.maximum(2.0 * effect_variance(stats, t), 1e-9), most)
            out[:, stats.part(t)] = np.maximum(out[:, stats.part(t)], wanted[:, None])
    return out * copies(stats)


def effect_variance(stats: SufficientStatistics, t: int) -> np.ndarray:
    """Variance (C,) of the log-odds of the levels of one-way term `t`, sampling and noise taken out; 0 or more.

    By moments of the rates (DerSimonian and Laird 1986), on the scale of log-odds at the mean rate.
    """
    at = stats.part(t)
    n = np.maximum(stats.data.counts[at], 0.0) * stats.seen.counts[at]
    used, total = n > 0, float(n.sum())
    spare = total - float(np.sum(n**2)) / max(total, 1e-300)
    out = np.zeros(len(stats.data.sums))
    rates = np.clip(stats.data.sums[:, at][:, used].sum(axis=1) / max(total, 1e-300), 1e-6, 1 - 1e-6)
    noises = stats.noise_per_count(rates[:, None])[:, at]
    for k, (sums, rate, noise) in enumerate(zip(stats.data.sums[:, at], rates.tolist(), noises)):
        chance = rate * (1 - rate)
        spread = float(np.sum((sums[used] - rate * n[used]) ** 2 / n[used]))
        by_chance = (int(used.sum()) - 1) * chance + float(np.sum(noise[used] / n[used]))
        out[k] = max(spread - by_chance, 0.0) / max(spare, 1e-300) / chance**2
    return out


def tied_groups(stats: SufficientStatistics) -> list[set[int]]:
    """Groups of two or more large attributes that nearly determine each other."""
    lay, groups = stats.layout, {a: {a} for a, size in enumerate(stats.layout.sizes) if size > LARGE}
    for t, term in enumerate(lay.terms):
        if len(term) == 2 and all(a in groups for a in term) and stats.association(t) > STRONG:
            joined = groups[term[0]] | groups[term[1]]
            for a in joined:
                groups[a] = joined
    return [g for i, g in enumerate(groups.values()) if len(g) > 1 and g not in list(groups.values())[:i]]


def copies(stats: SufficientStatistics) -> np.ndarray:
    """How many associated attributes share a parameter's effect (P,); 1 for most."""
    lay, out = stats.layout, np.ones(stats.layout.n_params)
    for group in tied_groups(stats):
        for t, term in enumerate(lay.terms):
            if group & set(term):
                out[stats.part(t)] *= len(group)
    return out
