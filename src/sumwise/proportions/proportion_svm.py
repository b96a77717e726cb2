"""ProportionSVM: a support vector machine and the labels of members, fitted in turn under the bags' shares."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.proportions.likelihood import Value
from sumwise.proportions.linear import LinearProblem, ShareLikelihood, Solution, maximise
from sumwise.proportions.mean_embedding import MeanEmbeddingClassifier
from sumwise.proportions.proportion_loss import ProportionLikelihood
from sumwise.proportions.share_classifier import ShareClassifier
from sumwise.proportions.shares import BagShares

CORNER_WIDTH = 0.05  # margin over which the corner of the hinge is rounded, so that L-BFGS can follow it
ANNEAL = 1.5  # factor by which the weight of the labels grows from round to round, as in alter-pSVM (Yu et al. 2013)
FIRST_WEIGHT = 0.03  # share of its final weight at which it begins


class HingeLikelihood(ShareLikelihood):
    """Minus the hinge losses of labels -1 and 1, with a rounded corner."""

    def __init__(self, signs, weights):
        super().__init__(None, weights)
        self.signs = signs

    def evaluate(self, logits, _intercept_scale=None, /) -> Value:
        """Loss per row; the derivative in the logits takes the place of posterior minus prior."""
        short = np.maximum(1.0 - self.signs * logits, 0.0)
        near = np.minimum(short, CORNER_WIDTH)
        loss = short - near + 0.5 * near**2 / CORNER_WIDTH
        slope = self.signs * near / CORNER_WIDTH
        return Value(-loss, slope, np.zeros_like(slope), np.zeros_like(slope))


def proportion_labels(scores, data: BagShares, share_cost) -> np.ndarray:
    """Labels 0 or 1 that minimise, bag by bag, the hinge losses of the scores plus share_cost n |share - its target|.

    Among labels with k ones the best give them to the highest scores (exchange two labels to see it), so k alone is
    searched.
    """
    gains = np.maximum(1.0 + scores, 0.0) - np.maximum(1.0 - scores, 0.0)  # of the label 1 over 0
    labels = np.zeros(len(scores))
    for b, (begin, end) in enumerate(zip(data.offsets[:-1], data.offsets[1:])):
        order = begin + np.argsort(-gains[begin:end], kind="stable")
        won = np.concatenate([[0.0], np.cumsum(gains[order])])
        n = end - begin
        cost = share_cost * np.abs(np.arange(n + 1) - data.shares[b, 1] * n) - won
        labels[order[: int(np.argmin(cost))]] = 1.0
    return labels


@dataclass(eq=False, repr=False)
class ProportionSVM(ShareClassifier):
    """The proportion SVM (alter-pSVM, Yu et al. 2013): labels and a large margin, in turn.

    Each round gives members the labels of least hinge loss plus a cost of missing the bag's share, then fits a linear
    support vector machine to them; the weight of the labels grows from round to round, as in the paper. The first
    scores are those of a regression of shares on bag means, in place of many random starts. Probabilities follow from
    the margin by a slope and an offset that are fitted to the shares. Several classes are fitted one against the rest.

    Parameters
    ----------
    share_cost : float > 0, default 10
        Cost of one member too many or too few in a bag, in hinge losses (the paper's C_p).
    penalty, totals, max_iter, tol, random_state : as in `MeanEmbeddingClassifier`.

    Attributes
    ----------
    coef_, intercept_, penalty_, fit_ : as in `MeanEmbeddingClassifier`; one penalty per class where there are several.

    See Also
    --------
    InverseCalibration : Inverse calibration (Rueping 2010): the mean of a bag is one instance, the log-odds of its
        share the target.
    CardinalityClassifier : Learn an individual-level classifier by exact maximum likelihood from class counts per bag.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Bags
    >>> from sumwise.proportions import ProportionSVM
    >>> bags = Bags(np.array([[0.0], [1.0], [1.0], [5.0], [5.0], [6.0]]), [0, 2, 4, 6])
    >>> ProportionSVM(penalty=0.1).fit(bags, [0, 1, 2]).predict([[2.0], [4.0]])
    array([0, 1])
    """

    _by_class = True

    _: KW_ONLY
    share_cost: float = 10.0
    max_iter: int = 100
    tol: float = 1e-2

    def _check(self):
        checks.positive(self.share_cost, "share_cost")
        super()._check()

    def solve_shares(self, data: BagShares, penalty: Any) -> Solution:
        theta = MeanEmbeddingClassifier(tol=1e-2).solve_shares(data, penalty).theta
        labels, weight, n_iter, history = np.full(len(data.values), -1.0), FIRST_WEIGHT, 0, []
        settled = False
        while n_iter < self.max_iter and not settled:
            scores = data.rows.times(theta[None, :-1])[:, 0] + theta[-1]
            before, labels = labels, proportion_labels(scores, data, self.share_cost)
            likelihood = HingeLikelihood(2.0 * labels - 1.0, weight * data.row_weights)
            found = maximise(LinearProblem(data.rows, likelihood, penalty), theta, self.tol, 100)
            theta = found.theta
            history.append(found.objective)
            settled = weight >= 1.0 and np.array_equal(labels, before)
            weight, n_iter = min(ANNEAL * weight, 1.0), n_iter + 1
        return Solution(self._calibrated(data, theta), history[-1], 0.0 if settled else 1.0, n_iter, settled, history)

    def _calibrated(self, data: BagShares, theta: np.ndarray) -> np.ndarray:
        """The margin times a slope plus an offset, those that give the bags' shares the least loss."""
        margin = (data.rows.times(theta[None, :-1])[:, 0] + theta[-1])[:, None]
        problem = LinearProblem(margin, ProportionLikelihood(data), 1e-3)
        slope, offset = maximise(problem, np.array([2.0, 0.0]), 1e-4, 100).theta
        slope = max(slope, 1e-3)  # a margin never speaks for the other class
        return np.append(slope * theta[:-1], slope * theta[-1] + offset)
