"""BagLogistic: logistic regression of classes, or of proportions, on an embedding of bags."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import softmax

from sumwise import checks
from sumwise.bags import Bags
from sumwise.distribution.columns import check_bags
from sumwise.distribution.embedding import Embedding
from sumwise.distribution.fourier import FourierEmbedding
from sumwise.distribution.kernels.logistic import LogisticSolution, cross_entropy, fit_logistic
from sumwise.distribution.parts import fresh
from sumwise.errors import DataError
from sumwise.estimator import Estimator
from sumwise.fit import Fit, warn_not_converged

__all__ = ["BagLogistic"]

PENALTIES = 10.0 ** np.arange(-1, -7.01, -1.0)  # relative to the mean square of the features, strongest first


class BagLogistic(Estimator):
    """Logistic regression on an embedding: a class per bag, or shares that stay between 0 and 1.

    Parameters
    ----------
    embedding : Embedding, default FourierEmbedding()
    target : {"auto", "classes", "proportions"}, default "auto"
        What the response is. "auto" reads a matrix, or numbers in [0, 1] that are not all 0 or 1, as proportions, and
        anything else as classes.
    penalty : "cv" or float, default "cv"
        Of the squared coefficients, relative to the mean square of the centred features. "cv" takes the one with the
        least cross entropy on held-out bags.
    n_folds : int, default 5
    max_iter : int, default 500
    tol : float, default 1e-5
        On the largest gradient of the mean cross entropy; at most a thousandth of that without features, which is
        small where shares hardly differ from bag to bag.
    random_state : int, numpy.random.Generator or None

    Attributes
    ----------
    classes_ : array
        Labels, or column numbers for proportions.
    coef_, intercept_ : arrays of shape (dimension, n_classes), (n_classes,)
    penalty_ : float
    fit_ : Fit

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Bags
    >>> from sumwise.distribution import BagLogistic, LinearEmbedding
    >>> bags = Bags.from_arrays([[0.0, 0.1], [0.2, 0.3], [0.7, 0.8], [0.9, 1.0]])
    >>> BagLogistic(LinearEmbedding(), penalty=0.1).fit(bags, ["low", "low", "high", "high"]).predict(bags).tolist()
    ['low', 'low', 'high', 'high']
    """

    def __init__(
        self,
        embedding: Embedding | None = None,
        target: str = "auto",
        penalty: Any = "cv",
        n_folds: int = 5,
        max_iter: int = 500,
        tol: float = 1e-5,
        random_state: Any = None,
    ):
        self.embedding = embedding
        self.target = target
        self.penalty = penalty
        self.n_folds = n_folds
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, bags: Bags, y: Any) -> Any:
        """Learn from bags and their classes or proportions.

        Parameters
        ----------
        bags : Bags
        y : array of shape (n_bags,) or (n_bags, n_classes)
            Labels; or shares: of one class, or of all, which sum to 1.

        Returns
        -------
        self
        """
        bags = check_bags(bags, least=3)
        checks.at_least(self.max_iter, "max_iter", 1)
        checks.at_least(self.tol, "tol", 0, whole_number=False)
        shares = self._read(bags, y)
        self.embedding_ = fresh(self.embedding, FourierEmbedding, self.random_state)
        features = self.embedding_.fit_transform(bags)
        self.mean_ = features.mean(axis=0)
        features = features - self.mean_
        self.scale_ = float(np.sqrt(np.mean((features**2).sum(axis=1)))) or 1.0
        features /= self.scale_
        pull = float(np.abs(features.T @ (shares - shares.mean(axis=0))).max()) / len(bags)
        tol = min(float(self.tol), 1e-3 * pull) if pull > 0 else float(self.tol)
        history: dict[str, list] = {}
        if isinstance(self.penalty, str):
            checks.choice(self.penalty, "penalty", ("cv",))
            self.penalty_ = self._cross_validate(features, shares, min(1e-4, 10 * tol), history)
        else:
            self.penalty_ = float(checks.positive(self.penalty, "penalty", ndim=0))
        found = fit_logistic(features, shares, self.penalty_, None, int(self.max_iter), tol)
        self.coef_, self.intercept_ = found.coef, found.intercept
        converged = found.slope <= tol
        objectives = {"objective": found.history or [found.objective]}
        self.tried_ = history
        self.fit_ = Fit(found.coef, found.objective, None, found.n_iter, converged, objectives)
        if not converged:
            warn_not_converged(found.n_iter, found.slope, tol)
        return self

    def _read(self, bags: Bags, y: Any) -> np.ndarray:
        """Set `classes_` and the kind of response; return it as (n_bags, n_classes) shares."""
        checks.choice(self.target, "target", ("auto", "classes", "proportions"))
        if np.ndim(y) == 0 or len(y) != len(bags):
            n = len(y) if np.ndim(y) else 0
            raise DataError(f"There are {len(bags)} bags and {n} responses.", hint="give one response per bag.")
        array = np.asarray(y)
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
                "y holds fractions that are no shares in [0, 1].",
                hint="use BagRidge for numbers, or target='classes' if they are labels.",
            )
        self.classes_, codes = np.unique(array, return_inverse=True)
        if len(self.classes_) < 2:
            raise DataError(f"All bags are of the class {checks.plain(self.classes_[0])!r}.", hint="two are needed.")
        return np.eye(len(self.classes_))[codes]

    def _cross_validate(self, features: np.ndarray, shares: np.ndarray, tol: float, history: dict) -> float:
        checks.at_least(self.n_folds, "n_folds", 2)
        rng = checks.generator(self.random_state)
        fold = rng.permutation(len(features)) % min(int(self.n_folds), len(features))
        losses = np.zeros(len(PENALTIES))
        for k in range(int(fold.max()) + 1):
            held, start = fold == k, None
            for p, penalty in enumerate(PENALTIES):  # from strong to weak, each from the last
                start = fit_logistic(features[~held], shares[~held], penalty, start, 200, tol)
                losses[p] += held.mean() * cross_entropy(_logits(features[held], start), shares[held])
        history.update(penalty=PENALTIES.tolist(), cross_entropy=losses.tolist())
        return float(PENALTIES[np.argmin(losses)])

    def predict_proba(self, bags: Bags) -> np.ndarray:
        """Return the probability (or share) of each class, (n_bags, n_classes)."""
        self._fitted("coef_")
        features = (self.embedding_.transform(bags) - self.mean_) / self.scale_
        return softmax(features @ self.coef_ + self.intercept_, axis=1)

    def predict(self, bags: Bags) -> np.ndarray:
        """Return the likeliest class of each bag; for proportions the shares, in the shape that `fit` was given."""
        probabilities = self.predict_proba(bags)
        if not self.shares_given_:
            return self.classes_[np.argmax(probabilities, axis=1)]
        return probabilities[:, 1] if self.flat_ else probabilities

    def score(self, bags: Bags, y: Any) -> float:
        """Return the accuracy on bags; for proportions R squared, the mean over columns."""
        predicted = self.predict(bags)
        if not self.shares_given_:
            checks.same_length(bags=bags, y=y)
            return float(np.mean(predicted == np.asarray(y)))
        truth = checks.finite(y, "y")
        if truth.shape != predicted.shape:
            raise DataError(f"y has shape {truth.shape}; the predictions have {predicted.shape}.")
        spread = ((truth - truth.mean(axis=0)) ** 2).sum(axis=0)
        return float(np.mean(1.0 - ((truth - predicted) ** 2).sum(axis=0) / np.maximum(spread, 1e-300)))


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
    off = np.abs(array.sum(axis=1) - 1) > 1e-6
    if off.any() or (array < 0).any() or (array > 1).any():
        bad = off | (array < 0).any(axis=1) | (array > 1).any(axis=1)
        i = int(np.argmax(bad))
        raise DataError(
            f"The shares of {int(bad.sum())} of {len(array)} bags don't lie in [0, 1] with sum 1. First: bag {i} has "
            f"{array[i].tolist()}.",
            hint="divide counts by their total.",
        )
    return array
