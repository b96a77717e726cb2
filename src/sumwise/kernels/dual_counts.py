"""Most likely counts by the dual: projected Newton-CG on the multipliers of the evidence.

Maximises ``D(g) = -l*(g) - n log Z(theta - g) + components * n log n`` over the box of the multipliers. One
evaluation is one pass of belief propagation, one product with the Hessian is one pass of its derivative; edge tables
are never formed. The counts of a pass are feasible, so every iterate carries a primal value and a proven gap.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from time import process_time

import numpy as np

from sumwise.kernels.belief import Beliefs

__all__ = ["DualResult", "maximise_dual"]

_ARMIJO = 1e-4


@dataclass
class _Point:
    """Multipliers and everything that one evaluation tells about them."""

    g: np.ndarray
    loss: float  # -D(g)
    gradient: np.ndarray  # of -D
    curvature: np.ndarray  # of l*
    cells: np.ndarray
    beliefs: Beliefs
    gap: float
    violation: float


@dataclass
class DualResult:
    """Counts, beliefs (for edge tables), multipliers, primal and dual value, gap and course."""

    cells: np.ndarray
    beliefs: Beliefs
    g: np.ndarray
    objective: float
    dual: float
    gap: float
    violation: float
    n_iter: int
    converged: bool
    history: dict = field(default_factory=dict)


def _evaluate(problem, g):
    evidence = problem.evidence
    beliefs, cells, log_z = problem.infer(-evidence.spread(g, problem.n_cells))
    value, first, second = evidence.conjugate(g)
    n = cells[evidence.index]
    loss = value + problem.total * log_z - problem.constant - evidence.constant
    gap, violation = evidence.fenchel(g, n)
    return _Point(g, loss, first - n, second, cells, beliefs, gap, violation)


def maximise_dual(problem, tol=1e-6, max_iter=200, start=None, max_products=80):
    """Solve the dual of a `CountProblem`.

    Parameters
    ----------
    problem : CountProblem
    tol : float
        Stop when the gap is at most `tol` times the smaller of the objective's size and its drop since the start
        (and exact cells are met within `tol` of the total).
    max_iter : int
        Newton steps.
    start : array, optional
        Multipliers to start from.
    max_products : int
        Hessian products per Newton step.

    Returns
    -------
    DualResult
    """
    evidence = problem.evidence
    low, high = evidence.lower, evidence.upper
    point = _evaluate(problem, _first(evidence, start, low, high))
    watch = _Watch(problem, tol)
    reach, last = 10.0, None
    done = watch.record(point)
    n_iter = 0
    while not done and n_iter < max_iter:
        n_iter += 1
        direction, last = _direction(problem, point, low, high, reach, last, max_products)
        new, reach = _search(problem, point, direction, low, high, reach)
        if new is None:
            break
        point = new
        done = watch.record(point)
    best = watch.best
    return DualResult(
        cells=best.cells,
        beliefs=best.beliefs,
        g=best.g,
        objective=-best.loss + best.gap,
        dual=-best.loss,
        gap=best.gap,
        violation=best.violation,
        n_iter=n_iter,
        converged=done,
        history=watch.history,
    )


def _first(evidence, start, low, high):
    g = np.zeros(evidence.size) if start is None else np.array(start, dtype=float)
    if evidence.n_poisson:
        _, p, _ = evidence.slices()
        g[p] = np.minimum(g[p], evidence.rate - 1e-9 * evidence.rate)
    return np.clip(g, low, high)


class _Watch:
    """Keeps the history and the best point, and says when to stop."""

    def __init__(self, problem, tol):
        self.problem, self.tol, self.best, self.start = problem, tol, None, None
        self.time = process_time()
        names = ("objective", "dual", "gap", "violation", "passes", "products", "seconds")
        self.history = {name: [] for name in names}

    def record(self, point):
        objective = -point.loss + point.gap
        row = (objective, -point.loss, point.gap, point.violation, self.problem.n_passes, self.problem.n_tangents)
        for values, x in zip(self.history.values(), (*row, process_time() - self.time)):
            values.append(x)
        self.start = objective if self.start is None else max(self.start, objective)
        if self.best is None or self._merit(point) <= self._merit(self.best):
            self.best = point
        return self._enough(point, objective)

    def _merit(self, point):
        return point.gap + abs(point.loss) * point.violation / self.problem.total

    def _enough(self, point, objective):
        size = abs(objective)
        scale = min(size, max(self.start - objective, 1e-4 * size))
        floor = 1e-13 * (self.problem.total + size)
        return point.gap <= max(self.tol * scale, floor) and point.violation <= self.tol * self.problem.total


def _direction(problem, point, low, high, reach, last, max_products):
    """Truncated Newton direction on the free multipliers, by preconditioned conjugate gradients."""
    evidence, index = problem.evidence, problem.evidence.index
    free = ~(((point.g <= low) & (point.gradient > 0)) | ((point.g >= high) & (point.gradient < 0)))
    free &= point.cells[index] > 0
    # No multiplier moves farther than `reach` or across its box: the extra curvature vanishes with the gradient.
    far = np.minimum(reach, np.where(np.isfinite(high - low), high - low, np.inf))
    curvature = point.curvature + np.abs(point.gradient) / far
    precondition = _preconditioner(problem, point, curvature, free)

    def hessian(v):
        moved = problem.covariance_product(point.beliefs, point.cells, evidence.spread(v, problem.n_cells))
        return np.where(free, curvature * v + moved[index], 0.0)

    residual = np.where(free, -point.gradient, 0.0)
    x = np.zeros_like(residual)
    z = precondition(residual)
    p, rz = z.copy(), float(residual @ z)
    first = rz
    if first <= 0:
        return x, last
    forcing = 0.5 if last is None else min(0.5, max(0.9 * first / last, 1e-3))
    for _ in range(max_products):
        hp = hessian(p)
        steep = float(p @ hp)
        if steep <= 0:
            break
        step = rz / steep
        x += step * p
        residual -= step * hp
        z = precondition(residual)
        rz, before = float(residual @ z), rz
        if rz <= forcing**2 * first:
            break
        p = z + (rz / before) * p
    return x, first


def _preconditioner(problem, point, curvature, free):
    """Inverse of each node's own block: diagonal plus one rank, since the node's counts sum to the total."""
    evidence, index = problem.evidence, problem.evidence.index
    n = point.cells[index]
    times = np.bincount(index, minlength=problem.n_cells)[index]
    inverse = np.where(free, 1.0 / np.maximum(curvature + times * n, 1e-300), 0.0)
    u = inverse * n
    node = problem.node[index]
    size = len(problem.forest.sizes)
    rest = np.maximum(problem.total - np.bincount(node, n * u, size), 1e-3 * problem.total)

    def apply(r):
        return inverse * r + u * (np.bincount(node, u * r, size) / rest)[node]

    return apply


def _search(problem, point, direction, low, high, reach):
    """Armijo along the projected path; a diagonal step where Newton's fails; None where nothing moves."""
    evidence = problem.evidence
    _, p, _ = evidence.slices()
    slack = 1e-14 * abs(point.loss)
    for attempt in (direction, None):
        step = attempt if attempt is not None else _diagonal(problem, point, low, high)
        t = 1.0
        if evidence.n_poisson:
            up = step[p]
            with np.errstate(divide="ignore", invalid="ignore"):
                room = np.where(up > 0, (evidence.rate - point.g[p]) / up, np.inf)
            t = min(1.0, 0.99 * float(room.min()))
        for halvings in range(30):
            g = np.clip(point.g + t * step, low, high)
            new = _evaluate(problem, g)
            wanted = _ARMIJO * float(point.gradient @ (g - point.g))
            if np.isfinite(new.loss) and new.loss <= point.loss + wanted + slack:
                return new, (2.0 * reach if halvings == 0 else max(reach * t, 1e-3))
            t *= 0.3
    return None, reach


def _diagonal(problem, point, low, high):
    n = point.cells[problem.evidence.index]
    step = -point.gradient / np.maximum(point.curvature + n + np.abs(point.gradient), 1e-300)
    return np.clip(point.g + step, low, high) - point.g
