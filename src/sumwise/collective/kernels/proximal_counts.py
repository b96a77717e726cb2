"""Most likely counts by proximal methods over belief propagation (Sun 2019, Algorithm 3 and A.2 to A.4).

All of them need the value and gradient of the loss only, so any energy will do. With a convex loss every gradient g
also gives a lower bound, ``F(z) - F* <= R(z) + <g, z> - min_z' (R(z') + <g, z'>)``, at the price of one pass.
"""

# Names are bound in loops that run at least once.
# pyright: reportPossiblyUnboundVariable=false

from __future__ import annotations

from dataclasses import dataclass
from time import process_time
from typing import TYPE_CHECKING, Any

import numpy as np

from sumwise.collective.kernels.count_problem import Solution

if TYPE_CHECKING:
    from sumwise.collective.kernels.belief_propagation import Beliefs


@dataclass
class Run:
    """The course of one gradient method: best point, best bound, history, and when to stop."""

    problem: Any
    loss: Any  # flat counts -> (value, gradient)
    tol: float
    max_iter: int
    n_iter: int = 0
    bound: float = -np.inf
    first: Any = None  # objective of the first point
    concave: bool = False
    damping: float | None = None  # fixed, for `feasible_nlbp`
    convex: bool = True  # whether the loss is known to be convex: without that there is no bound

    def __post_init__(self) -> None:
        self.best = Solution(np.zeros(0), objective=np.inf)
        self.history: dict[str, list[Any]] = {k: [] for k in ("objective", "violation", "gap", "passes", "seconds")}
        self.started = process_time()
        self._last = None

    def infer(self, tilt: np.ndarray) -> tuple[Beliefs, np.ndarray, float]:
        """One pass at `tilt` from the model's own potentials: (beliefs, cells, R)."""
        beliefs, cells, log_z = self.problem.infer(tilt - self.problem.observations.shift)
        return beliefs, cells, self.problem.entropy_term(tilt, cells, log_z)

    def lower(self, cells: np.ndarray, value: float, gradient: np.ndarray) -> None:
        """Raise the lower bound by the tangent of the loss at `cells`."""
        _, at, r = self.infer(-gradient)
        self.raise_bound(value - float(dot(gradient, cells)) + r + float(dot(gradient, at)))

    def raise_bound(self, value: float) -> None:
        """A tangent bounds a convex loss from below everywhere; any other one near the point that it was taken at."""
        self.bound = max(self.bound, value) if self.convex else value

    def note(self, cells: np.ndarray, gradient: np.ndarray) -> None:
        """Notice a loss that isn't convex: its gradient falls along a step."""
        if self._last is not None:
            a, b = self._last
            change, size = float(dot(gradient - b, cells - a)), float(np.abs(gradient - b) @ np.abs(cells - a))
            self.concave |= change < -1e-9 * size
            self.convex &= not self.concave
        self._last = (cells, gradient)

    def record(
        self,
        cells: np.ndarray,
        objective: float,
        violation: float = 0.0,
        beliefs: Beliefs | None = None,
        tables: list[np.ndarray] | None = None,
    ) -> bool:
        """Keep a point; True when its gap is small enough."""
        self.first = objective if self.first is None else self.first
        if objective < self.best.objective or self.best.cells.size == 0:
            self.best = Solution(cells, beliefs, tables, objective=objective, violation=violation)
        gap = self.best.objective - self.bound
        row = (objective, violation, gap, self.problem.n_passes, process_time() - self.started)
        for values, x in zip(self.history.values(), row):
            values.append(x)
        return self.convex and gap <= self.tol * self.scale

    def stationary(self, objective: float) -> bool:
        """Whether the point that the bound was just taken at ends a run without convexity."""
        return not self.convex and objective - self.bound <= self.tol * self.scale

    @property
    def scale(self) -> float:
        """What `tol` is relative to: the objective, or its drop since the start, if less."""
        size = abs(self.best.objective)
        begun = size if self.first is None else self.first - self.best.objective
        return min(size, max(begun, 1e-4 * size))

    def finish(self, converged: bool) -> Solution:
        """The best point as a `Solution`; without convexity it is verified to be stationary, and has no gap."""
        out = self.best
        if self.convex and not self.concave:
            out.gap = max(out.objective - self.bound, 0.0) if np.isfinite(self.bound) else np.nan
            out.distance, out.dual = out.gap, None if np.isnan(out.gap) else out.objective - out.gap
        else:
            value, gradient = self.loss(out.cells)
            self.convex = False
            self.lower(out.cells, value, gradient)
            out.gap, out.distance = np.nan, max(out.objective - self.bound, 0.0)
            converged = out.distance <= self.tol * self.scale
        out.n_iter, out.converged, out.history = self.n_iter, converged, self.history
        out.concave = self.concave
        return out


def dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Inner product with ``inf * 0 = 0``: the slope of an empty cell may be infinite."""
    return np.where(b == 0, 0.0, a) @ b


def mirror_descent(run: Run) -> Solution:
    """Mirror descent with R as its own distance (A.2): ``tilt <- (1 - s) tilt - s gradient``, s by backtracking."""
    tilt = np.zeros(run.problem.n_cells)
    beliefs, cells, r = run.infer(tilt)
    value, gradient = run.loss(cells)
    step, done = 0.1, run.record(cells, r + value, beliefs=beliefs)
    while not done and run.n_iter < run.max_iter and step > 1e-12:
        run.n_iter += 1
        if run.n_iter % 10 == 1:
            run.lower(cells, value, gradient)
            done = run.stationary(r + value)
            if done:
                break
        while step > 1e-12:
            new = (1.0 - step) * tilt - step * gradient
            b2, c2, r2 = run.infer(new)
            v2, g2 = run.loss(c2)
            away = max(r2 - r - float(dot(tilt, c2 - cells)), 0.0)
            # Relative smoothness: the loss lies below its tangent plus the distance over the step.
            limit = value + float(dot(gradient, c2 - cells)) + away / step + 1e-12 * abs(r + value)
            if np.isfinite(v2) and v2 <= limit:
                break
            step *= 0.5
        run.note(c2, g2)
        tilt, beliefs, cells, r, value, gradient = new, b2, c2, r2, v2, g2
        step = min(1.0, 1.1 * step)
        done = run.record(cells, r + value, beliefs=beliefs)
    return run.finish(done)


def rda(run: Run, beta: float = 0.0) -> Solution:
    """Regularised dual averaging (Algorithm 3): ``tilt = -t / (beta sqrt(t) + t) * mean gradient``."""
    mean = np.zeros(run.problem.n_cells)
    beliefs, cells, r = run.infer(mean)
    value, gradient = run.loss(cells)
    done = run.record(cells, r + value, beliefs=beliefs)
    while not done and run.n_iter < run.max_iter:
        run.n_iter += 1
        t = run.n_iter
        mean = mean + (gradient - mean) / t
        beliefs, cells, r = run.infer(-mean * (t / (beta * np.sqrt(t) + t)))
        value, gradient = run.loss(cells)
        run.note(cells, gradient)
        if t % 10 == 0:
            run.lower(cells, value, gradient)
        done = run.record(cells, r + value, beliefs=beliefs) or (t % 10 == 0 and run.stationary(r + value))
    return run.finish(done)


def tuned_rda(run: Run) -> Solution:
    """`rda` with the learning rate that does best in ten steps (0, 0.1, 1, 10 or 100)."""
    tries = {}
    for beta in (0.0, 0.1, 1.0, 10.0, 100.0):
        short = Run(run.problem, run.loss, run.tol, 10)
        tries[beta] = rda(short, beta).objective
    return rda(run, min(tries, key=lambda beta: tries[beta]))


def accelerated_rda(run: Run) -> Solution:
    """Accelerated dual averaging (A.4): gradients at a mixture, weighted towards the recent ones.

    The smoothness of the loss relative to R isn't known: it is doubled, and the averages start anew from the best
    point, whenever the objective rises.
    """
    beliefs, cells, r = run.infer(np.zeros(run.problem.n_cells))
    state = Mixture(cells, run.problem.edge_tables(beliefs))
    done = run.record(cells, r + run.loss(cells)[0], tables=state.tables)
    smooth, t, mean, last, guide = 1.0, 0, np.zeros_like(cells), np.inf, cells
    while not done and run.n_iter < run.max_iter:
        run.n_iter += 1
        t += 1
        weight = 2.0 / (t + 1.0)
        value, gradient = run.loss((1.0 - weight) * state.cells + weight * guide)
        mean = (1.0 - weight) * mean + weight * gradient
        beliefs, guide, _ = run.infer(-mean * (t * (t + 1.0) / (t * (t + 1.0) + 4.0 * smooth)))
        state = state.towards(guide, run.problem.edge_tables(beliefs), weight)
        value, gradient = run.loss(state.cells)
        objective = run.problem.regulariser(state.cells, state.tables) + value
        run.note(state.cells, gradient)
        if run.n_iter % 10 == 0:
            run.lower(state.cells, value, gradient)
        done = run.record(state.cells, objective, tables=state.tables)
        done = done or (run.n_iter % 10 == 0 and run.stationary(objective))
        if objective > last + 1e-9 * abs(last) or not np.isfinite(objective):
            smooth, t = 2.0 * smooth, 0
            state = Mixture(run.best.cells, run.best.tables)
            # Start from the tangent at the best point, so that nothing is forgotten.
            mean = run.loss(state.cells)[1]
            guide, objective = state.cells, np.inf
        last = objective
    return run.finish(done)


@dataclass
class Mixture:
    """A point of the polytope with its edge tables, moved towards others."""

    cells: np.ndarray
    tables: list[Any]

    def towards(self, cells: np.ndarray, tables: list[np.ndarray], weight: float) -> Mixture:
        mixed = [(1.0 - weight) * a + weight * b for a, b in zip(self.tables, tables)]
        return Mixture((1.0 - weight) * self.cells + weight * cells, mixed)
