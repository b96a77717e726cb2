"""BagBoosting: gradient boosted trees on features of bags."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from sumwise import checks
from sumwise.bags import Bags
from sumwise.distribution.columns import Columns, check_bags
from sumwise.distribution.embedding import Embedding, fresh
from sumwise.distribution.fourier import FourierEmbedding
from sumwise.distribution.moments import MomentEmbedding
from sumwise.distribution.quantile import QuantileEmbedding
from sumwise.distribution.regressor import BagRegressor, check_labels, class_codes, weighted_bags
from sumwise.features import name_columns
from sumwise.fit import Fit

MOST_COLUMNS = 10  # up to which covariances and Fourier features are worth their number
QUANTILES = 9


def tree_features(bags: Bags, random_state: Any = None) -> list[Embedding]:
    """Return the embeddings whose features trees are grown on, not fitted.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.distribution.boosting import tree_features
    >>> [type(e).__name__ for e in tree_features(synthetic.gamma(5, 5, random_state=0).bags)]
    ['MomentEmbedding', 'QuantileEmbedding', 'FourierEmbedding']
    """
    few = Columns.learn(bags).dimension <= MOST_COLUMNS
    parts: list[Embedding] = [MomentEmbedding(4, cross=few), QuantileEmbedding(QUANTILES)]
    return [*parts, FourierEmbedding(8, (1.0, 0.5), random_state=random_state)] if few else parts


@dataclass(eq=False, repr=False)
class BagBoosting(BagRegressor):
    """Gradient boosted trees (scikit-learn's HistGradientBoosting) on moments, quantiles and Fourier features of bags.

    Trees find thresholds and interactions that a linear function of an embedding misses, and ignore features that
    don't matter.

    Parameters
    ----------
    task : {"regression", "classification"}, default "regression"
    embeddings : sequence of Embedding, optional
        Features to use, side by side. Default: moments up to the fourth, nine quantiles of every column and, of up to
        ten columns, covariances and eight Fourier features at two widths.
    max_iter : int >= 1, default 200
        Number of trees (for each class of more than two).
    learning_rate : float > 0, default 0.05
    random_state : int, numpy.random.Generator or None, default None

    Attributes
    ----------
    models_ : list
        Fitted scikit-learn estimators, one for each response.
    classes_ : array
        The classes, for a classification.
    fit_ : Fit

    See Also
    --------
    BagRidge : Ridge regression on an embedding: from bags of samples to one response per bag.
    DeepSets : Predict a response of bags by rho(pool(phi(x))), with phi and rho learned together.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.distribution import BagBoosting
    >>> train, test = (synthetic.gamma(300, 50, noise=0, random_state=seed) for seed in (0, 1))
    >>> bool(BagBoosting(random_state=0).fit(train.bags, train.response).score(test.bags, test.response) > 0.5)
    True
    """

    task: str = "regression"
    embeddings: Any = None
    max_iter: int = 200
    learning_rate: float = 0.05
    random_state: Any = None

    def fit(self, bags: Bags, y: Any, groups: Any = None, sample_weight: Any = None) -> Any:
        """Learn from bags and their responses or classes.

        Parameters
        ----------
        bags : Bags
        y : array of shape (n_bags,), or (n_bags, n_outputs) of a regression
        groups : ignored
            Nothing is chosen by leaving bags out.
        sample_weight : array of shape (n_bags,), optional
            How much each bag's loss counts; 0 leaves it out.

        Returns
        -------
        self
        """
        checks.choice(self.task, "task", ("regression", "classification"))
        if self.task == "regression":
            return super().fit(bags, y, groups, sample_weight)
        bags = check_bags(bags, least=3)
        bags, (labels,), weights = weighted_bags(bags, (check_labels(bags, y),), sample_weight)
        self.classes_, codes = class_codes(labels)
        name_columns(self, bags)
        self.n_outputs_, self.flat_ = 1, True
        self._learn(bags, codes[:, None], None, weights)
        return self

    def _learn(self, bags: Bags, y: np.ndarray, _groups: np.ndarray | None, weights: np.ndarray | None, /) -> None:
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

        checks.at_least(self.max_iter, "max_iter", 1)
        seed = int(checks.generator(self.random_state).integers(2**31))
        self.embeddings_ = [fresh(e, MomentEmbedding, seed) for e in self._parts(bags)]
        for embedding in self.embeddings_:
            embedding.fit(bags)
        features = self._features(bags)
        kind = HistGradientBoostingClassifier if self.task == "classification" else HistGradientBoostingRegressor
        options = {
            "learning_rate": float(checks.positive(self.learning_rate, "learning_rate", ndim=0)),
            "max_iter": int(self.max_iter),
            "min_samples_leaf": int(np.clip(len(bags) // 20, 2, 20)),
            "early_stopping": False,
            "random_state": seed,
        }
        self.models_ = [kind(**options).fit(features, target, weights) for target in y.T]
        fitted = np.column_stack([model.predict(features) for model in self.models_])
        if self.task == "classification":  # share of wrong classes: the most common one for all, then all trees
            errors = [float(np.mean(np.bincount(y[:, 0]).argmax() != y)), float(np.mean(fitted != y))]
        else:  # mean squared error of the mean, then of all trees
            errors = [float(np.mean((y - y.mean(axis=0)) ** 2)), float(np.mean((fitted - y) ** 2))]
        self.fit_ = Fit(None, errors[-1], None, int(self.max_iter), True, {"objective": errors})

    def _parts(self, bags: Bags) -> list[Embedding]:
        if self.embeddings is not None:
            return list(checks.listing(self.embeddings, "embeddings", "give a list of embeddings."))
        return tree_features(bags)

    def _features(self, bags: Bags) -> np.ndarray:
        return np.hstack([embedding.vectors(bags) for embedding in self.embeddings_])

    def _predict(self, bags: Bags) -> np.ndarray:
        features = self._features(bags)
        return np.column_stack([model.predict(features) for model in self.models_])

    def predict(self, bags: Bags) -> np.ndarray:
        """Return the predicted response, or class, of each bag."""
        self._fitted("models_")
        answer = self._shaped(self._predict(bags))
        return self.classes_[answer] if self.task == "classification" else answer

    @available_if(lambda self: self.task == "classification")
    def predict_proba(self, bags: Bags) -> np.ndarray:
        """Return class probabilities, (n_bags, n_classes), of a classifier."""
        self._fitted("models_")
        return self.models_[0].predict_proba(self._features(bags))

    @available_if(lambda self: self.task == "classification")
    def predict_log_proba(self, bags: Bags) -> np.ndarray:
        """Return logarithms of the class probabilities, (n_bags, n_classes), of a classifier."""
        return np.log(self.predict_proba(bags))

    @available_if(lambda self: self.task == "classification")
    def decision_function(self, bags: Bags) -> np.ndarray:
        """Return decision scores of a classifier: (n_bags,) of the second of two classes, else (n_bags, n_classes)."""
        self._fitted("models_")
        return self.models_[0].decision_function(self._features(bags))
