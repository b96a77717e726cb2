"""Non-linear belief propagation (Sun, Sheldon and Kumar 2015, Algorithms 1 and 2; Sun 2019, section 2.4.2).

The potentials of belief propagation are replaced by the exponential of minus the energy's gradient at the current
counts. The loss of a node is split 1 / degree over the incident edges.
"""

from __future__ import annotations

import numpy as np

from sumwise.collective.kernels.count_problem import Solution
from sumwise.collective.kernels.edges import softmax
from sumwise.collective.kernels.proximal_counts import Mixture, Run, dot


def feasible_nlbp(run: Run) -> Solution:
    """Algorithm 2: a full pass at the gradient, then a damped move towards its counts.

    The move is a descent direction of a convex objective, so the damping is halved until the objective falls, and
    relaxed again afterwards. Where a subgradient is no descent direction, steps shrink like 2 / (t + 2).
    """
    beliefs, cells, r = run.infer(np.zeros(run.problem.n_cells))
    state = Mixture(cells, run.problem.edge_tables(beliefs))
    value, gradient = run.loss(cells)
    objective, damping = r + value, 1.0
    done = run.record(cells, objective, tables=state.tables)
    while not done and run.n_iter < run.max_iter:
        run.n_iter += 1
        beliefs, target, r2 = run.infer(-gradient)
        tables = run.problem.edge_tables(beliefs)
        falls = objective - value + float(dot(gradient, state.cells - target)) - r2
        run.raise_bound(objective - max(falls, 0.0))
        if run.stationary(objective):
            done = True  # the point that was measured is the one that is kept
            break
        damping = min(1.0, 2.0 * damping) if run.damping is None else run.damping
        fixed = run.damping is not None
        while True:
            new = state.towards(target, tables, damping)
            v2, g2 = run.loss(new.cells)
            f2 = run.problem.regulariser(new.cells, new.tables) + v2
            limit = objective - 1e-4 * damping * max(falls, 0.0) + 1e-13 * abs(objective)
            if fixed or (np.isfinite(f2) and f2 <= limit):
                break
            damping *= 0.5
            if damping < 1e-6:  # no step falls: one of the usual length
                damping, fixed = 2.0 / (run.n_iter + 2.0), True
        run.note(new.cells, g2)
        state, value, gradient, objective = new, v2, g2, f2
        done = run.record(state.cells, objective, tables=state.tables)
    return run.finish(done)


def naive_nlbp(run: Run) -> Solution:
    """Algorithm 1: messages in turn, each with potentials from the current counts of its own edge.

    Messages and counts are damped together. Every five rounds the damping is made twice as strong if the counts
    moved no less than in the five before, and relaxed a little otherwise. The margins agree at the end only.
    """
    problem = run.problem
    if not problem.forest.edges:
        return feasible_nlbp(run)
    sweep = _NaiveSweep(run)
    moves, damping = [], 0.2
    done = False
    while not done and run.n_iter < run.max_iter:
        run.n_iter += 1
        moves.append(sweep.round(damping))
        if run.n_iter % 5 == 0 and run.n_iter > 5:
            calmer = sum(moves[-5:]) < 0.95 * sum(moves[-10:-5])
            damping = min(1.1 * damping, 0.6) if calmer else max(0.5 * damping, 0.01)
        cells, tables = sweep.counts(), sweep.tables
        violation = problem.violation(cells, tables)
        value, gradient = run.loss(cells)
        objective = problem.regulariser(cells, tables) + value
        run.note(cells, gradient)
        near = violation <= np.sqrt(run.tol) * problem.total
        if near and run.n_iter % 10 == 0:
            run.lower(cells, value, gradient)
        done = _record_naive(run, cells, tables, objective, violation)
    found = run.finish(done)
    if found.violation > 1e-9 * run.problem.total:  # the objective may lie below every feasible one: it has no gap
        found.gap, found.dual, found.distance = np.nan, None, abs(found.objective - run.bound)
    return found


def _record_naive(run: Run, cells: np.ndarray, tables: list[np.ndarray], objective: float, violation: float) -> bool:
    """As `Run.record`, but the last point counts, and only agreeing margins end the run."""
    done = run.record(cells, objective, violation, tables=tables)
    run.best = Solution(cells, tables=[np.array(t) for t in tables], objective=objective, violation=violation)
    gap = abs(objective - run.bound)
    size = abs(objective)
    return (done or gap <= run.tol * size) and violation <= run.tol * run.problem.total


class _NaiveSweep:
    """Messages both ways over every edge, the edges' own counts, gradients of nodes without an edge; and a round."""

    def __init__(self, run: Run) -> None:
        self.run, problem = run, run.problem
        self.problem = problem
        forest = problem.forest
        self.degree = np.maximum(problem.degrees, 1)
        self.base = problem.split(problem.base)
        self.buffer = np.full(problem.n_cells, problem.total)
        self.incident = [[] for _ in forest.sizes]
        self.message = {}  # (edge, to second): log message
        for e, (first, second, _) in enumerate(forest.edges):
            self.incident[first].append((e, True))
            self.incident[second].append((e, False))
            self.message[e, True] = np.zeros(forest.sizes[second])
            self.message[e, False] = np.zeros(forest.sizes[first])
        self.alone = {i: np.zeros(size) for i, size in enumerate(forest.sizes) if not self.incident[i]}
        self.tables = [self._table(e, 0.0, 0.0) for e in range(len(forest.edges))]

    def _cavity(self, node: int, without: int) -> np.ndarray:
        """Sum of the messages into a node, but one edge's."""
        out = self.base[node].copy()
        for e, is_first in self.incident[node]:
            if e != without:
                out = out + self.message[e, not is_first]
        return out

    def _tilts(self, e: int) -> tuple[np.ndarray, np.ndarray]:
        """Minus the gradient at the edge's own margins, split over the edges of each end."""
        first, second, operator = self.problem.forest.edges[e]
        out = []
        for node, margin in zip((first, second), operator.margins(self.tables[e])):
            a, b = self.problem.offsets[node], self.problem.offsets[node + 1]
            self.buffer[a:b] = margin  # the loss is a sum over nodes: what the others hold doesn't matter
            gradient = self.run.loss(self.buffer)[1][a:b]
            # An empty cell with an infinite slope would never leave zero.
            out.append(-np.clip(gradient, -1e3, 1e3) / self.degree[node])
        return out[0], out[1]

    def _table(self, e: int, a: np.ndarray | float, b: np.ndarray | float) -> np.ndarray:
        first, second, operator = self.problem.forest.edges[e]
        return operator.table(self._cavity(first, e) + a, self._cavity(second, e) + b, self.problem.total)

    def counts(self) -> np.ndarray:
        """Node counts as the mean of the margins of the incident edges."""
        forest = self.problem.forest
        nodes = [np.zeros(s) for s in forest.sizes]
        for (first, second, operator), table in zip(forest.edges, self.tables):
            left, right = operator.margins(table)
            nodes[first] += left / self.degree[first]
            nodes[second] += right / self.degree[second]
        for i, gradient in self.alone.items():
            nodes[i] = softmax(self.base[i] - gradient) * self.problem.total
        return np.concatenate(nodes)

    def round(self, damping: float) -> float:
        """Update every message once up and once down; the largest move of an edge's counts, relative to the total."""
        before = [t.copy() for t in self.tables]
        forest = self.problem.forest
        order = [(e, back) for _, _, e, back in forest.steps]
        for e, back in [*order, *((e, not back) for e, back in reversed(order))]:
            first, second, operator = forest.edges[e]
            a, b = self._tilts(e)
            if back:  # from the second node to the first
                sent = operator.send(self._cavity(second, e) + b, True)[0] + a
            else:
                sent = operator.send(self._cavity(first, e) + a, False)[0] + b
            sent = sent - sent.max()
            key = (e, not back)
            self.message[key] = (1.0 - damping) * self.message[key] + damping * sent
            receiver = first if back else second
            for other, _ in self.incident[receiver]:
                table = self._table(other, *self._tilts(other))
                self.tables[other] = (1.0 - damping) * self.tables[other] + damping * table
        gradient = self.run.loss(self.counts())[1]
        for i in self.alone:
            a, b = self.problem.offsets[i], self.problem.offsets[i + 1]
            self.alone[i] = (1.0 - damping) * self.alone[i] + damping * np.clip(gradient[a:b], -1e3, 1e3)
        moves = [np.abs(a - b).max() for a, b in zip(before, self.tables)]
        return max(moves, default=0.0) / self.problem.total
