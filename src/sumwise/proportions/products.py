"""Products of pairs of columns: interactions and squares, as columns of a linear model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sumwise.proportions.linear import reference_shape


@dataclass(frozen=True, eq=False)
class ProductFeatures:
    """Columns x_i x_j of centred columns, squares among them, under whose standard normal coefficients logits vary by
    about one.

    Parameters
    ----------
    pairs : integer array of shape (n_pairs, 2)
    scale : array of shape (n_pairs,)
        What products are divided by.
    centre : array of shape (n_features,)
        Subtracted from rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.proportions.products import ProductFeatures
    >>> features = ProductFeatures.of(np.random.default_rng(0).normal(size=(50, 2)))
    >>> features.pairs.tolist(), features.columns(np.zeros((1, 2))).shape
    ([[0, 0], [0, 1], [1, 1]], (1, 3))
    """

    pairs: np.ndarray
    scale: np.ndarray
    centre: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray) -> ProductFeatures:
        """Products of columns like these, without those that vary no more than rounding."""
        pairs, centre = np.column_stack(np.triu_indices(values.shape[1])), values.mean(axis=0)
        products = cls(pairs, np.ones(len(pairs)), centre).columns(values)
        varying = np.ptp(products, axis=0) > 1e-12 * np.abs(products).max(axis=0)
        scale = np.sqrt(reference_shape(products[:, varying])) if varying.any() else np.zeros(0)
        return cls(pairs[varying], scale, centre)

    @property
    def n_columns(self) -> int:
        """Number of products."""
        return len(self.scale)

    def columns(self, values: np.ndarray) -> np.ndarray:
        """The products of rows, (n_rows, n_pairs)."""
        centred = values - self.centre
        return centred[:, self.pairs[:, 0]] * centred[:, self.pairs[:, 1]] / self.scale
