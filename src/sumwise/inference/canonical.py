"""A canonical order of bags, of their rows and of columns: the same set of bags in any order gives the same answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sumwise.bags import Bags, rows_of


def _hash(numbers: np.ndarray) -> np.ndarray:
    """A 64-bit hash of each number; 0.0 and -0.0 are one."""
    from pandas import util

    hashed: Any = getattr(util, "hash_array")  # noqa: B009  its stub is of no function
    return hashed(np.ascontiguousarray(numbers + numbers.dtype.type(0)), categorize=False)


def ranks(column: np.ndarray) -> np.ndarray:
    """Each entry's rank among the different entries: the same in any unit."""
    return np.unique(column, return_inverse=True)[1].astype(np.uint64)


def _contents(bags: Bags) -> list[np.ndarray]:
    """A hash of each entry of each column: of its rank, or of how often its level occurs, whatever its name."""
    out = []
    for name, column in zip(bags.features, bags.values.T):
        of_entry = ranks(column)
        if name in bags.levels:
            code = of_entry.astype(np.int64)
            of_entry = np.bincount(code, bags.given_weights)[code]
        out.append(_hash(of_entry))
    return out


def _sums(hashes: np.ndarray, bags: Bags) -> np.ndarray:
    """Wrapping sums over bags, which don't depend on the order of rows; a row of weight 2 is as two rows."""
    if bags.weighted:
        weights = bags.weights
        whole = (weights % 1 == 0).all()
        hashes = hashes * weights.astype(np.uint64) if whole else _hash(hashes + _hash(weights))
    totals = np.concatenate([np.zeros(1, np.uint64), np.cumsum(hashes, dtype=np.uint64)])
    return totals[bags.offsets[1:]] - totals[bags.offsets[:-1]]


def _fact_hash(facts: Sequence[np.ndarray], n_bags: int) -> np.ndarray:
    """A hash of what is known of each bag besides its rows: counts, weight."""
    out = np.zeros(n_bags, np.uint64)
    for column in facts:
        out = _hash(out + _hash(np.asarray(column)))
    return out


def column_order(bags: Bags, facts: Sequence[np.ndarray] = ()) -> np.ndarray:
    """Positions of the columns, ordered by what they hold and what is known of the bags, in any unit.

    Parameters
    ----------
    bags : Bags
    facts : sequence of arrays of shape (n_bags,)
        What is known of each bag besides its rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Bags
    >>> from sumwise.inference.canonical import column_order
    >>> rows = np.random.default_rng(0).normal(size=(9, 3))
    >>> first = column_order(Bags(rows, [0, 4, 9]))
    >>> second = column_order(Bags(1.8 * rows[:, ::-1] + 32, [0, 4, 9]))
    >>> bool((2 - second == first).all())
    True
    """
    if bags.n_features < 2:
        return np.arange(bags.n_features)
    return _column_order(_contents(bags), bags, facts)


def _column_order(contents: list[np.ndarray], bags: Bags, facts: Sequence[np.ndarray]) -> np.ndarray:
    of_row = np.repeat(_fact_hash(facts, len(bags)), bags.sizes)
    keys = [[_hash(_sums(_hash(c + of_row), bags)).sum(dtype=np.uint64) for c in contents]]
    if len(set(keys[0])) < len(contents):  # in bags of one row all columns without ties have the same ranks
        together = _hash(np.sum([_hash(c) for c in contents], axis=0, dtype=np.uint64) + of_row)
        keys.insert(0, [_hash(_sums(_hash(c + together), bags)).sum(dtype=np.uint64) for c in contents])
    return np.lexsort(keys)


def content_sorted(
    bags: Bags, keys: Sequence[np.ndarray] = (), facts: Sequence[np.ndarray] = ()
) -> tuple[Bags, np.ndarray]:
    """Return the bags sorted by `keys`, then by size and by hashes of what they hold, rows too; and the order.

    Neither ids nor positions, units of measurement or the order of columns enter: what is drawn or dealt out in this
    order is a function of the set of bags, and of the set of rows of each.

    Parameters
    ----------
    bags : Bags
    keys : sequence of arrays of shape (n_bags,)
        The most important first.
    facts : sequence of arrays of shape (n_bags,)
        What is known of each bag besides its rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Bags
    >>> from sumwise.inference.canonical import content_sorted
    >>> content_sorted(Bags.from_arrays([[3.0, 1.0], [2.0], [1.0, 3.0]]), [np.array([5.0, 4.0, 1.0])])[1]
    array([2, 1, 0])
    """
    contents = _contents(bags)
    row_hash = np.zeros(bags.n_rows, np.uint64)
    for j in _column_order(contents, bags, facts):
        row_hash = _hash(row_hash + contents[j])
    if bags.weighted:
        row_hash = _hash(row_hash + _hash(ranks(bags.weights)))
    of_bag = _hash(_sums(row_hash, bags) + _fact_hash(facts, len(bags)))
    order = np.lexsort((of_bag, bags.sizes, *keys[::-1]))
    rows, place = rows_of(bags.offsets, order), np.repeat(np.arange(len(bags)), bags.sizes[order])
    rows = rows[np.lexsort((row_hash[rows], place))]
    return bags.regrouped(rows, np.concatenate([[0], np.cumsum(bags.sizes[order])])), order
