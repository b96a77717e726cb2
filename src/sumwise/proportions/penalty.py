"""The penalty from bags alone, by the likelihood that fits give to held-out bags."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sumwise.progress import Progress
from sumwise.proportions.likelihood import BagLikelihood
from sumwise.proportions.linear import LinearProblem, Solution, maximise

__all__ = ["PenaltySearch", "reference_penalty", "search_penalty"]

STEPS = 10.0 ** np.arange(-4.0, 4.01, 0.5)  # times the reference penalty
MIDDLE = 8
ROUGH = 1e-2  # standard errors that a fold's fit may be off


@dataclass(frozen=True)
class PenaltySearch:
    """Penalties tried, ascending, with the mean held-out log-likelihood per bag of each, and the one taken."""

    penalties: np.ndarray
    scores: np.ndarray
    best: float


def reference_penalty(values) -> float:
    """The total variance of the features: the penalty of a prior under which logits vary by about one."""
    return max(float(np.var(values, axis=0).sum()), 1e-12)


def _folds(n_bags, rng):
    n_folds = min(10 if n_bags <= 20 else 5, n_bags)
    return rng.permutation(np.arange(n_bags) % n_folds)


def _held_out(make, likelihood, penalty, theta, folds):
    """Fit on all, then without each fold (from there): the log-likelihood of each bag held out, and the fit on
    all."""
    whole = maximise(make(likelihood, penalty), theta, tol=ROUGH, max_iter=200)
    power = np.ones(likelihood.n_bags) if likelihood.temper is None else likelihood.temper
    out = np.empty(likelihood.n_bags)
    for fold in range(folds.max() + 1):
        part = BagLikelihood(
            likelihood.offsets, likelihood.observed, likelihood.inference, np.where(folds == fold, 0.0, power)
        )
        problem: LinearProblem = make(part, penalty)
        found = maximise(problem, whole.theta, tol=ROUGH, max_iter=100)
        value = part.evaluate(problem.logits(found.theta), problem.split(found.theta)[2])
        out[folds == fold] = (value.log_prob * power)[folds == fold]
    return out, whole


def _nearest_good(held_out: dict[int, np.ndarray]) -> int:
    """The step nearest to the reference that isn't worse than the best by more than the standard error of the
    difference."""
    top = max(held_out, key=lambda i: held_out[i].mean())
    good = []
    for i, values in held_out.items():
        gap = held_out[top] - values
        if gap.mean() <= gap.std() / np.sqrt(gap.size):
            good.append(i)
    return min(good, key=lambda i: (abs(i - MIDDLE), -i))


def search_penalty(make, likelihood: BagLikelihood, theta, reference, rng, verbose=0) -> tuple[PenaltySearch, Solution]:
    """Walk away from a reference penalty only as far as the cross-validated likelihood of bags clearly improves.

    Penalties are tried up and down from the reference until the likelihood of held-out bags falls on both sides.
    Of those that are within one standard error of the best (of the difference, bag by bag), the nearest to the
    reference is taken: few bags can't say more.

    Parameters
    ----------
    make : callable
        ``make(likelihood, penalty)`` gives the problem to maximise.
    likelihood : BagLikelihood
    theta : array
        The start.
    reference : float
        Where to begin; see `reference_penalty`.
    rng : numpy.random.Generator
        Assigns bags to folds (five, or ten where there are at most 20 bags).

    Returns
    -------
    PenaltySearch, Solution
        The search, and the fit on all bags with the penalty taken, to continue from.
    """
    folds = _folds(likelihood.n_bags, rng)
    held_out: dict[int, np.ndarray] = {}
    fits: dict[int, Solution] = {}
    with Progress("Penalty", verbose=verbose) as progress:

        def visit(i, start):
            held_out[i], fits[i] = _held_out(make, likelihood, reference * STEPS[i], start, folds)
            progress.step(penalty=float(reference * STEPS[i]), held_out=float(held_out[i].mean()))

        visit(MIDDLE, theta)
        for direction in (1, -1):
            i = MIDDLE
            while 0 <= i + direction < len(STEPS):
                visit(i + direction, fits[i].theta)
                i += direction
                if held_out[i].mean() < max(values.mean() for values in held_out.values()):  # past the top on this side
                    break
    tried = sorted(held_out)
    taken = _nearest_good(held_out)
    scores = np.array([held_out[i].mean() for i in tried])
    return PenaltySearch(reference * STEPS[tried], scores, float(reference * STEPS[taken])), fits[taken]
