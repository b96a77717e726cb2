"""From a model and its observations to the flat lists that the samplers use, and from their counts back to tables."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from sumwise.collective.counts import Counts
from sumwise.collective.kernels.edges import MarginEdge, SparseEdge
from sumwise.collective.kernels.trellis import Trellis, build_trellis, observation_lists
from sumwise.collective.layout import Layout
from sumwise.collective.observations import Observed
from sumwise.collective.tree_model import TreeModel


@dataclass
class Walk:
    """A `Trellis`, and where the tables of the model lie in its counts."""

    trellis: Trellis
    layout: Layout  # whose nodes are the trellis's
    entries: list[np.ndarray]  # per edge of the layout, where its moves lie in the counts
    moves: list[tuple[np.ndarray, np.ndarray]]  # per edge, the states of those moves

    def counts(self, flat: np.ndarray, n: float) -> Counts:
        """`Counts` from anything given per count of the trellis."""
        n_cells = len(self.trellis.base)
        values = np.asarray(flat, dtype=float)

        def table(e):
            first, _, operator = self.layout.forest.edges[e]
            if isinstance(operator, MarginEdge):
                start = self.trellis.node_start[first]
                return values[start : start + operator.shape[0]]
            here = values[self.entries[e]]
            if isinstance(operator, SparseEdge):
                out = np.zeros(len(operator.first))
                key = np.ravel_multi_index((operator.first, operator.second), operator.shape)  # in order, int64
                out[np.searchsorted(key, np.ravel_multi_index(self.moves[e], operator.shape))] = here
                return out
            out = np.zeros(operator.shape)
            out[self.moves[e]] = here
            return out

        return self.layout.counts(values[:n_cells], table, n)

    def weights(self, attributes: tuple[str, ...], weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions and weights of the counts that a linear function of one table sums."""
        node = self.layout.node_of(attributes)
        if node is not None:
            index = self.layout.cell_index(node, attributes, self.trellis.node_start).ravel()
            flat = weights.ravel()
        elif label := next((p for p in self.layout.pairs if set(p) == set(attributes)), None):
            e = self.layout.pairs[label]
            index = self.entries[e]
            flat = (weights if label == attributes else weights.T)[self.moves[e]]
        else:  # part of a clique: every cell of the clique has the weight of its margin
            holders = [i for i, a in enumerate(self.layout.labels) if set(attributes) < set(a)]
            node = min(holders, key=lambda i: self.layout.forest.sizes[i])
            whole = self.layout.labels[node]
            order = [a for a in whole if a in attributes]
            turned = np.transpose(weights, [attributes.index(a) for a in order])
            shape = [n if a in attributes else 1 for a, n in zip(whole, self.layout.shapes[node])]
            flat = np.broadcast_to(turned.reshape(shape), self.layout.shapes[node]).ravel()
            index = np.arange(*self.trellis.node_start[[node, node + 1]])
        some = flat != 0
        return index[some], flat[some]


def walk_of(seen: Observed, model: Any, g: np.ndarray) -> Walk:
    """The trellis of a model, tilted by the multipliers `g` of its observations.

    An edge of a tree whose own table was observed is an edge again (`map_counts` makes it a node).
    """
    problem = seen.problem
    plain: Layout = model.layout() if isinstance(model, TreeModel) else seen.layout
    n_nodes = len(plain.labels)
    sizes = plain.forest.sizes
    tilt = problem.observations.shift - problem.observations.spread(g, problem.n_cells)
    place = np.full(problem.n_cells, -1, dtype=np.int64)  # cells that must be empty are left out
    n_cells = int(problem.offsets[n_nodes])
    place[:n_cells] = np.arange(n_cells)  # the nodes of the plain layout come first in both
    edges, moves, tilts, taken = [], [], [tilt[:n_cells]], n_cells
    for e, (first, second, operator) in enumerate(plain.forest.edges):
        label = next((p for p, number in plain.pairs.items() if number == e), None)
        wide = None if label is None else seen.layout.node_of(label)
        source, target, theta = _allowed(operator, problem, wide)
        open_ends = problem.masks[first][source] & problem.masks[second][target]
        source, target, theta = source[open_ends], target[open_ends], theta[open_ends]
        if wide is None:
            tilts.append(np.zeros(len(theta)))
        else:
            cells = problem.offsets[wide] + source * sizes[second] + target
            place[cells] = taken + np.arange(len(cells))
            tilts.append(tilt[cells])
        edges.append((first, second, source, target, theta, not isinstance(operator, MarginEdge)))
        moves.append((source, target))
        taken += len(theta)
    observed = observation_lists(problem.observations, place, taken)
    trellis, order = build_trellis(sizes, edges, problem.base[:n_cells], np.concatenate(tilts), observed, problem.total)
    back = np.empty(len(order), dtype=np.int64)
    back[order] = np.arange(len(order))
    ends = np.cumsum([0, *(len(m[0]) for m in moves)])
    entries = [n_cells + back[a:b] for a, b in pairwise(ends)]
    return Walk(trellis, plain, entries, moves)


def _allowed(operator, problem, wide):
    """States and log-potentials of the moves that an edge allows."""
    source, target, theta = operator.cells()
    if wide is not None:  # its table is a node of the problem, exact zeros included
        source, target = np.indices(operator.shape).reshape(2, -1)
        theta = problem.base[problem.offsets[wide] : problem.offsets[wide + 1]]
    open_ = theta > -np.inf
    return source[open_], target[open_], theta[open_]
