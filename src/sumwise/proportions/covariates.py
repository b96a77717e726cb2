"""Individuals' columns to the numbers of a linear model: z-scores, indicators with a missing level, components."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.utils.validation import check_is_fitted

from sumwise import checks, frames
from sumwise.errors import DataError

__all__ = ["Covariates"]

MISSING = "missing"


class Covariates(TransformerMixin, BaseEstimator):
    """Turn a frame of individuals into a matrix, as Sun et al. 2017 (section V) prepare census microdata.

    Numbers become z-scores (a missing one 0, and 1 in a column of its own), other columns one indicator per level,
    missing included. A level that wasn't there at the fit gets zeros. Columns that are constant are left out.

    Parameters
    ----------
    categorical : list of columns, optional
        Which columns are codes although they hold numbers; text, categories and booleans always are.
    max_correlation : float, optional
        Leave out every column one of whose parts correlates with the response by more, in absolute value: those that
        nearly tell it. The paper takes 0.7. Needs ``y`` at the fit.
    n_components : int, optional
        Reduce to so many principal components, or as many as there are; the paper takes 50.

    Attributes
    ----------
    dropped_ : dict
        Columns that were left out, with their largest absolute correlation.
    names_ : list of str
        The parts before reduction: ``"AGEP"``, ``"MSP=3"``.
    pca_ : fitted PCA or None

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
        self.columns_ = {c: self._learned(table[c], c in coded) for c in table.columns}
        parts = {c: self._part(table[c], c) for c in self.columns_}
        self.dropped_ = {} if self.max_correlation is None else self._telling(parts, y)
        for c in [*self.dropped_, *(c for c, x in parts.items() if not x.shape[1])]:
            del self.columns_[c]
        if not self.columns_:
            raise DataError("No column is left.", hint="raise max_correlation, or give more columns.")
        matrix = np.hstack([parts[c] for c in self.columns_])
        self.names_ = [name for c in self.columns_ for name in self._names(c)]
        self.pca_ = None
        if self.n_components is not None:
            n = min(checks.at_least(self.n_components, "n_components", 1), *matrix.shape)
            self.pca_ = PCA(n, svd_solver="full").fit(matrix)
        self.n_features_in_ = table.shape[1]
        return self

    def transform(self, frame: Any) -> np.ndarray:
        """Return the matrix, (n_rows, n_columns)."""
        check_is_fitted(self, "names_")
        table = frames.to_pandas(frame, list(self.columns_), what="the individuals")
        matrix = np.hstack([self._part(table[c], c) for c in self.columns_])
        return matrix if self.pca_ is None else self.pca_.transform(matrix)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns of `transform`."""
        check_is_fitted(self, "names_")
        n = 0 if self.pca_ is None else self.pca_.n_components_
        return np.array(self.names_ if self.pca_ is None else [f"pc{i}" for i in range(n)], dtype=object)

    def _learned(self, column: Any, coded: bool) -> dict:
        import pandas as pd

        number = pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype)
        missing = bool(column.isna().any())
        if not coded and number:
            values = column.to_numpy(dtype=float, na_value=np.nan)
            known = values[~np.isnan(values)]
            if np.isinf(known).any():
                raise DataError(f"Column {column.name!r} holds infinite numbers.", hint="drop or clip them.")
            scale = float(known.std()) if len(known) else 0.0
            return {"mean": float(known.mean()) if len(known) else 0.0, "scale": scale, "missing": missing}
        levels = sorted({_text(x) for x in column.dropna().unique()})
        levels = [*levels, MISSING] if missing else levels
        return {"levels": levels if len(levels) > 1 else []}

    def _names(self, c: Any) -> list[str]:
        rule = self.columns_[c]
        if "levels" in rule:
            return [f"{c}={level}" for level in rule["levels"]]
        return [str(c)] * (rule["scale"] > 0) + [f"{c}={MISSING}"] * (rule["missing"])

    def _part(self, column: Any, c: Any) -> np.ndarray:
        """The columns of the matrix that one column of the frame becomes."""
        rule = self.columns_[c]
        if "levels" in rule:
            text = np.array([MISSING if gone else _text(x) for x, gone in zip(column, column.isna())], dtype=object)
            return (text[:, None] == np.array(rule["levels"], dtype=object)[None, :]).astype(float)
        values = column.to_numpy(dtype=float, na_value=np.nan)
        gone, out = np.isnan(values), []
        if rule["scale"] > 0:
            out.append(np.where(gone, 0.0, (values - rule["mean"]) / rule["scale"]))
        if rule["missing"]:
            out.append(gone.astype(float))
        return np.column_stack(out) if out else np.zeros((len(values), 0))

    def _telling(self, parts: dict, y: Any) -> dict:
        """Columns one of whose parts correlates too much with a class of the response."""
        limit = checks.fraction(self.max_correlation, "max_correlation")
        if y is None:
            raise DataError("max_correlation compares with the response, and none is given.", hint="fit(frame, y).")
        labels = np.asarray(y)
        checks.same_length(individuals=next(iter(parts.values())), y=labels)
        classes = np.unique(labels)
        response = _standardised((labels[:, None] == classes[None, :]).astype(float))
        out = {}
        for c, x in parts.items():
            worst = float(np.abs(_standardised(x).T @ response).max(initial=0.0)) / len(labels)
            if worst > limit:
                out[c] = worst
        return out


def _standardised(x: np.ndarray) -> np.ndarray:
    centred = x - x.mean(axis=0)
    spread = centred.std(axis=0)
    return np.divide(centred, spread, out=np.zeros_like(centred), where=spread > 0)


def _text(x: Any) -> str:
    """A level as text: 3 and 3.0 are one code."""
    return str(int(x)) if isinstance(x, (float, np.floating)) and float(x).is_integer() else str(x)
