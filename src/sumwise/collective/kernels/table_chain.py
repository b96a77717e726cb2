"""Markov chains over a population's tables: where they start, and one sweep after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sumwise.collective.kernels.cycle_sampler import sweep_cycles
from sumwise.collective.kernels.path_sampler import draw_population, sweep_paths
from sumwise.collective.kernels.trellis import log_seen
from sumwise.inference.kernels.compiled import njit

if TYPE_CHECKING:
    from sumwise.collective.kernels.trellis import Trellis

_FLOOR = 0.01  # while a chain looks for its start, an empty cell where somebody was counted holds this many
_SLOPES = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)  # and an exact count costs so much per individual that it is off

# How often per sweep an individual's path is redrawn as a whole, from a node on, at one node, and exchanged in part.
_MIXED = np.array([0.5, 0.5, 1.0, 1.0])
_MOSTLY_WHOLE = np.array([0.9, 0.1, 0.1, 0.1])


class NoStart(Exception):
    """No whole tables were found that the observations allow; `missed` is how many counts are impossible."""

    def __init__(self, missed: int) -> None:
        super().__init__(f"{missed} counts are impossible")
        self.missed = missed


@njit(cache=True)
def impossible(t: Trellis, counts: np.ndarray) -> int:
    """Number of counts that the observations rule out."""
    out = 0
    for at in range(counts.shape[0]):
        if t.seen[at + 1] > t.seen[at] and log_seen(t, at, counts[at]) == -np.inf:
            out += 1
    return out


class _Chain:
    """Counts (C + E,) that `sweep` moves in place."""

    counts: np.ndarray

    def __init__(self, trellis: Trellis, total: int, rng: np.random.Generator) -> None:
        self.trellis, self.total, self.rng = trellis, int(total), rng
        self.accepted, self.tried = np.zeros(4, dtype=np.int64), np.zeros(4, dtype=np.int64)
        self._draw_start()
        missed = impossible(trellis, self.counts)
        for slope in _SLOPES:
            soft = trellis._replace(
                log=np.concatenate([[np.log(_FLOOR)], trellis.log[1:]]),
                low=np.maximum(trellis.low, -slope) if missed else trellis.low,
                high=np.minimum(trellis.high, slope) if missed else trellis.high,
            )
            for _ in range(40):
                if not missed:
                    return
                self._moves(soft, 5)
                missed = impossible(trellis, self.counts)
        raise NoStart(missed)

    def _draw_start(self) -> None:
        raise NotImplementedError

    def _moves(self, trellis: Trellis, n_sweeps: int) -> tuple[np.ndarray, np.ndarray]:
        raise NotImplementedError

    def settle(self) -> None:
        """Choose settings before the first draw."""

    def sweep(self, n_sweeps: int = 1) -> None:
        """Move on by some sweeps."""
        accepted, tried = self._moves(self.trellis, n_sweeps)
        self.accepted += accepted
        self.tried += tried


class PathChain(_Chain):
    """Gives every individual a new path once per sweep (see `path_sampler`)."""

    def _draw_start(self) -> None:
        self.people = draw_population(self.trellis, self.total, self.rng)
        self.counts, self.mix = self.people.counts, _MIXED

    def settle(self) -> None:
        """Choose the moves by how often a whole new path is taken."""
        done, tried = self._moves(self.trellis, 10)
        self.mix = _MOSTLY_WHOLE if done[0] > 0.5 * tried[0] else _MIXED

    def _moves(self, trellis: Trellis, n_sweeps: int) -> tuple[np.ndarray, np.ndarray]:
        return sweep_paths(trellis, self.people, self.mix, n_sweeps, self.rng)


class CycleChain(_Chain):
    """Makes about as many moves per sweep as there are counts that matter (see `cycle_sampler`)."""

    def _draw_start(self) -> None:
        t = self.trellis
        self.counts = _split_population(t, self.total, self.rng)
        n_cells = len(t.base)
        joint = np.exp(t.log_q) * _parents(t)
        spread = sum(
            _perplexity(joint[t.row[a] : t.row[a + size]])
            for a, size in zip(t.row_start, np.diff(t.node_start)[t.parent])
        )
        nodes = sum(_perplexity(np.exp(t.log_node[a:b])) for a, b in zip(t.node_start[:-1], t.node_start[1:]))
        self.n_moves = int(min(max(2 * (spread + nodes), 100), 2 * (n_cells + len(t.col)) + 100))

    def _moves(self, trellis: Trellis, n_sweeps: int) -> tuple[np.ndarray, np.ndarray]:
        return sweep_cycles(trellis, self.counts, n_sweeps * self.n_moves, self.rng)


def _parents(t: Trellis) -> np.ndarray:
    """Guide's probability of the parent state of every entry."""
    out = np.empty(len(t.col))
    for p, begin in zip(t.parent, t.row_start):
        marginal = np.exp(t.log_node[t.node_start[p] : t.node_start[p + 1]])
        rows = t.row[begin : begin + len(marginal) + 1]
        out[rows[0] : rows[-1]] = np.repeat(marginal, np.diff(rows))
    return out


def _perplexity(p: np.ndarray) -> float:
    """How many equally likely states are as uncertain as these."""
    p = p[p > 0]
    return float(np.exp(-(p * np.log(p)).sum())) if len(p) else 0.0


def _split_population(t: Trellis, total: int, rng: np.random.Generator) -> np.ndarray:
    """Counts (C + E,) of a population of the guide, by multinomial splits from the roots down."""
    n_cells = len(t.base)
    counts = np.zeros(n_cells + len(t.col), dtype=np.int64)
    for node in np.flatnonzero(t.up < 0):
        here = slice(t.node_start[node], t.node_start[node + 1])
        counts[here] = rng.multinomial(total, _shares(t.log_node[here]))
    for k, (p, c) in enumerate(zip(t.parent, t.child)):
        for state in np.flatnonzero(counts[t.node_start[p] : t.node_start[p + 1]]):
            a, b = t.row[t.row_start[k] + state], t.row[t.row_start[k] + state + 1]
            moved = rng.multinomial(counts[t.node_start[p] + state], _shares(t.log_q[a:b]))
            counts[n_cells + a : n_cells + b] = moved
            np.add.at(counts, t.node_start[c] + t.col[a:b], moved)
    return counts


def _shares(logs: np.ndarray) -> np.ndarray:
    p = np.exp(logs)
    return p / p.sum()
