"""Eq. (2.7) of Sun (2019) as a convex program without the structure of the graph.

Variables are all node and edge cells; margins are linear constraints; kinks of two-sided noise become slacks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.linalg import qr

from sumwise.collective.kernels.count_problem import CountProblem
from sumwise.collective.kernels.edges import MarginEdge, SparseEdge

if TYPE_CHECKING:
    from sumwise.collective.kernels.edges import Edge
    from sumwise.collective.kernels.observations import Observations


class CountsForm:
    """The problem in shares of the population: cells that may be positive, then slacks."""

    def __init__(self, problem: CountProblem) -> None:
        self.problem, self.n = problem, problem.total
        self.open = np.flatnonzero(problem.base > -np.inf)
        self.place = np.full(problem.n_cells, -1)
        self.place[self.open] = np.arange(len(self.open))
        self.theta: Any = [problem.base[self.open]]
        self.weight: Any = [-(problem.degrees - 1.0)[problem.node][self.open]]
        self.size, self.n_rows = len(self.open), 0
        self._parts, self.edges, self.slacks = [], [], []
        self.right: Any = []
        self.cost: Any = []
        for root in problem.forest.roots:
            own = self._node(root)
            self._add(np.zeros(len(own), int), own, np.ones(len(own)), np.ones(1))
        for edge in problem.forest.edges:
            self._add_edge(*edge)
        self.theta, self.weight = np.concatenate(self.theta), np.concatenate(self.weight)
        self.n_counts = self.size
        observations = problem.observations
        self.soft = observations.soft
        if len(observations.low):
            self._add_slacks(observations)
        self.cost = np.concatenate([np.zeros(0), *self.cost])
        self.right = np.concatenate(self.right)
        rows, cols, data = (np.concatenate(x) for x in zip(*self._parts))
        self.matrix = sparse.csr_array((data, (rows, cols)), shape=(self.n_rows, self.size))
        self.kept = np.arange(self.n_rows)
        if not self.soft:  # exact counts repeat what the margins say
            self.kept = _independent_rows(self.matrix.toarray())
            self.matrix, self.right = self.matrix[self.kept], self.right[self.kept]

    def _add(self, rows: np.ndarray, cols: np.ndarray, data: np.ndarray, right: np.ndarray) -> None:
        """Append equations."""
        self._parts.append((rows + self.n_rows, cols, data))
        self.right.append(right)
        self.n_rows += len(right)

    def _add_edge(self, first: int, second: int, operator: Edge) -> None:
        """Cells of an edge's table, and the equations of its margins."""
        left, right, theta = operator.cells()
        here, there = self._node(first, full=True), self._node(second, full=True)
        if isinstance(operator, MarginEdge):  # its table is the first node's
            np.add.at(self.weight[0], here[here >= 0], 1.0)
            keep = here >= 0
            self.edges.append(None)
            self._add_margin(there, right[keep], here[keep])
            return
        keep = (theta > -np.inf) & (here[left] >= 0) & (there[right] >= 0)
        columns = self.size + np.arange(int(keep.sum()))
        self.size += len(columns)
        self.theta.append(theta[keep])
        self.weight.append(np.ones(len(columns)))
        self.edges.append((keep, columns))
        self._add_margin(here, left[keep], columns)
        self._add_margin(there, right[keep], columns)

    def _add_margin(self, own: np.ndarray, states: np.ndarray, columns: np.ndarray) -> None:
        """The columns of each state sum to the node's cell."""
        used = np.flatnonzero(own >= 0)
        line = np.full(len(own), -1)
        line[used] = np.arange(len(used))
        rows, cols = np.concatenate([line[states], line[used]]), np.concatenate([columns, own[used]])
        self._add(rows, cols, np.concatenate([np.ones(len(columns)), -np.ones(len(used))]), np.zeros(len(used)))

    def _add_slacks(self, observations: Observations) -> None:
        """Linear losses: n = y + up - down, each side with its cost; an infinite cost leaves no slack."""
        _, _, e = observations.slices()
        at = self.place[observations.index[e]]
        seen = at >= 0
        y = observations.y[e][seen]
        rows, cols, data = [np.arange(len(y))], [at[seen]], [np.ones(len(y))]
        for ends, sign in ((observations.high[seen], 1.0), (observations.low[seen], -1.0)):
            finite = np.flatnonzero(np.isfinite(ends))
            rows.append(finite)
            cols.append(self.size + np.arange(len(finite)))
            data.append(np.full(len(finite), -sign))
            self.slacks.append((sign, cols[-1], at[seen][finite], y[finite]))
            self.cost.append(np.abs(ends[finite]))
            self.size += len(finite)
        self._add(np.concatenate(rows), np.concatenate(cols), np.concatenate(data), y / self.n)

    def _node(self, i: int, full: bool = False) -> np.ndarray:
        own = self.place[self.problem.offsets[i] : self.problem.offsets[i + 1]]
        return own if full else own[own >= 0]

    def start(self, problem: CountProblem | None = None) -> np.ndarray:
        """The expectation of the model (or of another `problem` over the same cells), and slacks to match."""
        problem = self.problem if problem is None else problem
        beliefs, cells, _ = problem.infer(-problem.observations.shift)
        x = np.full(self.size, 1e-3)
        x[: len(self.open)] = cells[self.open] / self.n
        for table, edge in zip(problem.edge_tables(beliefs), self.edges):
            if edge is not None:
                x[edge[1]] = table.ravel()[edge[0]] / self.n
        x[: self.n_counts] = np.maximum(x[: self.n_counts], 1e-9)
        for sign, columns, at, y in self.slacks:
            x[columns] = np.maximum(sign * (x[at] - y / self.n), 0.0) + 1e-3
        return x

    def _smooth(self, x: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Gaussian and poisson losses (scaled counts in, value, gradient, curvature per cell out)."""
        observations = self.problem.observations
        s, p, _ = observations.slices()
        at = self.place[observations.index]
        slope, second_derivative = np.zeros(len(self.open)), np.zeros(len(self.open))
        n = np.where(at >= 0, x[np.maximum(at, 0)], 0.0) * self.n
        value = -float(observations.shift[self.open] @ x[: len(self.open)]) * self.n
        off = n[s] - observations.y[s]
        value += 0.5 * float((off**2 / observations.var).sum())
        value += float((observations.rate * n[p] - observations.y[p] * np.log(np.maximum(n[p], 1e-300))).sum())
        first = np.concatenate(
            [off / observations.var, observations.rate - observations.y[p] / np.maximum(n[p], 1e-300)]
        )
        second = np.concatenate([1.0 / observations.var, observations.y[p] / np.maximum(n[p], 1e-150) ** 2])
        seen = at[: len(first)] >= 0
        np.add.at(slope, at[: len(first)][seen], first[seen])
        np.add.at(second_derivative, at[: len(first)][seen], second[seen])
        return value, slope - observations.shift[self.open], second_derivative

    def value(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Objective per individual and its gradient."""
        z = np.maximum(x[: self.n_counts], 1e-300)
        logs = np.log(z)
        loss, slope, _ = self._smooth(x)
        value = float((self.weight * z * logs).sum()) - float(self.theta @ z) + loss / self.n
        gradient = np.zeros(self.size)
        gradient[: self.n_counts] = self.weight * (logs + 1.0) - self.theta
        gradient[: len(self.open)] += slope
        gradient[self.n_counts :] = self.cost
        return value + float(self.cost @ x[self.n_counts :]), gradient

    def hessian(self, x: np.ndarray) -> sparse.csr_array:
        """Diagonal: entropies and losses."""
        diagonal = np.zeros(self.size)
        diagonal[: self.n_counts] = self.weight / np.maximum(x[: self.n_counts], 1e-300)
        diagonal[: len(self.open)] += self._smooth(x)[2] * self.n
        return sparse.diags_array(diagonal).tocsr()

    def unpack(self, x: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
        """Flat node counts and edge tables."""
        problem = self.problem
        cells = np.zeros(problem.n_cells)
        cells[self.open] = x[: len(self.open)]
        tables = []
        for (first, _, operator), edge in zip(problem.forest.edges, self.edges):
            if edge is None:
                tables.append(cells[problem.offsets[first] : problem.offsets[first + 1]])
                continue
            flat = np.zeros(operator.n_cells)
            flat[edge[0]] = x[edge[1]]
            tables.append(flat if isinstance(operator, SparseEdge) else flat.reshape(operator.shape))
        return cells, tables


def _independent_rows(matrix: np.ndarray) -> np.ndarray:
    found: Any = qr(matrix.T, mode="economic", pivoting=True)
    r, order = found[1:]
    size = np.abs(np.diagonal(r))
    return np.sort(order[: int((size > 1e-10 * size[0]).sum())])
