"""IndividualClassifier: what was learned from bags as a scikit-learn classifier of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import validate_data

from sumwise import checks, frames
from sumwise.errors import DataError
from sumwise.estimator import Estimator

__all__ = ["IndividualClassifier"]


@dataclass(eq=False, repr=False)
class IndividualClassifier(ClassifierMixin, Estimator):
    """A fitted classifier of bags as scikit-learn sees it: one row, one sample; made by `individuals` of a classifier.

    It works with whatever takes a fitted classifier: `RocCurveDisplay`, `permutation_importance`, partial dependence,
    ``scoring="roc_auc"``, soft voting of fitted models. It has learned from bags and can't be fitted to rows again:
    `fit` leaves it as it is, as `sklearn.frozen.FrozenEstimator` does.

    Parameters
    ----------
    classifier : fitted classifier of bags
    classes : sequence of length n_classes, optional
        Labels of the classes, in the order of the counts; default 0, 1, ...

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Sorted, as scikit-learn's tools expect; columns of probabilities follow them.
    n_features_in_ : int
    feature_names_in_ : array of str, where the features of the bags had names.
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
        Of a linear classifier whose columns enter as they are, for scikit-learn's selection of features; its
        logits are ``X @ coef_.T + intercept_``. Absent where a column of text became several.
    intercept_ : array of shape (1,) or (n_classes,)
    """

    classifier: Any = None
    classes: Any = None

    def __sklearn_is_fitted__(self) -> bool:
        return self.classifier is not None and "n_classes_" in vars(self.classifier)

    def __sklearn_clone__(self) -> IndividualClassifier:  # it can't be fitted to rows again
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    @property
    def classes_(self) -> np.ndarray:
        """Class labels, sorted: 0 to n_classes - 1, or the names that were given."""
        return self._named()[0]

    def _named(self) -> tuple[np.ndarray, np.ndarray | None]:
        """The sorted labels, and the order of the model's classes in them; None where that is their own."""
        own = self._model().classes_
        if self.classes is None:
            return own, None
        labels, order = np.unique(checks.listing(self.classes, "classes"), return_index=True)
        if len(order) != len(own) or len(self.classes) != len(own):
            raise DataError(
                f"classes has {len(self.classes)} labels, {len(order)} of them different, for {len(own)} classes.",
                hint="one label per class, in the order of the counts.",
            )
        return labels, order

    @property
    def n_features_in_(self) -> int:
        """Number of columns that go in."""
        return self._model().n_features_in_

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the columns that go in; AttributeError where they have none, as in scikit-learn."""
        return self._model().feature_names_in_

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients of a linear classifier, as scikit-learn has them; AttributeError of others."""
        return self._linear()[:, :-1]

    @property
    def intercept_(self) -> np.ndarray:
        """Intercepts of a linear classifier."""
        return self._linear()[:, -1]

    def _linear(self) -> np.ndarray:
        """Coefficients and intercept of each logit, (n_logits, n_features + 1), in the order of the classes."""
        model = self._model()
        if np.size(vars(model).get("nonlinear_coef_", ())):
            raise AttributeError("The model is not linear: coef_ of the classifier of bags is only its linear part.")
        table = np.column_stack([model.coef_, model.intercept_])
        if table.shape[1] != model.n_features_in_ + 1:
            raise AttributeError("Some columns entered as several numbers: coef_ of the classifier of bags has them.")
        order = self._named()[1]
        if order is None:
            return table
        return table[order] if len(table) > 1 else table * (1.0 if order[1] == 1 else -1.0)

    def fit(self, X: Any, y: Any = None, **ignored: Any) -> IndividualClassifier:
        """Return self: it was fitted to bags."""
        del X, y, ignored
        return self

    def _model(self) -> Any:
        self._fitted()
        return self.classifier

    def _rows(self, X: Any) -> Any:
        """Rows as the classifier takes them: frames as they are, sparse matrices dense, numbers checked."""
        model = self._model()
        if frames.is_frame(X):
            names = getattr(X, "column_names", getattr(X, "columns", None))  # pyarrow's columns are the values
            if names is not None and "feature_names_in_" in vars(model):
                _same_names(list(names), model.feature_names_in_)
            return X
        return validate_data(self, checks.dense(X), reset=False, dtype=np.float64, ensure_all_finite="allow-nan")

    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities, (n_rows, n_classes)."""
        return self._in_order(self._model().predict_proba(self._rows(X)))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Their logarithms."""
        return self._in_order(self._model().predict_log_proba(self._rows(X)))

    def decision_function(self, X: Any) -> np.ndarray:
        """Logits: (n_rows,) of the second class for two classes, else (n_rows, n_classes)."""
        logits, order = self._model().decision_function(self._rows(X)), self._named()[1]
        if logits.ndim == 2:
            return self._in_order(logits)
        return logits if order is None or order[1] == 1 else -logits

    def _in_order(self, columns: np.ndarray) -> np.ndarray:
        order = self._named()[1]
        return columns if order is None else columns[:, order]

    def predict(self, X: Any) -> np.ndarray:
        """The most likely class of each row."""
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]


def _same_names(given: list, wanted: np.ndarray) -> None:
    extra = [c for c in given if c not in set(wanted.tolist())]
    if extra:
        raise DataError(
            f"X has {len(extra)} columns that the fit did not have. First: {extra[0]!r}.",
            hint="select the columns of feature_names_in_.",
        )
