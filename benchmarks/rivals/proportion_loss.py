"""ProportionLossClassifier: a linear model whose mean probabilities per bag are fitted to the bag's shares."""

from __future__ import annotations

from typing import Any

import numpy as np

from sumwise.proportions.likelihood import Likelihood, Value
from sumwise.proportions.linear import LinearProblem, Solution, maximise
from sumwise.proportions.mean_embedding import MeanEmbeddingClassifier
from sumwise.proportions.share_classifier import ShareClassifier
from sumwise.proportions.shares import BagShares, class_probabilities


class ProportionLikelihood(Likelihood):
    """sum_b n_b sum_c s_bc log(mean of p_ic over the bag): the proportion loss, as a function of logits."""

    def __init__(self, data: BagShares):
        self.data, self.offsets, self.powers = data, data.offsets, data.bag_weights
        self.row_weights = np.repeat(data.bag_weights, data.sizes)

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

    The loss of DLLP (Ardehaly and Culotta 2017) for a linear model, by L-BFGS from the mean-embedding start.
    """

    def solve_shares(self, data: BagShares, penalty: Any) -> Solution:
        start = MeanEmbeddingClassifier(tol=1e-2).solve_shares(data, penalty).theta
        problem = LinearProblem(data.rows, ProportionLikelihood(data), penalty, data.n_classes)
        return maximise(problem, start, self.tol, self.max_iter)
