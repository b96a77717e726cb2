"""HardEM: the most likely labels given the counts, then a classifier on them, and again."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.special import log_softmax

from sumwise.bags import Bags
from sumwise.errors import DataError
from sumwise.proportions.em import alternate, fit_weighted, log_probabilities
from sumwise.proportions.kernels.label_assignment import most_likely_labels, top_labels
from sumwise.proportions.linear import LinearProblem, ShareLikelihood, Solution, maximise
from sumwise.proportions.mean_embedding import MeanEmbeddingClassifier
from sumwise.proportions.penalty import reference_shape
from sumwise.proportions.share_classifier import ShareClassifier, linear_logits
from sumwise.proportions.shares import BagShares


@dataclass(eq=False, repr=False)
class HardEM(ShareClassifier):
    """Hard EM: every round gives members their most likely labels under the bags' counts and fits a classifier to them.

    With two classes and the default classifier this is `AlternatingMeanMap` with ``variant="min"``; with more classes
    the labels of a bag are chosen jointly, and any scikit-learn classifier can be trained.

    Parameters
    ----------
    classifier : scikit-learn classifier, optional
        Default: a logistic (softmax) regression. Its `fit` must take ``sample_weight``.
    penalty, totals, random_state : as in `MeanEmbeddingClassifier`; of the default classifier.
    max_iter : int >= 1, default 50
        Rounds, from the mean-embedding start.
    tol : float > 0, default 1e-4
        Change of the mean log-likelihood per row at which it stops; it also stops when labels come back.

    Attributes
    ----------
    coef_, intercept_ : arrays of shape (n_logits, n_features) and (n_logits,), of the default classifier.
    classifier_ : the fitted scikit-learn classifier, where one was given.
    fit_ : Fit

    See Also
    --------
    LabelSampler : Draw labels that agree with the counts and coefficients in turn, by Gibbs sampling (Kueck and de
        Freitas 2005).
    CardinalityClassifier : Learn an individual-level classifier by exact maximum likelihood from class counts per bag.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Bags
    >>> from sumwise.proportions import HardEM
    >>> bags = Bags(np.array([[0.0], [1.0], [1.0], [5.0], [5.0], [6.0]]), [0, 2, 4, 6])
    >>> HardEM(penalty=0.1).fit(bags, [0, 1, 2]).predict([[2.0], [4.0]])
    array([0, 1])
    """

    classifier: Any = None
    _: KW_ONLY
    max_iter: int = 50
    tol: float = 1e-4

    def _chosen(self, data: BagShares) -> Any:
        return reference_shape(data.values) if self.classifier is not None else super()._chosen(data)

    def solve_shares(self, data: BagShares, penalty: Any) -> Solution:
        start = MeanEmbeddingClassifier(tol=1e-3).solve_shares(data, penalty).theta
        if data.n_classes > 2 and not np.allclose(data.weights, 1.0):
            raise DataError(
                "Hard labels of weighted rows are supported for two classes only.",
                hint="draw rows by weight first: sumwise.proportions.draw.",
            )
        logits = linear_logits(data.values, start.reshape(-1, data.values.shape[1] + 1))

        def assign(state):
            return hard_labels(state[1], data)

        fit, n = partial(self._regress, data, penalty), data.row_weights.sum()
        (theta, _, fitted), found = alternate((start, logits, None), assign, fit, n, self.max_iter, self.tol)
        if self.classifier is not None:
            self.classifier_ = fitted
        return replace(found, theta=theta)

    def _regress(self, data: BagShares, penalty, labels, state):
        """Fit to hard labels: the parameters (of the default classifier), the logits of all rows and the fitted
        classifier (where another was given); and the log-likelihood of the labels."""
        theta, fitted = state[0], None
        if self.classifier is not None:
            fitted = fit_weighted(self.classifier, data.values, labels, data.row_weights)
            logits = log_probabilities(fitted, data.values)
        else:
            problem = LinearProblem(data.rows, ShareLikelihood(labels, data.row_weights), penalty, data.n_classes)
            theta = maximise(problem, theta, 1e-3, 100).theta
            logits = problem.logits(theta)
        full = np.column_stack([np.zeros(len(logits)), logits]) if logits.ndim == 1 else logits
        total = float(data.row_weights @ (labels * log_softmax(full, axis=1)).sum(axis=1))
        return (theta, logits, fitted), total

    def _keep(self, found: list[Solution], penalties):
        if self.classifier is None:
            super()._keep(found, penalties)
        else:
            self._record(found)

    def _logits(self, bags: Bags) -> np.ndarray:
        if self.classifier is not None:
            return log_probabilities(self.classifier_, np.asarray(bags.values, dtype=np.float64))
        return super()._logits(bags)


def hard_labels(logits, data: BagShares) -> np.ndarray:
    """Indicators (n_rows, n_classes) of the most likely labels with the counts of each bag."""
    if logits.ndim == 1:
        one = top_labels(logits, data.offsets, data.counts[:, 1], data.weights)
        return np.column_stack([1.0 - one, one])
    labels = most_likely_labels(logits, data.offsets, np.rint(data.counts))
    return np.eye(data.n_classes)[labels]
