"""The penalty from bags alone, by the likelihood that fits give to held-out bags."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sumwise.features import centre_and_scale
from sumwise.progress import Progress
from sumwise.proportions.likelihood import BagLikelihood
from sumwise.proportions.linear import LinearProblem, Solution, maximise

STEPS = 10.0 ** np.arange(-4.0, 4.01, 0.5)  # times the reference penalty
MIDDLE = 8
# The step at which cross-validation begins: logits then vary as those of the standard logistic distribution, whose
# variance is 3.29, so that probabilities are about uniform before any bag is seen. Ten draws each of 34 settings that
# no table reports (benchmarks/results/proportions_penalty_starts.json): beginning at the reference costs .003 in AUC
# and .009 in log-loss over all, most of it where features predict well.
FIRST = MIDDLE - 1
# Log-likelihood of held-out bags by which the reference must be the likelier prior before the search counts from there:
# "very strong" evidence on the scale of Kass and Raftery (1995). On 30 of those settings it costs .0002 in AUC and
# .0001 in log-loss, a standard error ("between", in the same file), and it is worth .010 in AUC on the published bags
# hard-close, .001 in AUC and .004 in log-loss on twelve cuts that chose nothing (cardinality_few_bags.json). It serves
# where bags are too few for standard errors: without the limit it was worse in log-loss on 30 and 60 bags of alike
# digits.
VERY_STRONG = 5.0
FEW_BAGS = 20  # at most so many: ten folds instead of five, and the rule above
ROUGH = 1e-2  # standard errors that a fold's fit may be off
MOST_FITS = 8  # penalties tried, those for the marginal likelihood included; three are left to compare neighbours
# The step below which the marginal likelihood is not followed: logits that vary by more than ten are no prior.
LOOSEST = 6
# Standard errors by which a penalty must be worse than the best before it is left, 1 + FEW / n_bags: few bags say
# little. Ten draws each of 34 settings with 6 to 90 bags that no table reports
# (benchmarks/results/proportions_penalty_rules.json): over all of them 40 costs .006 in log-loss; 0 costs .002 in AUC
# and .003 in log-loss, and .011 in log-loss with few areas and occupations; .002 and .007 on 18 cuts that
# chose nothing.
FEW = 10.0


@dataclass(frozen=True)
class PenaltySearch:
    """Multiples of the reference tried, ascending, the mean held-out log-likelihood per bag of each, and the best."""

    penalties: np.ndarray
    scores: np.ndarray
    best: float


def reference_shape(values) -> np.ndarray:
    """The penalty of a prior under which logits vary by about one, whatever the features' units.

    Columns count per standard deviation, those of two values per step from one to the other: a rare level has to
    earn its coefficient.

    Returns
    -------
    (n_features,) array

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.proportions.penalty import reference_shape
    >>> reference_shape(np.array([[0.0, 3.0], [0.0, -3.0], [1.0, 3.0], [1.0, -3.0]])).round(2)
    array([ 0.5, 18. ])
    """
    scale = centre_and_scale(values)[1]
    return scale**2 * max(float((values / scale).var(axis=0).sum()), 1e-12)


def _folds(n_bags, rng):
    n_folds = min(10 if n_bags <= FEW_BAGS else 5, n_bags)
    return rng.permutation(np.arange(n_bags) % n_folds)


@dataclass
class _Fits:
    """The fit on all bags and the fits without each fold, with one penalty."""

    whole: Solution
    folds: list  # parameters without each fold
    held_out: np.ndarray  # log-likelihood of each bag under the fit that has not seen it


def _fit_folds(make, likelihood, penalty, starts, folds) -> _Fits:
    """Fit on all bags, then without each fold; ``starts`` are the parameters to begin from, that on all bags first.

    A fit without a fold must not begin where the held-out bags were seen: with few bags and a small penalty many
    coefficients fit the others equally well, and it would stay there.
    """
    whole = maximise(make(likelihood, penalty), starts[0], tol=ROUGH, max_iter=200)
    out, thetas = np.empty(likelihood.n_bags), []
    for fold, start in enumerate(starts[1:]):
        part = likelihood.without(folds == fold)
        problem: LinearProblem = make(part, penalty)
        found = maximise(problem, start, tol=ROUGH, max_iter=100)
        value = part.evaluate(problem.logits(found.theta), problem.split(found.theta)[2])
        out[folds == fold] = (value.log_prob * likelihood.powers)[folds == fold]
        thetas.append(found.theta)
    return _Fits(whole, thetas, out)


def _without_features(problem: LinearProblem, theta) -> np.ndarray:
    """The start with coefficients of zero: it has learned no more than the overall shares from any bag."""
    flat = theta.copy()
    flat[: problem.n_logits * problem.width].reshape(problem.n_logits, problem.width)[:, :-1] = 0.0
    return flat


def _likelier_prior(held_out: dict[int, np.ndarray], first: int) -> int:
    """The reference instead of a smaller first step where few held-out bags support it very strongly.

    The difference of their log-likelihoods under two priors is the logarithm of a pseudo-Bayes factor (Geisser and
    Eddy 1979).
    """
    if first >= MIDDLE or MIDDLE not in held_out or held_out[first].size > FEW_BAGS:
        return first
    return MIDDLE if (held_out[MIDDLE] - held_out[first]).sum() > VERY_STRONG else first


def _nearest_good(held_out: dict[int, np.ndarray], first: int) -> int:
    """The step nearest to the first that isn't clearly worse than the best: by more than 1 + FEW / n_bags standard
    errors of the difference, bag by bag."""
    top = max(held_out, key=lambda i: held_out[i].mean())
    good = []
    for i, values in held_out.items():
        gap = held_out[top] - values
        if gap.mean() <= (1.0 + FEW / gap.size) * gap.std() / np.sqrt(gap.size):
            good.append(i)
    return min(good, key=lambda i: (abs(i - first), -i))


def log_marginal_likelihood(problem: LinearProblem, multiple, found: Solution) -> float:
    """Laplace's approximation of the log of the bags' marginal likelihood, up to a constant that all multiples share.

    With A the information at the fit, penalty included, and d coefficients per logit: the penalised log-likelihood
    + d / 2 log(multiple) - log|A| / 2.
    """
    n_coefs = problem.n_logits * (problem.width - 1)
    spread = sum(np.linalg.slogdet(block)[1] for block in problem.information(found.theta))
    return found.objective + 0.5 * n_coefs * np.log(multiple) - 0.5 * float(spread)


def walk(rises: Callable[[int, int], bool], first: int, steps: range) -> None:
    """Go up and then down from the first step, as long as ``rises(step, the one before)`` and there are steps."""
    for direction in (1, -1):
        before = first
        while before + direction in steps and rises(before + direction, before):
            before += direction


def _most_likely(make, likelihood, theta) -> tuple[int, Solution, int]:
    """The step of greatest marginal likelihood, walking from the reference on both sides until it falls, its fit, and
    how many were tried.

    Not beyond a tenth of the reference: there a bag's own intercept and its features compete for the same variation,
    and the marginal likelihood, which takes the intercepts' scale as known, goes on rising.
    """
    found: dict[int, tuple[float, Solution]] = {}

    def visit(i, start):
        problem = make(likelihood, STEPS[i])
        solution = maximise(problem, start, tol=ROUGH, max_iter=200)
        found[i] = (log_marginal_likelihood(problem, STEPS[i], solution), solution)

    def rises(i, before):
        if len(found) >= MOST_FITS - 3:
            return False
        visit(i, found[before][1].theta)
        return found[i][0] >= found[before][0]

    visit(MIDDLE, theta)
    walk(rises, MIDDLE, range(LOOSEST, len(STEPS)))
    best = max(found, key=lambda i: found[i][0])
    return best, found[best][1], len(found)


def search_penalty(
    make, likelihood: BagLikelihood, theta, rng, by_marginal_likelihood=False, verbose=0
) -> tuple[PenaltySearch, Solution]:
    """Walk away from a first penalty only as far as the cross-validated likelihood of bags clearly improves.

    Penalties are tried up and down from the first until the likelihood of held-out bags falls on both sides. Of
    those that are within 1 + 10 / n_bags standard errors of the best (of the difference, bag by bag), the nearest to
    the first is taken: few bags can't say more. With at most 20 bags, the reference counts as the first where its
    pseudo-Bayes factor against the first is above e^5.

    Parameters
    ----------
    make : callable
        ``make(likelihood, multiple)`` gives the problem to maximise, with this multiple of the reference penalty.
    likelihood : BagLikelihood
    theta : array
        The start.
    rng : numpy.random.Generator
        Assigns bags to folds (five, or ten where there are at most 20 bags).
    by_marginal_likelihood : bool
        Whether the first penalty is that of greatest marginal likelihood instead of a third of the reference. It is
        to be trusted where the model knows how much counts vary, so with random intercepts.

    Returns
    -------
    PenaltySearch, Solution
        The search, and the fit on all bags with the penalty taken, to continue from.
    """
    folds = _folds(likelihood.n_bags, rng)
    fits: dict[int, _Fits] = {}
    with Progress("Penalty", MOST_FITS, verbose) as progress:

        def visit(i, starts):
            fits[i] = _fit_folds(make, likelihood, STEPS[i], starts, folds)
            progress.step(penalty=float(STEPS[i]), held_out=float(fits[i].held_out.mean()))

        def rises(i, before):
            if len(fits) + n_before >= MOST_FITS:
                return False
            visit(i, [fits[before].whole.theta, *fits[before].folds])
            return fits[i].held_out.mean() >= max(fit.held_out.mean() for fit in fits.values())

        first, n_before = FIRST, 0
        if by_marginal_likelihood:
            first, near, n_before = _most_likely(make, likelihood, theta)
            theta = near.theta
        blank = _without_features(make(likelihood, 1.0), theta)
        visit(first, [theta] + [blank] * (int(folds.max()) + 1))
        walk(rises, first, range(len(STEPS)))
    tried = sorted(fits)
    held_out = {i: fit.held_out for i, fit in fits.items()}
    taken = _nearest_good(held_out, first if by_marginal_likelihood else _likelier_prior(held_out, first))
    scores = np.array([fits[i].held_out.mean() for i in tried])
    return PenaltySearch(STEPS[tried], scores, float(STEPS[taken])), fits[taken].whole
