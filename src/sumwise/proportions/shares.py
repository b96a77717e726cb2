"""Bags as methods that learn from class shares see them: rows, their weights, and the shares."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import expit, log_softmax

from sumwise.bags import Bags, rows_of
from sumwise.errors import DataError
from sumwise.proportions.counts import observe
from sumwise.proportions.feature_rows import Rows
from sumwise.proportions.kernels.poisson_binomial_information import weighted_sums


@dataclass(frozen=True)
class BagShares:
    """Rows in bags, and the class shares of each bag; what is computed of them is kept.

    Parameters
    ----------
    values : (n_rows, n_features) array
    offsets : (n_bags + 1,) array
    weights : (n_rows,) array
        Members that each row stands for; they sum to the number of rows in each bag.
    shares : (n_bags, n_classes) array
    importance : (n_bags,) array, optional
        How much each bag counts, where a method knows it: twice is the same as giving the bag twice.
    """

    values: np.ndarray
    offsets: np.ndarray
    weights: np.ndarray
    shares: np.ndarray
    importance: np.ndarray | None = None

    @cached_property
    def rows(self) -> Rows:
        """The values and their products."""
        return Rows(self.values)

    @cached_property
    def sizes(self) -> np.ndarray:
        """Rows of each bag."""
        return np.diff(self.offsets)

    @property
    def n_bags(self) -> int:
        """Number of bags."""
        return self.offsets.size - 1

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.shares.shape[1]

    @cached_property
    def counts(self) -> np.ndarray:
        """Members of each class, (n_bags, n_classes)."""
        return self.shares * self.sizes[:, None]

    @cached_property
    def bag_weights(self) -> np.ndarray:
        """How much each bag counts, 1 unless given."""
        return np.ones(self.n_bags) if self.importance is None else self.importance

    @cached_property
    def row_weights(self) -> np.ndarray:
        """Members that each row stands for, times how much its bag counts, (n_rows,)."""
        return self.weights if self.importance is None else self.weights * np.repeat(self.importance, self.sizes)

    @property
    def overall(self) -> np.ndarray:
        """Class shares over all bags, (n_classes,)."""
        return self.bag_weights @ self.counts / (self.bag_weights @ self.sizes)

    @property
    def mean_size(self) -> float:
        """Mean number of rows of a bag."""
        return float(np.average(self.sizes, weights=self.importance))

    @cached_property
    def sums(self) -> np.ndarray:
        """Weighted sum of all rows and of the weights, (n_features + 1,)."""
        return np.append(self.rows.summed(self.row_weights), self.row_weights.sum())

    @cached_property
    def means(self) -> np.ndarray:
        """Weighted mean of each bag's rows, (n_bags, n_features)."""
        sums = weighted_sums(self.values, self.offsets, self.weights)
        return sums[:, :-1] / sums[:, -1:]

    @property
    def row_shares(self) -> np.ndarray:
        """The shares of each row's bag, (n_rows, n_classes)."""
        return np.repeat(self.shares, self.sizes, axis=0)

    def bag_means(self, per_row: np.ndarray) -> np.ndarray:
        """Weighted mean over each bag of what each row has, (n_bags, k)."""
        weighted = per_row * self.weights[:, None]
        return np.add.reduceat(weighted, self.offsets[:-1], axis=0) / self.sizes[:, None]

    def take(self, index: np.ndarray) -> BagShares:
        """Some of the bags."""
        rows = rows_of(self.offsets, index)
        offsets = np.concatenate([[0], np.cumsum(self.sizes[index])])
        importance = None if self.importance is None else self.importance[index]
        return BagShares(self.values[rows], offsets, self.weights[rows], self.shares[index], importance)

    def against(self, c: int) -> BagShares:
        """One class against the rest."""
        shares = np.column_stack([1.0 - self.shares[:, c], self.shares[:, c]])
        return BagShares(self.values, self.offsets, self.weights, shares, self.importance)


def bag_shares(bags: Bags, counts: Any, totals: str = "match", importance: np.ndarray | None = None) -> BagShares:
    """Check counts against their bags; shares are exact, so ranges are refused.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Bags
    >>> from sumwise.proportions.shares import bag_shares
    >>> bag_shares(Bags.from_arrays([np.zeros((4, 1)), np.ones((2, 1))]), [1, 2]).shares
    array([[0.75, 0.25],
           [0.  , 1.  ]])
    """
    observed = observe(bags, counts, None, totals)
    if not observed.exact:
        raise DataError("This method takes exact counts only.", hint="CardinalityClassifier takes ranges and noise.")
    if observed.counts is not None:
        shares = observed.counts / observed.counts.sum(axis=1, keepdims=True)
    else:
        assert observed.observations is not None
        one = observed.observations.low / bags.sizes
        shares = np.column_stack([1.0 - one, one])
    observed.refuse_absent(bags.sizes)
    weights = np.ones(bags.n_rows) if observed.multiplicity is None else observed.multiplicity
    values = np.ascontiguousarray(bags.values, dtype=np.float64)
    return BagShares(values, np.array(bags.offsets), weights, shares, importance)


def class_probabilities(logits: np.ndarray) -> np.ndarray:
    """(n_rows, n_classes), from logits of shape (n_rows,) for two classes, else (n_rows, n_classes)."""
    if logits.ndim == 1:
        one = expit(logits)
        return np.column_stack([1.0 - one, one])
    return np.exp(log_softmax(logits, axis=1))
