"""Rows of features for linear models, kept sparse beside the table where most entries are zero."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

DENSE = 0.3  # share of entries that aren't zero, above which a sparse copy doesn't pay


class Rows:
    """A matrix of features and its products; indicator columns make them several times faster.

    Parameters
    ----------
    values : (n_rows, n_features) array
    centre : (n_features,) array, optional
        Subtracted from every row, without making a sparse copy dense.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.proportions.feature_rows import Rows
    >>> rows = Rows(np.array([[1.0, 0.0], [0.0, 2.0]]))
    >>> rows.times(np.array([[3.0, 1.0]])).tolist(), rows.summed(np.array([1.0, 10.0])).tolist()
    ([[3.0], [2.0]], [1.0, 20.0])
    """

    def __init__(self, values: np.ndarray, centre: np.ndarray | None = None):
        self.values = values if centre is None else values - centre
        self.matrix: Any = self.values
        self.centre: np.ndarray | None = None  # what the sparse copy lacks
        if np.count_nonzero(values) <= DENSE * values.size:
            self.matrix, self.centre = sparse.csr_array(values), centre

    @classmethod
    def of(cls, values: Any) -> Rows:
        """Rows as they are, or of a matrix."""
        return values if isinstance(values, cls) else cls(values)

    def times(self, coef: np.ndarray) -> np.ndarray:
        """x_i'w for each row and each row w of ``coef``: (n_rows, n_logits)."""
        one = len(coef) == 1  # one vector at a time is what sparse products are fast at
        out = (self.matrix @ coef[0])[:, None] if one else self.matrix @ np.ascontiguousarray(coef.T)
        return out if self.centre is None else out - coef @ self.centre

    def summed(self, weights: np.ndarray) -> np.ndarray:
        """sum_i w_i x_i, for weights (n_rows,) or each column of (n_rows, k): (n_features,) or (k, n_features)."""
        out = (self.matrix.T @ weights).T
        return out if self.centre is None else out - np.multiply.outer(weights.sum(axis=0), self.centre)

    def gram(self, weights: np.ndarray) -> np.ndarray:
        """sum_i w_i (x_i, 1) (x_i, 1)': (n_features + 1, n_features + 1)."""
        d = self.values.shape[1]
        out = np.empty((d + 1, d + 1))
        if self.matrix is self.values:
            out[:d, :d] = self.values.T @ (weights[:, None] * self.values)
        else:
            out[:d, :d] = (self.matrix.T @ self.matrix.multiply(weights[:, None]).tocsr()).toarray()
            if self.centre is not None:  # X'WX of the sparse copy, less c s' + s c' + c c' sum(w) for s = (X - c)'w
                part = np.outer(self.centre, self.summed(weights))
                out[:d, :d] -= part + part.T + weights.sum() * np.outer(self.centre, self.centre)
        out[d, :d] = out[:d, d] = self.summed(weights)
        out[d, d] = weights.sum()
        return out
