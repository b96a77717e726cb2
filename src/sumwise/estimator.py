"""Estimator: the base of every method, with scikit-learn's conventions and units as samples."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

__all__ = ["Estimator"]


class Estimator(BaseEstimator):
    """Base of sumwise's estimators: parameters stored untouched, `fit` learns names that end in ``_``.

    A sample is a unit (a bag, a precinct), so scikit-learn's `cross_validate` and `GridSearchCV` split by unit.
    Using an estimator before `fit` raises scikit-learn's ``NotFittedError``.

    Examples
    --------
    >>> from sumwise.estimator import Estimator
    >>> class Mean(Estimator):
    ...     def fit(self, margins):
    ...         self.mean_ = margins.col_shares.mean(axis=0)
    ...         return self
    >>> from sumwise import Margins
    >>> Mean().fit(Margins([[1, 1]], [[2, 0]])).mean_
    array([1., 0.])
    """

    def _fitted(self, *names: str) -> Any:
        """Return self if fitted; else raise ``NotFittedError``."""
        check_is_fitted(self, list(names) or None)
        return self
