"""From sufficient statistics to a fitted model: by steps on chains, by L-BFGS, or on unlabelled rows."""

from __future__ import annotations

import os
import warnings
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from sumwise import checks
from sumwise.errors import DataError, NotConverged
from sumwise.fit import Fit, warn_not_converged
from sumwise.inference.networks.tensors import find_device
from sumwise.io.checkpoint import Checkpoint
from sumwise.maxent import device_training, engines, on_spark
from sumwise.maxent.agreement import (
    Agreement,
    TablesFit,
    agreement,
    calibration_slope,
    effective_parameters,
    enough,
    log_loss,
    missed,
    too_few_draws,
)
from sumwise.maxent.algorithm_1 import start_chains, train_by_algorithm_1
from sumwise.maxent.effect_scale import effect_scale
from sumwise.maxent.engines import Parameters
from sumwise.maxent.fitted_model import LogLinearModel, Schema
from sumwise.maxent.kernels import gibbs
from sumwise.maxent.kernels.contrastive import Moments
from sumwise.maxent.kernels.loglinear import class_scores
from sumwise.maxent.linear_discriminant import linear_discriminant
from sumwise.maxent.noisy_count_fit import noisy_count_fit
from sumwise.maxent.noisy_label_fit import fit_on_rows, n_rows, noisy_label_fit, own_penalties
from sumwise.maxent.options import FEWEST_CHAINS, SolverOptions
from sumwise.maxent.penalties import FIXED, FREE, noise_ratio, penalties_of
from sumwise.maxent.redundancy import Redundancy
from sumwise.maxent.sufficient_statistics import SufficientStatistics
from sumwise.maxent.training import StepOptions, TrainingState, by_lbfgs, by_steps, penalty_gradient, start
from sumwise.progress import Progress

SAMPLING = ("gibbs", "spark")  # engines that run chains
HALF = 0.5  # of theta comes from training at most, where tables have noise
FOLLOW = 40, 200  # steps at least and at most for the model of x to follow what was fitted apart
FEWER, FEW_CHAINS = 5, 1000  # chains move at first: one in so many, but so many at least
ROUND = 50  # steps after which training looks whether parameters still move
MU_PACE = 5.0  # steps of mu are longer than those of theta (section 3.5, figure 3)
SECONDS = 1.0  # at least, between two checkpoints


@dataclass(frozen=True)
class Settings:
    """How models are trained, whatever the tables and penalties: the parameters of `MaxEntClassifier`, checked."""

    engine: str = "auto"
    device: str = "cpu"
    options: SolverOptions = field(default_factory=SolverOptions)
    n_jobs: int = 1
    checkpoint: Any = None
    key: str | None = None  # of the checkpoint
    verbose: int = 0
    random_state: Any = None
    own_penalties: bool = False  # whether the size of effects, and so of penalties, is estimated

    @property
    def on_device(self) -> bool:
        """Whether chains are on a torch device."""
        return self.device != "cpu"

    def engine_for(self, stats: SufficientStatistics) -> str:
        """The engine's name; "auto" by the size of the tables, on a device always sampling."""
        if not self.on_device:
            return engines.choose(self.engine, stats.layout, len(stats.shares))
        checks.choice(self.engine, "engine on a device", ("auto", "gibbs"))
        if stats.layout.crossed:
            raise DataError("Tables with hashed crosses can't be trained on a device.", hint="use device='cpu'.")
        find_device(self.device)
        return "gibbs"

    def n_chains(self, stats: SufficientStatistics) -> int:
        """Number of chains."""
        n = self.options.n_chains
        return max(FEWEST_CHAINS, round(stats.n / 10)) if n == "tenth" else int(n)


class Start(NamedTuple):
    """Where training starts: parameters, and chains where there are any."""

    parameters: Parameters
    chains: dict[str, np.ndarray] | None = None

    @classmethod
    def of(cls, model: LogLinearModel) -> Start:
        """Where another training ended."""
        return cls(model.parameters, model.chains)


class Problem(NamedTuple):
    """One training: statistics, what they are about, the penalties of mu and theta, and the engine."""

    stats: SufficientStatistics
    schema: Schema
    penalties: Moments
    engine: str
    scale: float = 1.0  # of the effects that penalties of theta assume

    def at(self, scale: float) -> Problem:
        """With penalties for effects of another scale."""
        sums = self.penalties.sums * (self.scale / scale)
        return self._replace(penalties=Moments(self.penalties.counts, sums), scale=scale)


def train(
    stats: SufficientStatistics,
    schema: Schema,
    settings: Settings,
    penalty_theta: Any,
    begin: Start | None = None,
    held_out: Any = None,
    weigh: bool = True,
) -> LogLinearModel:
    """Train a model at given penalties.

    begin: where to start; None is independence. held_out: (frame, labels) to score while training. weigh: whether
    theta is refitted to all noisy label sums at once.
    """
    if settings.options.paper:
        return _train_as_in_the_paper(stats, schema, settings, penalty_theta, held_out)
    name = settings.engine_for(stats)
    trainer = train_by_steps if name in SAMPLING else train_by_lbfgs
    problem = Problem(stats, schema, penalties_for(stats, settings, penalty_theta), name)
    model, tested, problem = trainer(problem, settings, begin, held_out)
    if weigh and stats.noisy:
        model, tested = _weighed(problem, settings, model, penalty_theta), None
    return model if not weigh else _described(problem, settings, model, tested)


def _described(problem: Problem, settings: Settings, model: LogLinearModel, tested: Agreement | None) -> LogLinearModel:
    """The model with a `TablesFit`: how far it is from the tables where it is, by chains run at its parameters."""
    stats, now, fit = problem.stats, model.parameters, model.fit or Fit()
    sampled, tol = problem.engine in SAMPLING, settings.options.tol
    if tested is None:
        with closing(_engine(problem, settings, model.chains, fewer=False)) as engine:
            tested = _tested(problem, settings, engine, now, fit.n_iter)
    if fit.converged and not enough(stats, tested, tol):
        warn_not_converged(fit.n_iter, tested.miss, tol, missed(tested, tol), stacklevel=5, what="misfit")
    slope = loss = anchor_loss = float("nan")
    rows = None
    if sampled:
        rows = _chain_rows(stats, model.chains["codes"])  # type: ignore[index]
    elif model.enumerable:
        rows = model.all_cells()
    if rows is not None:
        effective = effective_parameters(stats, now, rows, problem.penalties.sums)
        slope = calibration_slope(stats, now, rows, tested.sums, effective)
        loss, anchor_loss = _losses(problem, now, rows, effective)
    described = TablesFit(
        objective=fit.objective,
        n_iter=fit.n_iter,
        converged=fit.converged and enough(stats, tested, tol),
        history=fit.history,
        rate=tuple(map(float, stats.shares)),
        expected_rate=tuple(map(float, tested.rates)),
        slope=slope,
        log_loss=loss,
        anchor_log_loss=anchor_loss,
        miss=tested.miss,
        worst_miss=tested.worst,
        worst_table=problem.schema.names(tested.table),
        moment_error=tested.error,
        chains=settings.n_chains(stats) if sampled else 0,
        effect_scale=problem.scale,
    )
    return replace(model, fit=described)


def _losses(
    problem: Problem, now: Parameters, rows: tuple[np.ndarray, np.ndarray], effective: float
) -> tuple[float, float]:
    """Log-loss that tables lead to expect of a fit and of its anchor; a warning where the fit's is higher."""
    stats, penalty = problem.stats, problem.penalties.sums
    loss, each = log_loss(stats, now, rows)
    anchor = linear_discriminant(stats, penalty)
    if anchor is None:
        return loss + effective / stats.n, float("nan")
    anchor_loss, others = log_loss(stats, anchor, rows)
    levels = np.where(stats.layout.by_order(np.array([1.0, 0.0])) > 0, penalty, FIXED)
    simpler = effective_parameters(stats, anchor, rows, levels)
    loss, anchor_loss = loss + effective / stats.n, anchor_loss + simpler / stats.n
    error = np.sqrt(np.var(each - others) / len(each)) + np.sqrt(2 * (effective + simpler)) / stats.n  # rows, tables
    if loss > anchor_loss + 2 * error:
        warnings.warn(
            f"The fit is worse than a linear discriminant from the same tables: log-loss {loss:.4f} against "
            f"{anchor_loss:.4f}. Hint: raise max_iter or n_chains, or merge rare levels.",
            NotConverged,
            stacklevel=6,
        )
    return loss, anchor_loss


def _train_as_in_the_paper(
    stats: SufficientStatistics, schema: Schema, settings: Settings, penalty_theta: Any, held_out: Any
) -> LogLinearModel:
    """Algorithm 1 with the step sizes of appendix A."""
    if settings.engine not in ("auto", "gibbs") or settings.on_device:
        raise DataError(
            f"preset={settings.options.preset!r} samples here.", hint="use engine='gibbs' and device='cpu'."
        )
    step = 1.0 / stats.layout.n_terms
    chains = start_chains(stats, settings.n_chains(stats), settings.random_state)
    penalties = penalties_for(stats, settings, penalty_theta)
    scorer = None if held_out is None else _scorer(Problem(stats, schema, penalties, "gibbs"), held_out)
    return train_by_algorithm_1(
        stats,
        schema,
        penalties,
        (step, step),
        chains,
        settings.options.max_iter,
        n_threads(settings.n_jobs),
        settings.verbose,
        scorer,
        settings.options.preset == "paper",
    )


def penalties_for(stats: SufficientStatistics, settings: Settings, penalty_theta: Any, aware: bool = True) -> Moments:
    """Penalties of mu and theta; without `aware`, as they would be on tables without noise."""
    return penalties_of(stats, penalty_theta, settings.options.penalty_mu, aware, not settings.options.paper)


def train_by_lbfgs(
    problem: Problem, settings: Settings, begin: Start | None, held_out: Any = None
) -> tuple[LogLinearModel, Agreement | None, Problem]:
    """L-BFGS on the penalised likelihood, with exact expectations."""
    stats, options = problem.stats, settings.options
    scorer = None if held_out is None else _scorer(problem, held_out)
    engine = engines.ExactMoments(problem.engine, stats)
    first = begin.parameters.copy() if begin else start(stats).parameters
    most = max(options.max_iter, 1000)
    answer, loss, history, _ = by_lbfgs(stats, engine, problem.penalties, first, most)
    if scalable(problem, settings):
        rows = _rows_of(_model(problem, answer), settings.n_chains(stats))
        problem, answer = rescaled(problem, answer, rows)
    if problem.scale < 1:
        answer, loss, after, _ = by_lbfgs(stats, engine, problem.penalties, answer, most)
        history = {name: [*history[name], *after[name]] for name in history}
    distance = history["misfit"][-1]
    if scorer is not None:
        history["held_out"][-1] = scorer(answer)
    fit = Fit(
        answer=None, objective=loss, n_iter=len(history["misfit"]), converged=distance <= options.tol, history=history
    )
    if not fit.converged:
        warn_not_converged(fit.n_iter, distance, options.tol, stacklevel=5)
    return _model(problem, answer, fit=fit), None, problem


def scalable(problem: Problem, settings: Settings) -> bool:
    """Whether penalties may still be rescaled: default ones, once; noisy tables get penalties of their own later."""
    return settings.own_penalties and not problem.stats.noisy and problem.scale == 1


def rescaled(problem: Problem, now: Parameters, rows: tuple[np.ndarray, np.ndarray]) -> tuple[Problem, Parameters]:
    """The problem with penalties that suit the size of the effects, and about where its optimum is.

    rows: level codes and shares that stand for x.
    """
    scale, now = effect_scale(problem.stats, now, rows, problem.penalties.sums)
    problem = problem.at(scale)
    return problem, Redundancy(problem.stats, problem.penalties).cheapest(now)


def _rows_of(model: LogLinearModel, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Level codes and their shares: all cells of a small joint table, or n draws."""
    if model.enumerable:
        return model.all_cells()
    codes, _ = model.draw(n, np.random.default_rng(0))
    return codes, np.full(n, 1.0 / n)


def _chain_rows(stats: SufficientStatistics, codes: Any) -> tuple[np.ndarray, np.ndarray]:
    """Level codes of chains, and their shares."""
    return stats.layout.with_crossed(np.asarray(codes, dtype=np.int64)), np.full(len(codes), 1.0 / len(codes))


def train_by_steps(
    problem: Problem, settings: Settings, begin: Start | None, held_out: Any = None
) -> tuple[LogLinearModel, Agreement | None, Problem]:
    """Steps on expected moments: persistent contrastive divergence where an engine samples them."""
    state = start(problem.stats)
    if begin is not None:
        state.parameters, state.usual = (
            begin.parameters.copy(),
            Moments(*(np.maximum(m, 0.0) for m in problem.stats.data)),
        )
    scorer = None if held_out is None else _scorer(problem, held_out)
    kept = Checkpoint(settings.checkpoint, key=settings.key, every=10, seconds=SECONDS)
    with closing(_engine(problem, settings, begin.chains if begin else None, fewer=begin is None)) as engine:
        state, tested, problem = _rounds(problem, settings, engine, state, kept, scorer)
        agrees = enough(problem.stats, tested, settings.options.tol)
        history = {k: np.array(v) for k, v in state.history.items()}
        fit = Fit(objective=tested.misfit, n_iter=state.n_iter, converged=agrees, history=history)
        model = _model(problem, state.mean, engine, fit)
    if not agrees:
        tol, n_steps = settings.options.tol, state.n_iter - state.begun
        hint = missed(tested, tol)
        if tol and n_steps < shortest_average(problem, settings):
            hint = too_few_draws(problem.stats.n, settings.n_chains(problem.stats), n_steps, tol)
        warn_not_converged(fit.n_iter, max(tested.misfit, tested.miss), tol, hint, 5, what="misfit")
    return model, tested, problem


def _rounds(
    problem: Problem, settings: Settings, engine: Any, state: TrainingState, kept: Checkpoint, scorer: Any
) -> tuple[TrainingState, Agreement, Problem]:
    """Rounds of steps until their mean parameters agree with the tables; the last state, its test, and the problem with
    the penalties that it ended with.

    What is tested is what is returned: moments are sampled anew at the mean of all parameters since they settled.
    Chains lag behind parameters that move, so the mean may lie off the optimum, and shorter steps lag less: steps like
    1 / tests end at the optimum wherever they begin (Robbins and Monro 1951). Before, a round that ends farther away
    than it began is taken back.
    """
    stats, tol = problem.stats, settings.options.tol
    problem, state, how = _restored(problem, engine, state, kept)
    while True:
        _run(stats, engine, how, state, kept, settings, _round_end(problem, settings, state), scorer)
        misfits, last = state.history["misfit"], state.n_iter >= settings.options.max_iter
        floor = _floor(problem, settings, engine, state.n_iter - state.round)  # rounds show no more than this
        if state.settled or last:
            engine.expand()
            tested = _tested(problem, settings, engine, state.mean, state.n_iter)
            agrees, scaled = enough(stats, tested, tol), problem.scale
            if state.tests == 0 and scalable(problem, settings):
                problem, state.mean = rescaled(problem, state.mean, _chain_rows(stats, engine.named()["codes"]))
                how = replace(how, penalties=problem.penalties, scale=problem.scale)
                if last and problem.scale != scaled:
                    tested = _tested(problem, settings, engine, state.mean, state.n_iter)
            if last or (agrees and problem.scale == scaled):
                kept.clear()
                return state, tested, problem
            state.tests += 1
            how = shorter(how, state.tests / (state.tests + 1))
            if problem.scale != scaled:
                state.parameters, state.begun = state.mean.copy(), state.n_iter
        elif misfits[-1] <= max(tol, floor):
            state.settled, state.parameters, state.begun = True, state.mean.copy(), state.n_iter
            engine.expand()
        else:
            if misfits[-1] > misfits[max(state.round - 1, 0)] + floor:
                state.parameters, how = state.before.copy(), shorter(how, 0.5)
            state.begun = state.n_iter
        state.round, state.before = state.n_iter, state.parameters.copy()


def _round_end(problem: Problem, settings: Settings, state: TrainingState) -> int:
    """Steps after which the round under way ends: half as many as all before once parameters have settled, and so many
    at least that the mean can agree; the last round takes what is too short for another."""
    most, end = settings.options.max_iter, state.round + min(ROUND, -(-settings.options.max_iter // 2))
    if state.settled:
        end = max(state.round + max(state.round // 2, 1), state.begun + shortest_average(problem, settings))
    return end if 5 * end <= 4 * most or (not state.settled and end <= most) else most


def _floor(problem: Problem, settings: Settings, engine: Any, n_steps: int) -> float:
    """Monte Carlo error, in standard errors of the data, of so many independent draws of the chains that move."""
    if problem.engine not in SAMPLING:
        return 0.0
    return float(np.sqrt(problem.stats.n / getattr(engine, "active", settings.n_chains(problem.stats)) / n_steps))


def shortest_average(problem: Problem, settings: Settings) -> int:
    """Steps over which independent draws of all chains would have a Monte Carlo error of `tol` standard errors."""
    if problem.engine not in SAMPLING:
        return 1
    return int(np.ceil(problem.stats.n / settings.n_chains(problem.stats) / max(settings.options.tol, 1e-9) ** 2))


def shorter(how: StepOptions, by: float) -> StepOptions:
    """The same with shorter steps."""
    return replace(how, step_mu=how.step_mu * by, step_theta=how.step_theta * by)


def _tested(problem: Problem, settings: Settings, engine: Any, parameters: Parameters, n_iter: int) -> Agreement:
    """Moments at the parameters that are returned, less what penalties take; those of noisy tables as they are."""
    stats = problem.stats
    pull = penalty_gradient(stats, parameters, problem.penalties)
    if stats.noisy:
        pull = Moments(*(np.zeros_like(p) for p in pull))
    chains = settings.n_chains(stats) if problem.engine in SAMPLING else 0
    return agreement(stats, engine, parameters, pull, settings.options.tol, max(n_iter, 1), chains)


def train_on_rows(
    stats: SufficientStatistics, schema: Schema, settings: Settings, penalty_theta: Any, rows: Any
) -> LogLinearModel:
    """Unlabelled individuals in place of the model of x, which isn't learned."""
    plain = penalties_for(stats, settings, penalty_theta, aware=False)
    theta, offsets, loss, n_iter, converged = fit_on_rows(stats, schema.codes(rows), plain.sums)
    if not converged:
        warn_not_converged(n_iter, float("nan"), settings.options.tol, stacklevel=4)
    parameters = Parameters(np.zeros(theta.shape[1]), theta, offsets)
    fit = Fit(objective=loss, n_iter=n_iter, converged=converged)
    return _model(Problem(stats, schema, plain, "rows"), parameters, fit=fit)


def _weighed(problem: Problem, settings: Settings, model: LogLinearModel, penalty_theta: Any) -> LogLinearModel:
    """Take theta partly from training, partly from all noisy label sums at once; then let the model of x follow."""
    stats, now = problem.stats, model.parameters
    codes, _ = model.draw(n_rows(stats, settings.n_chains(stats)), checks.generator(settings.random_state))
    plain, begin = penalties_for(stats, settings, penalty_theta, aware=False).sums, (now.theta, now.offsets)
    if settings.own_penalties:
        plain, begin = own_penalties(stats, codes, plain, begin)
    theta, offsets, *_ = noisy_label_fit(stats, codes, plain, begin)
    kept = trained_share(stats, problem.engine in SAMPLING)
    both = zip((now.theta, now.offsets), (theta, offsets))
    mean = Parameters(now.mu, *(kept * trained + (1.0 - kept) * refitted for trained, refitted in both))
    mu, counts = noisy_count_fit(stats, model, codes, mean)
    return _followed(problem, settings, model, Parameters(mu, mean.theta, mean.offsets), counts)


def _followed(
    problem: Problem, settings: Settings, model: LogLinearModel, now: Parameters, counts: np.ndarray
) -> LogLinearModel:
    """The model at these parameters, with mu moved to where expected counts are those given: rows that stood for x have
    Monte Carlo errors, which many steps average out."""
    stats = problem.stats
    known = replace(
        stats, data=Moments(counts, stats.data.sums), noise=Moments(np.zeros_like(counts), stats.noise.sums)
    )
    near = problem._replace(stats=known, penalties=Moments(np.full_like(counts, FREE), problem.penalties.sums))
    state, how, n = start(known), replace(step_options(near), step_theta=0.0), _n_follow(stats, settings)
    state.parameters = now.copy()
    with closing(_engine(near, settings, model.chains, fewer=False)) as engine:
        for end in (n // 2, n):
            _run(known, engine, how, state, Checkpoint(None, key=None), settings, end)
            state.begun = state.n_iter
            how = shorter(how, 0.5)
        return replace(_model(problem, state.mean, engine), fit=model.fit)


def _n_follow(stats: SufficientStatistics, settings: Settings) -> int:
    """Steps until the error of sampled moments is small beside the noise of counts."""
    sampled = stats.n**2 / settings.n_chains(stats)
    noise = np.mean([stats.noise.counts[stats.part(t)].sum() for t in range(len(stats.layout.terms))])
    return int(np.clip(FOLLOW[0] * sampled / max(float(noise), 1e-9), *FOLLOW))


def trained_share(stats: SufficientStatistics, sampled: bool) -> float:
    """Share of theta that is taken from training where tables have noise: half, or down to a quarter of it.

    At the optimum that L-BFGS finds, theta of frequent levels makes up for the noise of rare ones, whose penalties are
    too high to follow it; the more noise there is, the less of it is taken. On a survey at epsilon .1 halves and
    quarters predicted better than training alone or none of it. Steps on sampled moments end before that optimum.

    Examples
    --------
    >>> from sumwise import Domain, Table, Tables
    >>> from sumwise.maxent.sufficient_statistics import sufficient_statistics
    >>> from sumwise.maxent.trainers import trained_share
    >>> from sumwise.noise import Gaussian
    >>> made = [Table("a", [500.0, 500.0], [50.0, 450.0], noise=Gaussian(scale)) for scale in (5.0, 50.0)]
    >>> [round(trained_share(sufficient_statistics(Tables([t], Domain({"a": 2}), n=1000)), False), 3) for t in made]
    [0.5, 0.25]
    """
    ones = [stats.part(t) for t, term in enumerate(stats.layout.terms) if len(term) == 1]
    if sampled or not ones:
        return HALF
    ratio = noise_ratio(stats).sums
    return HALF / float(np.clip(np.median(np.concatenate([ratio[:, at].ravel() for at in ones])), 1.0, 2.0))


def _restored(
    problem: Problem, engine: Any, state: TrainingState, kept: Checkpoint
) -> tuple[Problem, TrainingState, StepOptions]:
    """The problem, the state and how steps are made, from where the checkpoint is; else as given."""
    saved = kept.load()
    if saved is None:
        return problem, state, step_options(problem)
    problem = problem.at(saved["steps"]["scale"])
    engine.restore(saved["chains"], saved["state"]["settled"])
    return problem, TrainingState.from_dict(saved["state"]), replace(step_options(problem), **saved["steps"])


def _run(
    stats: SufficientStatistics,
    engine: Any,
    how: StepOptions,
    state: TrainingState,
    kept: Checkpoint,
    settings: Settings,
    until: int,
    scorer: Any = None,
) -> None:
    """Go on from `state`, in place, until so many steps are made."""
    with Progress("MaxEntClassifier", total=settings.options.max_iter, verbose=settings.verbose) as progress:
        progress.step(state.n_iter)

        def after(now: TrainingState) -> None:
            progress.step(misfit=now.history["misfit"][-1])
            if kept.due(now.n_iter):
                steps = {k: getattr(how, k) for k in ("step_mu", "step_theta", "scale")}
                kept.save({"state": now.to_dict(), "chains": engine.state(), "steps": steps})

        if settings.on_device:
            device_training.by_steps(stats, engine, how, state, until, after, scorer)
        else:
            by_steps(stats, engine, how, state, until, after, scorer)


def _model(problem: Problem, parameters: Parameters, engine: Any = None, fit: Fit | None = None) -> LogLinearModel:
    stats = problem.stats
    common = ~stats.layout.own_places()
    parameters = parameters.copy()
    parameters.mu[common] = parameters.theta[:, common] = 0.0  # of no cell in particular, so added to none
    chains, blocks = (engine.named(), tuple(engine.blocks)) if problem.engine in SAMPLING else (None, ())
    return LogLinearModel(problem.schema, stats.layout, parameters, stats.n, problem.engine, chains, blocks, fit)


def step_options(problem: Problem) -> StepOptions:
    """How steps are made: of theta at most 1 over the number of tables, as no step is too long then."""
    lay = problem.stats.layout
    # Hessian of mu over its diagonal, attributes independent: the tables that have a level's main effect
    sharing = max(sum(a in term for term in lay.terms) for a in range(len(lay.levels)))
    return StepOptions(problem.penalties, 1.0 / lay.n_terms, min(MU_PACE / lay.n_terms, 1.0 / sharing))


def _engine(problem: Problem, settings: Settings, before: dict | None, fewer: bool = True) -> Any:
    """The engine that moments come from; chains go on from those before where they are as many, some at first."""
    stats = problem.stats
    if problem.engine not in SAMPLING:
        return engines.ExactMoments(problem.engine, stats)
    rng, n = checks.generator(settings.random_state), settings.n_chains(stats)
    margins = [stats.margin(a) for a in range(len(stats.layout.sizes))]
    chains = gibbs.draw_chains(n, margins, len(stats.shares), rng)
    chains.labels[:] = rng.choice(len(stats.shares), size=n, p=stats.shares)
    if before is not None and len(before["labels"]) >= n:
        chains.codes[:], chains.labels[:] = before["codes"][:n], before["labels"][:n]
    active = min(n, max(n // FEWER, FEW_CHAINS)) if fewer else n
    blocks = engines.strong_pairs(stats)
    if settings.on_device:
        seed = int(rng.integers(0, 2**62))
        return device_training.DeviceGibbs(stats, chains, blocks, settings.device, seed)
    if problem.engine == "spark":
        return on_spark.SparkGibbs(stats, chains, blocks, settings.options.master, active)
    return engines.Gibbs(stats, chains, blocks, n_threads(settings.n_jobs), active)


def _scorer(problem: Problem, held_out: Any) -> Any:
    """NLLH of parameters on held-out individuals."""
    if not isinstance(held_out, (tuple, list)) or len(held_out) != 2:
        raise DataError(f"held_out is of type {type(held_out).__name__}.", hint="give (frame, labels).")
    codes = problem.schema.codes(held_out[0])
    y = problem.schema.label_codes(held_out[1], len(codes))
    shares = np.bincount(y, minlength=len(problem.schema.classes)) / len(y)
    entropy = -float(np.sum(shares[shares > 0] * np.log(shares[shares > 0])))

    def score(parameters: Parameters) -> float:
        z = class_scores(problem.stats.layout, parameters.theta, parameters.offsets, codes)
        log_p = z[np.arange(len(y)), y] - np.logaddexp.reduce(z, axis=1)
        return float(1 + log_p.mean() / entropy)

    return score


def n_threads(n_jobs: Any) -> int:
    """Number of threads that `n_jobs` asks for."""
    if n_jobs in (None, 1):
        return 1
    if isinstance(n_jobs, int) and n_jobs < 0:
        return os.cpu_count() or 1
    return int(checks.at_least(n_jobs, "n_jobs", 1))
