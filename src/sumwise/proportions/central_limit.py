"""CentralLimitClassifier: counts as if they were normal, with the mean and variance of a sum of labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from sumwise.proportions.likelihood import Value
from sumwise.proportions.linear import LinearProblem, Solution, maximise
from sumwise.proportions.mean_embedding import MeanEmbeddingClassifier
from sumwise.proportions.share_classifier import ShareClassifier
from sumwise.proportions.shares import BagShares, SumOverBags

ROUNDING = 1.0 / 12.0  # variance of rounding to whole counts; without it a bag of certain labels has infinite density


class CentralLimitLikelihood(SumOverBags):
    """Normal log-density of each bag's count, with mean sum p_i and variance sum p_i (1 - p_i) + 1/12."""

    def evaluate(self, logits, _intercept_scale=None, /) -> Value:
        """Log-density per bag; the derivative in the logits takes the place of posterior minus prior."""
        data = self.data
        p = expit(logits)
        spread = p * (1.0 - p)
        mean, variance = (data.bag_means(np.column_stack([p, spread])) * data.sizes[:, None]).T
        variance = variance + ROUNDING
        off = data.counts[:, 1] - mean
        log_prob = -0.5 * np.log(2 * np.pi * variance) - 0.5 * off**2 / variance
        by_mean = np.repeat(off / variance, data.sizes)
        by_variance = np.repeat(0.5 * (off**2 / variance - 1.0) / variance, data.sizes)
        slope = data.weights * spread * (by_mean + by_variance * (1.0 - 2.0 * p))
        return Value(log_prob, slope, np.zeros_like(slope), np.zeros(len(log_prob)))


class CentralLimitClassifier(ShareClassifier):
    """Logistic model under the normal approximation of bag counts (Rosenman and Viswanathan 2018).

    Several classes are fitted one against the rest.

    Parameters
    ----------
    penalty, totals, max_iter, tol, random_state : as in `MeanEmbeddingClassifier`.

    Attributes
    ----------
    coef_, intercept_, penalty_, fit_ : as in `MeanEmbeddingClassifier`; one penalty per class where there are several.

    See Also
    --------
    CardinalityClassifier : Learn an individual-level classifier by exact maximum likelihood from class counts per bag.
    ProportionLossClassifier : Logistic (softmax) model that minimises the cross-entropy of bags' shares and their mean
        probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Bags
    >>> from sumwise.proportions import CentralLimitClassifier
    >>> bags = Bags(np.array([[0.0], [1.0], [1.0], [5.0], [5.0], [6.0]]), [0, 2, 4, 6])
    >>> CentralLimitClassifier(penalty=0.1).fit(bags, [0, 1, 2]).predict([[2.0], [4.0]])
    array([0, 1])
    """

    _by_class = True

    def solve_shares(self, data: BagShares, penalty: Any) -> Solution:
        start = MeanEmbeddingClassifier(tol=1e-2).solve_shares(data, penalty).theta
        problem = LinearProblem(data.rows, CentralLimitLikelihood(data), penalty)
        return maximise(problem, start, self.tol, self.max_iter)
