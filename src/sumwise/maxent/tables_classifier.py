"""What every classifier learned from tables offers: probabilities and classes of individuals."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import softmax

from sumwise.domain import Domain
from sumwise.encoding import Encoding
from sumwise.estimator import Estimator
from sumwise.maxent.individuals import codes_of
from sumwise.tables import Tables

__all__ = ["TablesClassifier"]


class TablesClassifier(Estimator):
    """Base of the classifiers on `Tables`; a method supplies `fit` and `_scores`.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The classes, in the order of the columns of `predict_proba`.
    domain_ : Domain
        The features and their levels.
    encoding_ : Encoding or None
        How raw columns become levels; applied to the frames given to `predict_proba`.
    n_ : float
        The number of individuals that were counted.

    Examples
    --------
    >>> from sumwise.maxent import NaiveBayesTables
    >>> from sumwise.maxent.tables_classifier import TablesClassifier
    >>> issubclass(NaiveBayesTables, TablesClassifier)
    True
    """

    classes_: np.ndarray
    domain_: Domain
    encoding_: Encoding | None
    n_: float

    def fit(self, tables: Tables) -> TablesClassifier:
        """Learn from tables with label sums."""
        raise NotImplementedError

    def predict_proba(self, frame: Any) -> np.ndarray:
        """Return P(class | features) of individuals, (n_rows, n_classes).

        Parameters
        ----------
        frame : pandas, polars or pyarrow frame, or dict of columns
            One column per feature (raw columns where the tables had an encoding). Where a value is missing, or a
            level that no table has, the feature's terms drop out.
        """
        self._fitted("domain_")
        return softmax(self._scores(codes_of(frame, self.domain_, self.encoding_)), axis=1)

    def predict(self, frame: Any) -> np.ndarray:
        """Return the likelier class of individuals, (n_rows,)."""
        shares = self.predict_proba(frame)
        return self.classes_[shares.argmax(axis=1)]

    def _scores(self, codes: np.ndarray) -> np.ndarray:
        """Log-probabilities up to a constant per row, (n, K), of level codes (n, D)."""
        raise NotImplementedError

    def _remember(self, tables: Tables, n: float) -> None:
        self.domain_ = tables.domain
        self.encoding_ = tables.encoding
        self.label_ = tables.label
        self.classes_ = np.array(tables.classes)
        self.n_ = n
