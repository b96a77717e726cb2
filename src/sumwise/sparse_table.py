"""SparseTable: a table that is mostly empty, held by the cells that have anybody in them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from sumwise import checks
from sumwise.errors import DataError
from sumwise.noise import Exact
from sumwise.table import Table, attribute_names, check_exact_sums, title

__all__ = ["FEWEST_CELLS", "MOST_FILLED", "SparseTable", "most_filled", "pays", "table_of_arrays", "table_of_cells"]

FEWEST_CELLS = 2**14  # a smaller table isn't worth the trouble
MOST_IN_FULL = 2**30  # cells of a table that is made an array when asked for
MOST_FILLED = 1 / 8  # share of cells with a count up to which a table is held sparse
LARGE, MOST_OF_LARGE = 2**16, 1 / 2  # the same of tables with so many cells or more: a model of all cells takes three
# to five times as long as one of the filled ones and predicts nearly alike (`python benchmarks/maxent_large.py filled`)


class SparseTable(Table):
    """Exact counts of a table that is mostly empty: the cells that have any, and how many.

    It is a `Table` in all respects. ``counts`` and ``label_sums`` are made anew, in full, whenever they are asked for;
    what works on large tables asks for `filled` instead. `Tables.from_frame`, `sumwise.aggregate` and
    `sumwise.io.formats.read_tables` hold tables of 16,384 cells or more like this, where at most an eighth has a count;
    of 65,536 cells or more, where at most half has.

    Parameters
    ----------
    attributes : str or sequence of str
        One per axis.
    shape : sequence of int
        Levels of each attribute.
    cells : array of int
        Positions in the flattened table (C order, as `numpy.ravel_multi_index` gives them), each once.
    cell_counts : array
        Their counts; all other cells have none.
    cell_sums : array, optional
        Their label sums, of one 0/1 label or, on a second axis, of K classes.

    Examples
    --------
    >>> from sumwise.sparse_table import SparseTable
    >>> table = SparseTable(("site", "page"), (1000, 1000), [5, 1002], [3, 4], [1, 0])
    >>> table
    SparseTable(attributes=[site, page], shape=[1000, 1000], total=7, filled=2)
    >>> float(table.counts[1, 2]), table.project("site").counts[:2]
    (4.0, array([3., 4.]))
    """

    __slots__ = ("_shape", "cell_counts", "cell_sums", "cells")
    _saved: ClassVar = ("attributes", "shape", "cells", "cell_counts", "cell_sums")

    cells: np.ndarray
    cell_counts: np.ndarray
    cell_sums: np.ndarray | None

    def __init__(
        self, attributes: str | Sequence[str], shape: Any, cells: Any, cell_counts: Any, cell_sums: Any = None
    ) -> None:
        def put(name: str, value: Any) -> None:
            object.__setattr__(self, name, value)

        put("attributes", attribute_names(attributes))
        what = f"The counts of {title(self.attributes)}"
        put("_shape", _checked_shape(shape, self.attributes))
        places = _checked_cells(cells, self.n_cells, what)
        counts = checks.counts(cell_counts, what, ndim=1)
        if len(counts) != len(places):
            raise DataError(f"{what}: there are {len(counts)} for {len(places)} cells.", hint="give one per cell.")
        order = np.argsort(places, kind="stable")
        sums = None if cell_sums is None else _checked_sums(cell_sums, counts, places, self)
        order = order[counts[order] > 0]
        put("cells", checks.frozen(places[order]))
        put("cell_counts", checks.frozen(counts[order]))
        put("cell_sums", None if sums is None else checks.frozen(sums[order]))
        put("noise", Exact())
        put("bounds", None)
        put("label_noise", None)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"A table is frozen: {name!r} can't be set.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"A table is frozen: {name!r} can't be deleted.")

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of levels of each attribute."""
        return self._shape

    @property
    def counts(self) -> np.ndarray:  # type: ignore[override]
        """All counts as an array, made for this call."""
        return self._in_full(self.cell_counts)

    @property
    def label_sums(self) -> np.ndarray | None:  # type: ignore[override]
        """All label sums as an array, made for this call; None without a label."""
        return None if self.cell_sums is None else self._in_full(self.cell_sums)

    @property
    def total(self) -> float:
        """The sum of the cells."""
        return float(self.cell_counts.sum())

    @property
    def complete(self) -> bool:
        """Whether every count was observed: always."""
        return True

    @property
    def n_classes(self) -> int | None:
        """2 for sums of a 0/1 label, K for K classes, None without a label."""
        if self.cell_sums is None:
            return None
        return 2 if self.cell_sums.ndim == 1 else self.cell_sums.shape[1]

    @property
    def label_totals(self) -> np.ndarray:
        """Sums over all cells of the 0/1 label (1,), or of each of K classes (K,); empty without a label."""
        if self.cell_sums is None:
            return np.zeros(0)
        return self.cell_sums.reshape(len(self.cells), -1).sum(axis=0)

    @property
    def nbytes(self) -> int:
        """Memory of counts and label sums."""
        sums = 0 if self.cell_sums is None else self.cell_sums.nbytes
        return self.cells.nbytes + self.cell_counts.nbytes + sums

    def filled(self) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Cells (C order, ascending) with a count, their counts and label sums; the arrays that are held."""
        return self.cells, self.cell_counts, self.cell_sums

    def transpose(self, attributes: Sequence[str]) -> Table:
        """Return the same table with its axes in another order."""
        wanted = attribute_names(attributes)
        if wanted == self.attributes:
            return self
        if sorted(wanted) != sorted(self.attributes):
            raise DataError(f"A table over {title(self.attributes)} can't be put in the order {title(wanted)}.")
        at = dict(zip(self.attributes, np.unravel_index(self.cells, self.shape)))
        levels = dict(zip(self.attributes, self.shape))
        shape = tuple(levels[a] for a in wanted)
        cells = np.ravel_multi_index(tuple(at[a] for a in wanted), shape)
        return SparseTable(wanted, shape, cells, self.cell_counts, self.cell_sums)

    def project(self, attributes: str | Sequence[str]) -> Table:
        """Return the table summed onto some of its attributes."""
        wanted = attribute_names(attributes)
        for a in wanted:
            checks.known(a, self.attributes, "attribute")
        if len(wanted) == len(self.attributes):
            return self.transpose(wanted)
        at = dict(zip(self.attributes, np.unravel_index(self.cells, self.shape)))
        levels = dict(zip(self.attributes, self.shape))
        shape = tuple(levels[a] for a in wanted)
        cells = np.ravel_multi_index(tuple(at[a] for a in wanted), shape)
        return table_of_cells(wanted, shape, cells, self.cell_counts, self.cell_sums)

    def describe(self) -> dict[str, Any]:
        """Return the facts: attributes, shape, total, noise, and how many cells are empty."""
        return {
            "attributes": list(self.attributes),
            "shape": list(self.shape),
            "total": self.total,
            "zero cells": self.n_cells - len(self.cells),
            "unobserved cells": 0,
            "classes": self.n_classes,
            "noise": repr(self.noise),
        }

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SparseTable):
            return super().__eq__(other)
        same = self.attributes == other.attributes and self.shape == other.shape
        mine, theirs = self.cell_sums, other.cell_sums
        same &= np.array_equal(self.cells, other.cells) and np.array_equal(self.cell_counts, other.cell_counts)
        return same and (mine is theirs or (mine is not None and theirs is not None and np.array_equal(mine, theirs)))

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self):
        return SparseTable, tuple(getattr(self, name) for name in self._saved)

    def _facts(self) -> dict[str, Any]:
        return {"attributes": self.attributes, "shape": self.shape, "total": self.total, "filled": len(self.cells)}

    def _in_full(self, values: np.ndarray) -> np.ndarray:
        if self.n_cells > MOST_IN_FULL:
            raise DataError(
                f"The table over {title(self.attributes)} has {self.n_cells:,} cells, {len(self.cells):,} of them "
                f"filled; all of them as an array would take {8 * self.n_cells / 2**30:,.0f} GiB.",
                hint="use filled(), merge levels, or leave the table out.",
            )
        out = np.zeros((self.n_cells, *values.shape[1:]))
        out[self.cells] = values
        return checks.frozen(out.reshape(*self.shape, *values.shape[1:]))


def pays(n_cells: int, n_filled: int) -> bool:
    """Whether a table of so many cells, so many of them with a count, is better held sparse.

    Examples
    --------
    >>> from sumwise.sparse_table import pays
    >>> pays(1_000_000, 6_000), pays(1_000, 6), pays(1_000_000, 600_000)
    (True, False, False)
    """
    return n_cells >= FEWEST_CELLS and n_filled <= most_filled(n_cells) * n_cells


def most_filled(n_cells: int) -> float:
    """The share of so many cells up to which a table is held sparse.

    Examples
    --------
    >>> from sumwise.sparse_table import most_filled
    >>> most_filled(50_000), most_filled(1_000_000)
    (0.125, 0.5)
    """
    return MOST_OF_LARGE if n_cells >= LARGE else MOST_FILLED


def table_of_cells(attributes: Any, shape: Any, cells: np.ndarray, weights: Any = None, sums: Any = None) -> Table:
    """The table of rows that lie in these cells: sparse where that pays.

    weights: of the rows, default 1. sums: what they add to the label sums, an array, or one per class in turn.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.sparse_table import table_of_cells
    >>> table_of_cells("a", (3,), np.array([2, 0, 2])).counts
    array([1., 0., 2.])
    """
    size, shape = math.prod(shape), tuple(shape)
    if size >= FEWEST_CELLS:
        places, inverse = np.unique(cells, return_inverse=True)
        if pays(size, len(places)):
            n = len(places)
            return SparseTable(attributes, shape, places, _added(inverse, weights, n), _added_sums(inverse, sums, n))
    full = _added_sums(cells, sums, size)
    full = None if full is None else full.reshape(*shape, *full.shape[1:])
    return Table(attributes, _added(cells, weights, size).reshape(shape), full)


def table_of_arrays(attributes: Any, counts: np.ndarray, sums: np.ndarray | None = None) -> Table:
    """The exact table of these counts and label sums: sparse where that pays.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.sparse_table import table_of_arrays
    >>> table_of_arrays(("a", "b"), np.eye(200))
    SparseTable(attributes=[a, b], shape=[200, 200], total=200, filled=200)
    """
    if not pays(counts.size, int(np.count_nonzero(counts))):
        return Table(attributes, counts, sums)
    cells = np.flatnonzero(counts)
    at_cells = None if sums is None else sums.reshape(counts.size, *sums.shape[counts.ndim :])[cells]
    return SparseTable(attributes, counts.shape, cells, counts.ravel()[cells], at_cells)


def _added(places: np.ndarray, weights: Any, size: int) -> np.ndarray:
    return np.bincount(places, weights=weights, minlength=size).astype(float)


def _added_sums(places: np.ndarray, sums: Any, size: int) -> np.ndarray | None:
    if sums is None:
        return None
    if isinstance(sums, np.ndarray) and sums.ndim == 1:
        return _added(places, sums, size)
    return np.stack([_added(places, s, size) for s in (sums.T if isinstance(sums, np.ndarray) else sums)], axis=-1)


def _checked_shape(value: Any, attributes: tuple[str, ...]) -> tuple[int, ...]:
    shape = tuple(checks.listing(value, "shape", "give the number of levels of each attribute."))
    if len(shape) != len(attributes):
        raise DataError(f"The shape of {title(attributes)} is {shape}.", hint="give one number per attribute.")
    return tuple(int(checks.at_least(s, "A number of levels", 1)) for s in shape)


def _checked_cells(value: Any, size: int, what: str) -> np.ndarray:
    cells = np.asarray(value)
    if not cells.size:
        cells = cells.astype(np.int64)
    if cells.ndim != 1 or cells.dtype.kind not in "iu":
        raise DataError(f"{what}: cells have shape {cells.shape} and dtype {cells.dtype}.", hint="give whole numbers.")
    cells = cells.astype(np.int64)
    if len(cells) and not (cells.min() >= 0 and cells.max() < size):
        raise DataError(f"{what}: cells go from {cells.min()} to {cells.max()}; there are {size}.")
    in_order = cells if (cells[1:] >= cells[:-1]).all() else np.sort(cells)  # np.unique hashes, which takes far longer
    if (in_order[1:] == in_order[:-1]).any():
        raise DataError(f"{what}: a cell is listed twice.", hint="add its counts up.")
    return cells


def _checked_sums(value: Any, counts: np.ndarray, cells: np.ndarray, table: SparseTable) -> np.ndarray:
    what = f"The label sums of {title(table.attributes)}"
    sums = checks.counts(value, what)
    if sums.ndim not in (1, 2) or len(sums) != len(counts) or (sums.ndim == 2 and sums.shape[1] < 2):
        raise DataError(
            f"{what} have shape {sums.shape}; there are {len(counts)} cells.",
            hint="give one per cell, or one row of two classes or more per cell.",
        )
    check_exact_sums(counts, sums, what, lambda i: np.unravel_index(cells[i[0]], table.shape))
    return sums
