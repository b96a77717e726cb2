"""ProportionLossClassifier: a linear model whose mean probabilities per bag are fitted to the bag's shares."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, log_softmax

from sumwise.proportions.likelihood import Value
from sumwise.proportions.linear import LinearProblem, Solution, maximise
from sumwise.proportions.mean_embedding import MeanEmbeddingClassifier
from sumwise.proportions.share_classifier import ShareClassifier
from sumwise.proportions.shares import BagShares

__all__ = ["ProportionLikelihood", "ProportionLossClassifier"]


class ProportionLikelihood:
    """sum_b n_b sum_c s_bc log(mean of p_ic over the bag): the proportion loss, as a function of logits."""

    def __init__(self, data: BagShares):
        self.data = data
        self.offsets = data.offsets

    def evaluate(self, logits, intercept_scale=None) -> Value:
        """Total per bag; the derivative in the logits takes the place of posterior minus prior."""
        data = self.data
        if logits.ndim == 1:
            one = expit(logits)
            prob = np.column_stack([1.0 - one, one])
        else:
            prob = np.exp(log_softmax(logits, axis=1))
        mean = np.clip(data.bag_means(prob), 1e-12, 1.0)
        ratio = np.repeat(data.shares / mean, data.sizes, axis=0)
        slope = data.weights[:, None] * prob * (ratio - (ratio * prob).sum(axis=1, keepdims=True))
        slope = slope[:, 1] if logits.ndim == 1 else slope
        log_prob = data.sizes * (data.shares * np.log(mean)).sum(axis=1)
        return Value(log_prob, slope, np.zeros_like(slope), np.zeros(len(log_prob)))

    def total_and_residual(self, value: Value):
        """Total, and derivative in the logits."""
        return float(value.log_prob.sum()), value.posterior


class ProportionLossClassifier(ShareClassifier):
    """Logistic (softmax) model that minimises the cross-entropy of bags' shares and their mean probabilities.

    The loss of DLLP (`ProportionLossNetwork`) for a linear model, by L-BFGS from the mean-embedding start.

    Parameters
    ----------
    penalty, totals, max_iter, tol, random_state : as in `MeanEmbeddingClassifier`.

    Attributes
    ----------
    coef_, intercept_ : arrays of shape (n_logits, n_features) and (n_logits,)
    penalty_ : float
    fit_ : Fit

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Bags
    >>> from sumwise.proportions import ProportionLossClassifier
    >>> bags = Bags.from_arrays([np.array([[0.0], [1.0]]), np.array([[1.0], [5.0]]), np.array([[5.0], [6.0]])])
    >>> ProportionLossClassifier(penalty=0.1).fit(bags, [0, 1, 2]).predict([[2.0], [4.0]])
    array([0, 1])
    """

    def _solve(self, data: BagShares, penalty: float) -> Solution:
        start = MeanEmbeddingClassifier(tol=1e-2)._solve(data, penalty).theta
        problem = LinearProblem(data.rows, ProportionLikelihood(data), penalty, data.n_classes)
        return maximise(problem, start, self.tol, self.max_iter)
