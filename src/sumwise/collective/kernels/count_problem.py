"""A MAP problem over the counts of a forest, flattened: what every solver of it needs, on arrays alone.

The problem (Sun 2019, eq. 2.7) is ``min over z in the local polytope of R(z) + l(z)`` with
``R(z) = -<theta, z> - H_B(z)`` and ``l = -log p(y | z)``. For multipliers g of the observed cells, and with one
``n log n`` per component of the forest,

``min_z R(z) + <g, z> = -n log Z(theta - g) + components * n log n``,  attained at the counts of one BP pass.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import xlogy

from sumwise.collective.kernels.belief_propagation import Forest, edge_counts, propagate, tangent
from sumwise.collective.kernels.edges import softmax, to_host
from sumwise.collective.kernels.observations import Observations
from sumwise.collective.kernels.path_sweeps import paths

if TYPE_CHECKING:
    from sumwise.collective.kernels.belief_propagation import Beliefs


@dataclass
class Solution:
    """Counts with either the beliefs that they come from or their edge tables, and how they were found."""

    cells: np.ndarray
    beliefs: Any = None
    tables: Any = None
    multipliers: Any = None  # of the observations
    objective: float = np.nan
    dual: float | None = None  # a lower bound on the objective
    gap: float = np.nan  # a proven bound; NaN where convexity isn't established
    distance: float = np.nan  # how far the point is from a stationary one
    violation: float = 0.0
    n_iter: int = 0
    converged: bool = False
    infeasible: bool = False  # proven: no tables meet the exact counts
    concave: bool = False  # whether the loss was seen not to be convex
    history: dict[Any, Any] = field(default_factory=dict)


@dataclass
class CountProblem:
    """Forest, node log-potentials, supported states, observations and population size."""

    forest: Forest
    base: np.ndarray  # (n_cells,) log-potentials of all nodes, one after the other; -inf forbids
    masks: list[Any]  # per node: states with positive probability
    observations: Observations
    total: float
    device: str | None = None

    def __post_init__(self) -> None:
        self.offsets = self.forest.offsets
        self.shifted = self.base + self.observations.shift
        self.constant = len(self.forest.roots) * float(xlogy(self.total, self.total))
        self.degrees = self.forest.degrees
        self.node = np.repeat(np.arange(len(self.forest.sizes)), self.forest.sizes)
        plain = self.device is None and not self.observations.repeated
        self.paths = paths(self.forest) if plain else None
        self.closed = bool((self.base == -np.inf).any())
        self.n_passes = 0
        self.n_tangents = 0

    @property
    def n_cells(self) -> int:
        """Number of cells of all nodes."""
        return int(self.offsets[-1])

    def split(self, flat: np.ndarray) -> list[Any]:
        """A flat vector of cells as one array per node."""
        cells: Any = flat
        if self.device is not None:
            import torch

            cells = torch.as_tensor(flat, device=self.device)
        return [cells[a:b] for a, b in zip(self.offsets[:-1], self.offsets[1:])]

    def join(self, arrays: list[np.ndarray]) -> np.ndarray:
        """One flat vector from one array per node."""
        return np.concatenate([to_host(a) for a in arrays])

    def infer(self, tilt: np.ndarray) -> tuple[Beliefs, np.ndarray, float]:
        """Beliefs, counts (flat) and sum of log Z with `tilt` (flat) added to the node log-potentials."""
        self.n_passes += 1
        beliefs = propagate(self.forest, self.split(self.shifted + tilt), self.masks)
        cells = self.join([softmax(b) for b in beliefs.nodes])
        cells *= self.total
        return beliefs, cells, float(sum(float(z) for z in beliefs.log_z))

    def entropy_term(self, tilt: np.ndarray, cells: np.ndarray, log_z: float) -> float:
        """``R(z)`` with poisson zeros inside, for z the counts of `infer(tilt)`: no edge table is needed."""
        inner = float(np.where(cells > 0, tilt * cells, 0.0).sum())
        return inner - self.total * log_z + self.constant

    def covariance_product(self, beliefs: Beliefs, cells: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """``total * Cov(indicators) @ direction``, flat, at the price of one pass."""
        self.n_tangents += 1
        changes = tangent(self.forest, beliefs, self.split(direction))[0]
        out = np.empty(self.n_cells)
        for i, change in enumerate(changes):  # node by node: large flat temporaries cost more than the arithmetic
            here = slice(self.offsets[i], self.offsets[i + 1])
            n = cells[here]
            # A state of zero count may have an undefined change; it doesn't move.
            moved = np.where(n > 0, n * to_host(change), 0.0) if self.closed else n * to_host(change)
            moved -= n * (moved.sum() / self.total)
            out[here] = moved
        return out

    def highest(self) -> float:
        """A number above the objective of every point that meets the exact counts (infinite with Poisson counts)."""
        observations, n = self.observations, self.total
        if observations.n_poisson:
            return np.inf
        worst = self.widest()
        for start, end in zip(self.offsets[:-1], self.offsets[1:]):
            worst += _range(observations.shift[start:end])
        ends = np.maximum(np.abs(observations.low), np.abs(observations.high))
        soft = np.isfinite(ends)
        far = np.abs(observations.y) + n
        linear = float((ends[soft] * far[observations.n_gaussian :][soft]).sum())
        square = 0.5 * float((far[: observations.n_gaussian] ** 2 / observations.var).sum())
        return self.constant + n * worst + linear + square + observations.constant

    def widest(self) -> float:
        """The largest absolute log-potential of one individual's states, over all states that are possible."""
        nodes = sum(_range(self.base[a:b]) for a, b in zip(self.offsets[:-1], self.offsets[1:]))
        return nodes + sum(_range(to_host(op.theta)) for _, _, op in self.forest.edges if hasattr(op, "theta"))

    def with_observations(self, observations: Observations) -> CountProblem:
        """The same population with other observations of the same cells."""
        made = replace(self, observations=observations)
        made.paths = self.paths
        return made

    def variances(self, cells: np.ndarray) -> np.ndarray:
        """Variances of the cells for rare states: their counts."""
        return cells

    def edge_tables(self, beliefs: Beliefs) -> list[Any]:
        """Tables of all edges (see `edge_counts`)."""
        return [to_host(edge_counts(self.forest, beliefs, e, self.total)) for e in range(len(self.forest.edges))]

    def regulariser(self, cells: np.ndarray, tables: list[np.ndarray]) -> float:
        """``R(z)`` of any point of the polytope, from node counts and edge tables."""
        value = -float(np.where(cells > 0, cells * np.where(cells > 0, self.base, 0.0), 0.0).sum())
        weights = (self.degrees - 1.0)[self.node]
        value -= float((weights * xlogy(cells, cells)).sum())
        for (_, _, operator), table in zip(self.forest.edges, tables):
            value += float(xlogy(table, table).sum()) - float(operator.score(table))
        return value

    def violation(self, cells: np.ndarray, tables: list[np.ndarray]) -> float:
        """Largest difference between a node's counts and the margin of an edge table."""
        nodes = [cells[a:b] for a, b in zip(self.offsets[:-1], self.offsets[1:])]
        worst = max((abs(v.sum() - self.total) for v in nodes), default=0.0)
        for (first, second, operator), table in zip(self.forest.edges, tables):
            for node, margin in zip((first, second), operator.margins(table)):
                worst = max(worst, float(np.abs(margin - nodes[node]).max()))
        return worst


def _range(theta: np.ndarray) -> float:
    """Largest absolute value of the finite entries."""
    return float(np.abs(np.where(np.isfinite(theta), theta, 0.0)).max(initial=0.0))
