"""Weighted means over segments of rows, bag by bag, without a copy of the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from sumwise.inference.kernels.compiled import njit
from sumwise.inference.kernels.threads import over_bags

BLOCK = 2**22  # numbers held at once, 32 MiB, wherever work goes in blocks


def read_only(array: np.ndarray) -> np.ndarray:
    """Return the array as it lies, contiguous and read-only: one compiled version serves containers and copies.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.distribution.kernels.segments import read_only
    >>> read_only(np.zeros(2)).flags.writeable
    False
    """
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


class BagRows(NamedTuple):
    """The rows of all bags as compiled loops take them: bag i holds rows offsets[i] to offsets[i + 1]."""

    values: np.ndarray  # (n_rows, D)
    offsets: np.ndarray  # (n_bags + 1,)
    weights: np.ndarray  # (n_rows,), or one number that nobody reads
    weighted: bool


def bag_rows(values: np.ndarray, offsets: np.ndarray, weights: np.ndarray | None) -> BagRows:
    """The rows of bags, read-only; without weights each counts one."""
    given = np.ones(1) if weights is None else weights
    edges = np.asarray(offsets, dtype=np.int64)
    return BagRows(read_only(values), read_only(edges), read_only(given), weights is not None)


def segment_means(
    values: np.ndarray,
    offsets: np.ndarray,
    weights: np.ndarray | None = None,
    centre: np.ndarray | None = None,
    power: int = 1,
) -> np.ndarray:
    """Weighted means of (x - centre)^power over each segment, column by column.

    values (n_rows, d), offsets (n + 1,), weights (n_rows,) or None, centre (d,) or None; returns (n, d). An empty
    segment gives zeros.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.distribution.kernels.segments import segment_means
    >>> segment_means(np.array([[1.0], [3.0], [5.0]]), np.array([0, 2, 3]))
    array([[2.], [5.]])
    """

    def feature(x: np.ndarray) -> np.ndarray:
        moved = x if centre is None else x - centre
        return moved if power == 1 else moved**power

    return block_means(values, offsets, weights, feature, values.shape[1])


def segment_moments(
    values: np.ndarray, offsets: np.ndarray, weights: np.ndarray | None, order: int, cross: bool
) -> np.ndarray:
    """Mean, central moments of orders 2 to `order`, and covariances (if `cross`) of each segment.

    Returns (n, d order + cross d (d - 1) / 2): means, variances, third moments, ... column by column, then the
    covariances of the pairs j < k.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.distribution.kernels.segments import segment_moments
    >>> segment_moments(np.array([[1.0, 0.0], [3.0, 2.0]]), np.array([0, 2]), None, 2, True)
    array([[2., 1., 1., 1., 1.]])
    """
    d = values.shape[1]
    out = np.zeros((len(offsets) - 1, d * order + (d * (d - 1) // 2 if cross else 0)))
    rows, means = bag_rows(values, offsets, weights), segment_means(values, offsets, weights)
    over_bags(lambda begin, end: _central_moments(rows, means, order, cross, out, begin, end), rows.offsets)
    out[:, :d] = means
    return out


def block_means(
    values: np.ndarray,
    offsets: np.ndarray,
    weights: np.ndarray | None,
    feature: Callable[[np.ndarray], np.ndarray],
    width: int,
) -> np.ndarray:
    """Weighted means of ``feature(rows)`` (k, width) over each segment, computed for a block of rows at a time.

    Takes memory for one block of about four million numbers and for the result, (n, width).

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.distribution.kernels.segments import block_means
    >>> block_means(np.array([[1.0], [3.0], [5.0]]), np.array([0, 2, 3]), None, lambda x: x**2, 1)
    array([[ 5.], [25.]])
    """
    out, mass = np.zeros((len(offsets) - 1, width)), np.zeros(len(offsets) - 1)
    for begin, end, first, cuts in blocks_of_rows(offsets, width):
        features = feature(values[begin:end])
        part = np.ones(end - begin) if weights is None else np.asarray(weights[begin:end], dtype=float)
        sums = csr_array((part, np.arange(end - begin), cuts), shape=(len(cuts) - 1, end - begin))
        mine = slice(first, first + len(cuts) - 1)
        out[mine] += sums @ features
        mass[mine] += sums.sum(axis=1)
    return out / np.where(mass > 0, mass, 1.0)[:, None]


def blocks_of_rows(offsets: np.ndarray, width: int) -> Iterator[tuple[int, int, int, np.ndarray]]:
    """Yield blocks of rows, (begin, end, first, cuts): about four million numbers at `width` each.

    Of segment first + i the block has rows begin + cuts[i] to begin + cuts[i + 1].

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.distribution.kernels.segments import blocks_of_rows
    >>> list(blocks_of_rows(np.array([0, 2, 3]), 1))
    [(0, 3, 0, array([0, 2, 3]))]
    """
    step = max(1, BLOCK // max(width, 1))
    for begin in range(0, int(offsets[-1]), step):
        end = min(begin + step, int(offsets[-1]))
        first = int(np.searchsorted(offsets, begin, side="right")) - 1
        last = int(np.searchsorted(offsets, end, side="left"))
        yield begin, end, first, np.clip(offsets[first : last + 1], begin, end) - begin


@njit(cache=True, nogil=True)
def _add_products(total: np.ndarray, place: int, centred: np.ndarray, weight: float) -> None:  # pragma: no cover
    for j in range(len(centred)):
        x = weight * centred[j]
        for k in range(j + 1, len(centred)):
            total[place] += x * centred[k]
            place += 1


@njit(cache=True, nogil=True)
def _central_moments(
    rows: BagRows, means: np.ndarray, order: int, cross: bool, out: np.ndarray, begin: int, end: int
) -> None:  # pragma: no cover
    d = rows.values.shape[1]
    centred = np.empty(d)
    for i in range(begin, end):
        mass = 0.0
        for row in range(rows.offsets[i], rows.offsets[i + 1]):
            weight = rows.weights[row] if rows.weighted else 1.0
            mass += weight
            for j in range(d):
                centred[j] = rows.values[row, j] - means[i, j]
                power = weight * centred[j]
                for p in range(1, order):
                    power *= centred[j]
                    out[i, p * d + j] += power
            if cross:
                _add_products(out[i], d * order, centred, weight)
        if mass > 0:
            for j in range(out.shape[1]):
                out[i, j] /= mass
