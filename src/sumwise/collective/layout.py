"""Layout: where the tables of a model live in a forest of nodes, and how to read counts off it."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sumwise.collective.counts import Counts, LazyTables, dense
from sumwise.collective.kernels.belief_propagation import Forest, edge_counts, support
from sumwise.collective.kernels.count_problem import CountProblem
from sumwise.collective.kernels.edges import SparseEdge, softmax, to_host
from sumwise.collective.kernels.observations import Observations, gather
from sumwise.domain import Domain
from sumwise.errors import DataError


@dataclass(frozen=True)
class Layout:
    """A forest whose nodes are tables over attributes.

    Parameters
    ----------
    domain : Domain
    labels : per node, the attributes of its table (its cells are the table's, flattened)
    edges : of the forest: (node, node, operator)
    base : per node, its log-potentials (flat; a leading batch axis is allowed)
    pairs : attributes of an edge to the number of the forest's edge that holds its table
    keep : labels of nodes that are cliques of a junction tree

    Attributes
    ----------
    shapes : per node, the shape of its table
    forest : Forest
    place : attributes of a node's table, in any order, to its number
    """

    domain: Domain
    labels: list[tuple[str, ...]]
    edges: list[tuple]
    base: list
    pairs: dict = field(default_factory=dict)
    keep: tuple = ()
    device: str | None = None
    shapes: list = field(init=False)
    forest: Forest = field(init=False)
    place: dict = field(init=False)

    def __post_init__(self):
        shapes = [tuple(self.domain[a] for a in label) for label in self.labels]
        forest = Forest(tuple(int(np.prod(s)) for s in shapes), tuple(self.edges))
        found: dict[str, Any] = {"place": {frozenset(a): i for i, a in enumerate(self.labels)}}
        for name, value in (found | {"shapes": shapes, "forest": forest}).items():
            object.__setattr__(self, name, value)

    def node_of(self, attributes):
        """Number of the node whose table is over exactly these attributes, or None."""
        return self.place.get(frozenset(attributes))

    def cell_index(self, node, attributes, offsets):
        """Flat positions of the cells of `node`'s table, in the order of a table over `attributes`."""
        label, shape = self.labels[node], self.shapes[node]
        cells = np.arange(offsets[node], offsets[node + 1]).reshape(shape)
        return np.transpose(cells, [label.index(a) for a in attributes])

    def problem(self, parts=(), total=1.0, forbidden=None):
        """A `CountProblem` with the observations `parts`; `forbidden` marks cells that must be empty."""
        # A state of a batch of models is possible where it is in one of them.
        base = np.concatenate([to_host(b) if b.ndim == 1 else to_host(b).max(axis=0) for b in self.base])
        if forbidden is not None:
            base = np.where(forbidden, -np.inf, base)
        offsets = self.forest.offsets
        masks = [base[a:b] > -np.inf for a, b in itertools.pairwise(offsets)]
        masks = support(self.forest, masks)
        for label, mask in zip(self.labels, masks):
            if not mask.any():
                raise DataError(
                    f"No state of {' x '.join(label)} is possible.",
                    hint="the potentials (or exact zero counts) rule everything out; allow a few states.",
                )
        base = np.where(np.concatenate(masks), base, -np.inf)
        observations: Observations = gather(list(parts), len(base))
        if self.device is not None:
            import torch

            masks = [torch.as_tensor(m, device=self.device) for m in masks]
        return CountProblem(self.forest, base, masks, observations, float(total), self.device)

    def counts(self, cells, tables, n):
        """`Counts` from flat node counts and a function ``tables(e)`` for the edge tables (batch axes lead)."""
        offsets = self.forest.offsets
        nodes, cliques, edges = {}, {}, {}
        for i, (label, shape) in enumerate(zip(self.labels, self.shapes)):
            table = cells[..., offsets[i] : offsets[i + 1]]
            table = table.reshape(*table.shape[:-1], *shape)
            if len(label) == 1 and label[0] not in nodes:
                nodes[label[0]] = table
            if label in self.keep:
                cliques[label] = lambda t=table: t
            elif len(label) == 2 and label not in self.pairs:
                edges[label] = lambda t=table: t
        for label, e in self.pairs.items():
            edges[label] = lambda e=e: _edge_table(self.forest.edges[e][2], tables(e))
        return Counts(nodes, LazyTables(edges), n, LazyTables(cliques))

    def counts_of(self, beliefs, n):
        """`Counts` of a population of `n` whose tables are at their expectations under `beliefs`."""
        cells = np.concatenate([to_host(softmax(b)) for b in beliefs.nodes], axis=-1) * n
        return self.counts(cells, lambda e: to_host(edge_counts(self.forest, beliefs, e, n)), n)

    def flatten(self, counts):
        """Flat node counts and edge tables (in the forest's format) of anything with nodes, edges and cliques."""
        cells = np.concatenate([np.asarray(counts.table(*label), float).ravel() for label in self.labels])
        names = {e: label for label, e in self.pairs.items()}
        tables = []
        for e, (first, _, operator) in enumerate(self.forest.edges):
            if e in names:
                table = counts.edges[names[e]]
                tables.append(_stored(operator, table) if isinstance(operator, SparseEdge) else dense(table))
            else:  # a margin: its table is the first node's
                tables.append(np.asarray(counts.table(*self.labels[first]), float).ravel())
        return cells, tables


def _edge_table(operator, table):
    if isinstance(operator, SparseEdge):
        if np.ndim(table) > 1:
            return [operator.matrix(t) for t in table]
        return operator.matrix(table)
    return table


def _stored(operator, table):
    """Counts of the stored moves; a count on a move that isn't allowed is an error."""
    from scipy import sparse

    matrix = sparse.csr_array(table)
    values = np.asarray(matrix[operator.first, operator.second], dtype=float).ravel()
    outside = float(matrix.sum()) - float(values.sum())
    if abs(outside) > 1e-9 * max(1.0, float(abs(matrix).sum())):
        raise DataError(f"{outside:g} individuals make moves that the model forbids.", hint="allow those moves.")
    return values
