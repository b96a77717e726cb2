"""Most likely counts by the dual: projected Newton-CG on the multipliers of the observations.

Maximises ``D(g) = -l*(g) - n log Z(theta - g) + components * n log n`` over the box of the multipliers. One
evaluation is one pass of belief propagation, one product with the Hessian is one pass of its derivative; edge tables
are never formed. The counts of a pass are feasible, so every iterate carries a primal value and a duality gap.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from time import process_time
from typing import TYPE_CHECKING, Any

import numpy as np

from sumwise.collective.kernels.belief_propagation import Beliefs
from sumwise.collective.kernels.count_problem import CountProblem, Solution
from sumwise.collective.kernels.path_sweeps import PathSystem

if TYPE_CHECKING:
    from sumwise.collective.kernels.gaussian_counts import GaussianProblem
    from sumwise.collective.kernels.observations import Observations

_LEAST = 1e-4  # share of the promised gain that a step must bring
STAGE = 1e-3  # tolerance of a stage of the continuation , relative as `tol` is
MAX_VARIANCE_RATIO = 10.0  # ratio of variances within a node up to which its observations are centred
MAX_PRODUCTS = 80  # with the Hessian, per Newton step
DIRECT_STEPS = 80  # Newton steps before continuation; easy problems take 10 to 40 (tests/collective)


@dataclass
class _Point:
    """Multipliers and everything that one evaluation yields."""

    g: np.ndarray
    loss: float  # -D(g)
    gradient: np.ndarray  # of -D
    curvature: np.ndarray  # of l*
    cells: np.ndarray
    beliefs: Beliefs
    gap: float
    violation: float


def evaluate(problem: CountProblem | GaussianProblem, g: np.ndarray) -> _Point:
    """One pass of belief propagation at multipliers `g`."""
    observations = problem.observations
    beliefs, cells, log_z = problem.infer(-observations.spread(g, problem.n_cells))
    value, first, second = observations.conjugate(g)
    n = observations.pick(cells)
    loss = value + problem.total * log_z - problem.constant - observations.constant
    gap, violation = observations.fenchel(g, n)
    return _Point(g, loss, first - n, second, cells, beliefs, gap, violation)


def maximise_dual(
    problem: CountProblem | GaussianProblem,
    tol: float = 1e-6,
    max_iter: int = 1000,
    start: np.ndarray | None = None,
    max_gap: float = 0.0,
    other: Callable[..., Any] | None = None,
) -> Solution:
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
    max_gap : float
        A gap that is small enough whatever `tol` says.
    other : callable, optional
        Another method for problems that the first Newton steps don't solve: ``other(problem, enough)``, a `Solution`
        that is certified, or None.

    Returns
    -------
    Solution
    """
    problem, moved = _centred(problem)
    start = None if start is None else start - moved
    problem.n_passes = problem.n_tangents = 0
    watch = Watch(problem, tol, max_gap)
    search = _Search(problem, watch)
    done = search.newton(first_multipliers(problem, start, problem.observations), min(max_iter, DIRECT_STEPS))
    if not done and search.n_iter < max_iter and not search.infeasible:
        found = None if other is None else other(problem, watch.enough)
        if found is not None:
            g, n_iter = found.multipliers + moved, search.n_iter + found.n_iter
            return replace(found, multipliers=g, n_iter=n_iter, history=watch.history)
        done = _continuation(search, max_iter)
    best: _Point = watch.best
    return Solution(
        cells=best.cells,
        beliefs=best.beliefs,
        multipliers=best.g + moved,
        objective=-best.loss + best.gap,
        dual=-best.loss,
        gap=best.gap,
        violation=best.violation,
        n_iter=search.n_iter,
        converged=done,
        infeasible=search.infeasible,
        history=watch.history,
    )


def _centred(problem: CountProblem | GaussianProblem) -> tuple[CountProblem | GaussianProblem, np.ndarray]:
    """A copy of the problem whose Gaussian observations of whole nodes agree with the total, and what that took off g.

    A node's counts sum to n, so that ``y + c var`` in place of ``y`` takes c off all its multipliers and changes the
    loss by a constant. Where totals contradict n and noise is tight, c is huge (1e13), and multipliers less c would
    drown in its rounding. The c is that of the nearest counts that are not negative, as only positive ones matter.
    """
    problem, observations = copy(problem), problem.observations  # counters and the choice of solver are the copy's own
    moved, constant, k = np.zeros(observations.size), 0.0, observations.n_gaussian
    node = problem.node[observations.index[:k]]
    whole = np.bincount(node, minlength=len(problem.forest.sizes)) == problem.forest.sizes
    if observations.repeated or not whole.any():
        return problem, moved
    y = observations.y.copy()
    for i in np.flatnonzero(whole & (np.asarray(problem.forest.sizes) > 0)):
        at = np.flatnonzero(node == i)
        var = observations.var[at]
        if (
            var.max() > MAX_VARIANCE_RATIO * var.min()
        ):  # where noise differs much, c would be rounding to those with most of it
            continue
        c = _simplex_shift(y[at], var, problem.total)
        y[at] += c * var
        constant += c * (problem.total - y[at].sum()) + 0.5 * c * c * var.sum()
        moved[at] = c
    shifted = replace(observations, y=y, constant=observations.constant + constant)
    return problem.with_observations(shifted), moved


def _simplex_shift(y: np.ndarray, var: np.ndarray, total: float) -> float:
    """The c for which the positive parts of ``y + c var`` sum to `total`."""
    steps = -y / var  # each entry is positive above its own
    order = np.argsort(steps)
    sums = np.cumsum(y[order]), np.cumsum(var[order])
    each = (total - sums[0]) / sums[1]
    ends = np.append(steps[order][1:], np.inf)
    return float(each[np.argmax(each <= ends)])


@dataclass
class _Search:
    """Newton steps on one problem, counted over several starts."""

    problem: Any
    watch: Any
    n_iter: int = 0
    infeasible: bool = False
    point: Any = None

    def newton(self, start: np.ndarray, max_iter: int) -> bool:
        """Steps from `start` until the watch says enough; False where it doesn't."""
        problem, low, high = self.problem, self.problem.observations.lower, self.problem.observations.upper
        point = evaluate(problem, start)
        reach, last = 10.0, None
        done = self.watch.record(point)
        slow, limit = 0, self.n_iter + max_iter
        ceiling = problem.highest()  # a dual above it proves that exact observations can't be met
        while not done and self.n_iter < limit and reach > 1e-10:
            self.n_iter += 1
            before = last
            step, promised, last = _step(problem, point, low, high, reach, last)
            slow = slow + 1 if before is not None and last > 0.5 * before else 0
            if slow > 4:
                problem.paths = None  # sweeps don't see the direction that is left
            new = evaluate(problem, point.g + step)
            # Gains below the rounding of the objective look like losses.
            gained, noise = point.loss - new.loss, 1e-14 * abs(point.loss)
            ratio = (gained + noise) / (promised + noise) if np.isfinite(new.loss) and promised >= 0 else -1.0
            reach *= 2.0 if ratio > 0.5 else 1.0 if ratio > 0.1 else 0.2
            if ratio > _LEAST:
                point = new
                done = self.watch.record(point)
            often = self.n_iter % 25 == 0 and point.violation > 1e-6 * problem.total
            if -point.loss > ceiling or (often and proves_infeasible(problem, point.g)):
                self.infeasible = True
                break
        self.point = point
        return done


def _continuation(search: _Search, max_iter: int) -> bool:
    """Follow the optimum from inflated noise to the given one: each stage starts where the last two point to.

    With the loss divided by ``heat`` the entropy decides and Newton's method converges at once; as heat falls to 1,
    multipliers grow like 1 / heat where observations contradict each other, which the extrapolation follows.
    """
    problem, observations = search.problem, search.problem.observations
    flat = evaluate(problem, first_multipliers(problem, None, observations))
    heat = max(flat.gap / problem.total, 4.0) if np.isfinite(flat.gap) else 1e6
    path, factor = [], 4.0
    g = np.zeros(observations.size)
    while search.n_iter < max_iter:
        stage = problem.with_observations(observations.tempered(heat))
        own = stage if heat > 1.0 else problem
        watch = Watch(stage, STAGE, 0.0) if heat > 1.0 else search.watch
        trial = _Search(own, watch, search.n_iter)
        steps = 40 if heat > 1.0 else max_iter - search.n_iter
        done = trial.newton(first_multipliers(own, _follow(path, heat, g, own), own.observations), steps)
        search.n_iter = trial.n_iter
        problem.n_passes += 0 if own is problem else stage.n_passes
        problem.n_tangents += 0 if own is problem else stage.n_tangents
        if heat == 1.0 or trial.infeasible:
            search.infeasible = trial.infeasible
            return done and heat == 1.0
        best = watch.best
        g = best.g
        near = best.gap <= 1e-5 * abs(best.loss)  # rounding may keep a stage from more
        if not done and not near and factor > 1.1 and path:
            factor = np.sqrt(factor)  # the last step was too long
            heat = max(path[-1][0] / factor, 1.0)
            g = path[-1][1]
            continue
        path = [*path[-1:], (heat, g)]
        heat = max(heat / factor, 1.0)
    return False


def _follow(path: list[tuple[float, np.ndarray]], heat: float, g: np.ndarray, problem: CountProblem) -> np.ndarray:
    """Multipliers at `heat` on the line (in 1 / heat) through the last two stages, or those of the last if better."""
    if len(path) < 2:
        return g
    (h0, g0), (h1, g1) = path
    ahead = g1 + (g1 - g0) * (1.0 / heat - 1.0 / h1) / (1.0 / h1 - 1.0 / h0)
    ahead = first_multipliers(problem, ahead, problem.observations)
    plain = first_multipliers(problem, g1, problem.observations)
    return min((ahead, plain), key=lambda x: _finite(evaluate(problem, x).loss))


def _finite(x: float) -> float:
    return x if np.isfinite(x) else np.inf


def proves_infeasible(problem: CountProblem, g: np.ndarray) -> bool:
    """Whether the exact cells' part of `g` proves that no tables meet them (Farkas' lemma).

    For a direction d over exact cells, feasible counts z have ``<d, z> = <d, y>``, while ``<-d, z>`` is at most n times
    the largest sum of -d along one individual's states, which log Z bounds from above.
    """
    observations = problem.observations
    _, _, e = observations.slices()
    low, high = observations.low, observations.high
    d = np.zeros_like(g)
    d[e] = np.where(np.isinf(low), np.minimum(g[e], 0.0), 0.0) + np.where(np.isinf(high), np.maximum(g[e], 0.0), 0.0)
    size = float(np.abs(d).max(initial=0.0))
    if size == 0:
        return False
    for scale in (1.0, max(1e3 / size, 10.0), max(1e6 / size, 1e3)):
        tilt = -scale * observations.spread(d, problem.n_cells) - observations.shift
        log_z = problem.infer(tilt)[2]
        most = problem.total * (log_z + problem.widest())
        given = -scale * float(d @ observations.y)
        if given - most > 1e-9 * (abs(given) + abs(most)):
            return True
    return False


def first_multipliers(
    problem: CountProblem | GaussianProblem, start: np.ndarray | None, observations: Observations
) -> np.ndarray:
    """Where to start: zero or the given multipliers, and the best ones for cells that must be empty."""
    low, high = observations.lower, observations.upper
    g = np.zeros(observations.size) if start is None else np.array(start, dtype=float)
    s, p, e = observations.slices()
    g[p] = np.minimum(g[p], observations.rate - 1e-9 * observations.rate)
    empty = problem.base[observations.index] == -np.inf
    best = np.zeros_like(g)  # least l*(g): the slope of the loss at zero
    best[s] = -observations.y[s] / observations.var
    best[e] = np.where(observations.y[e] > 0, observations.low, np.where(observations.y[e] < 0, observations.high, 0.0))
    return np.clip(np.where(empty, best, g), low, high)


class Watch:
    """Keeps the history and the best point, and says when to stop."""

    def __init__(self, problem: CountProblem | GaussianProblem, tol: float, max_gap: float) -> None:
        self.problem, self.tol, self.max_gap, self.start = problem, tol, max_gap, None
        self.best: Any = None
        self.time = process_time()
        names = ("objective", "dual", "gap", "violation", "passes", "products", "seconds")
        self.history = {name: [] for name in names}

    def record(self, point: _Point) -> bool:
        objective = -point.loss + point.gap
        row = (objective, -point.loss, point.gap, point.violation, self.problem.n_passes, self.problem.n_tangents)
        for values, x in zip(self.history.values(), (*row, process_time() - self.time)):
            values.append(x)
        if self.best is None or self._merit(point) <= self._merit(self.best):
            self.best = point
        return self.enough(point.gap, objective, point.violation)

    def _merit(self, point: _Point) -> float:
        return point.gap + abs(point.loss) * point.violation / self.problem.total if np.isfinite(point.gap) else np.inf

    def enough(self, gap: float, objective: float, violation: float) -> bool:
        """Whether a gap is as small as `tol` asks, and exact counts are met."""
        if not np.isfinite(gap):
            return False
        self.start = objective if self.start is None else self.start
        size = abs(objective)
        scale = min(size, max(self.start - objective, 1e-4 * size))
        floor = max(1e-13 * (self.problem.total + size), self.max_gap)
        return gap <= max(self.tol * scale, floor) and violation <= self.tol * self.problem.total


def _step(
    problem: CountProblem | GaussianProblem,
    point: _Point,
    low: np.ndarray,
    high: np.ndarray,
    reach: float,
    last: float | None,
) -> tuple[np.ndarray, float, float]:
    """A step that nearly minimises the quadratic model inside the box, by projected CG.

    Returns the step, the decrease that the model promises, and the size of the first preconditioned gradient.
    """
    observations = problem.observations
    foot, top = low - point.g, high - point.g
    top[observations.slices()[1]] *= 0.99  # short of the Poisson counts' pole
    movable = observations.pick(problem.base) > -np.inf  # a count that underflows to zero may still have to grow
    # Without noise of its own a rare cell has hardly any curvature; what is added vanishes with the gradient.
    curvature = point.curvature + np.abs(point.gradient) / np.minimum(reach, high - low)

    def hessian(v: np.ndarray) -> np.ndarray:
        moved = problem.covariance_product(point.beliefs, point.cells, observations.spread(v, problem.n_cells))
        return curvature * v + observations.pick(moved)

    model = _Model(problem, point, curvature, hessian, foot, top, movable)
    precondition, z = model.restart(np.zeros(observations.size), -point.gradient)
    first = float(-point.gradient @ z)
    forcing = 0.5 if last is None else min(0.5, max(0.9 * first / last, 1e-3))
    x, residual = model.solve_free(precondition, z, forcing)
    wanted = _promise(point, x, residual)
    inside = np.clip(x, foot, top)
    if (inside == x).all():
        return x, wanted, first
    # Cells that ran into their box: usually a clipped part of the step is good; else respect the box on the way.
    for part in (1.0, 0.3, 0.1):
        inside = np.clip(part * x, foot, top)
        promised = _promise(point, inside, -point.gradient - hessian(inside))
        if promised > 0.1 * part * (2.0 - part) * wanted:
            return inside, promised, first
    x, residual = model.solve_boxed(forcing**2 * first)
    return x, _promise(point, x, residual), first


@dataclass
class _Model:
    """The quadratic model of -D at a point, and two ways to lower it by conjugate gradients."""

    problem: Any
    point: _Point
    curvature: np.ndarray
    hessian: Any
    foot: np.ndarray
    top: np.ndarray
    movable: np.ndarray

    def restart(self, x: np.ndarray, residual: np.ndarray) -> tuple[Callable[[np.ndarray], np.ndarray], np.ndarray]:
        """Preconditioner on the free multipliers, and a first direction that leaves the box nowhere."""
        foot, top = self.foot, self.top
        free = self.movable & ~(((x <= foot) & (residual < 0)) | ((x >= top) & (residual > 0)))
        while True:
            precondition = _preconditioner(self.problem, self.point, self.curvature, free)
            z = precondition(residual)
            blocked = free & (((x <= foot) & (z < 0)) | ((x >= top) & (z > 0)))
            if not blocked.any():
                return precondition, z
            free &= ~blocked

    def solve_free(
        self, precondition: Callable[..., Any], z: np.ndarray, forcing: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Lower the model over the multipliers that are free at the start, as if there were no box."""
        if not self._sweeping():
            return conjugate_gradients(self.hessian, precondition, -self.point.gradient, z, forcing, MAX_PRODUCTS)
        problem, observations, point = self.problem, self.problem.observations, self.point
        free = np.zeros(problem.n_cells, dtype=bool)
        free[observations.index] = z != 0
        curvature = observations.spread(self.curvature, problem.n_cells)
        system = PathSystem(problem, point.beliefs, point.cells, curvature, free)
        rhs = observations.spread(np.where(z != 0, -point.gradient, 0.0), problem.n_cells)
        x = observations.pick(system.solve(rhs, forcing, MAX_PRODUCTS))
        return x, -point.gradient - self.hessian(x)

    def _sweeping(self) -> bool:
        """Sweeps pay on chains whose observations are strong: most individuals in cells with little noise."""
        observations = self.problem.observations
        # Exact counts make blocks singular.
        if self.problem.paths is None or not observations.size or not observations.soft:
            return False
        n = observations.pick(self.point.cells)
        return float(n[self.curvature < 0.5 * n].sum()) > 0.5 * float(n.sum())

    def solve_boxed(self, target: float) -> tuple[np.ndarray, np.ndarray]:
        """Lower the model inside the box: stop or turn at its sides, and start afresh there."""
        x, residual = np.zeros_like(self.foot), -self.point.gradient
        precondition, z = self.restart(x, residual)
        p, rz, used = z, float(residual @ z), 0
        while used < MAX_PRODUCTS and rz > target:
            hp = self.hessian(p)
            used += 1
            steep = float(p @ hp)
            length = rz / steep if steep > 0 else np.inf
            limits = _limits(x, p, self.foot, self.top)
            inside = float(limits.min(initial=np.inf))
            if length <= inside:
                x, residual = x + length * p, residual - length * hp
                z = precondition(residual)
                rz, before = float(residual @ z), rz
                p = z + (rz / before) * p
            elif not np.isfinite(inside):
                break
            else:
                ends = np.where(p > 0, self.top, self.foot)
                near = np.where(limits <= inside, ends, x + inside * p), residual - inside * hp
                turned = np.clip(x + min(length, 1e6 * inside) * p, self.foot, self.top)
                far = turned, -self.point.gradient - self.hessian(turned)
                used += 1
                x, residual = max(near, far, key=lambda end: _promise(self.point, *end))
                precondition, z = self.restart(x, residual)
                p, rz = z, float(residual @ z)
        return x, residual


def _promise(point: _Point, x: np.ndarray, residual: np.ndarray) -> float:
    """Decrease of the quadratic model at `x`, whose negative gradient there is `residual`."""
    return 0.5 * float(x @ (residual - point.gradient))


def conjugate_gradients(
    product: Callable[..., Any],
    precondition: Callable[..., Any],
    rhs: np.ndarray,
    z: np.ndarray,
    forcing: float,
    max_products: int,
) -> tuple[np.ndarray, np.ndarray]:
    """x with nearly ``H x = rhs``, and the residual; z is `rhs` preconditioned, of whose size `forcing` may be left."""
    x, residual = np.zeros_like(rhs), rhs.copy()
    p, rz = z.copy(), float(residual @ z)
    first = rz
    for _ in range(max_products):
        if rz <= 0:
            break
        hp = product(p)
        steep = float(p @ hp)
        if steep <= 0:
            break
        length = rz / steep
        x += length * p
        residual -= length * hp
        z = precondition(residual)
        rz, before = float(residual @ z), rz
        if rz <= forcing**2 * first:
            break
        p *= rz / before
        p += z
    return x, residual


def _limits(x: np.ndarray, p: np.ndarray, foot: np.ndarray, top: np.ndarray) -> np.ndarray:
    """For each multiplier, the longest multiple of `p` that keeps it in the box."""
    with np.errstate(divide="ignore", invalid="ignore"):
        limits = np.where(p > 0, (top - x) / p, np.where(p < 0, (foot - x) / p, np.inf))
    return np.maximum(limits, 0.0)


def _preconditioner(
    problem: CountProblem | GaussianProblem, point: _Point, curvature: np.ndarray, free: np.ndarray
) -> Callable[[np.ndarray], np.ndarray]:
    """Inverse of each node's own block: diagonal plus one rank, since the node's counts sum to the total."""
    observations = problem.observations
    n = observations.pick(problem.variances(point.cells))
    inverse = np.where(free, 1.0 / np.maximum(curvature + observations.times * n, 1e-300), 0.0)
    u = inverse * n
    total, spread = _by_node(problem)
    rest = np.maximum(problem.total - total(n * u), 1e-3 * problem.total)

    def apply(r: np.ndarray) -> np.ndarray:
        return inverse * r + u * spread(total(u * r) / rest)

    return apply


def _by_node(
    problem: CountProblem | GaussianProblem,
) -> tuple[Callable[[np.ndarray], np.ndarray], Callable[[np.ndarray], np.ndarray]]:
    """Sums of observations over each observed node, and values of the nodes repeated for each observation."""
    node = problem.node[problem.observations.index]
    if len(node) and (np.diff(node) >= 0).all():
        starts = np.flatnonzero(np.diff(node, prepend=-1))
        sizes = np.diff(starts, append=len(node))
        return lambda v: np.add.reduceat(v, starts), lambda x: np.repeat(x, sizes)
    size = len(problem.forest.sizes)
    return lambda v: np.bincount(node, v, size), lambda x: x[node]
