"""Fits with several priors, averaged by the likelihood that each gives to bags it has not seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sumwise.inference import average_weights
from sumwise.inference.averaging import NEGLIGIBLE
from sumwise.progress import Progress
from sumwise.proportions.likelihood import BagLikelihood, Value
from sumwise.proportions.linear import LOGISTIC, LinearProblem, Solution, maximise

SPREAD = 1.0 / 3.0  # of the prior's log deviation around it (Laplace): few bags hardly move it
STEP, N_STEPS = 0.25 * np.log(10.0), 4  # of the grid of log deviations, and steps to either side
GROUPS = 20  # of bags held out in turn, at most: a matter of cost
ROUGH = 0.1  # standard errors that a fit without a group may be off

Make = Callable[[str, BagLikelihood, float], LinearProblem]


@dataclass(frozen=True)
class Candidate:
    """A fit with one basis and one prior deviation of log-odds, and how well it predicts held-out bags."""

    basis: str
    deviation: float
    solution: Solution
    parts: list  # parameters without each group
    held_out: np.ndarray  # (n_bags,) log-likelihood of each bag under the fit without its group
    weight: float = np.nan
    dispersion: float = 1.0  # of held-out counts, over what the first candidate says


def held_out_groups(n_bags: int, n_groups: int) -> np.ndarray:
    """Groups of bags in canonical order, in which neighbours have similar shares, so that groups are alike."""
    return np.arange(n_bags) % min(n_groups, n_bags)


def average(make: Make, bases: Sequence[str], likelihood: BagLikelihood, blank: Callable, n_groups: int):
    """Candidates of some weight, whose weights add up to one.

    A candidate's weight is exp(sum_b log P(count_b | fit without the group of b) / phi) times a weak prior around
    the deviation of logistic log-odds, where phi is the overdispersion of held-out counts. The linear models and all
    others together are equally likely beforehand.

    Parameters
    ----------
    make : callable
        ``make(basis, likelihood, deviation)`` is the problem to maximise.
    bases : sequence of str
    likelihood : BagLikelihood
        Of bags in canonical order.
    blank : callable
        ``blank(problem)`` gives parameters that have seen no more than the overall shares.
    n_groups : int
        Groups of bags that are held out in turn, at most.
    """
    run = _Run(make, likelihood, blank, held_out_groups(likelihood.n_bags, n_groups), len(bases) - 1)
    with Progress("Candidates", len(bases) * (2 * N_STEPS + 1)) as progress:
        begin = 0
        for basis in bases:
            run.visit(basis, begin, None)
            progress.step()
            for direction in (1, -1):
                step = begin
                while abs(step) < N_STEPS and run.leads_on(basis, step):
                    run.visit(basis, step + direction, (basis, step))
                    step += direction
                    progress.step()
            begin = run.best_step(basis)
    return run.weighted()


class _Run:
    def __init__(
        self, make: Make, likelihood: BagLikelihood, blank: Callable, groups: np.ndarray, n_nonlinear: int
    ) -> None:
        self.make, self.likelihood, self.blank = make, likelihood, blank
        self.groups, self.n_nonlinear = groups, max(n_nonlinear, 1)
        self.candidates: dict[tuple[str, int], Candidate] = {}
        self.dispersion = 1.0

    def visit(self, basis: str, step: int, before: tuple[str, int] | None) -> None:
        """Fit one candidate, from where its neighbour ended.

        A fit without a group begins where the neighbour's fit without it ended: never where its bags were seen, since
        with a weak prior it would stay there.
        """
        deviation = LOGISTIC * float(np.exp(step * STEP))
        problem = self.make(basis, self.likelihood, deviation)
        near = None if before is None else self.candidates[before]
        empty = self.blank(problem) if near is None else None
        solution = maximise(problem, empty if near is None else near.solution.theta, ROUGH, 300)
        held_out, parts = np.empty(self.likelihood.n_bags), []
        squares, variances = 0.0, 0.0
        for group in range(int(self.groups.max()) + 1):
            out = self.groups == group
            part = self.likelihood.without(out)
            inner = self.make(basis, part, deviation)
            theta = maximise(inner, empty if near is None else near.parts[group], ROUGH, 100).theta
            parts.append(theta)
            value = part.evaluate(inner.logits(theta), inner.split(theta)[2])
            held_out[out] = (value.log_prob * self.likelihood.powers)[out]
            if not self.candidates:
                residual, variance = count_residuals(self.likelihood, value)
                squares, variances = squares + residual[out].sum(), variances + variance[out].sum()
        if not self.candidates and self.likelihood.observed.exact and not problem.random_intercept:
            self.dispersion = max(1.0, squares / max(variances, 1e-12))
        self.candidates[basis, step] = Candidate(basis, deviation, solution, parts, held_out)

    def score(self, key: tuple[str, int]) -> float:
        """Log of the weight, up to a constant."""
        return float(self.candidates[key].held_out.sum()) / self.dispersion + self.log_prior(*key)

    def log_prior(self, basis: str, step: int) -> float:
        """Log of the weight before any bag is held out, up to a constant."""
        return -abs(step) * STEP / SPREAD - (0.0 if basis == "linear" else np.log(self.n_nonlinear))

    def best_step(self, basis: str) -> int:
        """The step of the basis's best candidate."""
        return max((key for key in self.candidates if key[0] == basis), key=self.score)[1]

    def leads_on(self, basis: str, step: int) -> bool:
        """Whether the neighbour of a candidate at the end of the grid may matter: it does, or its basis still gets
        better that way, as far as is known."""
        return self.matters(basis, step) or self.best_step(basis) == step

    def matters(self, basis: str, step: int) -> bool:
        """Whether a candidate's weight is not negligible."""
        return self.score((basis, step)) >= max(map(self.score, self.candidates)) + np.log(NEGLIGIBLE)

    def weighted(self) -> list[Candidate]:
        """Candidates that matter, with their weights."""
        keys = sorted(key for key in self.candidates if self.matters(*key))
        held_out = [self.candidates[key].held_out for key in keys]
        weights = average_weights(held_out, [self.log_prior(*key) for key in keys], self.dispersion)
        known = {"dispersion": self.dispersion}
        return [replace(self.candidates[key], weight=float(w), **known) for key, w in zip(keys, weights)]


def count_residuals(likelihood: BagLikelihood, value: Value) -> tuple[np.ndarray, np.ndarray]:
    """Squared residuals of counts and their variances, each summed over classes, (n_bags,)."""
    off = likelihood.offsets[:-1]
    prior = value.prior if value.prior.ndim == 2 else value.prior[:, None]
    posterior = value.posterior if value.posterior.ndim == 2 else value.posterior[:, None]
    people = likelihood.observed.multiplicity
    people = np.ones(len(prior)) if people is None else people
    residual = np.add.reduceat((posterior - prior) * people[:, None], off)
    variance = np.add.reduceat(prior * (1.0 - prior) * people[:, None], off)
    return (residual**2).sum(axis=1), variance.sum(axis=1)
