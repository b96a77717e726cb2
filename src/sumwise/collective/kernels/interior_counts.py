"""Most likely counts by an interior-point method on the primal: a generic convex solver (Sun 2019, section 2.3.1).

It takes over from the dual at problems whose multipliers drown in rounding: where tight noise contradicts what the
moves allow, they are huge (1e12), and the counts of a pass depend on differences of about one between them, so that no
pass comes near the optimum. Here the tables themselves are the variables. Every few steps the point is made to agree
exactly, and a pass of belief propagation at the slopes of its losses proves a lower bound.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from time import process_time
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from sumwise.collective.kernels.belief_propagation import Forest
from sumwise.collective.kernels.count_problem import CountProblem, Solution
from sumwise.collective.kernels.dual_counts import evaluate, first_multipliers
from sumwise.collective.kernels.edges import DenseEdge, SparseEdge
from sumwise.collective.kernels.primal_form import CountsForm

if TYPE_CHECKING:
    from sumwise.collective.kernels.edges import Edge
    from sumwise.collective.kernels.observations import Observations

MAX_SPARSE_CELLS = 200_000  # cells of tables and margins up to which a sparse factorisation is quick
STEP_TO_BOUNDARY = 0.995  # share of the way to the boundary that a step may go


def interior_counts(
    problem: CountProblem, enough: Callable[[float, float, float], bool], max_iter: int = 200
) -> Solution | None:
    """Minimise eq. (2.7) of Sun (2019) by a primal-dual interior-point method.

    Parameters
    ----------
    problem : CountProblem
    enough : callable
        Whether a proven gap, with an objective and exact counts that are off by something, will do.
    max_iter : int
        Newton steps.

    Returns
    -------
    Solution or None
        With tables in place of beliefs, ``converged`` where the gap is small enough; None where no point was certified.
    """
    form, began = CountsForm(problem), process_time()
    state, found = _State(form, _start(form)), None
    history: dict[Any, Any] = {name: [] for name in ("objective", "violation", "gap", "seconds")}
    for step in range(max_iter + 1):
        if step > 0 and not state.advance():
            break
        if step % 3:
            continue
        found = replace(_certify(form, state, step), history=history)
        row = found.objective, found.violation, found.gap, process_time() - began
        for values, x in zip(history.values(), row):
            values.append(x)
        if enough(found.gap, found.objective, found.violation):
            return replace(found, converged=True)
        gaps = history["gap"]
        if len(gaps) > 8 and gaps[-1] > 0.5 * gaps[-8]:  # rounding allows no more
            break
    return found


def rescue(problem: CountProblem, enough: Callable[[float, float, float], bool]) -> Solution | None:
    """The same for problems that the dual doesn't solve; None where this doesn't either, or takes too long."""
    size = problem.n_cells + sum(op.n_cells for _, _, op in problem.forest.edges)
    if problem.device is not None or size > MAX_SPARSE_CELLS:
        return None
    found = interior_counts(problem, enough)
    return found if found is not None and found.converged else None


def _start(form: CountsForm) -> np.ndarray:
    """Counts that agree, all of them positive: every possible move equally likely. Slacks match them."""
    problem = form.problem
    edges = tuple((a, b, _flat(op)) for a, b, op in problem.forest.edges)
    base = np.where(problem.base > -np.inf, 0.0, -np.inf)
    empty = replace(problem.observations, shift=np.zeros(problem.n_cells))
    flat = replace(problem, forest=Forest(problem.forest.sizes, edges), base=base, observations=empty)
    return form.start(flat)


def _flat(operator: Edge) -> Edge:
    """The same edge with all possible moves equally likely."""
    if isinstance(operator, SparseEdge):
        return SparseEdge(operator.matrix(np.zeros(len(operator.theta))))
    if isinstance(operator, DenseEdge):
        return DenseEdge(np.where(operator.theta > -np.inf, 0.0, -np.inf))
    return operator


class _State:
    """Shares x > 0, multipliers of the margins and slacks s > 0 of ``x >= 0``."""

    def __init__(self, form: CountsForm, x: np.ndarray) -> None:
        self.form, self.x = form, x
        self.margins = np.zeros(len(form.right))
        value, gradient = form.value(x)
        self.mu = max(abs(value), float(np.abs(gradient * x).max()), 1.0) / len(x)
        self.s = self.mu / x
        self.nodes = len(form.open)
        self.a_nodes, self.a_rest = form.matrix[:, : self.nodes], form.matrix[:, self.nodes :]

    def advance(self) -> bool:
        """One Newton step towards a smaller barrier; False where the system has no solution."""
        form, x, s = self.form, self.x, self.s
        _, gradient = form.value(x)
        right = form.right - form.matrix @ x
        diagonal = form.hessian(x).diagonal() + s / x
        solve = self._factor(diagonal)
        if solve is None:
            return False
        dual = gradient + form.matrix.T @ self.margins
        # Predictor: how far would a step without a barrier go?
        dx, _ = solve(-dual, right)
        ds = -s - s * dx / x
        far = min(_length(x, dx), _length(s, ds))
        now = float(x @ s) / len(x)
        left = float((x + far * dx) @ (s + far * ds)) / len(x)
        self.mu = now * min(max((left / now) ** 3, 1e-4), 0.5) if far > 0.1 else 0.5 * now
        dx, dm = solve(-dual + self.mu / x, right)
        ds = (self.mu - s * dx) / x - s
        if not (np.isfinite(dx).all() and np.isfinite(dm).all()):
            return False
        length = self._line(dx, right, _length(x, dx))
        self.x = x + length * dx
        self.margins = self.margins + length * dm
        self.s = np.maximum(s + min(length, _length(s, ds)) * ds, 1e-3 * self.mu / self.x)
        self.s = np.minimum(self.s, 1e3 * self.mu / self.x)
        return True

    def _line(self, dx: np.ndarray, right: np.ndarray, length: float) -> float:
        """A shorter step where the barrier function rises, among points that meet the margins."""
        if np.abs(right).max() > 1e-9:
            return length
        before = self._barrier(self.x)
        for _ in range(30):
            if self._barrier(self.x + length * dx) <= before + 1e-10 * abs(before):
                break
            length *= 0.5
        return length

    def _barrier(self, x: np.ndarray) -> float:
        return self.form.value(x)[0] - self.mu * float(np.log(x).sum())

    def _factor(self, diagonal: np.ndarray) -> Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]] | None:
        """A solver of ``diagonal dx + A' dm = r, A dx = q``: cells of edges and slacks are eliminated first."""
        nodes, rest = diagonal[: self.nodes], diagonal[self.nodes :]
        scaled = self.a_rest * (1.0 / rest)
        system = sparse.block_array(
            [[sparse.diags_array(nodes), self.a_nodes.T], [self.a_nodes, -(scaled @ self.a_rest.T)]], format="csc"
        )
        try:
            factor = splu(system)
        except RuntimeError:  # singular
            return None
        matrix, k = self.form.matrix, self.nodes

        def once(r: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            found = factor.solve(np.concatenate([r[:k], q - scaled @ r[k:]]))
            dm = found[k:]
            return np.concatenate([found[:k], (r[k:] - self.a_rest.T @ dm) / rest]), dm

        def solve(r: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            dx, dm = once(r, q)
            for _ in range(2):  # iterative refinement
                ex, em = once(r - diagonal * dx - matrix.T @ dm, q - matrix @ dx)
                dx, dm = dx + ex, dm + em
            return dx, dm

        return solve


def _length(x: np.ndarray, dx: np.ndarray) -> float:
    """The longest step, at most one, that keeps x positive."""
    falling = dx < 0
    return min(1.0, STEP_TO_BOUNDARY * float((-x[falling] / dx[falling]).min(initial=np.inf)))


def _certify(form: CountsForm, state: _State, n_iter: int) -> Solution:
    """Tables that agree, near the point, with the lower bound of the slopes of their losses."""
    problem = form.problem
    cells, tables = agreeing(problem, *form.unpack(state.x * problem.total))
    g = _slopes(form, cells, state.margins)
    dual = -evaluate(problem, g).loss
    loss, missed, violation = _loss(problem.observations, cells, g)
    objective = problem.regulariser(cells, tables) + loss
    gap = max(objective - dual, 0.0) + missed
    return Solution(
        cells,
        tables=tables,
        multipliers=g,
        objective=objective,
        dual=dual,
        gap=gap,
        violation=violation,
        n_iter=n_iter,
    )


def _slopes(form: CountsForm, cells: np.ndarray, margins: np.ndarray) -> np.ndarray:
    """Slope of the loss of every observation: of smooth ones at `cells`, of linear ones the multiplier of their row."""
    observations = form.problem.observations
    s, p, e = observations.slices()
    n, g, rows = observations.pick(cells), np.zeros(observations.size), np.zeros(form.n_rows)
    g[s] = (n[s] - observations.y[s]) / observations.var
    g[p] = observations.rate - observations.y[p] / np.maximum(n[p], 1e-300)
    rows[form.kept] = margins
    linear = np.flatnonzero(form.place[observations.index[e]] >= 0)
    g[e.start + linear] = rows[len(rows) - len(linear) :]
    return first_multipliers(form.problem, g, observations)


def _loss(observations: Observations, cells: np.ndarray, g: np.ndarray) -> tuple[float, float, float]:
    """``-log p`` but for exact counts that are missed, what missing them may be worth, and by how much at most."""
    _, _, e = observations.slices()
    off = observations.pick(cells)[e] - observations.y[e]
    hard = np.isinf(np.where(off > 0, observations.high, observations.low)) & (off != 0)
    low, high = (np.where(hard, 0.0, end) for end in (observations.low, observations.high))
    loss = replace(observations, low=low, high=high).loss(cells)[0]
    return loss, float(np.abs(g[e] * off)[hard].sum()), float(np.abs(off[hard]).max(initial=0.0))


def agreeing(problem: CountProblem, cells: np.ndarray, tables: list[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Cells and tables with the same shares of moves from every state, and margins that agree exactly."""
    forest, offsets = problem.forest, problem.offsets
    cells, tables = cells.copy(), [np.array(t) for t in tables]
    nodes = [cells[a:b] for a, b in itertools.pairwise(offsets)]
    for root in forest.roots:
        nodes[root] *= problem.total / nodes[root].sum()
    for child, parent, e, back in reversed(forest.steps):
        operator = forest.edges[e][2]
        left, right, _ = operator.cells()
        mine, other = (right, left) if back else (left, right)  # the child is the second node where `back`
        if hasattr(operator, "margin"):  # its table is the first node's
            tables[e] = nodes[parent if back else child].copy()
        table = tables[e].ravel()
        sums = np.bincount(other, table, len(nodes[parent]))
        table = table * (nodes[parent] / np.where(sums > 0, sums, 1.0))[other]
        tables[e] = table.reshape(tables[e].shape)
        nodes[child][:] = np.bincount(mine, table, len(nodes[child]))
    return cells, tables
