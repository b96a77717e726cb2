"""Expectation engines under one signature: where the model's moments come from."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sumwise import checks
from sumwise.maxent.kernels import gibbs
from sumwise.maxent.kernels.contrastive import Moments
from sumwise.maxent.kernels.loglinear import Layout, enumerate_cells, log_weights, project, spread
from sumwise.maxent.kernels.loglinear_bp import bp_cells, trw_cells
from sumwise.maxent.kernels.loglinear_tree import tree_cells, tree_size
from sumwise.maxent.sufficient_statistics import SufficientStatistics

DETERMINISTIC = {"exact": enumerate_cells, "tree": tree_cells, "loopy": bp_cells, "trw": trw_cells}
QUICK = 50_000  # cells, classes included, up to which "auto" takes an exact engine
STRONG = 0.6  # mutual information over the smaller entropy from which attributes are drawn or proposed together;
# trees from 0.3 on take 40 to 60% more time and change scores by less than .001: maxent_variation.py at 0286d963
ASSOCIATED = 0.3  # the same, for two attributes whose table lists its cells
SMOOTHED = 1e-3  # of the independent shares mixed into a proposal, so that every level can be proposed
PAIR_CELLS = 1_000  # but not where their table is larger
PAIR_COST = 5_000  # levels and listed cells of a pair beyond which it is proposed together, not redrawn


class Parameters(NamedTuple):
    """mu (P,), theta (C, P) and the classes' offsets (K,)."""

    mu: np.ndarray
    theta: np.ndarray
    offsets: np.ndarray

    def copy(self) -> Parameters:
        """Return the same in arrays of its own."""
        return Parameters(*(a.copy() for a in self))


class ExactMoments:
    """Moments by a deterministic engine: enumeration, junction tree, or belief propagation."""

    sampled = False

    def __init__(self, name: str, stats: SufficientStatistics) -> None:
        self.cells = DETERMINISTIC[name]
        self.layout, self.n = stats.layout, stats.n

    def moments(self, parameters: Parameters) -> tuple[Moments, Moments]:
        """Expected moments, twice: there are no halves that differ."""
        moments, _ = self.with_normaliser(parameters)
        return moments, moments

    def state(self) -> list[np.ndarray]:
        """Nothing: every call starts anew."""
        return []

    def restore(self, arrays: list, expanded: bool = False) -> None:
        """Go on from a state, of which there is none."""

    def expand(self) -> None:
        """Nothing to add: there are no chains."""

    def close(self) -> None:
        """There is nothing to free."""

    def with_normaliser(self, parameters: Parameters) -> tuple[Moments, float]:
        """Expected moments and log Z over x and classes."""
        mu, theta = spread(self.layout, parameters.mu), spread(self.layout, parameters.theta)
        cells, log_z = self.cells(self.layout, log_weights(mu, theta), parameters.offsets)
        sums = cells[1:] if len(theta) == 1 else cells
        moments = Moments(self.n * project(self.layout, cells.sum(axis=0)), self.n * project(self.layout, sums))
        return moments, float(np.logaddexp.reduce(log_z + parameters.offsets))


class Gibbs:
    """Moments by chains that go on from where they were.

    Only the first `active` chains move, until `expand` copies them onto the others, which then move too: far from the
    optimum a few chains show the way as well.
    """

    sampled = True

    def __init__(
        self,
        stats: SufficientStatistics,
        chains: gibbs.Chains,
        blocks,
        n_threads: int,
        active: int | None = None,
    ) -> None:
        self.active = len(chains.labels) if active is None else active
        self.layout, self.n = stats.layout, stats.n
        self.chains, self.blocks, self.n_threads = chains, blocks, n_threads
        self.plan = gibbs.plan(stats.layout, blocks, strong_trees(stats), large_pairs(stats))

    def moments(self, parameters: Parameters) -> tuple[Moments, Moments]:
        """Expected moments after one sweep, by each half of the chains."""
        mu, theta = spread(self.layout, parameters.mu), spread(self.layout, parameters.theta)
        weights = log_weights(mu, theta)
        halves = gibbs.sweep_halves(
            first_chains(self.chains, self.active),
            self.plan,
            weights,
            theta,
            parameters.offsets,
            self.n_threads,
        )
        return tuple(
            Moments(self.n / m * project(self.layout, counts), self.n / m * project(self.layout, sums))
            for counts, sums, m in halves
        )  # type: ignore[return-value]

    def state(self) -> list[np.ndarray]:
        """The chains, for a checkpoint."""
        return list(self.chains)

    def restore(self, arrays: list, expanded: bool = False) -> None:
        """Go on from a state."""
        self.chains = gibbs.Chains(*(np.array(a) for a in arrays))
        self.active = len(self.chains.labels) if expanded else self.active

    def expand(self) -> None:
        """Let all chains move."""
        self.active = expand_chains(self.chains, self.active)

    def named(self) -> dict[str, np.ndarray]:
        """The chains, as a fitted model keeps them."""
        self.expand()
        return self.chains._asdict()

    def close(self) -> None:
        """There is nothing to free."""


def first_chains(chains: gibbs.Chains, n: int) -> gibbs.Chains:
    """The first n chains, in the same memory."""
    return gibbs.Chains(chains.codes[:n], chains.labels[:n], chains.streams[:n], chains.steps[:n])


def expand_chains(chains: gibbs.Chains, active: int) -> int:
    """Copy the levels of the first `active` chains onto all others, whose random streams are their own."""
    n = len(chains.labels)
    source = np.resize(np.arange(active), n)
    chains.codes[:], chains.labels[:] = chains.codes[source], chains.labels[source]
    return n


def choose(name: str, lay: Layout, n_classes: int) -> str:
    """The engine that "auto" stands for: enumeration or a junction tree where they are quick, else sampling."""
    if name != "auto":
        return name
    if math.prod(map(float, lay.sizes)) * n_classes <= QUICK:
        return "exact"
    return "tree" if tree_size(lay) * n_classes <= QUICK else "gibbs"


def strong_pairs(stats: SufficientStatistics) -> tuple[tuple[int, int], ...]:
    """Pairs of attributes so correlated that neither can move alone; each attribute once, strongest first."""
    lay, strengths = stats.layout, []
    large = lay.sparse_terms()
    for t, term in enumerate(lay.terms):
        listed = lay.sparse_cells(t) is not None  # then the two are redrawn together at little cost
        if len(term) != 2 or lay.is_crossed(t) or (math.prod(lay.shape(term)) > PAIR_CELLS and not listed):
            continue
        strength = stats.association(t)
        if listed and together_cost(stats, t) > PAIR_COST:
            continue  # those are proposed together: see `large_pairs`
        if strength > (ASSOCIATED if listed else STRONG) and not any(len(c) > 2 and set(term) <= set(c) for c in large):
            strengths.append((-strength, term))
    chosen: list[tuple[int, int]] = []
    for _, pair in sorted(strengths):
        if not {a for p in chosen for a in p} & set(pair):
            chosen.append(pair)
    return tuple(chosen)


def together_cost(stats: SufficientStatistics, t: int) -> int:
    """Multiplications that redrawing the two attributes of a term that lists its cells takes, for one chain."""
    return sum(stats.layout.shape(stats.layout.terms[t])) + len(stats.cells(t))


def large_pairs(stats: SufficientStatistics) -> tuple[gibbs.PairJump, ...]:
    """Correlated pairs whose table lists so many cells that redrawing both for every chain is too slow.

    A cell is proposed by its share in the data instead, at a cost that grows with the logarithm of the cells.
    """
    lay, found = stats.layout, []
    for t, term in enumerate(lay.terms):
        if len(term) != 2 or lay.sparse_cells(t) is None or together_cost(stats, t) <= PAIR_COST:
            continue
        if stats.association(t) > ASSOCIATED:
            counts = np.maximum(stats.data.counts[stats.part(t)][:-1], 0.0)
            margins = [stats.margin(a) + SMOOTHED / lay.sizes[a] for a in term]
            found.append(gibbs.PairJump(term, stats.cells(t), counts + 1e-12 * counts.sum(), *margins))
    return tuple(found)


def check_name(name: str) -> None:
    """Refuse an unknown engine."""
    checks.choice(name, "engine", ("auto", "gibbs", "spark", *DETERMINISTIC))


def strong_trees(stats: SufficientStatistics, least: float = STRONG) -> tuple[gibbs.Jump, ...]:
    """Trees over correlated attributes, from which all of them are proposed at once.

    Attributes are joined by the strongest associations in the data's own pair tables, those above `least`; pairs that
    are redrawn jointly anyway are left out.
    """
    lay, tables, strengths = stats.layout, {}, []
    for t, term in enumerate(lay.terms):
        if len(term) == 2 and lay.sparse_cells(t) is None and not lay.is_crossed(t):  # of listed cells blocks take care
            counts = stats.implied_counts(t) if t in lay.bare else stats.data.counts[stats.part(t)]
            tables[term] = np.maximum(counts.reshape(lay.shape(term)), 0.0)
            strengths.append((stats.association(t), term))
    strengths.sort(reverse=True)
    home = {a: {a} for a in range(len(lay.sizes))}
    around: dict[int, list[int]] = {a: [] for a in home}
    for strength, (a, b) in strengths:
        if strength > least and home[a] is not home[b]:
            home[a] |= home[b]
            for c in home[b]:
                home[c] = home[a]
            around[a].append(b)
            around[b].append(a)
    groups = {id(g): g for g in home.values() if len(g) > 1}
    blocks = {frozenset(p) for p in strong_pairs(stats)}
    return tuple(
        _tree_jump(min(g), around, tables, stats)
        for g in sorted(groups.values(), key=min)
        if frozenset(g) not in blocks
    )


def _tree_jump(root: int, around: dict, tables: dict, stats: SufficientStatistics) -> gibbs.Jump:
    order, parents, shares = [root], [-1], [stats.margin(root)[None] + SMOOTHED]
    for a in order:  # grows as it is read
        for b in around[a]:
            if b not in order:
                counts = tables[a, b] if (a, b) in tables else tables[b, a].T
                filled = counts + SMOOTHED * (stats.margin(b) * counts.sum(axis=1, keepdims=True) + 1.0)
                order.append(b)
                parents.append(a)
                shares.append(filled / filled.sum(axis=1, keepdims=True))
    shares[0] = shares[0] / shares[0].sum()
    return gibbs.Jump(tuple(order), tuple(parents), tuple(shares))
