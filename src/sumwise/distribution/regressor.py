"""BagRegressor: what all regressors of bags share: checks of the response, prediction, R squared."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import ClassifierTags
from sklearn.utils.metadata_routing import UNUSED

from sumwise import checks
from sumwise.bags import Bags
from sumwise.distribution.columns import check_bags
from sumwise.errors import DataError, ModelWarning
from sumwise.estimator import Estimator
from sumwise.features import name_columns
from sumwise.inference.canonical import content_sorted
from sumwise.learned import check_part

AS_X: dict[str, Any] = {"bags": UNUSED}  # of scikit-learn's metadata requests: bags are X, and not routed


def check_response(bags: Any, y: Any, least: int = 3) -> tuple[Bags, np.ndarray]:
    """Return bags fit for training and their response as (n_bags, n_outputs) numbers.

    Examples
    --------
    >>> from sumwise import Bags
    >>> from sumwise.distribution.regressor import check_response
    >>> bags = Bags.from_arrays([[1.0], [2.0], [4.0]], ids=["a", "b", "c"])
    >>> check_response(bags, [1, 2, 3])[1].shape
    (3, 1)
    >>> check_response(bags, [1, 2])
    Traceback (most recent call last):
    sumwise.errors.DataError: There are 3 bags and 2 responses. Hint: give one response per bag, in the same order.
    """
    bags = check_bags(bags, least)
    y = bags.align(y, "y")
    array = checks.finite(y, "y", labels=[bags.ids] if np.shape(y)[:1] == (len(bags),) else None, allow_bool=True)
    if array.ndim not in (1, 2) or not array.size:
        raise DataError(f"y has shape {array.shape}.", hint="one response per bag: (n_bags,) or (n_bags, n_outputs).")
    if len(array) != len(bags):
        raise DataError(
            f"There are {len(bags)} bags and {len(array)} responses.",
            hint="give one response per bag, in the same order.",
        )
    return bags, array.reshape(len(bags), -1)


def are_counts(response: np.ndarray) -> bool:
    """Whether responses are counts: whole numbers from 0, not only 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.distribution.regressor import are_counts
    >>> are_counts(np.array([0.0, 3.0])), are_counts(np.array([0.0, 0.5])), are_counts(np.array([-1.0, 3.0]))
    (True, False, False)
    """
    return bool((response >= 0).all() and (response % 1 == 0).all() and (response > 1).any())


def weighted_bags(bags: Bags, beside: tuple, sample_weight: Any, least: int = 3) -> tuple[Bags, tuple, Any]:
    """Return the bags whose weight is not zero, what belongs to them, and their weights; None where all count alike.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Bags
    >>> from sumwise.distribution.regressor import weighted_bags
    >>> bags = Bags.from_arrays([[1.0], [2.0], [4.0], [5.0]])
    >>> part, (y, nothing), weights = weighted_bags(bags, (np.arange(4), None), [2, 0, 1, 1])
    >>> len(part), y, weights
    (3, array([0, 2, 3]), array([2., 1., 1.]))
    """
    if sample_weight is None:
        return bags, beside, None
    weights = checks.bag_weights(bags, sample_weight)
    kept = np.flatnonzero(weights)
    if len(kept) == len(bags):
        return bags, beside, weights
    part = check_bags(bags[kept], least)
    return (
        part,
        tuple(b if np.ndim(b) == 0 or len(b) != len(bags) else np.asarray(b)[kept] for b in beside),
        weights[kept],
    )


def warn_remote(remoteness: np.ndarray) -> None:
    """Warn where more than one in twenty bags lie beyond twice the remoteness of the farthest training bag.

    With few training bags some new ones of the same kind pass 1; hardly any pass 2.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.distribution.regressor import warn_remote
    >>> warn_remote(np.array([0.2, 0.9]))
    """
    far = remoteness > 2
    if far.sum() > 0.05 * len(far):
        warnings.warn(
            f"{int(far.sum())} of {len(far)} bags lie more than twice as far from the training bags as these do from "
            f"each other (remoteness up to {remoteness.max():.3g}): their predictions extrapolate. Subgroups need not "
            "behave like whole bags.",
            ModelWarning,
            stacklevel=4,
        )


def warn_copies(bags: Bags, response: np.ndarray, groups: np.ndarray | None) -> None:
    """Warn if more than one bag in twenty is a copy of another, rows and response; bags are sorted by content.

    A copy that stays makes the error of the one that is left out look small: of 100 bags drawn with replacement from
    33, intervals of 90% covered 45% of new bags.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Bags
    >>> from sumwise.distribution.regressor import warn_copies
    >>> warn_copies(Bags.from_arrays([[1.0], [2.0]]), np.array([[0.5], [0.5]]), None)
    """
    alike = (np.diff(response, axis=0) == 0).all(axis=1) & (np.diff(bags.sizes) == 0)
    if groups is not None:
        alike &= np.diff(groups) != 0
    pairs = ((bags[i], bags[i + 1]) for i in np.flatnonzero(alike).tolist())
    copies = sum(np.array_equal(one, other, equal_nan=True) for one, other in pairs)
    if copies > 0.05 * len(bags):
        warnings.warn(
            f"{copies} of {len(bags)} bags are copies of others, rows and response: errors of bags that are left out "
            "look too small, and so do intervals. Hint: drop the copies, or give each set of copies one of `groups`.",
            ModelWarning,
            stacklevel=4,
        )


def warn_beyond(predicted: np.ndarray, between: np.ndarray) -> None:
    """Warn of predictions (n, n_outputs) farther from the training responses than these are from each other.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.distribution.regressor import warn_beyond
    >>> warn_beyond(np.array([[2.0], [4.0]]), np.array([[1.0], [3.0]]))
    """
    low, high = between
    beyond = ((predicted < 2 * low - high) | (predicted > 2 * high - low))[:, high > low].any(axis=1)
    if beyond.any():
        first = int(np.argmax(beyond))
        warnings.warn(
            f"{int(beyond.sum())} of {len(beyond)} predictions lie farther from the training responses than these are "
            f"from each other. First: bag {first} has {predicted[first].max():.3g}, training had "
            f"{low[np.argmax(predicted[first])]:.3g} to {high[np.argmax(predicted[first])]:.3g}: they extrapolate. "
            "Hint: compare with a method that doesn't, such as BagGaussianProcess.",
            ModelWarning,
            stacklevel=4,
        )


def check_labels(bags: Bags, y: Any) -> np.ndarray:
    """Return the class of each bag as an array, (n_bags,), in the order of the bags."""
    labels = np.asarray(checks.listing(bags.align(y, "y"), "y"))
    checks.same_length(bags=bags, y=labels)
    return labels


def class_codes(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes, sorted, and the code of each label; a single class is refused."""
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise DataError(f"All bags are of the class {checks.plain(classes[0])!r}.", hint="two are needed.")
    return classes, codes


def r_squared(truth: np.ndarray, predicted: np.ndarray, weights: np.ndarray) -> float:
    """Return R squared of weighted units, the mean over outputs; responses that are all the same are refused."""
    spread = weights @ (truth - np.average(truth, axis=0, weights=weights)) ** 2
    if np.any(spread == 0):
        raise DataError("The responses are all the same, so R squared has no meaning.", hint="score on more bags.")
    return float(np.mean(1.0 - weights @ (truth - predicted) ** 2 / spread))


def accuracy(model: Any, bags: Bags, y: Any, sample_weight: Any = None) -> float:
    """Return the share of bags whose class is right; bags count as much as their weights, (n_bags,).

    Examples
    --------
    >>> from sumwise import Bags
    >>> from sumwise.distribution import BagLogistic, LinearEmbedding
    >>> from sumwise.distribution.regressor import accuracy
    >>> bags = Bags.from_arrays([[0.0], [1.0], [2.0], [3.0]])
    >>> model = BagLogistic(LinearEmbedding(), penalty=0.1).fit(bags, [0, 0, 1, 1])
    >>> accuracy(model, bags, [0, 0, 1, 0], sample_weight=[1, 1, 1, 3])
    0.5
    """
    right = model.predict(bags) == check_labels(bags, y)
    return float(np.average(right, weights=checks.bag_weights(bags, sample_weight)))


def as_classifier(tags: Any) -> Any:
    """Return scikit-learn's tags of a classifier: folds are stratified, ``scoring="roc_auc"`` and displays work."""
    tags.estimator_type, tags.regressor_tags, tags.classifier_tags = "classifier", None, ClassifierTags()
    return tags


def conformal_half_width(errors: np.ndarray, level: float) -> np.ndarray:
    """Return half the width of an interval that covers a new error with probability `level`, (n_outputs,).

    The ceil((n + 1) level)-th smallest of n absolute errors (n, n_outputs) of units left out, which are exchangeable
    with the new one (Vovk et al. 2005). With few errors no width is large enough for a high level.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.distribution.regressor import conformal_half_width
    >>> conformal_half_width(np.array([[-1.0], [2.0], [0.5], [4.0]]), 0.5)
    array([2.])
    """
    largest = len(errors) / (len(errors) + 1)
    if checks.fraction(level, "level") > largest:
        raise DataError(
            f"{len(errors)} bags that were left out give intervals of a level up to {largest:.3g}; {level:g} is asked.",
            hint="ask for a lower level, or fit on more bags (of DeepSets: with validation above 0).",
        )
    rank = min(int(np.ceil((len(errors) + 1) * level)), len(errors))  # not more by rounding
    return np.sort(np.abs(errors), axis=0)[rank - 1]


def check_reference(kept: Any, dual: Any) -> None:
    """Refuse training bags as a kernel keeps them, an array or bags, that don't fit their coefficients.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.distribution.regressor import check_reference
    >>> check_reference(np.zeros((3, 5)), np.zeros((3, 1)))
    """
    if not isinstance(kept, Bags):
        check_part("reference_", kept, "float m *", {"m": len(dual)})
    elif len(kept) != len(dual):
        raise DataError(f"reference_ has {len(kept)} bags, and dual_ {len(dual)}.", hint="save the object again.")


class BagRegressor(RegressorMixin, Estimator):
    """Base of the regressors on bags: a subclass gives ``_learn(bags, y, groups, weights)`` and ``_predict(bags)``.

    Both hold responses as (n_bags, n_outputs) arrays; groups is None, or an array (n_bags,) of codes from 0; weights
    is None, or an array (n_bags,) above 0.

    Examples
    --------
    >>> from sumwise.distribution import BagRidge
    >>> from sumwise.distribution.regressor import BagRegressor
    >>> issubclass(BagRidge, BagRegressor)
    True
    """

    _learned = (
        "n_features_in_: size g; n_outputs_: size K; response_range_?: real 2 K; fit_: is Fit; "
        "flat_?, counts_?: is bool"
    )

    __metadata_request__fit: ClassVar = AS_X
    __metadata_request__predict: ClassVar = AS_X
    __metadata_request__score: ClassVar = AS_X
    task = "regression"
    n_outputs_: int
    flat_: bool

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        return as_classifier(tags) if self.task == "classification" else tags

    def notebook_finding(self) -> tuple[str, Any] | None:
        """Return what the fitted model found, without its data: a sentence and a frame, or None."""
        error = vars(self).get("loo_error_")
        if error is None:
            return None
        shown = ", ".join(f"{e:.3g}" for e in np.sqrt(np.atleast_1d(error)))
        words = f"Root mean squared error of bags that are left out one at a time: {shown}."
        return f"{words} report((bags, y)) compares it with a constant, and adds intervals.", None

    def _learn(self, bags: Bags, y: np.ndarray, groups: np.ndarray | None, weights: np.ndarray | None, /) -> None:
        raise NotImplementedError

    def _predict(self, bags: Bags) -> np.ndarray:
        raise NotImplementedError

    def fit(self, bags: Bags, y: Any, groups: Any = None, sample_weight: Any = None) -> Any:
        """Learn from bags and their responses.

        Parameters
        ----------
        bags : Bags
        y : array of shape (n_bags,) or (n_bags, n_outputs)
            Where all are whole numbers from 0 they are counts: predictions and intervals stay at 0 or above.
        groups : sequence of length n_bags, optional
            Bags that belong together (samples of one patient, parts of one region). They are left out together when
            settings are chosen; otherwise a model that memorises a group would look good.
        sample_weight : array of shape (n_bags,), optional
            How much each bag's error counts: weight 2 is that of two such bags, 0 leaves it out. What embeddings and
            kernels learn (scales, widths) comes from all bags of non-zero weight alike.

        Returns
        -------
        self
        """
        bags, response = check_response(bags, y)
        bags, (response, groups), weights = weighted_bags(bags, (response, groups), sample_weight)
        name_columns(self, bags)
        self.n_outputs_ = response.shape[1]
        self.flat_, self.counts_ = np.ndim(y) == 1, are_counts(response)
        codes = _codes(groups, len(bags))
        alike, order = content_sorted(bags, [*response.T, *(() if weights is None else (weights,))])
        codes, weights = (None if each is None else each[order] for each in (codes, weights))
        self._reorder(order)
        warn_copies(alike, response[order], codes)
        self.response_range_ = np.stack([response.min(axis=0), response.max(axis=0)])
        self._learn(alike, response[order], codes, weights)
        for name in ("residuals_", "held_out_"):  # the caller's bags have another order
            if name in vars(self):
                setattr(self, name, checks.frozen(getattr(self, name)[np.argsort(order)]))
        return self

    def _reorder(self, order: np.ndarray) -> None:
        """Put what a subclass was given beside the bags into the order in which it learns from them."""

    def predict(self, bags: Bags) -> np.ndarray:
        """Return the predicted response of each bag, in the shape that `fit` was given."""
        self._fitted("n_outputs_")
        predicted = self._predict(bags)
        if self.task == "regression":
            warn_beyond(predicted, self.response_range_)
        return self._shaped(np.clip(predicted, *self._bounds()))

    def predict_interval(
        self, bags: Bags, level: float = 0.9, bounds: tuple[float, float] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return (low, high) between which the response of a new bag lies with probability `level`.

        A conformal interval: as wide as that share of the errors on bags that were left out, so that it covers on
        average over bags like the training bags, not for every kind of bag.

        Parameters
        ----------
        bags : Bags
        level : float in (0, 1), default 0.9
        bounds : tuple of float, optional
            What a response can be, for example ``(0, 100)``: intervals end there. Default: (0, inf) for counts.
        """
        self._fitted("n_outputs_")
        if self.task == "classification":
            raise DataError("A classification has no prediction intervals.", hint="predict_proba says how sure it is.")
        width = conformal_half_width(vars(self).get("residuals_", np.empty((0, self.n_outputs_))), level)
        middle, limits = self._predict(bags), self._bounds() if bounds is None else bounds
        low, high = (self._shaped(np.clip(end, *limits)) for end in (middle - width, middle + width))
        return low, high

    def _bounds(self) -> tuple[float, float]:
        """Between what the responses of this model lie."""
        return 0.0 if vars(self).get("counts_") and self.task == "regression" else -np.inf, np.inf

    def _shaped(self, answer: np.ndarray) -> np.ndarray:
        """Return (n, n_outputs) numbers in the shape that `fit` was given."""
        return answer[:, 0] if self.flat_ else answer

    def score(self, bags: Bags, y: Any, sample_weight: Any = None) -> float:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return R squared, the mean over outputs, or a classifier's accuracy; bags count as ``sample_weight`` says."""
        self._fitted("n_outputs_")
        if self.task == "classification":
            return accuracy(self, bags, y, sample_weight)
        bags, truth = check_response(bags, y, least=2)
        if truth.shape[1] != self.n_outputs_:
            raise DataError(f"y has {truth.shape[1]} outputs; the training responses had {self.n_outputs_}.")
        weights = checks.bag_weights(bags, sample_weight)
        return r_squared(truth, np.clip(self._predict(bags), *self._bounds()), weights)


def _codes(groups: Any, n: int) -> np.ndarray | None:
    """Codes from 0 of the groups; None where every bag is a group of its own."""
    if groups is None:
        return None
    given = np.asarray(checks.listing(groups, "groups"))
    if given.shape != (n,):
        raise DataError(f"groups has shape {given.shape} for {n} bags.", hint="give one group per bag.")
    found, codes = np.unique(given, return_inverse=True)
    if len(found) < 3:
        raise DataError(
            f"There are {len(found)} groups; at least 3 are needed, since each is predicted from the others.",
            hint="leave groups out if bags don't belong together.",
        )
    return None if len(found) == n else codes
