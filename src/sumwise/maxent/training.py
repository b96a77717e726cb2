"""Training: preconditioned steps on expected moments (persistent contrastive divergence), or L-BFGS on exact ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sumwise.errors import DataError
from sumwise.inference.kernels.minimise import minimise
from sumwise.maxent.engines import ExactMoments, Gibbs, Parameters
from sumwise.maxent.kernels.contrastive import (
    Moments,
    curvature,
    gradients,
    misfit,
    steps,
)
from sumwise.maxent.kernels.loglinear import project
from sumwise.maxent.penalties import independent_counts
from sumwise.maxent.redundancy import Redundancy
from sumwise.maxent.sufficient_statistics import SufficientStatistics

MEMORY = 0.9  # of the running mean of the moments that steps are scaled by: of ten sweeps, while cells still empty fast


@dataclass(frozen=True)
class StepOptions:
    """How a step is made: the penalties, the lengths of steps, and the scale of effects that the penalties assume."""

    penalties: Moments
    step_theta: float
    step_mu: float
    scale: float = 1.0


@dataclass
class TrainingState:
    """State of a training under way: enough to go on from, to the same bits.

    Training goes round by round. `mean`, of parameters, and `running`, of the gradient by half of the chains, are means
    over the steps after the first `begun`; `usual`, of the model's moments, is one of recent steps. `settled`: whether
    parameters have stopped moving, so that all chains move and the mean is over all steps since; `tests`: how often it
    has been tested. A round began after `round` steps, at the parameters `before`.
    """

    parameters: Parameters
    mean: Parameters
    running: list[Moments]
    usual: Moments
    before: Parameters
    n_iter: int = 0
    begun: int = 0
    round: int = 0
    settled: bool = False
    tests: int = 0
    history: dict[str, list[float]] = field(default_factory=lambda: {"misfit": [], "moment_error": [], "held_out": []})

    def to_dict(self) -> dict[str, Any]:
        """Return plain arrays and numbers, for a checkpoint."""
        return {
            **{name: list(getattr(self, name).copy()) for name in ("parameters", "mean", "before")},
            "running": [list(m) for m in self.running],
            "usual": list(self.usual),
            **{name: getattr(self, name) for name in ("n_iter", "begun", "round", "settled", "tests")},
            "history": {k: np.array(v) for k, v in self.history.items()},
        }

    @classmethod
    def from_dict(cls, kept: dict[str, Any]) -> TrainingState:
        """Return the state that `to_dict` was called on."""
        return cls(
            **{name: Parameters(*kept[name]) for name in ("parameters", "mean", "before")},
            running=[Moments(*m) for m in kept["running"]],
            usual=Moments(*kept["usual"]),
            **{name: kept[name] for name in ("n_iter", "begun", "round", "settled", "tests")},
            history={k: list(v) for k, v in kept["history"].items()},
        )

    @property
    def weight(self) -> float:
        """Weight of the next step in the means."""
        return 1.0 / (self.n_iter + 1 - self.begun)


def start(stats: SufficientStatistics) -> TrainingState:
    """Independent attributes with the margins of the data, and a label that depends on none of them."""
    lay, n_scores = stats.layout, len(stats.data.sums)
    mu = np.zeros(lay.n_params)
    for t, term in enumerate(lay.terms):
        if len(term) == 1 and not lay.is_crossed(t):
            part = slice(lay.term_starts[t], lay.term_starts[t + 1])
            log = np.log(np.maximum(stats.data.counts[part], 0.5))
            mu[part] = (log - log.mean()) * stats.seen.counts[part]
    log_shares = np.log(stats.shares)
    parameters = Parameters(mu, np.zeros((n_scores, lay.n_params)), log_shares - log_shares[0])
    zero = Moments(np.zeros(lay.n_params), np.zeros((n_scores, lay.n_params)))
    shares = stats.shares[1:] if n_scores == 1 else stats.shares
    counts = project(lay, independent_counts(stats)[: lay.n_cells])
    usual = Moments(counts, shares[:, None] * counts)
    return TrainingState(parameters, parameters.copy(), [zero, zero], usual, parameters.copy())


def by_steps(
    stats: SufficientStatistics,
    engine: Gibbs | ExactMoments,
    options: StepOptions,
    state: TrainingState,
    until: int,
    after: Callable[[TrainingState], None],
    held_out: Callable[[Parameters], float] | None = None,
) -> None:
    """Go on from `state` until `until` steps are made, with `after(state)` after each."""
    redundancy = Redundancy(stats, options.penalties)
    while state.n_iter < until:
        halves = engine.moments(state.parameters)
        model = Moments(*(0.5 * (a + b) for a, b in zip(*halves)))
        pull = step_pull(stats, state.parameters, options.penalties)
        grads = [_gradient(stats, half, pull) for half in halves]
        _move(stats, options, state, _gradient(stats, model, pull))
        _move_offsets(stats, state.parameters.offsets, model, options.step_theta)
        if options.step_theta > 0:
            state.parameters = redundancy.cheapest(state.parameters)
        _remember(state, model, grads)
        state.history["misfit"].append(observed_misfit(stats, *state.running))
        state.history["moment_error"].append(moment_error(stats, model))
        state.history["held_out"].append(float("nan") if held_out is None else held_out(state.mean))
        if not np.isfinite(state.parameters.theta).all():
            raise DataError(f"Training diverged after {state.n_iter} steps.", hint="raise the penalties.")
        after(state)


def observed_misfit(stats: SufficientStatistics, first: Moments, second: Moments) -> float:
    """`misfit` over all parameters that apply to some cell: not those of bare cliques or of hashed cells without x."""
    if not stats.layout.crossed:
        return misfit(first, second, stats.data, stats.noise)
    own = stats.layout.own_places()
    own[stats.layout.n_cells :] = np.bincount(stats.layout.params, minlength=len(own))[stats.layout.n_cells :] > 0
    parts = (Moments(m.counts[own], m.sums[:, own]) for m in (first, second, stats.data, stats.noise))
    return misfit(*parts)


def moment_error(stats: SufficientStatistics, model: Moments) -> float:
    """Mean total deviation of the cliques' shares, where they were observed."""
    return _mean_of_cliques(stats, np.abs(model.counts - stats.data.counts) / stats.n)


def _mean_of_cliques(stats: SufficientStatistics, off: np.ndarray) -> float:
    """Mean over cliques of the sum over their cells; bare cliques have none."""
    lay = stats.layout
    kept = off[: lay.n_cells].copy()
    for c in lay.bare:
        kept[lay.starts[c] : lay.starts[c + 1]] = 0.0
    return float(kept.sum() / len(lay.cliques))


def penalty_gradient(stats: SufficientStatistics, parameters: Parameters, penalties: Moments) -> Moments:
    """Gradient of the penalties: penalty_mu on what features do in all classes together, penalty_theta on theta.

    With two classes the features' own parameters are mu + rate * theta, whichever class is the first.
    """
    pull = step_pull(stats, parameters, penalties)
    return pull if len(pull.sums) > 1 else Moments(pull.counts, pull.sums + stats.shares[1] * pull.counts)


def step_pull(stats: SufficientStatistics, parameters: Parameters, penalties: Moments) -> Moments:
    """The same where label sums are compared per count: what mu pulls at a count, it pulls at the label sum alike."""
    return Moments(2 * penalties.counts * common_mu(stats, parameters), 2 * penalties.sums * parameters.theta)


def common_mu(stats: SufficientStatistics, parameters: Parameters) -> np.ndarray:
    """What penalty_mu is on (P,): of two classes their mean parameters, weighted by the shares."""
    return parameters.mu + stats.shares[1] * parameters.theta[0] if len(parameters.theta) == 1 else parameters.mu


def _gradient(stats: SufficientStatistics, model: Moments, pull: Moments) -> Moments:
    raw = gradients(stats.data, model, rescale=True)
    return Moments(raw.counts * stats.seen.counts + pull.counts, raw.sums * stats.seen.sums + pull.sums)


def _move(stats: SufficientStatistics, options: StepOptions, state: TrainingState, gradient: Moments) -> None:
    """Take one step, in place.

    The curvature comes from earlier sweeps: that of this sweep shares its error with the gradient, and their
    quotient would be off on average, most in rare cells.
    """
    pace = Moments(options.step_mu, options.step_theta)  # type: ignore[arg-type]
    direction = steps(gradient, stats.data, state.usual, options.penalties, pace)
    state.parameters.mu[:] -= direction.counts
    state.parameters.theta[:] -= direction.sums


def _remember(state: TrainingState, model: Moments, grads: list[Moments]) -> None:
    """Update the means, and count the step."""
    share = state.weight
    state.n_iter += 1
    state.mean = Parameters(*(m + share * (now - m) for m, now in zip(state.mean, state.parameters)))
    state.usual = Moments(*(MEMORY * u + (1 - MEMORY) * m for u, m in zip(state.usual, model)))
    state.running = [
        Moments(*(r + share * (g - r) for r, g in zip(old, new))) for old, new in zip(state.running, grads)
    ]


def _move_offsets(stats: SufficientStatistics, offsets: np.ndarray, model: Moments, size: float) -> None:
    """Pull the classes' shares under the model towards those of the data; class 0 stays the reference."""
    first = slice(0, stats.layout.starts[1])
    expected = model.sums[:, first].sum(axis=1) / stats.n
    if len(expected) == 1:
        expected = np.array([1 - expected[0], expected[0]])
    p = stats.shares
    offsets += size * (p - expected) / (p * (1 - p))
    offsets -= offsets[0]


def by_lbfgs(
    stats: SufficientStatistics, engine: ExactMoments, penalties: Moments, begin: Parameters, max_iter: int, ftol=1e-15
):
    """Minimise the penalised loss by L-BFGS on exact expectations; return parameters, loss, misfits, gradient."""
    data, seen, n = stats.data, stats.seen, stats.n
    scale = [curvature(d, d, p).ravel() for d, p in zip(data, penalties)]
    root = np.sqrt(np.concatenate([*scale, np.maximum(n * stats.shares, 1.0)]))
    n_mu, n_theta = begin.mu.size, begin.theta.size
    history: dict[str, list[float]] = {"objective": [], "misfit": [], "moment_error": [], "held_out": []}

    def unpack(x: np.ndarray) -> Parameters:
        x = x / root
        return Parameters(x[:n_mu], x[n_mu : n_mu + n_theta].reshape(begin.theta.shape), x[n_mu + n_theta :])

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        now = unpack(x)
        model, log_z = engine.with_normaliser(now)
        value = n * log_z - data.counts @ now.mu - np.sum(data.sums * now.theta) - n * stats.shares @ now.offsets
        value += np.sum(penalties.counts * common_mu(stats, now) ** 2) + np.sum(penalties.sums * now.theta**2)
        pull = penalty_gradient(stats, now, penalties)
        mu = (model.counts - data.counts) * seen.counts + pull.counts
        theta = (model.sums - data.sums) * seen.sums + pull.sums
        expected = model.sums[:, : stats.layout.starts[1]].sum(axis=1)
        if len(expected) == 1:
            expected = np.array([n - expected[0], expected[0]])
        distance = observed_misfit(stats, Moments(mu, theta), Moments(mu, theta))
        loss.last = (value, distance, model)  # type: ignore[attr-defined]
        return value, np.concatenate([mu, theta.ravel(), expected - n * stats.shares]) / root

    def record(_: np.ndarray) -> None:
        value, distance, model = loss.last  # type: ignore[attr-defined]
        for name, entry in zip(history, (value, distance, moment_error(stats, model), np.nan)):
            history[name].append(float(entry))

    first = np.concatenate([begin.mu, begin.theta.ravel(), begin.offsets]) * root
    limits = {"maxiter": max_iter, "maxfun": 4 * max_iter, "gtol": 1e-7 * np.sqrt(n), "ftol": ftol, "maxcor": 20}
    result = minimise(loss, first, jac=True, method="L-BFGS-B", callback=record, options=limits)
    value, gradient = loss(result.x)
    record(result.x)
    answer = unpack(result.x)
    return Parameters(answer.mu, answer.theta, answer.offsets - answer.offsets[0]), float(value), history, gradient
