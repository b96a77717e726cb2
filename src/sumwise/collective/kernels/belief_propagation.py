"""Belief propagation on a forest, in logs at the nodes and in scaled products along the edges.

A forest has nodes ``0 .. N-1`` of different sizes and edges ``(first, second, operator)`` (see `kernels.edges`).
One call of `propagate` costs two messages per edge: matrix-vector products, never an edge table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sumwise.collective.kernels.edges import log_sum_exp
from sumwise.errors import DataError

if TYPE_CHECKING:
    from torch import Tensor

    from sumwise.collective.kernels.edges import Edge


@dataclass(frozen=True)
class Forest:
    """Nodes, edges and the order in which messages pass: children before parents.

    Parameters
    ----------
    sizes : sequence of int
        Number of states of every node.
    edges : sequence of (int, int, operator)
        First node (rows), second node (columns) and the operator that sends messages between them.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.collective.kernels.edges import DenseEdge
    >>> forest = Forest([2, 2], [(0, 1, DenseEdge(np.zeros((2, 2))))])
    >>> float(propagate(forest, [np.zeros(2), np.zeros(2)]).log_z[0].round(4))
    1.3863
    """

    sizes: tuple[Any, ...]
    edges: tuple[Any, ...]
    # (child, parent, edge, back): message child -> parent is sent with `back`
    steps: tuple[Any, ...] = field(init=False)
    roots: tuple[Any, ...] = field(init=False)
    children: tuple[Any, ...] = field(init=False)  # per node: indices into steps

    def __post_init__(self) -> None:
        steps, roots = _schedule(len(self.sizes), self.edges)
        children = [[] for _ in self.sizes]
        for k, (_, parent, _, _) in enumerate(steps):
            children[parent].append(k)
        for name, value in (
            ("sizes", tuple(int(s) for s in self.sizes)),
            ("edges", tuple(self.edges)),
            ("steps", tuple(steps)),
            ("roots", tuple(roots)),
            ("children", tuple(map(tuple, children))),
        ):
            object.__setattr__(self, name, value)

    @cached_property
    def offsets(self) -> np.ndarray:
        """Where the cells of every node begin among those of all, and where they end."""
        return np.concatenate([[0], np.cumsum(self.sizes)])

    @property
    def degrees(self) -> np.ndarray:
        """Number of edges at every node."""
        out = np.zeros(len(self.sizes), dtype=int)
        for first, second, _ in self.edges:
            out[first] += 1
            out[second] += 1
        return out


def _schedule(
    n_nodes: int, edges: Sequence[tuple[int, int, Edge]]
) -> tuple[list[tuple[int, int, int, bool]], list[int]]:
    """The steps from the leaves to the roots, and the roots; a cycle is an error."""
    neighbours = [[] for _ in range(n_nodes)]
    for e, (first, second, _) in enumerate(edges):
        neighbours[first].append((second, e, True))
        neighbours[second].append((first, e, False))
    reached: set[int] = set()
    roots, steps = [], []
    for start in range(n_nodes):
        if start in reached:
            continue
        root = _far_end(start, neighbours)
        reached.add(root)
        queue, down = [root], []
        for node in queue:
            for other, e, back in neighbours[node]:
                if other not in reached:
                    reached.add(other)
                    down.append((other, node, e, back))  # child is second exactly when the message runs back
                    queue.append(other)
        roots.append(root)
        steps.extend(reversed(down))
    if len(steps) != len(edges):
        raise DataError(
            f"The {len(edges)} edges over {n_nodes} nodes form a cycle.",
            hint="use a GraphModel, which builds a junction tree.",
        )
    return steps, roots


def _far_end(start: int, neighbours: list[list[tuple[int, int, bool]]]) -> int:
    """A node of `start`'s component with the fewest neighbours: a chain is then rooted at its end."""
    seen, queue = {start}, [start]
    for node in queue:
        if len(neighbours[node]) <= 1:
            return node
        for other, _, _ in neighbours[node]:
            if other not in seen:
                seen.add(other)
                queue.append(other)
    return start


@dataclass
class Beliefs:
    """What a pass leaves: log beliefs of the nodes, log Z per component, and the messages behind them."""

    nodes: list[Any]  # log beliefs, unnormalised
    log_z: list[Any]  # per component
    inner: list[Any]  # per step: log input of the child's message to its parent
    cavity: list[Any]  # per step: log input of the parent's message to its child
    memo_up: list[Any]
    memo_down: list[Any]


def support(forest: Forest, masks: list[np.ndarray]) -> list[np.ndarray]:
    """Which states of every node have a positive probability, given masks of allowed states."""
    up = [m.copy() for m in masks]
    for child, parent, e, back in forest.steps:
        up[parent] &= forest.edges[e][2].reach(up[child], back)
    for child, parent, e, back in reversed(forest.steps):
        up[child] &= forest.edges[e][2].reach(up[parent], not back)
    return up


def propagate(forest: Forest, logs: list[np.ndarray | Tensor], masks: list[np.ndarray] | None = None) -> Beliefs:
    """All node beliefs and log Z of ``p(x) prop. to prod_i exp(logs_i) prod_e exp(theta_e)``.

    Parameters
    ----------
    forest : Forest
    logs : list of array (..., L_i)
        Log-potentials of the nodes; ``-inf`` forbids a state.
    masks : list of bool arrays, optional
        States with positive probability (`support`); spares the exact sums for the others.

    Returns
    -------
    Beliefs
    """
    acc, inner, memo_up, up = list(logs), [], [], []
    for child, parent, e, back in forest.steps:
        x = acc[child]
        mask = None if masks is None else masks[parent]
        message, memo = forest.edges[e][2].send(x, back, mask)
        inner.append(x)
        memo_up.append(memo)
        up.append(message)
        acc[parent] = acc[parent] + message
    log_z = [log_sum_exp(acc[root]) for root in forest.roots]
    n_steps = len(forest.steps)
    cavity: list[Any] = [None] * n_steps
    memo_down: list[Any] = [None] * n_steps
    down: list[Any] = [None] * len(forest.sizes)
    for k in range(n_steps - 1, -1, -1):
        child, parent, e, back = forest.steps[k]
        if cavity[k] is None:
            _cavities(forest, parent, logs, up, down, cavity)
        mask = None if masks is None else masks[child]
        down[child], memo_down[k] = forest.edges[e][2].send(cavity[k], not back, mask)
        acc[child] = acc[child] + down[child]
    return Beliefs(acc, log_z, inner, cavity, memo_up, memo_down)


def _cavities(
    forest: Forest,
    node: int,
    logs: list[np.ndarray | Tensor],
    up: list[np.ndarray | Tensor],
    down: list[Any],
    cavity: list[Any],
) -> None:
    """The message of `node` to each child: everything but that child's own message (no subtraction: -inf stays)."""
    base = logs[node] if down[node] is None else logs[node] + down[node]
    steps = forest.children[node]
    before = base
    for k in steps:
        cavity[k] = before
        before = before + up[k]
    after = None
    for k in reversed(steps):
        if after is not None:
            cavity[k] = cavity[k] + after
        after = up[k] if after is None else after + up[k]


def edge_counts(forest: Forest, beliefs: Beliefs, e: int, total: float) -> Any:
    """The table of edge `e` (dense: (..., L_first, L_second); sparse: its stored moves; margin: the table's cells)."""
    k = next(k for k, step in enumerate(forest.steps) if step[2] == e)
    back = forest.steps[k][3]
    inner, cavity = beliefs.inner[k], beliefs.cavity[k]
    first, second = (cavity, inner) if back else (inner, cavity)
    return forest.edges[e][2].table(first, second, total)


def tangent(forest: Forest, beliefs: Beliefs, direction: list[np.ndarray]) -> tuple[list[Any], list[Any], list[Any]]:
    """Changes of the log beliefs of the nodes, and of the logs of every step's cavity and inner, along `direction`.

    With ``p`` the probabilities of a node and ``d`` the change of its log belief, its counts change by
    ``n p (d - <p, d>)``: a product with the covariance of the node indicators, at the price of one pass. The table of a
    step's edge changes by ``table * (d_i + d_j - mean)``, with the changes of its cavity and inner.
    """
    acc, up, inner = list(direction), [], []
    for k, (child, parent, e, _) in enumerate(forest.steps):
        inner.append(acc[child])
        up.append(forest.edges[e][2].tangent(beliefs.memo_up[k], acc[child]))
        acc[parent] = acc[parent] + up[-1]
    cavity: list[Any] = [None] * len(up)
    for k in range(len(up) - 1, -1, -1):
        child, parent, e, _ = forest.steps[k]
        cavity[k] = acc[parent] - up[k]
        acc[child] = acc[child] + forest.edges[e][2].tangent(beliefs.memo_down[k], cavity[k])
    return acc, cavity, inner
