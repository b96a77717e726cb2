"""MeanEmbeddingClassifier: logistic regression of bags' shares on their means."""

from __future__ import annotations

from typing import Any

from sumwise.proportions.linear import LinearProblem, ShareLikelihood, Solution, maximise
from sumwise.proportions.share_classifier import ShareClassifier, constant_start
from sumwise.proportions.shares import BagShares


class MeanEmbeddingClassifier(ShareClassifier):
    """Logistic (softmax) regression of class shares on bag means, used for individuals (Sun et al. 2017).

    Parameters
    ----------
    penalty : float or "auto", default "auto"
        ``penalty / 2`` times the squared coefficients (intercepts are free) is subtracted from the log-likelihood, in
        which a bag counts as many times as it has rows. ``"auto"`` is that of a prior under which log-odds vary as a
        logistic variable does.
    totals : {"match", "scale", "rest"}, default "match"
        As in `CardinalityClassifier`.
    max_iter : int >= 1, default 300
    tol : float > 0, default 1e-3
        Distance to the maximum, in standard errors, at which the fit stops.

    Attributes
    ----------
    coef_, intercept_ : arrays of shape (n_logits, n_features) and (n_logits,)
    penalty_ : float or array
    fit_ : Fit

    See Also
    --------
    CardinalityClassifier : Learn an individual-level classifier by exact maximum likelihood from class counts per bag.
    MeanMap : The mean map of Quadrianto et al. (2009), or its Laplacian form (Patrini et al. 2014).

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Bags
    >>> from sumwise.proportions import MeanEmbeddingClassifier
    >>> bags = Bags.from_arrays([np.array([[0.0], [1.0]]), np.array([[2.0], [4.0]]), np.array([[5.0], [6.0]])])
    >>> MeanEmbeddingClassifier(penalty=0.1).fit(bags, [0, 1, 2]).predict([[0.0], [6.0]])
    array([0, 1])
    """

    def solve_shares(self, data: BagShares, penalty: Any) -> Solution:
        likelihood = ShareLikelihood(data.shares, data.bag_weights * data.sizes)
        problem = LinearProblem(data.means, likelihood, penalty, data.n_classes)
        return maximise(problem, constant_start(data), self.tol, self.max_iter)
