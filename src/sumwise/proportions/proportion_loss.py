"""ProportionLossClassifier: a linear model whose mean probabilities per bag are fitted to the bag's shares."""

from __future__ import annotations

from typing import Any

import numpy as np

from sumwise.proportions.likelihood import Value
from sumwise.proportions.linear import LinearProblem, Solution, maximise
from sumwise.proportions.mean_embedding import MeanEmbeddingClassifier
from sumwise.proportions.share_classifier import ShareClassifier
from sumwise.proportions.shares import BagShares, SumOverBags, class_probabilities


class ProportionLikelihood(SumOverBags):
    """sum_b n_b sum_c s_bc log(mean of p_ic over the bag): the proportion loss, as a function of logits."""

    def evaluate(self, logits, _intercept_scale=None, /) -> Value:
        """Total per bag; the derivative in the logits takes the place of posterior minus prior."""
        data = self.data
        prob = class_probabilities(logits)
        mean = np.clip(data.bag_means(prob), 1e-12, 1.0)
        ratio = np.repeat(data.shares / mean, data.sizes, axis=0)
        slope = data.weights[:, None] * prob * (ratio - (ratio * prob).sum(axis=1, keepdims=True))
        slope = slope[:, 1] if logits.ndim == 1 else slope
        log_prob = data.sizes * (data.shares * np.log(mean)).sum(axis=1)
        return Value(log_prob, slope, np.zeros_like(slope), np.zeros(len(log_prob)))


class ProportionLossClassifier(ShareClassifier):
    """Logistic (softmax) model that minimises the cross-entropy of bags' shares and their mean probabilities.

    The loss of DLLP (`ProportionLossNetwork`) for a linear model, by L-BFGS from the mean-embedding start.

    Parameters
    ----------
    penalty, totals, max_iter, tol, random_state : as in `MeanEmbeddingClassifier`.

    Attributes
    ----------
    coef_, intercept_, penalty_, fit_ : as in `MeanEmbeddingClassifier`.

    See Also
    --------
    CentralLimitClassifier : Logistic model under the normal approximation of bag counts (Rosenman and Viswanathan
        2018).
    CardinalityClassifier : Learn an individual-level classifier by exact maximum likelihood from class counts per bag.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Bags
    >>> from sumwise.proportions import ProportionLossClassifier
    >>> bags = Bags(np.array([[0.0], [1.0], [1.0], [5.0], [5.0], [6.0]]), [0, 2, 4, 6])
    >>> ProportionLossClassifier(penalty=0.1).fit(bags, [0, 1, 2]).predict([[2.0], [4.0]])
    array([0, 1])
    """

    def solve_shares(self, data: BagShares, penalty: Any) -> Solution:
        start = MeanEmbeddingClassifier(tol=1e-2).solve_shares(data, penalty).theta
        problem = LinearProblem(data.rows, ProportionLikelihood(data), penalty, data.n_classes)
        return maximise(problem, start, self.tol, self.max_iter)
