"""A canonical order of bags, of their rows and of columns: the same set of bags in any order gives the same answer."""

from __future__ import annotations

from typing import Any

import numpy as np

from sumwise.bags import Bags, rows_of


def _hash(numbers: np.ndarray) -> np.ndarray:
    """A 64-bit hash of each number; 0.0 and -0.0 are one."""
    from pandas import util

    hashed: Any = getattr(util, "hash_array")  # noqa: B009  its stub is of no function
    return hashed(np.ascontiguousarray(numbers + numbers.dtype.type(0)), categorize=False)


def _ranks(column: np.ndarray) -> np.ndarray:
    """A hash of each entry's rank among the different entries: the same in any unit."""
    return _hash(np.unique(column, return_inverse=True)[1].astype(np.uint64))


def _sums(hashes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Wrapping sums over bags, which don't depend on the order of rows."""
    totals = np.concatenate([np.zeros(1, np.uint64), np.cumsum(hashes, dtype=np.uint64)])
    return totals[offsets[1:]] - totals[offsets[:-1]]


def _bag_hash(facts: list[np.ndarray], n_bags: int) -> np.ndarray:
    """A hash of what is known of each bag besides its rows: counts, weight."""
    out = np.zeros(n_bags, np.uint64)
    for column in facts:
        out = _hash(out + _hash(column))
    return out


def _by_class(bags: Bags, counts: np.ndarray) -> np.ndarray:
    """Counts (n_bags, n) that don't depend on their form: of both classes if of one, the rarest class first."""
    if counts.dtype.names:  # each class with its least and greatest count
        return np.column_stack([np.asarray(counts[name], float).reshape(len(bags), -1) for name in counts.dtype.names])
    table = np.asarray(counts, dtype=float).reshape(len(bags), -1)
    if table.shape[1] == 1:
        table = np.column_stack([bags.total_weights - table[:, 0], table[:, 0]])
    return table[:, np.argsort(table.sum(axis=0), kind="stable")]


def _fact_hash(table: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """A hash of the counts and the weight of each bag."""
    return _bag_hash([*table.T, *([] if weights is None else [np.asarray(weights, float)])], len(table))


def column_order(bags: Bags, counts: np.ndarray) -> np.ndarray:
    """Columns by hashes of the ranks of their entries, each together with the counts of its bag."""
    if bags.n_features < 2:
        return np.arange(bags.n_features)
    of_row = np.repeat(_fact_hash(_by_class(bags, counts), None), bags.sizes)
    keys = [_hash(_ranks(column) + of_row).sum(dtype=np.uint64) for column in bags.values.T]
    return np.argsort(np.array(keys), kind="stable")


def canonical(bags: Bags, counts: Any, weights: np.ndarray | None = None) -> tuple[Bags, np.ndarray, Any]:
    """Return bags, counts and weights with bags ordered by the rarest class's share, and rows by their contents.

    Ties are ordered by hashes of the contents. Neither ids nor positions, units or the order of columns or classes
    enter, so neighbours are bags of similar shares, whatever the file.

    Parameters
    ----------
    bags : Bags
        Without empty ones.
    counts : array of shape (n_bags,) or (n_bags, n_classes), or with fields
    weights : array of shape (n_bags,), optional

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Bags
    >>> from sumwise.proportions.canonical import canonical
    >>> canonical(Bags.from_arrays([[[1.0], [2.0]], [[3.0], [4.0]]]), np.array([1, 2]))[1]
    array([2, 1])
    """
    table = _by_class(bags, counts)
    of_bag = _fact_hash(table, weights)
    row_hash = np.zeros(bags.n_rows, np.uint64)
    columns = [bags.values[:, j] for j in column_order(bags, counts)]
    for column in [*columns, *([bags.weights] if bags.weighted else [])]:
        row_hash = _hash(row_hash + _ranks(column))
    contents = _hash(_sums(row_hash, bags.offsets) + of_bag)
    order = np.lexsort((contents, bags.sizes, table[:, 0] / bags.sizes))
    rows, place = rows_of(bags.offsets, order), np.repeat(np.arange(len(bags)), bags.sizes[order])
    rows = rows[np.lexsort((row_hash[rows], place))]
    offsets = np.concatenate([[0], np.cumsum(bags.sizes[order])])
    row_weights = bags.weights[rows] if bags.weighted else None
    arranged = Bags(bags.values[rows], offsets, row_weights, None, bags.features, bags.levels)
    return arranged, counts[order], None if weights is None else weights[order]
