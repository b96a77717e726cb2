"""Individuals' columns to the numbers of a linear model: z-scores, indicators with a missing level, components."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.preprocessing import scale
from sklearn.utils.validation import check_is_fitted

from sumwise import checks, frames
from sumwise.bags import Bags
from sumwise.errors import DataError
from sumwise.features import Features, mean_and_std, table_rows


class Covariates(TransformerMixin, BaseEstimator):
    """Turn a frame of individuals into a matrix, as Sun et al. 2017 (section V) prepare census microdata.

    Numbers become z-scores (a missing one 0, and 1 in a column of its own), other columns one indicator per level,
    missing included. A level that wasn't there at the fit gets zeros. Columns that are constant are left out.

    Parameters
    ----------
    categorical : list of columns, optional
        Which columns are codes although they hold numbers; text, categories and booleans always are.
    max_correlation : float in (0, 1), optional
        Leave out every column one of whose parts correlates with the response by more, in absolute value: those that
        nearly give it away. The paper takes 0.7. Needs ``y`` at the fit.
    n_components : int >= 1, optional
        Reduce to this many principal components, or as many as there are; the paper takes 50.

    Attributes
    ----------
    dropped_ : dict
        Columns that were left out, with their largest absolute correlation.
    names_ : list of str
        The parts before reduction: ``"AGEP"``, ``"MSP=3"``.
    pca_ : fitted PCA or None

    See Also
    --------
    OnInstances : A scikit-learn transformer, fitted and applied to all rows of bags; see `on_instances`.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.proportions import Covariates
    >>> people = pd.DataFrame({"age": [20.0, 40.0, None], "job": ["a", None, "b"]})
    >>> prepared = Covariates().fit(people)
    >>> prepared.names_
    ['age', 'age=missing', 'job=a', 'job=b', 'job=missing']
    >>> prepared.transform(people).round(1)
    array([[-1.,  0.,  1.,  0.,  0.],
           [ 1.,  0.,  0.,  0.,  1.],
           [ 0.,  1.,  0.,  1.,  0.]])
    """

    def __init__(
        self,
        categorical: Sequence | None = None,
        *,
        max_correlation: float | None = None,
        n_components: int | None = None,
    ):
        self.categorical = categorical
        self.max_correlation = max_correlation
        self.n_components = n_components

    def fit(self, frame: Any, y: Any = None) -> Covariates:
        """Learn means, scales, levels and components; ``y`` is the response as one label per row."""
        table = frames.to_pandas(frame, what="the individuals")
        if not len(table):
            raise DataError("There are no individuals.")
        coded = [] if self.categorical is None else checks.listing(self.categorical, "categorical")
        for name in coded:
            checks.known(name, list(table.columns), "column")
        bools = [c for c in table.columns if table[c].dtype == bool]
        used = [c for c in table.columns if table[c].notna().any()]  # nothing can be learned from the others
        rows = table_rows(table[used], [*coded, *bools]) if used else Bags(np.zeros((len(table), 0)), [0, len(table)])
        self.features_ = Features.learn(rows)
        matrix = self.features_.matrix(rows)
        self.scale_ = self._scales(matrix)
        matrix = self._scaled(matrix)
        source = np.array([c for c in self.features_.columns for _ in range(self.features_.width(c))], dtype=object)
        self.dropped_ = {} if self.max_correlation is None else self._too_correlated(matrix, source, y)
        self.kept_ = (np.ptp(matrix, axis=0) > 0) & ~np.isin(source.astype(str), [str(c) for c in self.dropped_])
        if not self.kept_.any():
            raise DataError("No column is left.", hint="raise max_correlation, or give more columns.")
        matrix = matrix[:, self.kept_]
        self.names_ = [str(name) for name, kept in zip(self.features_.names, self.kept_) if kept]
        self.pca_ = None
        if self.n_components is not None:
            n = min(checks.at_least(self.n_components, "n_components", 1), *matrix.shape)
            self.pca_ = PCA(n, svd_solver="full").fit(matrix)
        self.n_features_in_ = table.shape[1]
        return self

    def transform(self, frame: Any) -> np.ndarray:
        """Return the matrix, (n_rows, n_columns)."""
        check_is_fitted(self, "names_")
        table = frames.to_pandas(frame, list(self.features_.columns), what="the individuals")
        matrix = self._scaled(self.features_.matrix(table_rows(table, self.features_.levels)))[:, self.kept_]
        return matrix if self.pca_ is None else self.pca_.transform(matrix)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns of `transform`."""
        del input_features  # scikit-learn's signature
        check_is_fitted(self, "names_")
        n = 0 if self.pca_ is None else self.pca_.n_components_
        return np.array(self.names_ if self.pca_ is None else [f"pc{i}" for i in range(n)], dtype=object)

    def _scales(self, matrix: np.ndarray) -> np.ndarray:
        """(2, n_columns): centre and scale; indicators stay as they are, a missing number is no part of the spread."""
        out = np.stack([np.zeros(matrix.shape[1]), np.ones(matrix.shape[1])])
        place = 0
        for j, name in enumerate(self.features_.columns):
            if name not in self.features_.levels:
                gone = matrix[:, place + 1] > 0 if self.features_.missing[j] else np.zeros(len(matrix), dtype=bool)
                spread = float(mean_and_std(matrix[~gone, place : place + 1])[1][0])
                out[:, place] = self.features_.means[j], spread if spread > 0 else 1.0
            place += self.features_.width(name)
        return out

    def _scaled(self, matrix: np.ndarray) -> np.ndarray:
        return (matrix - self.scale_[0]) / self.scale_[1]

    def _too_correlated(self, matrix: np.ndarray, source: np.ndarray, y: Any) -> dict:
        """Columns one of whose parts correlates too much with a class of the response."""
        limit = checks.fraction(self.max_correlation, "max_correlation")
        if y is None:
            raise DataError("max_correlation compares with the response, and none is given.", hint="fit(frame, y).")
        labels = np.asarray(y)
        checks.same_length(individuals=matrix, y=labels)
        response = scale((labels[:, None] == np.unique(labels)[None, :]).astype(float))
        found = np.abs(scale(matrix).T @ response).max(axis=1) / len(labels)
        worst = {c: float(found[source == c].max(initial=0.0)) for c in self.features_.columns}
        return {c: value for c, value in worst.items() if value > limit}
