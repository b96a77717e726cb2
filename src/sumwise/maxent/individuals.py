"""RowClassifier: what was learned from tables as a scikit-learn classifier of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from sumwise.estimator import Estimator


@dataclass(eq=False, repr=False)
class RowClassifier(ClassifierMixin, Estimator):
    """A fitted classifier of tables as scikit-learn sees it: one row, one sample; made by `individuals`.

    It works with whatever takes a fitted classifier of data frames: `CalibrationDisplay`, `RocCurveDisplay`,
    ``scoring="roc_auc"``, `CalibratedClassifierCV` of a frozen model. It has learned from tables: `fit` leaves it as it
    is, as `sklearn.frozen.FrozenEstimator` does.

    Parameters
    ----------
    classifier : fitted classifier of tables
    """

    classifier: Any = None

    def __sklearn_is_fitted__(self) -> bool:
        return self.classifier is not None and hasattr(self.classifier, "classes_")

    def __sklearn_clone__(self) -> RowClassifier:  # it can't be fitted to rows
        return self

    @property
    def classes_(self) -> np.ndarray:
        """The classes, in the order of the columns of `predict_proba`."""
        return self.classifier.classes_

    def fit(self, X: Any, y: Any = None, **ignored: Any) -> RowClassifier:
        """Return self: it was fitted to tables."""
        del X, y, ignored
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """P(class | features), (n_rows, n_classes)."""
        return self.classifier.predict_proba(X)

    def predict(self, X: Any) -> np.ndarray:
        """The more likely class, (n_rows,)."""
        return self.classifier.predict(X)
