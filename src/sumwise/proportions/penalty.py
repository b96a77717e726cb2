"""The penalty from bags alone: the one whose fits give held-out bags the highest likelihood."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sumwise.progress import Progress
from sumwise.proportions.likelihood import BagLikelihood
from sumwise.proportions.linear import LinearProblem, Solution, maximise

__all__ = ["PenaltySearch", "search_penalty"]

GRID = 10.0 ** np.arange(-3.0, 5.01, 0.5)
FIRST = 8  # the grid's entry to begin with: 10
ROUGH = 1e-2  # standard errors that a fold's fit may be off


@dataclass(frozen=True)
class PenaltySearch:
    """Penalties tried, ascending, and the mean held-out log-likelihood per bag of each."""

    penalties: np.ndarray
    scores: np.ndarray

    @property
    def best(self) -> float:
        """The penalty with the highest score."""
        return float(self.penalties[int(np.argmax(self.scores))])


def _folds(n_bags, rng):
    n_folds = min(10 if n_bags <= 20 else 5, n_bags)
    return rng.permutation(np.arange(n_bags) % n_folds)


def _score(make, likelihood, penalty, theta, folds):
    """Fit on all, then without each fold (from there); the held-out log-likelihood per bag and the fit on all."""
    whole = maximise(make(likelihood, penalty), theta, tol=ROUGH)
    power = np.ones(likelihood.n_bags) if likelihood.temper is None else likelihood.temper
    held_out = 0.0
    for fold in range(folds.max() + 1):
        part = BagLikelihood(
            likelihood.offsets, likelihood.observed, likelihood.inference, np.where(folds == fold, 0.0, power)
        )
        problem: LinearProblem = make(part, penalty)
        found = maximise(problem, whole.theta, tol=ROUGH, max_iter=200)
        value = part.evaluate(problem.logits(found.theta), problem.split(found.theta)[2])
        held_out += float((value.log_prob * power)[folds == fold].sum())
    return held_out / likelihood.n_bags, whole


def search_penalty(make, likelihood: BagLikelihood, theta, rng, verbose=0) -> tuple[PenaltySearch, Solution]:
    """Walk along a grid of penalties from 10, up and down, while the cross-validated likelihood of bags improves.

    Parameters
    ----------
    make : callable
        ``make(likelihood, penalty)`` gives the problem to maximise.
    likelihood : BagLikelihood
    theta : array
        The start.
    rng : numpy.random.Generator
        Assigns bags to folds (five, or ten where there are at most 20 bags).

    Returns
    -------
    PenaltySearch, Solution
        The search, and the fit on all bags with the best penalty, to continue from.
    """
    folds = _folds(likelihood.n_bags, rng)
    scores: dict[int, float] = {}
    fits: dict[int, Solution] = {}
    with Progress("Penalty", verbose=verbose) as progress:

        def visit(i, start):
            scores[i], fits[i] = _score(make, likelihood, GRID[i], start, folds)
            progress.step(penalty=float(GRID[i]), held_out=scores[i])

        visit(FIRST, theta)
        for direction in (1, -1):
            i = FIRST
            while 0 <= i + direction < len(GRID):
                visit(i + direction, fits[i].theta)
                i += direction
                if scores[i] < max(scores.values()):  # past the top on this side
                    break
    tried = sorted(scores)
    search = PenaltySearch(GRID[tried], np.array([scores[i] for i in tried]))
    return search, fits[tried[int(np.argmax(search.scores))]]
