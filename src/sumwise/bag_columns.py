"""Columns of bags, read and replaced as scikit-learn's inspection does it with the columns of a table."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from sumwise import checks
from sumwise.bags import Bags
from sumwise.errors import DataError


class BagColumn:
    """One column of some bags: as an array, the mean of each bag (missing values left out).

    Attributes
    ----------
    bags : Bags
        With this column alone.
    index : array, the bags' ids.
    """

    ndim = 1
    dtype = np.dtype(np.float64)

    def __init__(self, bags: Bags):
        self.bags = bags
        self.index: Any = bags.ids

    @property
    def shape(self) -> tuple[int]:
        """(n_bags,)."""
        return (len(self.bags),)

    def __len__(self) -> int:
        return len(self.bags)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        name = self.bags.features[0]
        if name in self.bags.levels:
            raise DataError(
                f"Column {name!r} has levels, which have no mean to vary.", hint="name a column of numbers."
            )
        return _means(self.bags).astype(dtype or np.float64)


class Positions:
    """What ``bags.iloc`` is: ``bags.iloc[rows, j]`` is a column, ``bags.iloc[rows]`` are bags.

    Only a copy of bags can be assigned to: ``copy.iloc[:, j] = 3.0`` shifts column ``j`` in every bag to a mean of 3.
    """

    def __init__(self, bags: Bags):
        self.bags = bags

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, tuple):
            return self.bags[key]
        rows, column = key
        rows = rows if isinstance(rows, slice) else np.atleast_1d(rows)
        at = np.atleast_1d(np.arange(self.bags.n_features)[column])
        if isinstance(column, slice) or np.ndim(column):
            return columns_of(self.bags[rows], at)
        if isinstance(self.bags, EditableBags) and at[0] in self.bags.exchanged:
            return BagColumn(self.bags.exchanged[at[0]][rows])
        return BagColumn(columns_of(self.bags[rows], at))

    def __setitem__(self, key: Any, value: Any) -> None:
        if not isinstance(self.bags, EditableBags):
            raise DataError("Bags don't change.", hint="assign to bags.copy().")
        rows, column = key
        if not (isinstance(rows, slice) and rows == slice(None)):
            raise DataError("A column is assigned in all bags at once.", hint="copy.iloc[:, j] = value")
        self.bags.shift_to(int(column), float(value))


class Masks(Positions):
    """What ``bags.loc`` is: ``bags.loc[mask]`` are bags, ``bags.loc[:, mask]`` have some of the columns."""

    def __getitem__(self, key: Any) -> Any:
        for part in key if isinstance(key, tuple) else (key,):
            if not isinstance(part, slice) and np.asarray(part).dtype != bool:
                raise DataError("bags.loc takes masks.", hint="bags.iloc takes positions.")
        return super().__getitem__(key)


class EditableBags(Bags):
    """A copy of bags whose columns can be replaced; made by `Bags.copy` and `Bags.take`."""

    __slots__ = ("copied", "exchanged")
    copied: np.ndarray  # the values before any column was replaced
    exchanged: (
        dict  # columns of other bags that were assigned, by position: bags of other sizes don't hold them exactly
    )
    _saved_as: ClassVar = Bags

    @classmethod
    def of(cls, bags: Bags) -> EditableBags:
        """Copy bags."""
        copy = object.__new__(cls)
        for name in Bags.__slots__:
            object.__setattr__(copy, name, getattr(bags, name))
        object.__setattr__(copy, "copied", bags.values)
        object.__setattr__(copy, "exchanged", dict(getattr(bags, "exchanged", {})))
        return copy

    def _replace(self, j: int, column: np.ndarray) -> None:
        values = np.array(self.values)  # other bags may share them
        values[:, j] = column
        object.__setattr__(self, "values", checks.frozen(values))

    @property
    def columns(self) -> tuple:
        """Names of the columns."""
        return self.features

    @property
    def index(self) -> np.ndarray:
        """Ids of the bags."""
        return self.ids

    def __setitem__(self, name: Any, column: BagColumn) -> None:
        """Give every bag the distribution that the column has in another bag."""
        checks.same_length(bags=self, column=column)
        j, values = self.features.index(name), np.empty(self.n_rows)
        for k, source in enumerate(column.bags):
            rows = slice(self.offsets[k], self.offsets[k + 1])
            own, weights = self.copied[rows, j], self.weights[rows]
            values[rows] = _with_ranks_of(own, weights, source[:, 0], _weights_of(column.bags, k))
        self._replace(j, values)
        self.exchanged[j] = column.bags

    def shift_to(self, j: int, mean: float) -> None:
        """Shift column ``j`` in every bag, so that its mean is the given one."""
        if np.isnan(mean):
            raise DataError(
                f"Column {self.features[j]!r} has no mean in some bags: all its values are missing there.",
                hint="leave such bags out, or give custom_values.",
            )
        means = np.asarray(BagColumn(columns_of(self, np.array([j]), self.copied)))
        self._replace(j, self.copied[:, j] + np.repeat(mean - means, self.sizes))
        self.exchanged.pop(j, None)


def columns_of(bags: Bags, chosen: np.ndarray, values: np.ndarray | None = None) -> Bags:
    """The same bags with some of their columns, of other values where they are given."""
    features = tuple(bags.features[j] for j in chosen)
    levels = {name: bags.levels[name] for name in features if name in bags.levels}
    return bags.with_values((bags.values if values is None else values)[:, chosen], features, levels)


def _weights_of(bags: Bags, k: int) -> np.ndarray:
    return bags.weights[bags.offsets[k] : bags.offsets[k + 1]]


def _means(bags: Bags) -> np.ndarray:
    """Weighted means of the first column in every bag, over the values that are known."""
    known = ~np.isnan(bags.values[:, 0])
    weights = bags.weights * known
    totals = np.zeros((2, len(bags)))
    np.add.at(totals[0], bags.bag_index, np.where(known, bags.values[:, 0], 0.0) * weights)
    np.add.at(totals[1], bags.bag_index, weights)
    with np.errstate(invalid="ignore"):
        return totals[0] / totals[1]


def _with_ranks_of(own: np.ndarray, weights: np.ndarray, source: np.ndarray, source_weights: np.ndarray) -> np.ndarray:
    """The quantiles of ``source`` at the ranks of ``own``: its distribution, in the order that the bag has."""
    if not len(own) or not len(source):
        return own
    order, other = np.argsort(own, kind="stable"), np.argsort(source, kind="stable")
    mass = np.cumsum(weights[order])
    at = (mass - 0.5 * weights[order]) / mass[-1]
    upto = np.cumsum(source_weights[other])
    picked = np.searchsorted(upto / upto[-1], at - 1e-12)
    out = np.empty(len(own))
    out[order] = source[other][np.minimum(picked, len(source) - 1)]
    return out
