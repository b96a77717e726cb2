"""LabelSampler: Markov chain Monte Carlo over the labels of members, and coefficients drawn given them."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from sumwise import checks
from sumwise.errors import DataError
from sumwise.proportions.kernels.label_assignment import top_labels
from sumwise.proportions.kernels.label_swaps import swap_labels
from sumwise.proportions.linear import LinearProblem, ShareLikelihood, Solution, as_penalty, check_penalty, maximise
from sumwise.proportions.mean_embedding import MeanEmbeddingClassifier
from sumwise.proportions.penalty import reference_shape
from sumwise.proportions.share_classifier import ShareClassifier
from sumwise.proportions.shares import BagShares


def _repeated(data: BagShares) -> BagShares:
    """Bags as often as they count: each copy has labels of its own."""
    if data.importance is None:
        return data
    times = np.rint(data.importance).astype(int)
    if not np.allclose(times, data.importance):
        raise DataError(
            "Labels are drawn for whole bags, and some sample_weight is not a whole number.",
            hint="CardinalityClassifier takes any weight.",
        )
    return replace(data, importance=None).take(np.repeat(np.arange(data.n_bags), times))


@dataclass(eq=False, repr=False)
class LabelSampler(ShareClassifier):
    """Draw labels that agree with the counts and coefficients in turn, by Gibbs sampling (Kueck and de Freitas 2005).

    Labels of a bag are drawn given its count by swaps of a 1 and a 0 (Metropolis). Coefficients given labels are drawn
    from Laplace's approximation of their posterior. The posterior mean of the coefficients is the model. For two
    classes, or one against the rest; rows without weights. The exact likelihood (`CardinalityClassifier`) sums over
    all labels at once and needs no chain; this is the same model by other means.

    Parameters
    ----------
    penalty : float, array or "auto", default "auto"
        Prior precision of the coefficients. ``"auto"``: a prior under which logits vary by about one.
    n_draws : int >= 2, default 200
    n_burn : int >= 0, default 100
        Draws that are left out at the beginning.
    n_swaps : int >= 1, default 5
        Proposed swaps per member and draw.
    totals : as in `CardinalityClassifier`.
    random_state : int, Generator or None, default 0

    Attributes
    ----------
    coef_, intercept_, penalty_, fit_ : as in `MeanEmbeddingClassifier`.
    draws_ : list of arrays of shape (n_draws, n_columns + 1), one per logit.

    See Also
    --------
    HardEM : Hard EM: every round gives members their most likely labels under the bags' counts and fits a classifier
        to them.
    CardinalityClassifier : Learn an individual-level classifier by exact maximum likelihood from class counts per bag.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Bags
    >>> from sumwise.proportions import LabelSampler
    >>> bags = Bags(np.array([[0.0], [1.0], [1.0], [5.0], [5.0], [6.0]]), [0, 2, 4, 6])
    >>> LabelSampler(penalty=0.1, n_draws=50).fit(bags, [0, 1, 2]).predict([[1.0], [5.0]])
    array([0, 1])
    """

    _by_class = True

    _: KW_ONLY
    n_draws: int = 200
    n_burn: int = 100
    n_swaps: int = 5
    max_iter: int = field(default=300, init=False)  # no parameter: the chain has its lengths
    tol: float = field(default=1.5, init=False)  # standard deviations between the means of the chain's halves, settled

    def _check(self):
        check_penalty(self.penalty)
        checks.at_least(self.n_draws, "n_draws", 2)
        checks.at_least(self.n_burn, "n_burn", 0)
        checks.at_least(self.n_swaps, "n_swaps", 1)

    def _learn(self, data: BagShares):
        self.draws_: list[np.ndarray] = []
        super()._learn(_repeated(data))

    def _chosen(self, data: BagShares) -> Any:
        if isinstance(self.penalty, str):
            return reference_shape(data.values)
        return as_penalty(self.penalty, data.values.shape[1])

    def solve_shares(self, data: BagShares, penalty: Any) -> Solution:
        if not np.allclose(data.weights, 1.0):
            raise DataError("Labels can only be drawn if each row is one person.", hint="draw rows by weight first.")
        rng = checks.generator(self.random_state)
        theta = MeanEmbeddingClassifier(tol=1e-2).solve_shares(data, penalty).theta
        problem = LinearProblem(data.rows, ShareLikelihood(None, data.weights), penalty)
        labels = top_labels(problem.logits(theta), data.offsets, np.rint(data.counts[:, 1]))
        kept, history = [], []
        for draw in range(self.n_burn + self.n_draws):
            labels = swap_labels(labels, problem.logits(theta), data.offsets, self.n_swaps, rng=rng)
            likelihood = ShareLikelihood(np.column_stack([1.0 - labels, labels]), data.weights)
            given = LinearProblem(data.rows, likelihood, penalty)
            found = maximise(given, theta, 1e-2, 30)
            lower = cholesky(given.information(found.theta)[0], lower=True)
            theta = found.theta + solve_triangular(lower, rng.standard_normal(len(theta)), lower=True, trans=1)
            history.append(found.objective)
            if draw >= self.n_burn:
                kept.append(theta)
        self.draws_.append(np.array(kept))
        mean = np.mean(kept, axis=0)
        half = len(kept) // 2
        drift = np.abs(np.mean(kept[:half], axis=0) - np.mean(kept[half:], axis=0)) / np.std(kept, axis=0).clip(1e-12)
        settled = bool(drift.max() < self.tol)
        return Solution(mean, float(np.mean(history)), float(drift.max()), len(history), settled, history)
