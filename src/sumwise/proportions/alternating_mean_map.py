"""AlternatingMeanMap: labels that agree with the counts, then a regression on them, and again."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.proportions.em import alternate
from sumwise.proportions.kernels.label_assignment import top_labels
from sumwise.proportions.linear import Solution, maximise
from sumwise.proportions.mean_embedding import MeanEmbeddingClassifier
from sumwise.proportions.mean_map import MeanMap, MomentProblem, label_moments
from sumwise.proportions.share_classifier import ShareClassifier
from sumwise.proportions.shares import BagShares

STARTS = ("mean embedding", "mean map", "laplacian")
ROUNDS = 10  # of the greatest loss: its labels go to and fro


@dataclass(eq=False, repr=False)
class AlternatingMeanMap(ShareClassifier):
    """The alternating mean map of Patrini et al. (2014): hard labels that agree with the counts, then a regression.

    Parameters
    ----------
    variant : {"min", "max"}, default "min"
        Each round takes, among all labels with the bags' counts, those of the least loss (the members with the highest
        logits get the label) or those of the greatest.
    start : {"mean embedding", "mean map", "laplacian"}, default "mean embedding"
        The model of the first round: as in Sun et al. 2017, of Quadrianto et al. 2009, or the Laplacian mean map of
        Patrini et al.
    penalty : float or "auto", default "auto"
        As in `MeanMap`; of the regressions and of the start.
    totals : {"match", "scale", "rest"}, default "match"
    max_iter : int >= 1, default 100
        Rounds of "min"; "max" doesn't converge and makes ten at most.
    tol : float > 0, default 1e-6
        Change of the mean loss per member at which it stops; it also stops when labels come back. The round with the
        least loss is kept.

    Attributes
    ----------
    coef_, intercept_ : arrays of shape (n_logits, n_features) and (n_logits,)
        Several classes are fitted one against the rest.
    penalty_ : float or array
    fit_ : Fit

    See Also
    --------
    MeanMap : The mean map of Quadrianto et al. (2009), or its Laplacian form (Patrini et al. 2014).
    CardinalityClassifier : Learn an individual-level classifier by exact maximum likelihood from class counts per bag.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Bags
    >>> from sumwise.proportions import AlternatingMeanMap
    >>> bags = Bags(np.array([[0.0], [1.0], [1.0], [5.0], [5.0], [6.0]]), [0, 2, 4, 6])
    >>> AlternatingMeanMap(penalty=0.1).fit(bags, [0, 1, 2]).predict([[2.0], [4.0]])
    array([0, 1])
    """

    _by_class = True
    _labels_members = True

    _: KW_ONLY
    variant: str = "min"
    start: str = "mean embedding"
    max_iter: int = 100
    tol: float = 1e-6

    def _check(self):
        checks.choice(self.variant, "variant", ("min", "max"))
        checks.choice(self.start, "start", STARTS)
        super()._check()

    def _first(self, data: BagShares, penalty: Any) -> np.ndarray:
        if self.start == "mean embedding":
            return MeanEmbeddingClassifier(tol=1e-3).solve_shares(data, penalty).theta
        return MeanMap(laplacian=self.start == "laplacian", tol=1e-3).solve_shares(data, penalty).theta

    def solve_shares(self, data: BagShares, penalty: Any) -> Solution:
        sign = 1.0 if self.variant == "min" else -1.0
        n_rounds = self.max_iter if self.variant == "min" else min(self.max_iter, ROUNDS)

        def assign(state):
            logits = data.rows.times(state[None, :-1])[:, 0]
            return top_labels(sign * logits, data.offsets, data.counts[:, 1], data.weights)

        def fit(labels, state):
            problem = MomentProblem(data.rows, data.row_weights, label_moments(data, labels), penalty)
            solution = maximise(problem, state, 1e-3, 100)
            return solution.theta, solution.objective

        begin = self._first(data, penalty)
        theta, record = alternate(begin, assign, fit, data.row_weights.sum(), n_rounds, self.tol)
        return replace(record, theta=theta, converged=record.converged or self.variant == "max")
