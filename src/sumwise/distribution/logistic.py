"""BagLogistic: logistic regression of classes, or of proportions, on an embedding of bags."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import log_softmax
from sklearn.utils import RegressorTags

from sumwise import checks
from sumwise.bags import Bags
from sumwise.distribution.bag_kernel import BagKernel
from sumwise.distribution.columns import check_bags
from sumwise.distribution.embedding import Embedding, fresh
from sumwise.distribution.fourier import FourierEmbedding
from sumwise.distribution.kernel_embedding import KernelEmbedding
from sumwise.distribution.kernels.logistic import LogisticSolution, cross_entropy, fit_logistic
from sumwise.distribution.moments import MomentEmbedding
from sumwise.distribution.regressor import AS_X, accuracy, as_classifier, class_codes, r_squared, weighted_bags
from sumwise.distribution.wasserstein import WassersteinKernel
from sumwise.errors import DataError
from sumwise.estimator import Estimator
from sumwise.features import name_columns
from sumwise.fit import Fit, warn_not_converged
from sumwise.inference.canonical import content_sorted

KERNEL_BAGS = 2000  # up to which the default tries kernels, which then take seconds
PENALTIES = 10.0 ** np.arange(-1, -7.01, -1.0)  # relative to the mean square of the features, strongest first


class _Candidate(NamedTuple):
    """An embedding of the training bags, with its best penalty and the cross entropy of held-out bags."""

    embedding: Embedding
    features: np.ndarray
    mean: np.ndarray
    scale: float
    tol: float
    penalty: float
    loss: float
    history: dict[str, list]


@dataclass(eq=False, repr=False)
class BagLogistic(Estimator):
    """Logistic regression on an embedding: a class per bag, or shares that stay between 0 and 1.

    Parameters
    ----------
    embedding : Embedding or BagKernel, optional
        A kernel gives kernel logistic regression, through `KernelEmbedding`. By default the embedding with the least
        cross entropy on held-out bags: moments, Fourier features with moments or, up to 2,000 bags,
        `WassersteinKernel(spread=True)` at every width.
    widths : sequence of float, default (0.03, 0.1, 0.3, 1, 3)
        Multiples of the kernel's gamma; the one with the least cross entropy on held-out bags is taken.
    target : {"auto", "classes", "proportions"}, default "auto"
        What the response is. "auto" reads a matrix, or numbers in [0, 1] that are not all 0 or 1, as proportions, and
        anything else as classes.
    penalty : "cv" or float, default "cv"
        Penalty on the squared coefficients, relative to the mean square of the centred features. "cv" takes the one
        with the least cross entropy on held-out bags.
    n_folds : int >= 2, default 5
    max_iter : int >= 1, default 500
    tol : float >= 0, default 1e-5
        On the largest gradient of the mean cross entropy; at most a thousandth of that without features, which is
        small where shares hardly differ from bag to bag.
    random_state : int, numpy.random.Generator or None, default 0

    Attributes
    ----------
    classes_ : array
        Labels, or column numbers for proportions.
    coef_, intercept_ : arrays of shape (dimension, n_classes), (n_classes,)
    penalty_ : float
    fit_ : Fit

    See Also
    --------
    BagRidge : Ridge regression on an embedding: from bags of samples to one response per bag.
    DeepSets : Predict a response of bags by rho(pool(phi(x))), with phi and rho learned together.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Bags
    >>> from sumwise.distribution import BagLogistic, LinearEmbedding
    >>> bags = Bags.from_arrays([[0.0, 0.1], [0.2, 0.3], [0.7, 0.8], [0.9, 1.0]])
    >>> BagLogistic(LinearEmbedding(), penalty=0.1).fit(bags, ["low", "low", "high", "high"]).predict(bags).tolist()
    ['low', 'low', 'high', 'high']
    """

    _learned = (
        "n_features_in_, embedding_.n_features_in_: size g; classes_: len K; embedding_: is Embedding; "
        "mean_: float q; scale_: number; coef_: float q K; intercept_: float K; fit_: is Fit; "
        "shares_given_: is bool; penalty_: is float; tried_: is dict"
    )

    __metadata_request__fit: ClassVar = AS_X
    __metadata_request__predict: ClassVar = AS_X
    __metadata_request__predict_proba: ClassVar = AS_X
    __metadata_request__predict_log_proba: ClassVar = AS_X
    __metadata_request__decision_function: ClassVar = AS_X
    __metadata_request__score: ClassVar = AS_X

    embedding: Embedding | BagKernel | None = None
    target: str = "auto"
    penalty: Any = "cv"
    n_folds: int = 5
    max_iter: int = 500
    tol: float = 1e-5
    widths: Sequence[float] = field(default=(0.03, 0.1, 0.3, 1.0, 3.0), kw_only=True)
    random_state: Any = 0

    def fit(self, bags: Bags, y: Any, sample_weight: Any = None) -> Any:
        """Learn from bags and their classes or proportions.

        Parameters
        ----------
        bags : Bags
        y : array of shape (n_bags,) or (n_bags, n_classes)
            Labels; or shares: of one class, or of all, which sum to 1.
        sample_weight : array of shape (n_bags,), optional
            How much each bag's loss counts: weight 2 is that of two such bags, 0 leaves it out. What embeddings and
            kernels learn (scales, widths) comes from all bags of non-zero weight alike.

        Returns
        -------
        self
        """
        bags = check_bags(bags, least=3)
        checks.at_least(self.max_iter, "max_iter", 1)
        checks.at_least(self.tol, "tol", 0, whole_number=False)
        name_columns(self, bags)
        shares = self._response_shares(bags, y)
        bags, (shares,), weights = weighted_bags(bags, (shares,), sample_weight)
        if (shares.max(axis=0) == 0).any():
            absent = [checks.plain(c) for c in self.classes_[shares.max(axis=0) == 0]]
            raise DataError(
                f"No bag with a weight above 0 has a class of {absent}.",
                hint="leave those bags out, or raise a weight.",
            )
        bags, order = content_sorted(bags, [*shares.T, *(() if weights is None else (weights,))])
        shares, weights = shares[order], None if weights is None else weights[order]
        embeddings = self._embeddings(len(bags))
        fold = self._folds(len(bags)) if isinstance(self.penalty, str) or len(embeddings) > 1 else None
        with warnings.catch_warnings(record=True) as caught:  # all of them warn of the same columns
            warnings.simplefilter("always")
            chosen = min((self._candidate(e, bags, shares, weights, fold) for e in embeddings), key=lambda p: p.loss)
        for message in {str(w.message): w.message for w in caught}.values():
            warnings.warn(message, stacklevel=2)
        self.embedding_, self.mean_, self.scale_ = chosen.embedding, chosen.mean, chosen.scale
        self.penalty_, self.tried_, features, tol = chosen.penalty, chosen.history, chosen.features, chosen.tol
        found = fit_logistic(features, shares, self.penalty_, None, int(self.max_iter), tol, weights)
        self.coef_, self.intercept_ = found.coef, found.intercept
        converged = found.slope <= tol
        objectives = {"objective": found.history or [found.objective]}
        self.fit_ = Fit(found.coef, found.objective, None, found.n_iter, converged, objectives)
        if not converged:
            warn_not_converged(found.n_iter, found.slope, tol)
        return self

    def _embeddings(self, n_bags: int) -> list[Embedding]:
        """Return the embeddings to compare: the given one, the kernel at every width, or the defaults."""
        own = self.embedding
        if own is not None and not isinstance(own, BagKernel):
            return [fresh(own, FourierEmbedding, self.random_state)]
        kernel = WassersteinKernel(spread=True) if own is None else own
        widths = checks.positive(self.widths, "widths", ndim=1).tolist() if kernel.has_width else [1.0]
        kernels = [KernelEmbedding(kernel, width=width, random_state=self.random_state) for width in widths]
        if own is not None:
            return [*kernels]
        plain = [MomentEmbedding(), fresh(FourierEmbedding(moments=True), FourierEmbedding, self.random_state)]
        return [*plain, *(kernels if n_bags <= KERNEL_BAGS else [])]

    def _candidate(
        self, embedding: Embedding, bags: Bags, shares: np.ndarray, weights: np.ndarray | None, fold: np.ndarray | None
    ) -> _Candidate:
        """Embed the bags, and choose the penalty where it isn't given; with its loss, where there are folds."""
        features = embedding.fit(bags).vectors(bags)
        mean = np.average(features, axis=0, weights=weights)
        features = features - mean
        scale = float(np.sqrt(np.average((features**2).sum(axis=1), weights=weights))) or 1.0
        features /= scale
        slope = float(np.abs(features.T @ (shares - shares.mean(axis=0))).max()) / len(bags)
        tol = min(float(self.tol), 1e-3 * slope) if slope > 0 else float(self.tol)
        grid = PENALTIES
        if isinstance(self.penalty, str):
            checks.choice(self.penalty, "penalty", ("cv",))
        else:
            grid = np.array([checks.positive(self.penalty, "penalty", ndim=0)], dtype=float)
        losses = np.zeros(1)
        if fold is not None:
            losses = _held_out_losses(features, shares, weights, grid, min(1e-4, 10 * tol), fold)
        history = {"penalty": grid.tolist(), "cross_entropy": losses.tolist()}
        best = int(np.argmin(losses))
        return _Candidate(embedding, features, mean, scale, tol, float(grid[best]), float(losses[best]), history)

    def _response_shares(self, bags: Bags, y: Any) -> np.ndarray:
        """Set `classes_` and the kind of response; return it as (n_bags, n_classes) shares."""
        checks.choice(self.target, "target", ("auto", "classes", "proportions"))
        if np.ndim(y) == 0 or len(y) != len(bags):
            n = len(y) if np.ndim(y) else 0
            raise DataError(f"There are {len(bags)} bags and {n} responses.", hint="give one response per bag.")
        array = y = bags.align(y, "y")
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            checks.finite(array, "y")
        self.shares_given_ = self.target == "proportions" or (self.target == "auto" and _looks_like_shares(array))
        self.flat_ = array.ndim == 1
        if self.shares_given_:
            shares = _checked_shares(checks.counts(y, "y"))
            self.classes_ = np.arange(shares.shape[1])
            return shares
        if array.ndim != 1:
            raise DataError(f"y has shape {array.shape}.", hint="classes are one label per bag.")
        if self.target == "auto" and array.dtype.kind == "f" and (array != np.floor(array)).any():
            raise DataError(
                "y contains fractions that are not shares in [0, 1].",
                hint="use BagRidge for numbers, or target='classes' if they are labels.",
            )
        self.classes_, codes = class_codes(array)
        return np.eye(len(self.classes_))[codes]

    def _folds(self, n_bags: int) -> np.ndarray:
        """Return the fold of every bag, (n_bags,): the same for all embeddings, so that losses can be compared."""
        n_folds = min(int(checks.at_least(self.n_folds, "n_folds", 2)), n_bags)
        return checks.generator(self.random_state).permutation(n_bags) % n_folds

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.target == "proportions":
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
            return tags
        return as_classifier(tags)

    def decision_function(self, bags: Bags) -> np.ndarray:
        """Return log-odds of the second of two classes, (n_bags,); of more classes scores, (n_bags, n_classes)."""
        self._fitted("coef_")
        features = (self.embedding_.vectors(bags) - self.mean_) / self.scale_
        scores = features @ self.coef_ + self.intercept_
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict_log_proba(self, bags: Bags) -> np.ndarray:
        """Return the logarithms of `predict_proba`, (n_bags, n_classes)."""
        scores = self.decision_function(bags)
        return log_softmax(np.column_stack([np.zeros(len(scores)), scores]) if scores.ndim == 1 else scores, axis=1)

    def predict_proba(self, bags: Bags) -> np.ndarray:
        """Return the probability (or share) of each class, (n_bags, n_classes)."""
        return np.exp(self.predict_log_proba(bags))

    def predict(self, bags: Bags) -> np.ndarray:
        """Return the likeliest class of each bag; for proportions the shares, in the shape that `fit` was given."""
        probabilities = self.predict_proba(bags)
        if not self.shares_given_:
            return self.classes_[np.argmax(probabilities, axis=1)]
        return probabilities[:, 1] if self.flat_ else probabilities

    def score(self, bags: Bags, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy on bags; for proportions R squared, the mean over columns."""
        if not self._fitted("coef_").shares_given_:
            return accuracy(self, bags, y, sample_weight)
        predicted, weights = self.predict(bags), checks.bag_weights(bags, sample_weight)
        truth = checks.finite(bags.align(y, "y"), "y")
        if truth.shape != predicted.shape:
            raise DataError(f"y has shape {truth.shape}; the predictions have {predicted.shape}.")
        return r_squared(truth, predicted, weights)


def _held_out_losses(
    features: np.ndarray,
    shares: np.ndarray,
    weights: np.ndarray | None,
    grid: np.ndarray,
    tol: float,
    fold: np.ndarray,
) -> np.ndarray:
    """Return the cross entropy of held-out bags at every penalty, (n_penalties,)."""
    losses, counted = np.zeros(len(grid)), np.ones(len(features)) if weights is None else weights
    for k in range(int(fold.max()) + 1):
        held, start = fold == k, None
        for p, penalty in enumerate(grid):  # from strong to weak, each from the last
            start = fit_logistic(features[~held], shares[~held], penalty, start, 200, tol, counted[~held])
            loss = cross_entropy(_logits(features[held], start), shares[held], counted[held])
            losses[p] += counted[held].sum() / counted.sum() * loss
    return losses


def _logits(features: np.ndarray, found: LogisticSolution) -> np.ndarray:
    return features @ found.coef + found.intercept


def _looks_like_shares(array: np.ndarray) -> bool:
    if array.ndim == 2:
        return True
    whole = array.dtype.kind != "f" or np.isin(array, (0.0, 1.0)).all()
    return not whole and bool(((array >= 0) & (array <= 1)).all())


def _checked_shares(array: np.ndarray) -> np.ndarray:
    """Return shares of all classes; one column is the share of the second."""
    if array.ndim == 1:
        array = np.column_stack([1.0 - array, array])
    if array.ndim != 2 or array.shape[1] < 2:
        raise DataError(f"y has shape {array.shape}.", hint="shares are (n_bags,) or (n_bags, n_classes).")
    bad = (np.abs(array.sum(axis=1) - 1) > 1e-6) | (array < 0).any(axis=1) | (array > 1).any(axis=1)
    checks.nowhere(
        bad,
        "The shares of {} bags don't lie in [0, 1] with sum 1",
        lambda i: f"bag {i} has {array[i].tolist()}",
        "divide counts by their total.",
    )
    return array
