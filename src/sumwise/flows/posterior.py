"""The posterior of movement and flows: movement models weighted by their evidence, each with draws of its parameters.

Given how individuals move, counts are nearly normal, so that a Kalman filter gives their marginal likelihood, and its
adjoint the gradient and the expected flows. Parameters are drawn by Hamiltonian Monte Carlo around the mode.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array, issparse
from scipy.special import expit
from scipy.stats import norm
from threadpoolctl import threadpool_limits

from sumwise.collective.potentials import filled
from sumwise.errors import DataError
from sumwise.flows.chain_draws import ChainDraw
from sumwise.flows.flow_problem import RESERVE, FlowProblem
from sumwise.flows.kernels.flow_filter import Filter, Functions, Smoothed
from sumwise.flows.kernels.hamiltonian import hamiltonian_draws
from sumwise.flows.kernels.raking import raked
from sumwise.flows.move_chain import chain_of
from sumwise.flows.movement import Movement
from sumwise.flows.movement_models import CONSTANT, KINDS, PLACES, MovementModel
from sumwise.inference.kernels.shapes import check_shapes
from sumwise.progress import track

one_thread = threadpool_limits.wrap(limits=1, user_api="blas")  # threads of small products wait: 20 times the CPU
MOST_WORK = 2e10  # times x places^3 of one filter: about a minute
FAR = 1e12  # minus the log posterior where there is none, for a search to turn back
LEAST_SHARE = 1e-6  # of what movement expects: no possible flow is nothing


@dataclass(frozen=True)
class Settings:
    """What the posterior takes as given about nuisances, and what it may cost.

    `overdispersion`: mean and standard deviation of the logit-like parameter psi of ``phi = 1 + e^psi``: from moves
    of independent individuals to flocks of some hundreds. `spread`: standard deviation of the log of how much first
    counts differ between places, around their mean. Both are far wider than what counts leave open.
    """

    overdispersion: tuple[float, float] = (1.0, 4.0)
    spread: float = 1.5
    flattest: float = 0.05  # curvature of the log posterior along any direction, at least
    known: float = 10.0  # times the variance of the noise that counts vary before their spread is no question
    points: tuple[int, int] = (8, 64)  # draws of the parameters: at least of a model, at most of all
    warm_up: int = 16  # trajectories before the first that counts
    every: int = 4  # trajectories to the next draw that is kept: what is summarised costs more than a trajectory
    apart: float = 1.0  # standard deviations between two ends of searches that are two modes
    near: float = 0.01  # standard deviations from the mode at which a search ends
    steps: tuple[int, int] = (20, 8)  # of a search until the information is computed anew, and how often it may be
    least: float = 1e-4  # probability, by the information at the mode, of models whose curvature is computed
    work: float = 4e10  # evaluations x times x places^3 that one movement model may take


@dataclass(frozen=True)
class GivenMoves:
    """A movement that is known: no parameters."""

    problem: FlowProblem
    given: Movement
    size: int = 0

    @property
    def kind(self) -> str:
        """What it is called."""
        return f"stay {self.given.stay:g}, scale {self.given.scale:g}"

    def inner(self, z: np.ndarray) -> np.ndarray:  # noqa: ARG002 - as MovementModel
        """Probabilities of moves between places, per step."""
        logs = replace(self.problem, turnover=None).steps(self.given)
        if self.problem.mask is None:
            return np.exp(filled(logs[0]))[None]
        return np.stack([np.exp(filled(p)) * self.open_(k) for k, p in enumerate(logs)])

    moves = MovementModel.moves
    n_steps, n_places, open_ = MovementModel.n_steps, MovementModel.n_places, MovementModel.open_
    n_types = 1

    def slope(self, *_: Any) -> np.ndarray:
        """There is nothing to learn."""
        return np.zeros(0)

    def sensitivity(self, z, inner, step, x, weight) -> tuple[np.ndarray, np.ndarray]:  # noqa: ARG002
        """As `slope`."""
        return np.zeros((len(x), 0)), np.zeros((len(x), 0))

    def movements(self, *_: Any) -> list[Movement]:
        """What was given."""
        return [self.given]

    def shares(self, *_: Any) -> np.ndarray:
        """All are of one type."""
        return np.ones(1)

    @property
    def deviations(self) -> np.ndarray:
        """No priors."""
        return np.zeros(0)


def filter_of(problem: FlowProblem, around: np.ndarray, size_known: bool, known: float) -> tuple[Filter, bool]:
    """The filter of a problem with variances at counts `around` (T, L); whether the spread of first counts is open."""
    t, n = problem.counts.shape
    rate = np.broadcast_to(np.asarray(getattr(problem.noise, "rate", 1.0), dtype=float), (t, n))
    safe = np.where(rate > 0, rate, 1.0)
    seen = np.where(rate > 0, problem.counts / safe, np.nan)
    around = np.maximum(around, 0.5)
    noise = np.broadcast_to(problem.noise.variance(np.maximum(around, 1.0)), (t, n)) / safe**2
    noise = np.maximum(noise, 0.01)  # exact counts: a tenth of an individual
    mean, covariance = np.full(n, problem.n / n), np.eye(n)
    if size_known:
        covariance -= 1.0 / n
    excess = np.nanvar(seen) - noise[~np.isnan(seen)].mean()
    spread = problem.n / n
    settled = bool(excess > known * noise[~np.isnan(seen)].mean())
    if settled and excess > 0:
        spread = 2.0 * float(np.sqrt(excess))  # the noise is small: no matter which
    if problem.mask is not None:
        shut = ~np.asarray(problem.mask[0], dtype=bool)
        mean[shut], covariance[shut], covariance[:, shut] = 0.0, 0.0, 0.0
        around = np.where(problem.mask, around, 0.0)
    if problem.cyclic:  # the first time is visited twice, and was observed once
        seen, noise, around = (np.vstack([v, v[:1]]) for v in (seen, noise, around))
        noise[[0, -1]] *= 2.0
    if problem.turnover is not None:
        out = np.maximum(problem.n * (1.0 + RESERVE) - around.sum(axis=1), problem.n * RESERVE / 2)[:, None]
        seen, noise, around = (np.hstack([v, w]) for v, w in ((seen, out * np.nan), (noise, out), (around, out)))
        mean, covariance = np.append(mean, out[0]), np.pad(covariance, (0, 1))
        covariance[-1, -1] = n**2  # as uncertain as all places together
    return Filter(seen, noise, around, mean, spread**2 * covariance), not settled


Climb = tuple[float, np.ndarray, bool, list[float]]  # log posterior, parameters, whether it converged, history


@dataclass
class Candidate:
    """One movement model, fitted: parameters z are those of the movement, of overdispersion and of the first spread."""

    model: Any
    filters: list[Filter]  # one per season
    open_spread: bool
    fractions: list[np.ndarray] | None = None  # per season, of the first of two types at which variances are taken
    settings: Settings = field(default_factory=Settings)
    mode: np.ndarray = field(default_factory=lambda: np.zeros(0))
    root: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))  # of the covariance around the mode
    value: float = 0.0  # the log posterior at the mode
    evidence: float = 0.0
    evaluations: int = 0
    converged: bool = True
    history: list[float] = field(default_factory=list)  # minus the log posterior, step by step
    climbs: list[Climb] = field(default_factory=list)  # the highest first

    @property
    def size(self) -> int:
        return self.model.size + 1 + self.open_spread

    def split(self, z: np.ndarray) -> tuple[float, list[Filter]]:
        """Overdispersion, and the filters with their spread of first counts."""
        phi = 1.0 + float(np.exp(np.clip(z[self.model.size], -12, 14)))
        filters = self.filters
        if self.open_spread:
            filters = [replace(f, covariance=np.exp(2.0 * z[-1]) * f.covariance) for f in filters]
        return phi, filters

    def typed(self, z: np.ndarray, filters: list[Filter]) -> list[Filter]:
        """Filters with a state per place and type."""
        if self.model.n_types == 1:
            return filters
        share, apart = self.model.types(z)
        return [_typed(f, share, apart, self._fraction(k)) for k, f in enumerate(filters)]

    def _fraction(self, season: int) -> np.ndarray:
        around = self.filters[season].around
        return np.full(around.shape, 0.5) if self.fractions is None else self.fractions[season]

    def log_prior(self, z: np.ndarray, inner: np.ndarray | None = None) -> tuple[float, np.ndarray, float]:
        """Log prior up to a constant, its gradient by z but for the share that stays, and that by the mean share."""
        m, slope, by_stay = self.model.size, np.zeros(self.size), 0.0
        value = 0.0
        middle, deviation = self.settings.overdispersion
        if m and inner is not None:
            slope[:m] = -z[:m] / self.model.deviations**2
            value += 0.5 * float(z[:m] @ slope[:m])
            stay = float(np.clip(np.mean(np.diagonal(inner, axis1=1, axis2=2)), 1e-12, 1 - 1e-12))
            value += np.log(stay) + np.log1p(-stay)
            by_stay = 1.0 / stay - 1.0 / (1.0 - stay)
        value += -np.logaddexp(0.0, -z[m]) - 0.5 * ((z[m] - middle) / deviation) ** 2
        slope[m] = expit(-z[m]) - (z[m] - middle) / deviation**2
        if self.open_spread:
            value -= 0.5 * (z[-1] / self.settings.spread) ** 2
            slope[-1] = -z[-1] / self.settings.spread**2
        return float(value), slope, by_stay

    def log_posterior(self, z: np.ndarray) -> float:
        """Log posterior density up to a constant."""
        phi, filters = self.split(z)
        inner = self.model.inner(z)
        moves = self.model.moves(inner)
        return self.log_prior(z, inner)[0] + sum(f.log_likelihood(moves, phi) for f in self.typed(z, filters))

    def with_slope(self, z: np.ndarray) -> tuple[float, np.ndarray]:
        """Log posterior density and its gradient."""
        self.evaluations += 1
        m, (phi, filters) = self.model.size, self.split(z)
        inner = self.model.inner(z)
        moves = self.model.moves(inner)
        value, slope, by_stay = self.log_prior(z, inner)
        for plain, f in zip(filters, self.typed(z, filters)):
            passed = f.smooth(moves, phi)
            value += passed.log_likelihood
            if m:
                slope[:m] += self.model.slope(z, inner, passed.moves_slope)
            slope[m] += passed.phi_slope * (phi - 1.0)
            if self.model.n_types > 1:
                slope[m - 2 : m] += _types_slope(passed, plain, *self.model.types(z))
            if self.open_spread:
                slope[-1] += 2.0 * float((passed.covariance_slope * f.covariance).sum())
        if m:
            n, steps = inner.shape[1] * self.model.n_types, len(moves)
            each = np.eye(len(moves[0])) * by_stay / (n * steps * (1.0 - (self.model.problem.turnover or 0.0)))
            slope[:m] += self.model.slope(z, inner, [each] * steps)
        return value, slope

    def search(self, starts: list[np.ndarray] | None = None) -> Candidate:
        """Find the modes, from given starts and the likeliest of many, and the information at the highest."""
        begin = self._starts() + ([] if starts is None else self._best(starts))
        self.climbs = self._climb(begin)
        if self.model.n_types > 1:  # variances are taken at the counts that are expected of each type
            self.fractions = [_first_fraction(self.smoothed(k, self.mode).counts) for k in range(len(self.filters))]
            self.climbs = self._climb([self.mode])
        return self.settle(self.information(self.mode))

    def modes(self) -> list[Candidate]:
        """One candidate for each mode that the search found: parts of a mixture."""
        out: list[Candidate] = [self]
        for climb in self.climbs[1:]:
            if min(np.linalg.norm(np.linalg.solve(c.root, climb[1] - c.mode)) for c in out) > self.settings.apart:
                value, mode, converged, history = climb
                other = replace(self, value=value, mode=mode, converged=converged, history=history, evaluations=0)
                out.append(other.settle(other.information(mode)))
        return out

    def refine(self) -> Candidate:
        """Take the curvature around the mode instead of the information."""
        return self.settle(self._curvature())

    def settle(self, hessian: np.ndarray) -> Candidate:
        """The root of the covariance around the mode, and the evidence, of minus the Hessian there."""
        self.root = _inverse_root(hessian, self.settings.flattest)
        proper = self.model.deviations[np.isfinite(self.model.deviations)]
        self.evidence = self.value + float(np.linalg.slogdet(self.root)[1]) + 0.5 * self.size * np.log(2 * np.pi)
        self.evidence -= float(np.log(proper).sum()) + 0.5 * len(proper) * np.log(2 * np.pi)
        self.evidence += np.log(self.model.n_types)  # the types may be swapped: there are as many modes
        return self

    def _starts(self) -> list[np.ndarray]:
        """The likeliest start of every scale."""
        if not self.model.size:
            return [self._whole(np.zeros(0))]
        return [max((self._whole(z) for z in group), key=self.log_posterior) for group in self.model.starts()]

    def _best(self, starts: list[np.ndarray]) -> list[np.ndarray]:
        """The likeliest start; another search may have had the spread of first counts open, or settled."""
        starts = [np.append(z, 0.0)[: self.size] for z in starts]
        return starts if len(starts) == 1 else [max(starts, key=self.log_posterior)]

    def _whole(self, of_moves: np.ndarray) -> np.ndarray:
        """Parameters of movement, with usual ones of overdispersion and of the spread."""
        return np.concatenate([of_moves, [self.settings.overdispersion[0]], [0.0] * self.open_spread])

    def _climb(self, starts: list[np.ndarray]) -> list[Climb]:
        climbs: list[Climb] = []
        for start in starts:
            with suppress(DataError):  # no climb begins where rounding leaves no covariance
                climbs.append(self._climbed(start))
        climbs = [climb for climb in climbs if np.isfinite(climb[1]).all() and -FAR < climb[0] < np.inf]
        if not climbs:
            most = max(float(np.nanmax(f.around.sum(axis=1))) for f in self.filters)
            raise DataError(
                f"No movement can be fitted to counts of {most:.0e} individuals: rounding leaves no covariance.",
                hint="state more noise, or give counts in a larger unit.",
            )
        climbs.sort(key=lambda climb: -climb[0])
        self.value, self.mode, self.converged, self.history = climbs[0]
        return climbs

    def _climbed(self, z: np.ndarray) -> tuple[float, np.ndarray, bool, list[float]]:
        """The mode from z on, by L-BFGS in coordinates that have about unit curvature."""
        history: list[float] = []

        def note(intermediate_result: Any) -> None:
            history.append(float(intermediate_result.fun))

        found: Any = None
        for _ in range(self.settings.steps[1]):  # the information changes on the way
            root = _inverse_root(self.information(z), self.settings.flattest)

            def down(u: np.ndarray, z: np.ndarray = z, root: np.ndarray = root) -> tuple[float, np.ndarray]:
                try:
                    value, slope = self.with_slope(z + root @ u)
                except DataError:  # a step so long that rounding leaves no covariance is taken back
                    value, slope = -np.inf, np.zeros(self.size)
                return (-value, -root.T @ slope) if np.isfinite(value) else (FAR, np.zeros(self.size))

            options = {"maxiter": self.settings.steps[0], "ftol": 1e-12, "gtol": self.settings.near}
            found = minimize(down, np.zeros(len(z)), jac=True, method="L-BFGS-B", options=options, callback=note)
            z = z + root @ found.x
            if found.success:
                break
        return -float(found.fun), z, bool(found.success), history or [float(found.fun)]

    def information(self, z: np.ndarray) -> np.ndarray:
        """Expected information of all parameters, priors included."""
        m, (phi, filters) = self.model.size, self.split(z)
        inner = self.model.inner(z)
        moves, out = self.model.moves(inner), np.zeros((self.size, self.size))
        for plain, f in zip(filters, self.typed(z, filters)):
            first = np.zeros((len(f.mean), m))
            if self.model.n_types > 1:
                share = self.model.types(z)[0]
                first[:, m - 2] = share * (1.0 - share) * np.concatenate([plain.mean, -plain.mean])
            made = f.information(moves, phi, first, lambda *step: self.model.sensitivity(z, inner, *step))
            out += made[: self.size, : self.size]
        middle = expit(z[m]) * expit(-z[m])
        priors = [*self.model.deviations**-2.0, self.settings.overdispersion[1] ** -2 + middle]
        return out + np.diag(priors + [self.settings.spread**-2] * self.open_spread)

    def _curvature(self) -> np.ndarray:
        """Minus the Hessian at the mode, by differences of exact gradients."""
        at_mode, step = self.with_slope(self.mode)[1], 0.01  # of standard deviations
        sides = np.array([self.with_slope(self.mode + step * e)[1] for e in self.root.T])
        back = np.linalg.inv(self.root)
        hessian = back.T @ ((at_mode - sides) / step)
        return 0.5 * (hessian + hessian.T)

    def smoothed(self, season: int, z: np.ndarray) -> Smoothed:
        """Counts and flows of a season at parameters z."""
        phi, filters = self.split(z)
        return self.typed(z, filters)[season].smooth(self.model.moves(self.model.inner(z)), phi, flows=True)

    def by_type(self, passed: Smoothed, z: np.ndarray, agreeing: bool) -> list[tuple[np.ndarray, list[np.ndarray]]]:
        """Counts and flows between places of every type, without negative ones, which normal variables have.

        Flows are raked to the expected counts if they must agree with them; else their rows keep their sums.
        """
        kinds, moves = self.model.n_types, self.model.moves(self.model.inner(z))
        n, states, out = self.model.n_places, len(moves[0]) // self.model.n_types, []
        for k in range(kinds):
            part = slice(k * states, (k + 1) * states)
            tables = []
            for flows, p, before, after in zip(passed.flows, moves, passed.counts[:-1], passed.counts[1:]):
                if agreeing:
                    each = _positive(flows[part, part], p[part, part], before[part], after[part])
                else:
                    each = _without_negative(flows[part, part])
                tables.append(each[:n, :n])
            out.append((passed.counts[:, part][:, :n], tables))
        return out

    def points(self, n: int) -> np.ndarray:
        """Draws (n, d) of the parameters, by Hamiltonian Monte Carlo from the mode on."""

        def log_density(u: np.ndarray) -> tuple[float, np.ndarray]:
            try:
                value, slope = self.with_slope(self.mode + self.root @ u)
            except DataError:  # rounding leaves no covariance
                return -np.inf, np.zeros(self.size)
            return value, self.root.T @ slope

        every, rng = self.settings.every, np.random.default_rng(0)
        with np.errstate(over="ignore", invalid="ignore"):  # far from the mode, where nothing is accepted
            draws = hamiltonian_draws(log_density, np.zeros(self.size), every * n, self.settings.warm_up, rng)
        return self.mode + draws[every - 1 :: every] @ self.root.T


@dataclass
class FlowPosterior:
    """Movement models with their probabilities, and points of their parameters: a weighted sample of the posterior."""

    candidates: list[Candidate]
    probabilities: np.ndarray  # of the movement models
    points: list[tuple[int, np.ndarray]]  # (candidate, z)
    weights: np.ndarray  # of the points
    around: list[np.ndarray]  # per season, counts at which variances are taken
    size_known: bool

    @classmethod
    @one_thread
    def of(cls, problems: list[FlowProblem], given: list[Movement] | None, size_known: bool) -> FlowPosterior:
        """Fit all movement models that the data can carry, or those that are given."""
        settings, work, n = Settings(), work_of(problems), problems[0].counts.shape[1]
        models = _models(problems[0], given, work, settings)
        around = [_filled(p) for p in problems]
        start: list[np.ndarray] | None = None
        for _ in range(2):  # variances are taken at expected counts
            first = _candidate(problems, models[0], around, size_known, settings)
            first.search(start)
            start = [first.mode]
            around = [first.smoothed(k, first.mode).counts[: len(p.counts), :n] for k, p in enumerate(problems)]
        fitted = [_candidate(problems, m, around, size_known, settings) for m in models]
        fitted[0].search(start)
        for k, one in track(list(enumerate(fitted))[1:], "Movements"):
            one.search(_starts_from(one, fitted[:k]))
        fitted = [mode for one in fitted for mode in one.modes()]
        best = -np.inf
        for one in sorted(fitted, key=lambda c: -c.evidence):
            if one.evidence > best + np.log(settings.least):
                best = max(best, one.refine().evidence)
        n_points = int(np.clip(settings.work / work / 200, *settings.points))  # 16 gradients each, of some filters
        return cls.averaged(fitted, n_points, around, size_known)

    @classmethod
    @one_thread
    def known(cls, problems: list[FlowProblem], movement: Movement) -> FlowPosterior:
        """The flows under one movement, at thirds of the prior of overdispersion: the likelihood chooses nothing."""
        around = [_filled(p) for p in problems]
        one = _candidate(problems, GivenMoves(problems[0], movement), around, False, Settings())
        middle, deviation = one.settings.overdispersion
        thirds = middle + deviation * norm.ppf([1 / 6, 1 / 2, 5 / 6])
        points = [(0, np.append(psi, np.zeros(one.size - 1))) for psi in thirds]
        return cls([one], np.ones(1), points, np.full(3, 1 / 3), around, False)

    @classmethod
    def averaged(
        cls, fitted: list[Candidate], n_points: int, around: list[np.ndarray], size_known: bool
    ) -> FlowPosterior:
        """Models by their evidence, with points in proportion."""
        logs = np.array([c.evidence for c in fitted])
        share = np.exp(logs - logs.max())
        share /= share.sum()
        points, weights = [], []
        for k, (one, probability) in enumerate(zip(fitted, share)):
            if probability * n_points < 0.5 and probability < share.max():
                continue
            z = one.points(max(round(probability * n_points), fitted[0].settings.points[0]))
            points += [(k, row) for row in z]
            weights.append(np.full(len(z), probability / len(z)))
        joint = np.concatenate(weights)
        return cls(fitted, share, points, joint / joint.sum(), around, size_known)

    def state(self) -> dict[str, Any]:
        """What restores it for the same problems."""
        models = [c.model.given if isinstance(c.model, GivenMoves) else c.model.kind for c in self.candidates]
        return {
            "models": models,
            "probabilities": self.probabilities,
            "candidate": np.array([k for k, _ in self.points]),
            "parameters": [z for _, z in self.points],
            "weights": self.weights,
            "around": self.around,
            "fractions": next((c.fractions for c in self.candidates if c.fractions is not None), None),
            "size known": self.size_known,
            "open spread": any(c.open_spread for c in self.candidates),
        }

    @classmethod
    def restored(cls, problems: list[FlowProblem], state: dict[str, Any]) -> FlowPosterior:
        """From what `state` returned."""
        one, around, known = problems[0], state["around"], bool(state["size known"])
        models = [GivenMoves(one, m) if isinstance(m, Movement) else MovementModel(one, m) for m in state["models"]]
        # The spread of first counts is open if it was, even where some times are left out now.
        settings = Settings(known=np.inf if bool(state["open spread"]) else -np.inf)
        made = [_candidate(problems, m, around, known, settings) for m in models]
        for one_made in made:
            one_made.fractions = state.get("fractions") if one_made.model.n_types > 1 else None
        points = list(zip(np.asarray(state["candidate"]).tolist(), state["parameters"]))
        for k, z in points:
            check_shapes({"parameters": (z, (made[k].size,))})
        weights = np.asarray(state["weights"])
        check_shapes({"weights": (weights, (len(points),))})
        if not (weights >= 0).all() or abs(weights.sum() - 1) > 1e-6:
            raise DataError("Weights of the draws are no shares that add up to 1.", hint="save the model again.")
        return cls(made, state["probabilities"], points, weights, around, known)

    def flows(self, season: int, agreeing: bool = False) -> tuple[np.ndarray, list[np.ndarray]]:
        """Expected counts (T, L) and flows (L, L) of every step, which may be made to agree with the counts."""
        _, parts = zip(*self.flows_by_type(season, agreeing))
        counts, flows = zip(*parts)
        return np.sum(counts, axis=0), [np.sum(tables, axis=0) for tables in zip(*flows)]

    @one_thread
    def flows_by_type(
        self, season: int, agreeing: bool = False
    ) -> list[tuple[float, tuple[np.ndarray, list[np.ndarray]]]]:
        """Shares of types of individuals with the counts and flows that they contribute.

        First those of movement models with one type (if there are any), then those of models with two.
        """
        sums: dict[tuple[int, int], Any] = {}
        for (k, z), weight in track(list(zip(self.points, self.weights)), "Flows"):
            one = self.candidates[k]
            parts = one.by_type(one.smoothed(season, z), z, agreeing)
            for j, ((counts, flows), share) in enumerate(zip(parts, one.model.shares(z))):
                total = sums.setdefault((len(parts), j), [0.0, 0.0, [0.0] * len(flows)])
                total[0], total[1] = total[0] + weight * share, total[1] + weight * counts
                total[2] = [a + weight * b for a, b in zip(total[2], flows)]
        out = []
        for _, (share, counts, flows) in sorted(sums.items()):
            if self.candidates[0].model.problem.cyclic:  # the first time was visited twice
                ends = 0.5 * (counts[:1] + counts[-1:])
                out.append((float(share), (np.maximum(np.vstack([ends, counts[1:-1]]), 0.0), flows)))
            else:
                out.append((float(share), (np.maximum(counts, 0.0), flows)))
        return out

    @one_thread
    def chains(self, season: int) -> list[ChainDraw]:
        """How individuals move at every point."""
        out = []
        for (k, z), weight in track(list(zip(self.points, self.weights)), "Draws"):
            one = self.candidates[k]
            counts, flows = zip(*one.by_type(one.smoothed(season, z), z, True))
            present = np.maximum(np.stack(counts), 0.0)
            if one.model.problem.cyclic:  # the first time was visited twice
                present = np.concatenate([0.5 * (present[:, :1] + present[:, -1:]), present[:, 1:-1]], axis=1)
            if issparse(one.model.problem.far):  # moves have a reach
                flows = [[csr_array(f) for f in tables] for tables in flows]
            out.append(ChainDraw(float(weight), one.split(z)[0], present, [chain_of(tables) for tables in flows]))
        return out

    @one_thread
    def moments(self, season: int, functions: Functions) -> list[tuple[np.ndarray, np.ndarray]]:
        """Means and covariances of functions at every point."""
        out = []
        for k, z in track(self.points, "Intervals"):
            one = self.candidates[k]
            phi, filters = one.split(z)
            asked = functions.repeated(one.model.n_types)
            out.append(one.typed(z, filters)[season].moments(one.model.moves(one.model.inner(z)), phi, asked))
        return out


def work_of(problems: list[FlowProblem]) -> float:
    """What one filter costs: times x places^3."""
    t, n = problems[0].counts.shape
    return len(problems) * (t + problems[0].cyclic) * float(n) ** 3


def _models(problem: FlowProblem, given: list[Movement] | None, work: float, settings: Settings) -> list[Any]:
    """Movement models to average, from the simplest; none that takes too long or asks too much of the data."""
    if given is not None:
        return [GivenMoves(problem, m) for m in given]
    kinds = [CONSTANT, PLACES] if len(problem.names) < 4 else list(KINDS)
    models = [MovementModel(problem, kind) for kind in kinds]
    return models[:1] + [m for m in models[1:] if (60 + 3 * m.size) * m.n_types**3 * work <= settings.work]


def _starts_from(one: Candidate, simpler: list[Candidate]) -> list[np.ndarray] | None:
    """Where the search of a model begins: at the likeliest of the models that it contains."""
    known = [c for c in simpler if isinstance(one.model, MovementModel) and one.model.contains(c.model)]
    if not known:
        return None
    best = max(known, key=lambda c: c.value)
    rest = best.mode[best.model.size :]
    return [np.concatenate([z, rest]) for z in one.model.starts_from(best.model, best.mode)]


def _inverse_root(information: np.ndarray, least: float) -> np.ndarray:
    """The symmetric root of the inverse of the information, whose eigenvalues are `least` or more."""
    if not np.isfinite(information).all():
        raise DataError("The information on movement is not finite.", hint="give counts in a larger unit.")
    values, vectors = np.linalg.eigh(information)
    return vectors / np.sqrt(np.maximum(values, least)) @ vectors.T


def _candidate(problems, model, around, size_known, settings) -> Candidate:
    made = [filter_of(p, a, size_known, settings.known) for p, a in zip(problems, around)]
    return Candidate(model, [f for f, _ in made], any(open_ for _, open_ in made), settings=settings)


def _filled(problem: FlowProblem) -> np.ndarray:
    """Counts (T, L) in individuals, with the mean of the time's neighbours where nothing was observed."""
    rate = np.broadcast_to(np.asarray(getattr(problem.noise, "rate", 1.0), dtype=float), problem.counts.shape)
    counts = np.divide(problem.counts, rate, out=np.full(rate.shape, np.nan), where=rate > 0)
    times, out = np.arange(len(counts)), np.empty(counts.shape)
    for k, column in enumerate(counts.T):
        seen = ~np.isnan(column)
        level = problem.n / counts.shape[1]
        out[:, k] = np.interp(times, times[seen], column[seen]) if seen.any() else level
    return np.maximum(out, 0.0)


def _spread_of_types(share: float, apart: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Covariance (2, 2) of first counts of two types, in units of their sum's; its gradients by logits of both.

    Types that are not at all `apart` have the same shares of all places at first; at most their counts are independent.
    """
    both, between = np.array([share, 1.0 - share]), np.array([[1.0, -1.0], [-1.0, 1.0]])
    mixed = share * (1.0 - share)
    change = np.outer(both, [1.0, -1.0])
    by_share = change + change.T + apart * (1.0 - 2.0 * share) * between
    by_apart = mixed * between
    return np.outer(both, both) + apart * by_apart, mixed * by_share, apart * (1.0 - apart) * by_apart


def _typed(f: Filter, share: float, apart: float, fraction: np.ndarray) -> Filter:
    """A filter whose states are the places once per type."""
    mean = np.concatenate([share * f.mean, (1.0 - share) * f.mean])
    covariance = np.kron(_spread_of_types(share, apart)[0], f.covariance)
    around = np.hstack([fraction * f.around, (1.0 - fraction) * f.around])
    return replace(f, mean=mean, covariance=covariance, around=around)


def _types_slope(passed: Smoothed, f: Filter, share: float, apart: float) -> tuple[float, float]:
    """Gradients of the log-likelihood by the logits of the first type's share and of how far types are apart."""
    n = len(f.mean)
    by_covariance = np.einsum("kilj,ij->kl", passed.covariance_slope.reshape(2, n, 2, n), f.covariance)
    _, by_share, by_apart = _spread_of_types(share, apart)
    by_mean = passed.mean_slope.reshape(2, n) @ f.mean
    first = share * (1.0 - share) * (by_mean[0] - by_mean[1]) + (by_covariance * by_share).sum()
    return float(first), float((by_covariance * by_apart).sum())


def _first_fraction(counts: np.ndarray) -> np.ndarray:
    """The fraction of the first of two types at every time and place, of their expected counts (T, 2 L)."""
    first, second = (np.maximum(part, 0.0) + 0.5 for part in np.split(counts, 2, axis=1))
    return first / (first + second)


def _positive(flows: np.ndarray, p: np.ndarray, before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Flows without negative ones, raked to the counts before and after."""
    rows, cols = np.maximum(before, 0.0), np.maximum(after, 0.0)
    table = np.maximum(flows, LEAST_SHARE * rows[:, None] * p)
    return raked(table, rows, cols * rows.sum() / max(cols.sum(), 1e-300), 1e-4)


def _without_negative(flows: np.ndarray) -> np.ndarray:
    """Flows without negative ones; rows keep their sums."""
    total = np.maximum(flows.sum(axis=1, keepdims=True), 0.0)
    positive = np.maximum(flows, 0.0)
    return positive * total / np.maximum(positive.sum(axis=1, keepdims=True), 1e-300)
