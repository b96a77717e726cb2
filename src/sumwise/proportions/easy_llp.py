"""EasyLLP: a regression on debiased labels, which are right on average where bags were drawn at random."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from sumwise.errors import ModelWarning
from sumwise.proportions.count_dispersion import count_dispersion, warn_of_dispersion
from sumwise.proportions.linear import Solution, maximise
from sumwise.proportions.mean_map import MomentProblem, label_moments
from sumwise.proportions.share_classifier import ShareClassifier, constant_start, linear_logits
from sumwise.proportions.shares import BagShares, share_loss

# Times that counts may vary as much as the fit says before there is a warning. In 16 simulations of random bags it was
# at most 1.9, and above 40 where means that differ between bags made coefficients five to a thousand times too large.
TOO_CERTAIN = 2.5


def debiased_labels(data: BagShares):
    """n_b (s_bc - pi_c) + pi_c for each row: its mean over random bags is p(y = c | x) (Busa-Fekete et al. 2023).

    pi is the overall share. Members other than oneself have the share pi on average, whatever one's own features.
    """
    prior = data.overall
    return data.sizes.repeat(data.sizes)[:, None] * (data.row_shares - prior) + prior


class EasyLLP(ShareClassifier):
    """Logistic (softmax) regression under the debiased loss of "Easy learning from label proportions".

    Each row is given the label n (share - overall share) + overall share, which may lie far outside 0 to 1 but is
    right on average in bags drawn at random. In other bags it isn't, and the method fails. Bags count alike, whatever
    their size.

    Parameters
    ----------
    penalty, totals, max_iter, tol, random_state : as in `MeanEmbeddingClassifier`.

    Attributes
    ----------
    coef_, intercept_, penalty_, fit_ : as in `MeanEmbeddingClassifier`.

    See Also
    --------
    CardinalityClassifier : Learn an individual-level classifier by exact maximum likelihood from class counts per bag.
    MeanMap : The mean map of Quadrianto et al. (2009), or its Laplacian form (Patrini et al. 2014).

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Bags
    >>> from sumwise.proportions import EasyLLP
    >>> bags = Bags(np.array([[0.0], [1.0], [1.0], [5.0], [5.0], [6.0]]), [0, 2, 4, 6])
    >>> EasyLLP(penalty=1.0).fit(bags, [0, 1, 2]).predict([[0.0], [6.0]])
    array([0, 1])
    """

    def _learn(self, data: BagShares):
        super()._learn(data)
        if data.n_bags < 8:
            return
        part, folds = self._parts(data), range(4)
        found = sum(self._held_out_gain(*part(fold)) for fold in folds)
        if found <= 0.0:
            warnings.warn(
                "Debiased labels predict the shares of held-out bags no better than the overall shares do: the "
                "probabilities of this fit are certain about noise. Hint: CardinalityClassifier, or smaller bags.",
                ModelWarning,
                stacklevel=3,
            )
            return
        times, _ = count_dispersion(data, self.theta_)
        if times > TOO_CERTAIN:
            why = "bags differ in more than their features, so they are not like bags drawn at random"
            warn_of_dispersion(times, why, "CardinalityClassifier.")

    def _held_out_gain(self, train: BagShares, test: BagShares) -> float:
        """How much better a fit without some bags predicts their shares than the overall shares do."""
        penalty = self.penalty_[0] if isinstance(self.penalty_, list) else self.penalty_
        table = self.solve_shares(train, penalty).theta.reshape(-1, test.values.shape[1] + 1)
        flat = constant_start(train).reshape(table.shape)
        losses = [share_loss(linear_logits(test.values, each), test) for each in (flat, table)]
        return (losses[0] - losses[1]) * float(test.row_weights.sum())

    def solve_shares(self, data: BagShares, penalty: Any) -> Solution:
        # bags count alike, as in the paper: only then do the labels of bags of several sizes average to the overall
        # share, and the free intercept stays finite
        weights = data.once("alike", lambda: data.row_weights * np.repeat(data.mean_size / data.sizes, data.sizes))
        moments = data.once("easy LLP", lambda: label_moments(data, debiased_labels(data), weights))
        problem = MomentProblem(data.rows, weights, moments, penalty)
        return maximise(problem, constant_start(data), self.tol, self.max_iter)
