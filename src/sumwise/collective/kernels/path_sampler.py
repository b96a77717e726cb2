"""Sampling a population's tables by giving one individual after the other a new path.

The posterior of the individuals' states is proportional to ``prod_m p(x_m) p(y | n(x))``. A move takes an individual,
redraws its states at a node and below it from the guide, and is accepted by Metropolis and Hastings. The guide has
the slope of the observations in it, so only its curvature counts against the move:
``sum over changed counts of log p(y | n +- 1) - log p(y | n) -+ tilt``. Two more moves help where the observations are
tight: one state is redrawn between its neighbours, and two individuals exchange what lies below an edge.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sumwise.collective.kernels.trellis import draw_entry, draw_individual, draw_state, find_entry, log_seen
from sumwise.inference.kernels.compiled import njit

if TYPE_CHECKING:
    from sumwise.collective.kernels.trellis import Trellis


class Individuals(NamedTuple):
    """States (n, N) and entries (n, K) of n individuals, and the counts (C + E,) that they add up to."""

    states: np.ndarray
    entries: np.ndarray
    counts: np.ndarray


@njit(cache=True)
def draw_population(t: Trellis, n: int, rng: np.random.Generator) -> Individuals:
    """`n` individuals of the guide."""
    n_cells, n_steps = t.base.shape[0], t.parent.shape[0]
    states = np.empty((n, t.up.shape[0]), dtype=np.int32)
    entries = np.empty((n, n_steps), dtype=np.int32)
    counts = np.zeros(n_cells + t.col.shape[0], dtype=np.int64)
    for m in range(n):
        draw_individual(t, states[m], entries[m], rng)
        for node in range(states.shape[1]):
            counts[t.node_start[node] + states[m, node]] += 1
        for k in range(n_steps):
            counts[n_cells + entries[m, k]] += 1
    return Individuals(states, entries, counts)


@njit(cache=True)
def _gain(t: Trellis, counts: np.ndarray, old: int, new: int) -> float:
    """Change of log p(y | n) when one individual leaves a count for another."""
    a, b = counts[old], counts[new]
    return log_seen(t, old, a - 1) - log_seen(t, old, a) + log_seen(t, new, b + 1) - log_seen(t, new, b)


@njit(cache=True)
def _shift(counts: np.ndarray, old: int, new: int) -> None:
    counts[old] -= 1
    counts[new] += 1


@njit(cache=True)
def _redraw(  # noqa: C901 (plain loops compile best)
    t: Trellis, people: Individuals, m: int, node: int, fresh: Individuals, rng: np.random.Generator
) -> bool:
    """Redraw one individual at `node` and below it; `fresh` is a buffer for another."""
    counts, states, entries = people.counts, people.states[m], people.entries[m]
    fresh_state, fresh_entry = fresh.states[0], fresh.entries[0]
    n_cells = t.base.shape[0]
    begin, end, value = t.below[node, 0], t.below[node, 1], 0.0
    if t.up[node] >= 0:
        begin = t.up[node]
    else:
        fresh_state[node] = draw_state(t, node, rng)
        if fresh_state[node] != states[node]:
            old, new = t.node_start[node] + states[node], t.node_start[node] + fresh_state[node]
            value += t.tilt[old] - t.tilt[new] + _gain(t, counts, old, new)
    for k in range(begin, end):
        p, c = t.parent[k], t.child[k]
        above = t.up[node] >= 0 and k == begin  # the parent of the first step stays
        fresh_entry[k] = draw_entry(t, k, states[p] if above else fresh_state[p], rng)
        fresh_state[c] = t.col[fresh_entry[k]]
        if fresh_entry[k] != entries[k]:
            old, new = n_cells + entries[k], n_cells + fresh_entry[k]
            value += t.tilt[old] - t.tilt[new] + _gain(t, counts, old, new)
        if fresh_state[c] != states[c]:
            old, new = t.node_start[c] + states[c], t.node_start[c] + fresh_state[c]
            value += t.tilt[old] - t.tilt[new] + _gain(t, counts, old, new)
        if value == -np.inf:
            return False
    if value < 0.0 and np.log(rng.random()) > value:
        return False
    if t.up[node] < 0 and fresh_state[node] != states[node]:
        _shift(counts, t.node_start[node] + states[node], t.node_start[node] + fresh_state[node])
        states[node] = fresh_state[node]
    for k in range(begin, end):
        c = t.child[k]
        if fresh_entry[k] != entries[k]:
            _shift(counts, n_cells + entries[k], n_cells + fresh_entry[k])
            entries[k] = fresh_entry[k]
        if fresh_state[c] != states[c]:
            _shift(counts, t.node_start[c] + states[c], t.node_start[c] + fresh_state[c])
            states[c] = fresh_state[c]
    return True


@njit(cache=True)
def _restate(t: Trellis, people: Individuals, m: int, node: int, rng: np.random.Generator) -> bool:
    """Redraw the state of one individual at `node` alone."""
    counts, states, entries = people.counts, people.states[m], people.entries[m]
    n_cells, step = t.base.shape[0], t.up[node]
    start, old = t.node_start[node], states[node]
    if step >= 0:
        entry = draw_entry(t, step, states[t.parent[step]], rng)
        new = t.col[entry]
    else:
        entry = -1
        new = draw_state(t, node, rng)
    if new == old:
        return False
    value = t.base[start + new] - t.base[start + old] + _gain(t, counts, start + old, start + new)
    if step >= 0:
        value += t.theta[entry] - t.theta[entries[step]] - t.log_q[entry] + t.log_q[entries[step]]
        value += _gain(t, counts, n_cells + entries[step], n_cells + entry)
    else:
        value += t.log_node[start + old] - t.log_node[start + new]
    k = t.below[node, 0]
    while k < t.below[node, 1]:  # the children of the node: each one's steps follow it
        other = find_entry(t, k, new, states[t.child[k]])
        if other < 0:
            return False
        value += t.theta[other] - t.theta[entries[k]] + _gain(t, counts, n_cells + entries[k], n_cells + other)
        k = t.below[t.child[k], 1]
    if not value > -np.inf or (value < 0.0 and np.log(rng.random()) > value):
        return False
    _shift(counts, start + old, start + new)
    states[node] = new
    if step >= 0:
        _shift(counts, n_cells + entries[step], n_cells + entry)
        entries[step] = entry
    k = t.below[node, 0]
    while k < t.below[node, 1]:
        other = find_entry(t, k, new, states[t.child[k]])
        _shift(counts, n_cells + entries[k], n_cells + other)
        entries[k] = other
        k = t.below[t.child[k], 1]
    return True


@njit(cache=True)
def _exchange(t: Trellis, people: Individuals, one: int, two: int, step: int, rng: np.random.Generator) -> bool:
    """Let two individuals exchange everything below `step`."""
    states, entries, counts = people.states, people.entries, people.counts
    n_cells, p, c = t.base.shape[0], t.parent[step], t.child[step]
    if states[one, p] == states[two, p] or states[one, c] == states[two, c]:
        return False
    a, b = entries[one, step], entries[two, step]
    x = find_entry(t, step, states[one, p], states[two, c])
    y = find_entry(t, step, states[two, p], states[one, c])
    if x < 0 or y < 0:
        return False
    value = t.theta[x] + t.theta[y] - t.theta[a] - t.theta[b]
    value += _gain(t, counts, n_cells + a, n_cells + x) + _gain(t, counts, n_cells + b, n_cells + y)
    if not value > -np.inf or (value < 0.0 and np.log(rng.random()) > value):
        return False
    _shift(counts, n_cells + a, n_cells + x)
    _shift(counts, n_cells + b, n_cells + y)
    entries[one, step], entries[two, step] = x, y
    states[one, c], states[two, c] = states[two, c], states[one, c]
    for k in range(t.below[c, 0], t.below[c, 1]):
        entries[one, k], entries[two, k] = entries[two, k], entries[one, k]
        d = t.child[k]
        states[one, d], states[two, d] = states[two, d], states[one, d]
    return True


@njit(cache=True)
def sweep_paths(
    t: Trellis, people: Individuals, mix: np.ndarray, n_sweeps: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Move every individual `n_sweeps` times, in place.

    `mix` has the chance of each kind of move: a whole new path, a new one from a node on, one state, an exchange.
    Returns the moves that were accepted and tried, by kind.
    """
    n, n_nodes = people.states.shape
    n_steps = t.parent.shape[0]
    fresh = Individuals(np.empty((1, n_nodes), np.int32), np.empty((1, n_steps), np.int32), people.counts)
    done, tried = np.zeros(4, dtype=np.int64), np.zeros(4, dtype=np.int64)
    roots = np.flatnonzero(t.up < 0)
    for _ in range(n_sweeps):
        for m in range(n):
            kind = 0 if rng.random() < mix[0] / (mix[0] + mix[1]) else 1
            node = roots[rng.integers(0, len(roots))] if kind == 0 else rng.integers(0, n_nodes)
            done[kind] += _redraw(t, people, m, node, fresh, rng)
            tried[kind] += 1
            if mix[2] >= 1.0 or rng.random() < mix[2]:
                done[2] += _restate(t, people, m, rng.integers(0, n_nodes), rng)
                tried[2] += 1
            if n_steps > 0 and n > 1 and (mix[3] >= 1.0 or rng.random() < mix[3]):
                step = rng.integers(0, n_steps)
                if t.swaps[step]:
                    other = (m + 1 + rng.integers(0, n - 1)) % n
                    done[3] += _exchange(t, people, m, other, step, rng)
                    tried[3] += 1
    return done, tried
