"""InverseCalibration: support vector regression of the log-odds of shares on bag means."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.proportions.likelihood import Value
from sumwise.proportions.linear import LinearProblem, ShareLikelihood, Solution, maximise
from sumwise.proportions.share_classifier import ShareClassifier, constant_start
from sumwise.proportions.shares import BagShares

CORNER_WIDTH = 0.02  # log-odds over which the corner of the loss is rounded, so that L-BFGS can follow it


class BandLikelihood(ShareLikelihood):
    """Minus the bags' absolute errors in the log-odds beyond a band, times their mean size; corners are rounded."""

    def __init__(self, data: BagShares, epsilon):
        super().__init__(data.shares, data.bag_weights * data.mean_size)
        share = (data.counts[:, 1] + 0.5) / (data.sizes + 1.0)  # a bag of one class has finite odds
        self.target = np.log(share / (1.0 - share))
        self.epsilon = epsilon

    def evaluate(self, logits, _intercept_scale=None, /) -> Value:
        """Loss per bag; the derivative in the logits takes the place of posterior minus prior."""
        off = self.target - logits
        over = np.maximum(np.abs(off) - self.epsilon, 0.0)
        near = np.minimum(over, CORNER_WIDTH)
        loss = over - near + 0.5 * near**2 / CORNER_WIDTH
        return Value(-loss, np.sign(off) * near / CORNER_WIDTH, np.zeros(len(off)), np.zeros(len(off)))


@dataclass(eq=False, repr=False)
class InverseCalibration(ShareClassifier):
    """Inverse calibration (Rueping 2010): the mean of a bag is one instance, the log-odds of its share the target.

    Several classes are fitted one against the rest.

    Parameters
    ----------
    epsilon : float, default 0.1
        Error in the log-odds that costs nothing.
    penalty : float or "auto", default "auto"
        ``penalty / 2`` times the squared coefficients is added to the bags' absolute errors, times the mean size of a
        bag: bags count alike.
    totals, max_iter, tol, random_state : as in `MeanEmbeddingClassifier`.

    Attributes
    ----------
    coef_, intercept_, penalty_, fit_ : as in `MeanEmbeddingClassifier`; one penalty per class where there are several.

    See Also
    --------
    ProportionSVM : The proportion SVM (alter-pSVM, Yu et al. 2013): labels and a large margin, in turn.
    MeanMap : The mean map of Quadrianto et al. (2009), or its Laplacian form (Patrini et al. 2014).

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Bags
    >>> from sumwise.proportions import InverseCalibration
    >>> bags = Bags.from_arrays([np.array([[0.0], [1.0]]), np.array([[2.0], [4.0]]), np.array([[5.0], [6.0]])])
    >>> InverseCalibration(penalty=1.0).fit(bags, [0, 1, 2]).predict([[0.0], [6.0]])
    array([0, 1])
    """

    _by_class = True

    _: KW_ONLY
    epsilon: float = 0.1
    max_iter: int = 500
    tol: float = 1e-2

    def _check(self):
        checks.at_least(self.epsilon, "epsilon", 0.0, whole_number=False)
        super()._check()

    def solve_shares(self, data: BagShares, penalty: Any) -> Solution:
        problem = LinearProblem(data.means, BandLikelihood(data, self.epsilon), penalty)
        return maximise(problem, constant_start(data), self.tol, self.max_iter)
