"""From sufficient statistics to a fitted model: by steps on chains, by L-BFGS, or on unlabelled rows."""

from __future__ import annotations

import os
import warnings
from contextlib import closing
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
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
from sumwise.maxent.penalties import FREE, noise_ratio, penalties_of
from sumwise.maxent.sufficient_statistics import SufficientStatistics
from sumwise.maxent.training import (
    WARM,
    StepOptions,
    TrainingState,
    by_lbfgs,
    by_steps,
    penalty_gradient,
    sampling_error,
    start,
)
from sumwise.progress import Progress

SAMPLING = ("gibbs", "spark")  # engines that run chains
HALF = 0.5  # of theta comes from training at most, where tables have noise
FOLLOW = 40, 200  # steps at least and at most for the model of x to follow what was fitted apart
CALMING = 0.02  # decay of those steps
BRIEF = 1e-9  # relative change of the loss at which a refit ends: a thirtieth of a standard error from the optimum
FEWER, FEW_CHAINS = 5, 1000  # chains move at first: one in so many, but so many at least
LATE, FARTHER = 20, 1.15  # steps whose mean moment error must not be this many times the first
BACK_OFF = 2  # times that training starts again with a third of the steps where it moved away from the tables
MU_PACE = 5.0  # steps of mu are longer than those of theta (section 3.5, figure 3)
FIXED = 1e12  # penalty of parameters that are left out
SECONDS = 1.0  # at least, between two checkpoints


@dataclass(frozen=True)
class Settings:
    """How models are trained, whatever the tables and penalties: the parameters of `MaxEntClassifier`, checked."""

    engine: str = "auto"
    device: str = "cpu"
    options: SolverOptions = field(default_factory=SolverOptions)
    penalty_mu: Any = 1.0
    n_jobs: int = 1
    checkpoint: Any = None
    key: str | None = None  # of the checkpoint
    verbose: int = 0
    random_state: Any = None
    own_penalties: bool = False  # whether the size of effects, and so of penalties, is estimated
    brief: bool = False  # a short training near the optimum, as of refits: all chains move, and L-BFGS may end sooner

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

    def solver_for(self, engine: str) -> str:
        """ "steps" or "lbfgs"."""
        if engine in SAMPLING and self.options.solver == "lbfgs":
            raise DataError(f"L-BFGS needs exact gradients; engine is {engine!r}.", hint="use solver='steps'.")
        if self.options.solver != "auto":
            return self.options.solver
        return "steps" if engine in SAMPLING else "lbfgs"

    def n_chains(self, stats: SufficientStatistics) -> int:
        """Number of chains."""
        n = self.options.n_chains
        return max(FEWEST_CHAINS, round(stats.n / 10)) if n == "tenth" else int(n)

    def briefly(self, max_iter: int, seed: int, n_chains: Any = None) -> Settings:
        """The settings of a short training with its own seed, without checkpoint or messages."""
        options = replace(self.options, max_iter=max_iter, n_chains=n_chains or self.options.n_chains)
        return replace(self, options=options, checkpoint=None, verbose=0, random_state=seed, brief=True)


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
    if settings.options.preset == "paper":
        return _train_as_in_the_paper(stats, schema, settings, penalty_theta, held_out)
    name = settings.engine_for(stats)
    trainer = TRAINERS[settings.solver_for(name)]
    problem = Problem(stats, schema, penalties_for(stats, settings, penalty_theta), name)
    model, tested, problem = trainer(problem, settings, begin, held_out)
    if weigh and stats.noisy:
        model, tested = _weighed(problem, settings, model, penalty_theta), None
    return model if settings.brief or not weigh else _described(problem, settings, model, tested)


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
    """Algorithm 1 with the step sizes of appendix A, unless they are given."""
    if settings.engine not in ("auto", "gibbs") or settings.on_device:
        raise DataError("preset='paper' samples here.", hint="use engine='gibbs' and device='cpu'.")
    options, usual = settings.options, 1.0 / stats.layout.n_terms
    steps = tuple(
        usual if given is None else float(checks.positive(given, name))
        for given, name in ((options.step_mu, "step_mu"), (options.step, "step"))
    )
    chains = start_chains(stats, settings.n_chains(stats), settings.random_state)
    penalties = penalties_for(stats, settings, penalty_theta)
    scorer = None if held_out is None else _scorer(Problem(stats, schema, penalties, "gibbs"), held_out)
    return train_by_algorithm_1(
        stats,
        schema,
        penalties,
        steps,  # type: ignore[arg-type]
        chains,
        options.max_iter,
        n_threads(settings.n_jobs),
        settings.verbose,
        scorer,
        options.rescale,
    )


def penalties_for(stats: SufficientStatistics, settings: Settings, penalty_theta: Any, aware: bool = True) -> Moments:
    """Penalties of mu and theta; without `aware`, as they would be on tables without noise."""
    return penalties_of(stats, penalty_theta, settings.penalty_mu, aware, settings.options.shrink_large)


def train_by_lbfgs(
    problem: Problem, settings: Settings, begin: Start | None, held_out: Any = None
) -> tuple[LogLinearModel, Agreement | None, Problem]:
    """L-BFGS on the penalised likelihood, with exact expectations."""
    stats, options = problem.stats, settings.options
    scorer = None if held_out is None else _scorer(problem, held_out)
    engine = engines.ExactMoments(problem.engine, stats)
    first = begin.parameters.copy() if begin else start(stats).parameters
    limits = {"ftol": BRIEF} if settings.brief else {}
    most = max(options.max_iter, 1000)
    answer, loss, history, _ = by_lbfgs(stats, engine, problem.penalties, first, most, **limits)
    if scalable(problem, settings):
        rows = _rows_of(_model(problem, answer), settings.n_chains(stats))
        problem, answer = rescaled(problem, answer, rows)
    if problem.scale < 1:
        answer, loss, after, _ = by_lbfgs(stats, engine, problem.penalties, answer, most, **limits)
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
    return settings.own_penalties and not settings.brief and not problem.stats.noisy and problem.scale == 1


def rescaled(problem: Problem, now: Parameters, rows: tuple[np.ndarray, np.ndarray]) -> tuple[Problem, Parameters]:
    """The problem with penalties that suit the size of the effects, and about where its optimum is.

    rows: level codes and shares that stand for x.
    """
    scale, now = effect_scale(problem.stats, now, rows, problem.penalties.sums)
    return problem.at(scale), now


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
    stats, options = problem.stats, settings.options
    state = start(stats)
    if begin is not None:
        state.parameters, state.mean = begin.parameters.copy(), begin.parameters.copy()
    scorer = None if held_out is None else _scorer(problem, held_out)
    kept = Checkpoint(settings.checkpoint, key=settings.key, every=10, seconds=SECONDS)
    how, first = step_options(problem, options), state.to_dict()
    how = how if begin is None else replace(how, settled=WARM)

    def attempt(state: TrainingState, how: StepOptions) -> tuple[LogLinearModel, Agreement | None, bool, Problem]:
        with closing(_engine(problem, settings, begin.chains if begin else None)) as engine:
            state, found, at = _until_tested(problem, settings, engine, how, state, kept, scorer)
            return *_stepped(at, settings, engine, state, found, begin is None), at

    model, found, farther, at = attempt(state, how)
    for _ in range(BACK_OFF):
        if not farther:
            break
        how = replace(how, step_mu=how.step_mu / 3, step_theta=how.step_theta / 3)
        model, found, farther, at = attempt(TrainingState.from_dict(deepcopy(first)), how)
    fit: Fit = model.fit  # type: ignore[assignment]
    if not fit.converged:
        distance, hint = fit.objective, _what_to_do(found, options.tol, farther)
        early = f"moments are not tested in the first {how.settled - 1} steps; raise max_iter."
        hint = early if fit.n_iter < how.settled and distance < options.tol else hint
        warn_not_converged(fit.n_iter, distance, options.tol, hint, stacklevel=5)
    return replace(model, fit=fit), found, at


def _until_tested(
    problem: Problem,
    settings: Settings,
    engine: Any,
    how: StepOptions,
    state: TrainingState,
    kept: Checkpoint,
    scorer: Any,
) -> tuple[TrainingState, Agreement | None, Problem]:
    """Train, test the moments of what would be returned, and go on from there where they are off; the last test, and
    the problem with the penalties that it ended with.

    Chains lag behind parameters that move, so their mean may lie off the optimum: shorter steps lag less.
    """
    stats, options, tests = problem.stats, settings.options, 0
    while True:
        state, how = _run(stats, engine, how, state, kept, settings, options.max_iter, scorer)
        problem = problem._replace(penalties=how.penalties, scale=how.scale)
        if settings.brief or not state.agreed:
            return state, None, problem
        found = _tested(problem, settings, engine, state.mean, state.n_iter)
        if enough(stats, found, options.tol) or state.n_iter >= options.max_iter:
            if state.n_iter < options.max_iter and scalable(problem, settings):
                rows = _chain_rows(stats, engine.named()["codes"])
                problem, state.mean = rescaled(problem, state.mean, rows)
            if problem.scale == how.scale:
                return state, found, problem
            how = replace(how, penalties=problem.penalties, scale=problem.scale)
        state.agreed, state.parameters = 0, state.mean.copy()
        tests += 1  # steps like 1 / tests, which end at the optimum wherever they begin (Robbins and Monro 1951)
        shorter = {k: getattr(how, k) * tests / (tests + 1) for k in ("step_mu", "step_theta")}
        how = replace(how, settled=state.n_iter + WARM, **shorter)


def _stepped(
    problem: Problem, settings: Settings, engine: Any, state: TrainingState, found: Agreement | None, new: bool
) -> tuple[LogLinearModel, Agreement | None, bool]:
    """The model of a training state, its test, and whether it is farther from the tables than it began."""
    stats, least = problem.stats, 0.0  # exact moments can equal the tables'
    if problem.engine in SAMPLING:
        least = sampling_error(stats, getattr(engine, "active", settings.n_chains(stats)))
    away = new and moved_away(state.history["moment_error"], least)
    agreed = state.agreed > 0 and not away and (found is None or enough(stats, found, settings.options.tol))
    history = {k: np.array(v) for k, v in state.history.items()}
    fit = Fit(objective=state.history["misfit"][-1], n_iter=state.n_iter, converged=agreed, history=history)
    return _model(problem, state.mean, engine, fit), found, away


def _what_to_do(found: Agreement | None, tol: float, farther: bool) -> str | None:
    """What a fit that did not converge asks of its user."""
    if farther:
        return "moments are farther off than they were at the start; lower step and step_mu."
    return None if found is None else missed(found, tol)


def _tested(problem: Problem, settings: Settings, engine: Any, parameters: Parameters, n_iter: int) -> Agreement:
    """Moments at the parameters that are returned, less what penalties take; those of noisy tables as they are."""
    stats = problem.stats
    pull = penalty_gradient(stats, parameters, problem.penalties)
    if stats.noisy:
        pull = Moments(*(np.zeros_like(p) for p in pull))
    chains = settings.n_chains(stats) if problem.engine in SAMPLING else 0
    return agreement(stats, engine, parameters, pull, settings.options.tol, max(n_iter, 1), chains)


def moved_away(errors: list[float], least: float = 0.0) -> bool:
    """Whether moments ended up farther from the tables than they began: steps were too long.

    least: what sampling alone makes of the error. The first sweep may happen to be closer, most of all where
    attributes are nearly independent, as they are at the start.
    """
    return len(errors) > LATE and float(np.mean(errors[-LATE:])) > FARTHER * max(errors[0], least)


TRAINERS = {"lbfgs": train_by_lbfgs, "steps": train_by_steps}


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
    theta, offsets, *_ = noisy_label_fit(stats, codes, plain, begin, settings.options.rescale)
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
    state = start(known)
    state.parameters, state.mean = now.copy(), now.copy()
    how = step_options(near, settings.options)
    how = replace(how, step_theta=0.0, step_mu=how.step_mu / 2, decay=CALMING, tol=0.0, recent=1.0)
    with closing(_engine(near, settings, model.chains, fewer=False)) as engine:
        state, _ = _run(known, engine, how, state, Checkpoint(None, key=None), settings, _n_follow(stats, settings))
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


def _run(
    stats: SufficientStatistics,
    engine: Any,
    how: StepOptions,
    state: TrainingState,
    kept: Checkpoint,
    settings: Settings,
    max_iter: int,
    scorer: Any = None,
) -> tuple[TrainingState, StepOptions]:
    """Train from `state`, or from where the checkpoint is; the state, and how steps were made."""
    saved = kept.load()
    if saved is not None:
        state = TrainingState.from_dict(saved["state"])
        how = replace(how, **saved["steps"])  # those of a training that had started again, or was scaled
        how = replace(how, penalties=Moments(how.penalties.counts, how.penalties.sums / how.scale))
        engine.restore(saved["chains"], state.agreed > 0)
    run: Any = by_steps
    if settings.on_device:
        state = device_training.DeviceState.of(state, stats, how, engine)
        run = partial(device_training.by_steps, max_iter=max_iter)
    with Progress("MaxEntClassifier", total=max_iter, verbose=settings.verbose) as progress:
        progress.step(state.n_iter)

        def after(now: TrainingState) -> bool:
            progress.step(misfit=now.history["misfit"][-1])
            if kept.due(now.n_iter):
                steps = {k: getattr(how, k) for k in ("step_mu", "step_theta", "settled", "scale")}
                kept.save({"state": now.to_dict(), "chains": engine.state(), "steps": steps})
            return now.n_iter >= max_iter

        if state.n_iter < max_iter:
            run(stats, engine, how, state, after, scorer)
    kept.clear()
    return state, how


def _model(problem: Problem, parameters: Parameters, engine: Any = None, fit: Fit | None = None) -> LogLinearModel:
    stats = problem.stats
    common = ~stats.layout.own_places()
    parameters = parameters.copy()
    parameters.mu[common] = parameters.theta[:, common] = 0.0  # of no cell in particular, so added to none
    chains, blocks = (engine.named(), tuple(engine.blocks)) if problem.engine in SAMPLING else (None, ())
    return LogLinearModel(problem.schema, stats.layout, parameters, stats.n, problem.engine, chains, blocks, fit)


def step_options(problem: Problem, options: SolverOptions) -> StepOptions:
    """How steps are made, with the default sizes of steps."""
    lay = problem.stats.layout
    n = lay.n_terms
    # Hessian of mu over its diagonal, attributes independent: the tables that have a level's main effect
    sharing = max(sum(a in term for term in lay.terms) for a in range(len(lay.levels)))
    return StepOptions(
        problem.penalties,
        rescale=options.rescale,
        step_theta=1.0 / n if options.step is None else float(checks.positive(options.step, "step")),
        step_mu=min(MU_PACE / n, 1.0 / sharing)
        if options.step_mu is None
        else float(checks.positive(options.step_mu, "step_mu")),
        decay=float(options.decay),
        average=options.average,
        tol=options.tol,
    )


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
    options = settings.options
    active = min(n, max(n // FEWER, FEW_CHAINS)) if fewer and not settings.brief else n
    blocks = _named_blocks(problem.schema, options.blocks) if options.blocks != "auto" else engines.strong_pairs(stats)
    if settings.on_device:
        seed = int(rng.integers(0, 2**62))
        return device_training.DeviceGibbs(stats, chains, blocks, settings.device, options.marginalise, seed)
    if problem.engine == "spark":
        return on_spark.SparkGibbs(stats, chains, blocks, options.master, options.marginalise, active)
    return engines.Gibbs(stats, chains, blocks, n_threads(settings.n_jobs), options.marginalise, active)


def _named_blocks(schema: Schema, given: Any) -> tuple[tuple[int, int], ...]:
    pairs = [tuple(sorted(schema.domain.axes(checks.listing(p, "A block")))) for p in checks.listing(given, "blocks")]
    members = [a for p in pairs for a in p]
    if any(len(p) != 2 for p in pairs) or len(set(members)) < len(members):
        raise DataError("blocks must be pairs of attributes, each attribute in one block.")
    return tuple(pairs)  # type: ignore[return-value]


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
