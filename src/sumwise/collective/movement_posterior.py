"""Which movements the counts allow, each with its posterior probability, and what they imply for sums of flows.

Counts of a population are nearly normal given how individuals move, so that a Kalman filter has their marginal
likelihood. The prior is uniform over the share that stays and over the log of the scale of distance, and 1 / phi over
the overdispersion of moves: how much more flows vary than those of individuals that move independently.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize

from sumwise.collective.flow_problem import RESERVE, FlowProblem
from sumwise.collective.kernels.flow_filter import Filter, Functions
from sumwise.collective.movement import Movement
from sumwise.collective.potentials import filled
from sumwise.errors import DataError
from sumwise.progress import track

MOST_WORK = 2e10  # times x places^3: some minutes for one movement
PHIS = tuple(4.0**k for k in range(6))  # of overdispersion
STAYS, SCALES = (-3.0, 12.0), (0.25, 4.0)  # between which movements are looked for; scales in units of neighbours
STEP, DEPTH = 1.0, 3.0  # between movements, in standard deviations; and how far their log-posterior may fall
SPREADS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # of first counts between places, in mean counts
FAR = 10.0  # times the variance of the noise that counts vary before the spread of first counts is no question
FIRST_STAYS, FIRST_SCALES = (0.0, 1.5, 3.0, 5.0, 8.0), (0.5, 1.0, 2.0)  # from the best of which the search begins
MIN_PROBABILITY = 1e-3  # posterior probability of a movement, relative to the largest, below which it is left out


@dataclass(frozen=True)
class CountsFilter:
    """The filter of a flow problem."""

    problem: FlowProblem
    filter: Filter
    kappas: tuple[float, ...]  # standard deviations of first counts between places

    @classmethod
    def of(cls, problem: FlowProblem, nodes: np.ndarray, size_known: bool) -> CountsFilter:
        """From the problem and its estimated counts (T, L), at which variances are taken."""
        t, n = problem.counts.shape
        if (t + problem.cyclic) * float(n) ** 3 > MOST_WORK:
            raise DataError(
                f"Intervals take covariances of all places, and there are {n:,} at {t} times.",
                hint="group the places of a region, and fit their counts.",
            )
        rate = np.broadcast_to(np.asarray(getattr(problem.noise, "rate", 1.0), dtype=float), (t, n))
        safe = np.where(rate > 0, rate, 1.0)
        seen = np.where(rate > 0, problem.counts / safe, np.nan)
        around = np.maximum(nodes, 0.5)
        noise = np.broadcast_to(problem.noise.variance(np.maximum(around, 1.0)), (t, n)) / safe**2
        noise = np.maximum(noise, 0.01)  # exact counts: a tenth of an individual
        mean, covariance = np.full(n, problem.n / n), np.eye(n)
        if size_known:
            covariance -= 1.0 / n
        spread = np.nanvar(seen) - noise[~np.isnan(seen)].mean()
        kappas = tuple(k * problem.n / n for k in SPREADS)
        if spread > FAR * noise[~np.isnan(seen)].mean():
            kappas = (2.0 * float(np.sqrt(spread)),)  # the noise is small: no matter which
        if problem.mask is not None:
            shut = ~np.asarray(problem.mask[0], dtype=bool)
            mean[shut], covariance[shut], covariance[:, shut] = 0.0, 0.0, 0.0
        if problem.cyclic:  # the first time is visited twice, and was observed once
            seen, noise, around = (np.vstack([v, v[:1]]) for v in (seen, noise, around))
            noise[[0, -1]] *= 2.0
        if problem.turnover is not None:
            out = np.maximum(problem.n * (1.0 + RESERVE) - around.sum(axis=1), problem.n * RESERVE / 2)[:, None]
            seen, noise, around = (np.hstack([v, w]) for v, w in ((seen, out * np.nan), (noise, out), (around, out)))
            mean, covariance = np.append(mean, out[0]), np.pad(covariance, (0, 1))
            covariance[-1, -1] = n**2  # as uncertain as all places together
        return cls(problem, Filter(seen, noise, around, mean, kappas[0] ** 2 * covariance), kappas)

    def at(self, kappa: float) -> CountsFilter:
        """The same with another spread of the first counts."""
        more = (kappa / self.kappas[0]) ** 2 * self.filter.covariance
        return CountsFilter(self.problem, replace(self.filter, covariance=more), (kappa,))

    def moves(self, movement: Movement) -> list[np.ndarray]:
        """Probabilities of every step between states."""
        made: dict[int, np.ndarray] = {}
        out = []
        problem = self.problem
        for k, logs in enumerate(problem.steps(movement)):
            key = id(logs)
            if key not in made:
                made[key] = np.exp(filled(logs))
            shut = None if problem.mask is None else problem.mask[(k + 1) % len(problem.mask)]
            out.append(made[key] if shut is None else _shut(made[key], shut))
        return out

    def posterior(self, start: Movement, choices: list[Movement] | None, phi: float | None) -> MovementPosterior:
        """Movements by their probabilities: all near the most likely one, or those among `choices`."""
        unit, phis = self.problem.places.unit, PHIS if phi is None else (phi,)
        grid = [replace(start, stay=a, scale=b * unit) for a in FIRST_STAYS for b in FIRST_SCALES]
        each = [
            self.at(kappa) for kappa in (self.kappas[-1:] if choices is not None and len(choices) == 1 else self.kappas)
        ]
        best = np.zeros(len(each))
        if len(each) > 1:
            middle = phis[len(phis) > 1]
            best += [max(f.log_marginal_likelihood(m, middle) for m in choices or grid) for f in each]
        found: list[tuple[Movement, float, float, float]] = []
        for one, value in zip(each, best):
            if value < best.max() - DEPTH:
                continue
            if choices is None:
                part = one.explore(start, phis)
            else:
                part = [
                    (m, phi, one.log_marginal_likelihood(m, phi)) for m in track(choices, "Movements") for phi in phis
                ]
            found += [(m, phi, one.kappas[0], v) for m, phi, v in part]
        logs = np.array([v for *_, v in found])
        kept = np.flatnonzero(logs > logs.max() + np.log(MIN_PROBABILITY))
        weights = np.exp(logs[kept] - logs.max())
        return MovementPosterior(self, [found[k][:3] for k in kept], weights / weights.sum())

    def log_marginal_likelihood(self, movement: Movement, phi: float) -> float:
        """Log marginal likelihood of the counts, with the prior of the overdispersion."""
        return self.filter.run(self.moves(movement), phi, Functions())[0] - np.log(phi)

    def explore(self, start: Movement, phis: tuple) -> list[tuple[Movement, float, float]]:
        """Movements around the most likely one, each with an overdispersion and its log-posterior."""
        unit = self.problem.places.unit

        def made(z: np.ndarray) -> Movement:
            return replace(start, stay=float(z[0]), scale=unit * float(np.exp(z[1])))

        def log_posterior(z: np.ndarray, phi: float) -> float:
            low, high = np.array([(STAYS[0], np.log(SCALES[0])), (STAYS[1], np.log(SCALES[1]))])
            beyond = float((np.maximum(low - z, 0.0) + np.maximum(z - high, 0.0)).sum())
            if beyond > 0:
                return -1e6 * (1.0 + beyond)
            stay = float(np.mean(np.exp(made(z).log_moves(self.problem.places, self.problem.far).diagonal())))
            prior = np.log(max(stay, 1e-12)) + np.log(max(1.0 - stay, 1e-12))
            return self.log_marginal_likelihood(made(z), phi) + prior

        first = [np.array([stay, np.log(scale)]) for stay in FIRST_STAYS for scale in FIRST_SCALES]
        top = first[int(np.argmax([log_posterior(z, phis[len(phis) > 1]) for z in first]))]
        axes, last, by_phi = np.eye(2), None, np.zeros(len(phis))
        for _ in range(3):  # the mode over movements, for the most likely overdispersion
            by_phi = np.array([log_posterior(top, phi) for phi in phis])
            phi = phis[int(by_phi.argmax())]
            if phi == last:
                break
            top, axes = _mode(lambda z, phi=phi: log_posterior(z, phi), top)
            last = phi
        likely = [phi for phi, v in zip(phis, by_phi) if v > by_phi.max() - 2 * DEPTH]
        out = []
        for phi in track(likely, "Movements"):
            points = _lattice(lambda z, phi=phi: log_posterior(z, phi), top, axes)
            out += [(made(z), phi, v) for z, v in points]
        return out


@dataclass(frozen=True)
class MovementPosterior:
    """Movements, overdispersions and spreads of first counts, with their probabilities."""

    counts: CountsFilter
    movements: list[tuple[Movement, float, float]]
    weights: np.ndarray

    def moments(self, functions: Functions) -> tuple[np.ndarray, np.ndarray]:
        """Means and variances of functions over all movements."""
        filters = {kappa: self.counts.at(kappa).filter for _, _, kappa in self.movements}
        each = [
            filters[kappa].run(self.counts.moves(m), phi, functions)[1:]
            for m, phi, kappa in track(self.movements, "Intervals")
        ]
        means, variances = (np.stack(v) for v in zip(*each))
        mean = self.weights @ means
        return mean, self.weights @ (variances + (means - mean) ** 2)


def _shut(moves: np.ndarray, is_open: np.ndarray) -> np.ndarray:
    """Probabilities without moves to places that are closed; what is outside stays open."""
    kept = np.ones(moves.shape[1])
    kept[: len(is_open)] = is_open
    return moves * kept


def _mode(log_posterior: Callable[[np.ndarray], float], first: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where the posterior is highest, and one standard deviation along each axis of its curvature, (2, 2)."""
    simplex = first + np.array([[0.0, 0.0], [0.7, 0.0], [0.0, 0.4]])
    options = {"maxfev": 60, "initial_simplex": simplex, "xatol": 0.03, "fatol": 0.02}
    top = minimize(lambda z: -log_posterior(z), first, method="Nelder-Mead", options=options).x
    h, at = np.array([0.15, 0.1]), log_posterior(top)
    curve = np.empty((2, 2))
    sides = [[log_posterior(top + s * h * e) for s in (-1, 1)] for e in np.eye(2)]
    for k in range(2):
        curve[k, k] = (2 * at - sum(sides[k])) / h[k] ** 2
    corners = sum(s * r * log_posterior(top + h * [s, r]) for s in (-1, 1) for r in (-1, 1))
    curve[0, 1] = curve[1, 0] = -corners / (4 * h.prod())
    values, vectors = np.linalg.eigh(curve)
    return top, vectors / np.sqrt(np.clip(values, 0.5, 1e6))


def _lattice(log_posterior: Callable[[np.ndarray], float], top: np.ndarray, axes: np.ndarray, most: int = 100) -> list:
    """Points `STEP` apart around the highest one, as far as the log-posterior falls by no more than `DEPTH`."""
    at = {(0, 0): log_posterior(top)}
    new = [(0, 0)]
    while new and len(at) < most:
        i, j = new.pop(0)
        best = max(at.values())
        for key in ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)):
            if key not in at:
                at[key] = log_posterior(top + STEP * axes @ np.array(key, dtype=float))
                if at[key] > best - DEPTH:
                    new.append(key)
    return [(top + STEP * axes @ np.array(key, dtype=float), v) for key, v in at.items() if v > -1e5]
