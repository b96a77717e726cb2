"""Non-linear belief propagation on graphs with cycles (Sun 2019, Algorithm 1 and Theorem 5).

Minimises ``F(z) = -<theta, z> - H_B(z) + l(z)`` over tables whose margins agree, with the Bethe entropy
``H_B = -sum_ij z_ij log z_ij + sum_i (d_i - 1) z_i log z_i`` of a graph in which node i has d_i edges. With cycles F
is not convex and the tables with agreeing margins are a larger set than those of a population, so that a fixed point
of the messages is a stationary point and proves no bound.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp, xlogy

from sumwise.collective.kernels.count_problem import Solution

LOWEST = -1e3  # log-potential of what is forbidden: its exponential is 0
MAX_SLOPE = 1e3  # slopes of the loss are cut there: an empty cell would never leave zero


class Edges(NamedTuple):
    """Edges whose tables have one shape."""

    first: np.ndarray  # (E, L_first) flat cells of the first node of each edge
    second: np.ndarray  # (E, L_second)
    theta: np.ndarray  # (E, L_first, L_second) log-potentials
    cells: np.ndarray  # (E, L_first, L_second) flat cells of the table where it is observed, else -1


class LoopyProblem:
    """Nodes, groups of edges, a loss of the cells and a population.

    Parameters
    ----------
    base : (n_cells,) log-potentials of nodes, then zeros for the cells of observed edges; ``-inf`` forbids
    sizes : cells of every node, observed edges included
    groups : list of Edges
    loss : function of flat cells: value and gradient
    total : size of the population
    """

    def __init__(
        self, base: np.ndarray, sizes: tuple[int, ...], groups: list[Edges], loss: Callable[..., Any], total: float
    ) -> None:
        self.base, self.loss, self.total = np.maximum(base, LOWEST), loss, float(total)
        self.starts = np.concatenate([[0], np.cumsum(sizes)])[:-1].astype(np.int64)
        self.node = np.repeat(np.arange(len(sizes)), sizes)
        self.groups = [g._replace(theta=np.maximum(g.theta, LOWEST)) for g in groups]
        self.degree = np.zeros(len(base))
        for g in groups:
            for index in (g.first, g.second):
                np.add.at(self.degree, index.ravel(), 1.0)
        self.wide = np.zeros(len(base), dtype=bool)  # cells of observed edges, which belong to no node
        for g in groups:
            self.wide[g.cells[g.cells >= 0]] = True

    def normalised(self, log_cells: np.ndarray, weight: np.ndarray | float = 1.0) -> np.ndarray:
        """Log-counts ``log_cells - weight * shift``, the shift of every node such that they sum to the population."""
        weight = np.broadcast_to(weight, log_cells.shape)
        out = log_cells
        for _ in range(30):
            top = np.maximum.reduceat(out, self.starts)
            parts = np.exp(out - top[self.node])
            sums = np.add.reduceat(parts, self.starts)
            off = top + np.log(sums) - np.log(self.total)
            if np.abs(off).max() < 1e-13:
                break
            out = out - weight * (off / (np.add.reduceat(parts * weight, self.starts) / sums))[self.node]
        return out

    def step(self, log_cells: np.ndarray, target: Callable[[np.ndarray], np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Move log-counts towards ``target(gradient)``, by less where the loss is curved; also the gradient.

        A full step would go to ``t - l'(z)``; to first order in its own change of ``l'`` that is the old place plus the
        rest over ``1 + z l''(z)``.
        """
        cells = np.exp(log_cells)
        gradient = self.slope(cells)
        width = 1e-4 * cells + 1e-9
        curvature = np.maximum((self.slope(cells + width) - gradient) / width, 0.0)
        weight = 1.0 / (1.0 + cells * curvature)
        return self.normalised(log_cells + weight * (target(gradient) - log_cells), weight), gradient

    def slope(self, cells: np.ndarray) -> np.ndarray:
        """Gradient of the loss, cut where it is too steep."""
        return np.clip(np.nan_to_num(self.loss(cells)[1], nan=0.0), -MAX_SLOPE, MAX_SLOPE)

    def objective(self, cells: np.ndarray, tables: list[np.ndarray]) -> float:
        """F at counts of nodes and edges."""
        nodes = np.where(self.wide, 0.0, cells)
        value = float((xlogy(nodes, nodes) * (1.0 - self.degree)).sum() - (nodes * self.base).sum())
        for g, table in zip(self.groups, tables):
            value += float((xlogy(table, table) - np.where(table > 0, table * g.theta, 0.0)).sum())
        return value + float(self.loss(cells)[0])


def loopy_counts(problem: LoopyProblem, tol: float, max_iter: int, damping: float | None = None) -> Solution:
    """Send messages over all edges at once until nothing moves any more.

    damping: the share of the way that messages move in a round; by default it starts at 1/2, is halved where ten rounds
    brought no progress and relaxed where they did.
    """
    messages = _Messages(problem)
    rate = 0.5 if damping is None else float(damping)
    history: list[float] = []
    distance = np.inf
    while len(history) < max_iter and distance > tol:
        distance = messages.round(rate)
        history.append(distance)
        if damping is None and len(history) % 10 == 0 and len(history) > 10:
            better = min(history[-10:]) < 0.9 * min(history[-20:-10])
            rate = min(1.1 * rate, 0.9) if better else max(0.5 * rate, 0.01)
    cells, tables = messages.counts()
    return Solution(
        cells,
        tables=tables,
        objective=problem.objective(cells, tables),
        distance=distance,
        violation=messages.violation(cells, tables),
        n_iter=len(history),
        converged=bool(distance <= tol),
        history={"distance": history},
    )


def _log_sum(values: np.ndarray, axis: int | tuple[int, ...], keepdims: bool = False) -> np.ndarray:
    return np.asarray(logsumexp(values, axis=axis, keepdims=keepdims))


class _Messages:
    """Messages to both ends of every edge, and log-counts of nodes and observed edges."""

    def __init__(self, problem: LoopyProblem) -> None:
        self.problem = problem
        self.log_cells = problem.normalised(problem.base)
        self.to_first = [np.zeros(g.first.shape) for g in problem.groups]
        self.to_second = [np.zeros(g.second.shape) for g in problem.groups]

    def cavities(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        """What the ends of the edges of a group believe but for these edges' own messages."""
        g = self.problem.groups[i]
        return self.log_cells[g.first] - self.to_first[i], self.log_cells[g.second] - self.to_second[i]

    def pulled(self) -> np.ndarray:
        """Log-counts that messages and potentials ask for, before the loss: of nodes, and of observed edges."""
        total = np.zeros(len(self.log_cells))  # of the messages into every cell
        for g, first, second in zip(self.problem.groups, self.to_first, self.to_second):
            np.add.at(total, g.first.ravel(), first.ravel())
            np.add.at(total, g.second.ravel(), second.ravel())
        out = self.problem.base + total
        for i, g in enumerate(self.problem.groups):
            if (g.cells >= 0).any():
                out[g.cells[g.cells >= 0]] = self.joint(i, g.theta)[g.cells >= 0]
        return out

    def joint(self, i: int, theta: np.ndarray) -> np.ndarray:
        """Log-counts of a group's edges, up to a constant for each."""
        first, second = self.cavities(i)
        return theta + first[:, :, None] + second[:, None, :]

    def potentials(self, i: int) -> np.ndarray:
        """Log-potentials of a group; of an observed edge, those that give its present counts (eq. 2.8)."""
        g = self.problem.groups[i]
        if not (g.cells >= 0).any():
            return g.theta
        first, second = self.cavities(i)
        seen = self.log_cells[np.maximum(g.cells, 0)] - first[:, :, None] - second[:, None, :]
        return np.where(g.cells >= 0, seen, g.theta)

    def round(self, rate: float) -> float:
        """One step of all counts and one damped message each way over every edge; how far the counts are from rest."""
        problem = self.problem
        asked = self.pulled()
        new, gradient = problem.step(self.log_cells, lambda slope: asked - slope)
        rest = problem.normalised(asked - gradient)
        distance = float(np.abs(np.exp(rest) - np.exp(self.log_cells)).max())
        self.log_cells = new
        cells = np.exp(new)
        for i, g in enumerate(problem.groups):
            theta, (first, second) = self.potentials(i), self.cavities(i)
            for sent, messages, own, index in (
                (_log_sum(theta + second[:, None, :], axis=2), self.to_first, first, g.first),
                (_log_sum(theta + first[:, :, None], axis=1), self.to_second, second, g.second),
            ):
                belief = own + sent
                margin = problem.total * np.exp(belief - _log_sum(belief, axis=1, keepdims=True))
                distance = max(distance, float(np.abs(margin - cells[index]).max()))
                messages[i] = messages[i] + rate * (sent - sent.max(axis=1, keepdims=True) - messages[i])
        return distance / problem.total

    def counts(self) -> tuple[np.ndarray, list[np.ndarray]]:
        """Counts of nodes (flat) and of edges, group by group."""
        tables = []
        for i in range(len(self.problem.groups)):
            joint = self.joint(i, self.potentials(i))
            top = _log_sum(joint, axis=(1, 2), keepdims=True)
            tables.append(self.problem.total * np.exp(joint - top))
        return np.exp(self.log_cells), tables

    def violation(self, cells: np.ndarray, tables: list[np.ndarray]) -> float:
        """Largest difference between the margin of an edge and the counts of its node."""
        off = [0.0]
        for g, table in zip(self.problem.groups, tables):
            off += [np.abs(table.sum(axis=2) - cells[g.first]).max(), np.abs(table.sum(axis=1) - cells[g.second]).max()]
        return float(max(off))
