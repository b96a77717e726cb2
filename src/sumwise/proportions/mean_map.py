"""MeanMap: the sufficient statistic of a logistic model, estimated from bag means and class shares."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import log_softmax, logsumexp

from sumwise import checks
from sumwise.errors import DataError
from sumwise.features import centre_and_scale
from sumwise.proportions.count_dispersion import count_dispersion, warn_of_dispersion
from sumwise.proportions.kernels.laplacian_mean_map import bag_similarity, class_means, laplacian_class_sums
from sumwise.proportions.linear import LinearProblem, ShareLikelihood, Solution, maximise
from sumwise.proportions.share_classifier import ShareClassifier, constant_start
from sumwise.proportions.shares import BagShares

# Times that counts may vary as much as the fit says before expected shares that are spread more widely than observed
# ones are worth a warning. Chosen on 124 draws; on 260 others (benchmarks/results/mean_map_warning.json) it warns of 48
# of 77 fits whose logits are over twice too large for other individuals, of 43 of 66 that predict them worse than the
# overall share does, and of 22 of 183 that are neither.
TOO_CERTAIN = 2.5


class MomentProblem(LinearProblem):
    """The likelihood of a logistic (softmax) model whose labels enter through sum_i y_ic (x_i, 1) only.

    Parameters
    ----------
    values : (n_rows, n_features) array, or `Rows`
    weights : (n_rows,) array
    moments : (n_classes, n_features + 1) array
        The sum over members of each class of their features, and their number.
    penalty : float
    """

    def __init__(self, values, weights, moments, penalty):
        n_classes = len(moments)
        super().__init__(values, ShareLikelihood(None, weights), penalty, n_classes)
        self.weights = weights
        self.moments = moments[1:] if n_classes == 2 else moments

    def value_and_gradient(self, theta):
        """The penalised total to maximise, and its gradient: observed minus expected moments."""
        coef, _, _ = self.split(theta)
        shrink = self.pull(coef)
        table = theta.reshape(self.n_logits, self.width)
        logits = self.logits(theta)
        if self.n_logits == 1:
            small = np.exp(-np.abs(logits))
            norm = np.maximum(logits, 0.0) + np.log(1.0 + small)  # off by 1e-16 a row; vectorised, unlike log1p
            prob = (np.where(logits < 0, small, 1.0) / (1.0 + small))[:, None]
        else:
            norm, prob = logsumexp(logits, axis=1), np.exp(log_softmax(logits, axis=1))
        pull = prob * self.weights[:, None]
        gradient = self.moments - np.column_stack([self.rows.summed(pull), pull.sum(axis=0)])
        gradient[:, :-1] -= shrink
        total = float((self.moments * table).sum() - self.weights @ norm - 0.5 * (shrink * coef).sum())
        return total, gradient.ravel()


def label_moments(data: BagShares, labels, weights=None) -> np.ndarray:
    """The sum over members of each class of their features, and their number: (n_classes, n_features + 1).

    ``labels`` are those of class 1, (n_rows,), or (n_rows, n_classes); they needn't lie within 0 and 1. ``weights`` are
    the bags' own unless given.
    """
    if labels.ndim == 1 and weights is None:  # the other class is what is left of all
        marks = labels * data.row_weights
        one = np.append(data.rows.summed(marks), marks.sum())
        return np.stack([data.sums - one, one])
    labels = np.column_stack([1.0 - labels, labels]) if labels.ndim == 1 else labels
    marks = labels * (data.row_weights if weights is None else weights)[:, None]
    return np.column_stack([data.rows.summed(marks), marks.sum(axis=0)])


def mean_map(data: BagShares, laplacian=False, smoothness=1.0) -> np.ndarray:
    """The estimated sum over members of each class of their features, and their number: (n_classes, n_features + 1)."""
    weights = data.bag_weights * data.sizes
    numbers = data.bag_weights @ data.counts
    if laplacian:
        graph = bag_similarity(data.means / centre_and_scale(data.values)[1])
        pairs = graph if data.importance is None else _pairs(graph, data.importance)
        sums = laplacian_class_sums(data.means, data.shares, weights, pairs, smoothness)
    else:
        found, rank = class_means(data.means, data.shares, weights)
        if rank < data.n_classes:
            bags = "1 bag" if data.n_bags == 1 else f"{data.n_bags} bags"
            raise DataError(
                f"The class shares of {bags} have rank {rank}, below the {data.n_classes} classes: "
                "the classes' means are not identified.",
                hint="MeanMap needs bags whose shares differ; laplacian=True doesn't.",
            )
        sums = numbers[:, None] * found
    return np.column_stack([sums, numbers])


def _pairs(graph: Any, importance: np.ndarray) -> Any:
    """Similarities of bags that stand for several each: as many pairs as there would be."""
    scale = sparse.diags(importance)
    return sparse.csc_matrix(scale @ graph @ scale)


@dataclass(eq=False, repr=False)
class MeanMap(ShareClassifier):
    """The mean map of Quadrianto et al. (2009), or its Laplacian form (Patrini et al. 2014).

    Bag means are mixtures of class means by the bags' shares, which gives the class means by least squares. With
    them, all that a logistic (softmax) model needs to know of the labels is estimated, and its likelihood is
    maximised. It assumes that features don't depend on the bag given the class.

    Parameters
    ----------
    laplacian : bool, default False
        Whether class means may differ between bags, less between bags that are alike: up to 1,000 bags all pairs are
        compared, beyond the 20 nearest; a bag with a ``sample_weight`` is compared once and counts as many times.
    smoothness : float, default 1.0
        With ``laplacian``, how strongly similar bags are drawn together: gamma of Patrini et al. times the mean over
        bags of the sum of their similarities.
    penalty : float or "auto", default "auto"
        As in `MeanEmbeddingClassifier`; ``"auto"`` is as many times as large as bags have members, since the
        likelihood takes all their labels as known and a count is as informative as one.
    totals, max_iter, tol : as in `MeanEmbeddingClassifier`.

    Attributes
    ----------
    coef_, intercept_, penalty_, fit_ : as in `MeanEmbeddingClassifier`.

    See Also
    --------
    AlternatingMeanMap : The alternating mean map of Patrini et al. (2014): hard labels that agree with the counts,
        then a regression.
    CardinalityClassifier : Learn an individual-level classifier by exact maximum likelihood from class counts per bag.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Bags
    >>> from sumwise.proportions import MeanMap
    >>> bags = Bags(np.array([[0.0], [1.0], [1.0], [5.0], [5.0], [6.0]]), [0, 2, 4, 6])
    >>> MeanMap(penalty=0.1).fit(bags, [0, 1, 2]).predict([[0.0], [6.0]])
    array([0, 1])
    """

    _labels_members = True

    _: KW_ONLY
    laplacian: bool = False
    smoothness: float = 1.0

    def _check(self):
        checks.positive(self.smoothness, "smoothness")
        super()._check()

    def _learn(self, data: BagShares):
        super()._learn(data)
        times, slope = count_dispersion(data, self.theta_)
        if times > TOO_CERTAIN and slope < 1.0:
            why = "features depend on the bag given the class"
            warn_of_dispersion(times, why, "CardinalityClassifier.")

    def solve_shares(self, data: BagShares, penalty: Any) -> Solution:
        moments = mean_map(data, self.laplacian, self.smoothness)
        problem = MomentProblem(data.rows, data.row_weights, moments, penalty)
        return maximise(problem, constant_start(data), self.tol, self.max_iter)
