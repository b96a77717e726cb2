"""Training: preconditioned steps on expected moments (persistent contrastive divergence), or L-BFGS on exact ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sumwise.errors import DataError
from sumwise.kernels.minimise import minimise
from sumwise.maxent.engines import Exact, Gibbs, Parameters
from sumwise.maxent.kernels.contrastive import (
    Moments,
    centring,
    curvature,
    gradients,
    misfit,
    preconditioned,
    shared_pace,
    steps,
)
from sumwise.maxent.sufficient_statistics import Sufficient

__all__ = ["Course", "Rule", "by_lbfgs", "by_steps", "look", "start"]

MEMORY = 0.9  # of the running mean of the moments, in the test of convergence
SETTLED = 80  # no test before this many steps
CALM = 20  # steps in a row that must pass it
LONGER = 3  # times as many steps as that took are made in all, where moments are sampled, to average out their error
RECENT = 8.0  # late iterates weigh like t ** RECENT in their average


@dataclass(frozen=True)
class Rule:
    """How a step is made; see `MaxEntClassifier` for the meaning."""

    penalties: Moments
    rescale: bool = True
    precondition: str = "effects"
    step_theta: float = 0.15
    step_mu: float = 0.2
    decay: float = 0.02
    average: bool = True
    tol: float = 0.1


@dataclass
class Course:
    """State of a training under way: enough to go on from, to the same bits."""

    parameters: Parameters
    mean: Parameters
    running: list[Moments]  # means of the gradient over recent steps, by half
    usual: Moments  # mean of the model's moments over recent steps, before this one
    n_iter: int = 0
    calm: int = 0
    agreed: int = 0  # steps after which moments agreed; 0 before
    history: dict[str, list[float]] = field(default_factory=lambda: {"misfit": [], "moment_error": [], "held_out": []})

    def state(self) -> dict[str, Any]:
        """Return the state as plain arrays and numbers, for a checkpoint."""
        return {
            "parameters": list(self.parameters.copy()),
            "mean": list(self.mean.copy()),
            "running": [list(m) for m in self.running],
            "usual": list(self.usual),
            "n_iter": self.n_iter,
            "calm": self.calm,
            "agreed": self.agreed,
            "history": {k: np.array(v) for k, v in self.history.items()},
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Course:
        """Return the course that `state` was made of."""
        return cls(
            Parameters(*state["parameters"]),
            Parameters(*state["mean"]),
            [Moments(*m) for m in state["running"]],
            Moments(*state["usual"]),
            state["n_iter"],
            state["calm"],
            state.get("agreed", 0),
            {k: list(v) for k, v in state["history"].items()},
        )


def start(found: Sufficient) -> Course:
    """Independent attributes with the margins of the data, and a label that depends on none of them."""
    lay, n_scores = found.layout, len(found.data.sums)
    mu = np.zeros(lay.n_params)
    for t, term in enumerate(lay.terms):
        if len(term) == 1:
            part = slice(lay.term_starts[t], lay.term_starts[t + 1])
            log = np.log(np.maximum(found.data.counts[part], 0.5))
            mu[part] = (log - log.mean()) * found.seen.counts[part]
    log_shares = np.log(found.shares)
    parameters = Parameters(mu, np.zeros((n_scores, lay.n_params)), log_shares - log_shares[0])
    zero = Moments(np.zeros(lay.n_params), np.zeros((n_scores, lay.n_params)))
    return Course(parameters, parameters.copy(), [zero, zero], Moments(*(np.maximum(m, 0.0) for m in found.data)))


def by_steps(
    found: Sufficient,
    engine: Gibbs | Exact,
    rule: Rule,
    course: Course,
    after: Callable[[Course], bool],
    held_out: Callable[[Parameters], float] | None = None,
) -> bool:
    """Go on from `course` until the moments agree or `after(course)` says stop; return whether they agree."""
    lay, lines = found.layout, centring(found.layout)
    while True:
        halves = engine.moments(course.parameters)
        model = Moments(*(0.5 * (a + b) for a, b in zip(*halves)))
        pull = _penalty_gradient(found, course.parameters, rule.penalties)
        grads = [_gradient(found, half, pull, rule.rescale) for half in halves]
        gradient = _gradient(found, model, pull, rule.rescale)
        _move(found, rule, course, gradient, lines)
        _move_offsets(found, course.parameters.offsets, model, rule.step_theta / (1.0 + rule.decay * course.n_iter))
        _remember(rule, course, model)
        keep = MEMORY if course.n_iter > 1 else 0.0
        course.running = [
            Moments(*(keep * r + (1 - keep) * g for r, g in zip(old, new))) for old, new in zip(course.running, grads)
        ]
        distance = misfit(course.running[0], course.running[1], found.data, found.noise)
        course.history["misfit"].append(distance)
        error = np.abs(model.counts - found.data.counts)[: lay.n_cells].sum() / (found.n * len(lay.cliques))
        course.history["moment_error"].append(float(error))
        course.history["held_out"].append(float("nan") if held_out is None else held_out(course.mean))
        if not np.isfinite(course.parameters.theta).all():
            raise DataError(f"Training diverged after {course.n_iter} steps.", hint="lower step, or raise penalty_mu.")
        enough = look(course, distance, rule.tol, LONGER if engine.sampled else 1)
        if after(course) or enough:
            return course.agreed > 0


def look(course: Course, distance: float, tol: float, longer: int = LONGER) -> bool:
    """Note whether moments agree after this step; return whether `longer` times the steps that took are made."""
    course.calm = course.calm + 1 if distance < tol and course.n_iter >= SETTLED else 0
    if course.calm >= CALM and not course.agreed:
        course.agreed = course.n_iter
    return 0 < longer * course.agreed <= course.n_iter


def _penalty_gradient(found: Sufficient, parameters: Parameters, penalties: Moments) -> Moments:
    return Moments(*(2 * p * off for p, off in zip(penalties, _off_centre(found, parameters))))


def _off_centre(found: Sufficient, parameters: Parameters) -> Moments:
    """How far parameters are from where penalties pull them."""
    if found.centre is None:
        return Moments(parameters.mu, parameters.theta)
    return Moments(parameters.mu - found.centre.counts, parameters.theta - found.centre.sums)


def _gradient(found: Sufficient, model: Moments, pull: Moments, rescale: bool) -> Moments:
    raw = gradients(found.data, model, rescale)
    return Moments(raw.counts * found.seen.counts + pull.counts, raw.sums * found.seen.sums + pull.sums)


def _move(found, rule, course, gradient, lines) -> None:
    """Take one step, in place.

    The curvature comes from earlier sweeps: that of this sweep shares its error with the gradient, and their
    quotient would be off on average, most in rare cells.
    """
    lay, size = found.layout, 1.0 / (1.0 + rule.decay * course.n_iter)
    direction = steps(gradient, found.data, course.usual, rule.penalties, rule.precondition is not None)
    mu, theta = rule.step_mu * direction.counts, rule.step_theta * direction.sums
    if rule.precondition == "effects":
        weight = curvature(found.data, course.usual, rule.penalties)
        pace = shared_pace(weight.counts, rule.penalties.counts, len(lay.terms), rule.step_mu)
        mu = preconditioned(lay, lines, direction.counts, weight.counts, pace, rule.step_mu)
        paces = [shared_pace(w, p, len(lay.terms), rule.step_theta) for w, p in zip(weight.sums, rule.penalties.sums)]
        theta = np.stack(
            [
                preconditioned(lay, lines, d, w, pace, rule.step_theta)
                for d, w, pace in zip(direction.sums, weight.sums, paces)
            ]
        )
    mu_now, theta_now, _ = course.parameters
    mu_now -= size * mu
    theta_now -= size * theta


def _remember(rule: Rule, course: Course, model: Moments) -> None:
    """Count the step, and update the means of late iterates and of the moments."""
    course.n_iter += 1
    share = (RECENT + 1) / (RECENT + course.n_iter) if rule.average else 1.0
    course.mean = Parameters(*(m + share * (now - m) for m, now in zip(course.mean, course.parameters)))
    course.usual = Moments(*(MEMORY * u + (1 - MEMORY) * m for u, m in zip(course.usual, model)))


def _move_offsets(found: Sufficient, offsets: np.ndarray, model: Moments, size: float) -> None:
    """Pull the classes' shares under the model towards those of the data; class 0 stays the reference."""
    first = slice(0, found.layout.starts[1])
    expected = model.sums[:, first].sum(axis=1) / found.n
    if len(expected) == 1:
        expected = np.array([1 - expected[0], expected[0]])
    p = found.shares
    offsets += size * (p - expected) / (p * (1 - p))
    offsets -= offsets[0]


def by_lbfgs(found: Sufficient, engine: Exact, penalties: Moments, begin: Parameters, max_iter: int, ftol=1e-15):
    """Minimise the penalised loss by L-BFGS on exact expectations; return parameters, loss, misfits, gradient."""
    data, seen, n = found.data, found.seen, found.n
    scale = curvature(data, data, penalties)
    root = np.sqrt(np.concatenate([scale.counts, scale.sums.ravel(), np.maximum(n * found.shares, 1.0)]))
    n_mu, n_theta = begin.mu.size, begin.theta.size
    history: dict[str, list[float]] = {"objective": [], "misfit": [], "moment_error": [], "held_out": []}

    def unpack(x: np.ndarray) -> Parameters:
        x = x / root
        return Parameters(x[:n_mu], x[n_mu : n_mu + n_theta].reshape(begin.theta.shape), x[n_mu + n_theta :])

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        now = unpack(x)
        model, log_z = engine.with_normaliser(now)
        value = n * log_z - data.counts @ now.mu - np.sum(data.sums * now.theta) - n * found.shares @ now.offsets
        value += sum(np.sum(p * off**2) for p, off in zip(penalties, _off_centre(found, now)))
        pull = _penalty_gradient(found, now, penalties)
        mu = (model.counts - data.counts) * seen.counts + pull.counts
        theta = (model.sums - data.sums) * seen.sums + pull.sums
        expected = model.sums[:, : found.layout.starts[1]].sum(axis=1)
        if len(expected) == 1:
            expected = np.array([n - expected[0], expected[0]])
        loss.last = (value, misfit(Moments(mu, theta), Moments(mu, theta), data, found.noise), model)  # type: ignore[attr-defined]
        return value, np.concatenate([mu, theta.ravel(), expected - n * found.shares]) / root

    def record(_: np.ndarray) -> None:
        value, distance, model = loss.last  # type: ignore[attr-defined]
        n_cells = found.layout.n_cells
        error = np.abs(model.counts - data.counts)[:n_cells].sum() / (n * len(found.layout.cliques))
        for name, entry in zip(history, (value, distance, error, np.nan)):
            history[name].append(float(entry))

    first = np.concatenate([begin.mu, begin.theta.ravel(), begin.offsets]) * root
    options = {"maxiter": max_iter, "maxfun": 4 * max_iter, "gtol": 1e-7 * np.sqrt(n), "ftol": ftol, "maxcor": 20}
    result = minimise(loss, first, jac=True, method="L-BFGS-B", callback=record, options=options)
    value, gradient = loss(result.x)
    record(result.x)
    answer = unpack(result.x)
    return Parameters(answer.mu, answer.theta, answer.offsets - answer.offsets[0]), float(value), history, gradient
