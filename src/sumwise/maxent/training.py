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
from sumwise.maxent.sufficient_statistics import SufficientStatistics

MEMORY = 0.9  # of the running mean of the moments, in the test of convergence
SETTLED, WARM = 99, 39  # no test before this many steps; from where an earlier fit ended
AVERAGED = 0.5  # steps made besides, as a share of those until moments agree, to average out the error of sampled ones
RECENT = 8.0  # late iterates weigh like t ** RECENT in their average


@dataclass(frozen=True)
class StepOptions:
    """How a step is made; see `MaxEntClassifier` for the meaning."""

    penalties: Moments
    step_theta: float
    step_mu: float
    rescale: bool = True
    decay: float = 0.0
    average: bool = True
    tol: float = 0.1
    settled: int = SETTLED
    recent: float = RECENT
    scale: float = 1.0  # of the effects that the penalties assume


@dataclass
class TrainingState:
    """State of a training under way: enough to go on from, to the same bits."""

    parameters: Parameters
    mean: Parameters
    running: list[Moments]  # means of the gradient over recent steps, by half
    usual: Moments  # mean of the model's moments over recent steps, before this one
    n_iter: int = 0
    agreed: int = 0  # steps after which moments agreed; 0 before
    history: dict[str, list[float]] = field(default_factory=lambda: {"misfit": [], "moment_error": [], "held_out": []})

    def to_dict(self) -> dict[str, Any]:
        """Return plain arrays and numbers, for a checkpoint."""
        return {
            "parameters": list(self.parameters.copy()),
            "mean": list(self.mean.copy()),
            "running": [list(m) for m in self.running],
            "usual": list(self.usual),
            "n_iter": self.n_iter,
            "agreed": self.agreed,
            "history": {k: np.array(v) for k, v in self.history.items()},
        }

    @classmethod
    def from_dict(cls, kept: dict[str, Any]) -> TrainingState:
        """Return the state that `to_dict` was called on."""
        return cls(
            Parameters(*kept["parameters"]),
            Parameters(*kept["mean"]),
            [Moments(*m) for m in kept["running"]],
            Moments(*kept["usual"]),
            kept["n_iter"],
            kept.get("agreed", 0),
            {k: list(v) for k, v in kept["history"].items()},
        )


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
    return TrainingState(
        parameters, parameters.copy(), [zero, zero], Moments(*(np.maximum(m, 0.0) for m in stats.data))
    )


def by_steps(
    stats: SufficientStatistics,
    engine: Gibbs | ExactMoments,
    options: StepOptions,
    state: TrainingState,
    after: Callable[[TrainingState], bool],
    held_out: Callable[[Parameters], float] | None = None,
) -> bool:
    """Go on from `state` until the moments agree or `after(state)` says stop; return whether they agree."""
    while True:
        halves = engine.moments(state.parameters)
        model = Moments(*(0.5 * (a + b) for a, b in zip(*halves)))
        pull = penalty_gradient(stats, state.parameters, options.penalties)
        grads = [_gradient(stats, half, pull, options.rescale) for half in halves]
        gradient = _gradient(stats, model, pull, options.rescale)
        _move(stats, options, state, gradient)
        _move_offsets(stats, state.parameters.offsets, model, options.step_theta / (1.0 + options.decay * state.n_iter))
        _remember(options, state, model)
        keep = MEMORY if state.n_iter > 1 else 0.0
        state.running = [
            Moments(*(keep * r + (1 - keep) * g for r, g in zip(old, new))) for old, new in zip(state.running, grads)
        ]
        distance = observed_misfit(stats, *state.running)
        state.history["misfit"].append(distance)
        state.history["moment_error"].append(moment_error(stats, model))
        state.history["held_out"].append(float("nan") if held_out is None else held_out(state.mean))
        if not np.isfinite(state.parameters.theta).all():
            raise DataError(f"Training diverged after {state.n_iter} steps.", hint="lower step, or raise penalty_mu.")
        enough = check_agreement(state, distance, options, engine.sampled)
        if after(state) or enough:
            return state.agreed > 0
        if state.agreed == state.n_iter:
            engine.expand()


def check_agreement(state: TrainingState, distance: float, options: StepOptions, sampled: bool = True) -> bool:
    """Note whether moments agree after this step; return whether as many steps are made as are wanted."""
    if distance < options.tol and state.n_iter >= options.settled and not state.agreed:
        state.agreed = state.n_iter
    return 0 < (1 + AVERAGED * sampled) * state.agreed <= state.n_iter


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


def sampling_error(stats: SufficientStatistics, n_chains: float) -> float:
    """What `moment_error` is on average where the model is right: chains, and individuals, are drawn."""
    shares = np.clip(stats.data.counts / stats.n, 0.0, 1.0)
    return _mean_of_cliques(stats, np.sqrt(2 / np.pi * shares * (1 - shares) * (1 / n_chains + 1 / stats.n)))


def _mean_of_cliques(stats: SufficientStatistics, off: np.ndarray) -> float:
    """Mean over cliques of the sum over their cells; bare cliques have none."""
    lay = stats.layout
    kept = off[: lay.n_cells].copy()
    for c in lay.bare:
        kept[lay.starts[c] : lay.starts[c + 1]] = 0.0
    return float(kept.sum() / len(lay.cliques))


def penalty_gradient(stats: SufficientStatistics, parameters: Parameters, penalties: Moments) -> Moments:
    """Gradient of the penalties."""
    return Moments(*(2 * p * off for p, off in zip(penalties, _off_centre(stats, parameters))))


def _off_centre(stats: SufficientStatistics, parameters: Parameters) -> Moments:
    """How far parameters are from where penalties pull them."""
    if stats.centre is None:
        return Moments(parameters.mu, parameters.theta)
    return Moments(parameters.mu - stats.centre.counts, parameters.theta - stats.centre.sums)


def _gradient(stats: SufficientStatistics, model: Moments, pull: Moments, rescale: bool) -> Moments:
    raw = gradients(stats.data, model, rescale)
    return Moments(raw.counts * stats.seen.counts + pull.counts, raw.sums * stats.seen.sums + pull.sums)


def _move(stats: SufficientStatistics, options: StepOptions, state: TrainingState, gradient: Moments) -> None:
    """Take one step, in place.

    The curvature comes from earlier sweeps: that of this sweep shares its error with the gradient, and their
    quotient would be off on average, most in rare cells.
    """
    size = 1.0 / (1.0 + options.decay * state.n_iter)
    pace = Moments(options.step_mu, options.step_theta)  # type: ignore[arg-type]
    direction = steps(gradient, stats.data, state.usual, options.penalties, pace)
    state.parameters.mu[:] -= size * direction.counts
    state.parameters.theta[:] -= size * direction.sums


def _remember(options: StepOptions, state: TrainingState, model: Moments) -> None:
    """Count the step, and update the means of late iterates and of the moments."""
    state.n_iter += 1
    share = weight_of_last(state.n_iter, state.agreed, options.recent) if options.average else 1.0
    state.mean = Parameters(*(m + share * (now - m) for m, now in zip(state.mean, state.parameters)))
    state.usual = Moments(*(MEMORY * u + (1 - MEMORY) * m for u, m in zip(state.usual, model)))


def weight_of_last(n_iter: int, agreed: int, recent: float = RECENT) -> float:
    """Weight of the last iterate in the mean: of all since moments agreed alike, before that mostly of late ones."""
    return 1.0 / (n_iter - agreed) if agreed else (recent + 1) / (recent + n_iter)


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
        value += sum(np.sum(p * off**2) for p, off in zip(penalties, _off_centre(stats, now)))
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
