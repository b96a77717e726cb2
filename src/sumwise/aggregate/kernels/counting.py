"""Counting of many contingency tables in one pass over coded columns.

Rows come in chunks that fit the cache poorly but the memory well; within a chunk one table is counted at a time,
so that its cells stay in the cache, and tables are dealt out to threads, so that no two threads write to one
table. Count and label sum share one 64-bit counter: the count is in the lower 32 bits, the label sum in the upper 32.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numba import prange

from sumwise.inference.kernels.compiled import njit

FLUSH_ROWS = 2**31 - 1  # a packed counter holds fewer than 2**32 rows; half of it leaves the sign bit alone
BLOCK = 4096  # cell numbers of a block of rows stay in the first-level cache
JOINT_CELLS = 2**15  # 256 KiB of counters stay in the second-level cache


def layout(subsets: list[tuple[int, ...]], sizes: np.ndarray | list[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Flat description of tables over attributes ``0..d-1``.

    Parameters
    ----------
    subsets : sequence of tuples of int
        The attributes of each table; its cells are in row-major order.
    sizes : sequence of int
        Number of levels of each attribute.

    Returns
    -------
    members : ndarray of int64
        The attributes of all tables, one table after the other.
    starts : ndarray of int64, (n_tables + 1,)
        Table t has ``members[starts[t]:starts[t + 1]]``.
    offsets : ndarray of int64, (n_tables + 1,)
        Table t has the cells ``offsets[t]:offsets[t + 1]`` of one flat array.

    Examples
    --------
    >>> from sumwise.aggregate.kernels.counting import layout
    >>> layout([(0, 1), (1,)], sizes=[2, 3])
    (array([0, 1, 1]), array([0, 2, 3]), array([0, 6, 9]))
    """
    members = np.array([a for s in subsets for a in s], dtype=np.int64)
    starts = np.cumsum([0] + [len(s) for s in subsets]).astype(np.int64)
    cells = [int(np.prod([int(sizes[a]) for a in s], dtype=object)) for s in subsets]
    offsets = np.cumsum([0, *cells]).astype(np.int64)
    return members, starts, offsets


def covering(
    subsets: list[tuple[int, ...]], sizes: list[int], most_cells: int = JOINT_CELLS
) -> tuple[list[tuple[int, ...]], list[int]]:
    """Joint tables, fewer than the subsets, whose margins are the subsets' tables.

    A row costs one increment per joint table, so a joint table of four attributes that stays in the cache saves
    five of the six increments of its pairs. Greedy: each joint table begins as an uncovered subset and takes on
    the attribute that covers most further ones, as long as it has at most ``most_cells`` cells.

    Parameters
    ----------
    subsets : sequence of tuples of int
    sizes : sequence of int
    most_cells : int
        A subset with more cells than this is counted as it is.

    Returns
    -------
    joints : list of tuples of int
    home : list of int
        Which joint table each subset is a margin of.

    Examples
    --------
    >>> from sumwise.aggregate.kernels.counting import covering
    >>> covering([(0, 1), (0, 2), (1, 2), (2, 3)], sizes=[2, 3, 4, 5000])
    ([(0, 1, 2), (2, 3)], [0, 0, 0, 1])
    """
    masks = [sum(1 << a for a in s) for s in subsets]
    places: dict[int, list[int]] = {}
    for i, mask in enumerate(masks):
        places.setdefault(mask, []).append(i)
    orders = sorted({len(s) for s in subsets})
    attributes = sorted({a for s in subsets for a in s})
    joints: list[tuple[int, ...]] = []
    home = [-1] * len(masks)
    for start, subset in enumerate(subsets):
        if home[start] >= 0:
            continue
        joint, cells = sorted(set(subset)), _product(subset, sizes)
        gains = dict.fromkeys(attributes, 0)
        _count_gains(gains, joint, None, orders, places)
        while cells <= most_cells:
            fitting = [a for a in attributes if gains[a] and a not in joint and cells * int(sizes[a]) <= most_cells]
            if not fitting:
                break
            best = max(fitting, key=lambda a: (gains[a], -sizes[a], -a))
            _count_gains(gains, joint, best, orders, places)
            joint.append(best)
            cells *= int(sizes[best])
        for order in orders:
            for part in combinations(joint, order):
                for i in places.pop(sum(1 << a for a in part), ()):
                    home[i] = len(joints)
        joints.append(tuple(subset) if len(joint) == len(set(subset)) else tuple(sorted(joint)))
    return joints, home


def _count_gains(
    gains: dict[int, int], joint: list[int], new: int | None, orders: list[int], places: dict[int, list[int]]
) -> None:
    """Add to each attribute's gain the uncovered subsets of one attribute outside of `joint` and `new`, with `new`.

    Only subsets that `new` makes reachable are looked at, so that a step costs as much as the joint table is wide, not
    as many subsets as there are.
    """
    for order in orders:
        fixed = 0 if new is None else 1 << new
        for part in combinations(joint, order - 1 - (new is not None)) if order > (new is not None) else ():
            mask = fixed | sum(1 << a for a in part)
            for a in gains:
                if not mask >> a & 1 and mask | 1 << a in places:
                    gains[a] += len(places[mask | 1 << a])


def _product(attributes: tuple[int, ...], sizes: list[int]) -> int:
    cells = 1
    for a in attributes:
        cells *= int(sizes[a])
    return cells


def dealt_out(offsets: np.ndarray, n_threads: int) -> np.ndarray:
    """An order of the tables in which each thread's share of a static schedule holds large and small ones alike.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.aggregate.kernels.counting import dealt_out
    >>> dealt_out(np.array([0, 10, 11, 21, 22]), 2)
    array([0, 1, 2, 3])
    """
    by_size = np.argsort(-np.diff(offsets), kind="stable")
    return np.concatenate([by_size[i::n_threads] for i in range(n_threads)]).astype(np.int64)


@njit(cache=True, nogil=True, inline="always")
def _cells_of_block(
    codes: np.ndarray,
    sizes: np.ndarray,
    members: np.ndarray,
    first: int,
    last: int,
    begin: int,
    m: int,
    cell: np.ndarray,
) -> None:
    a = codes[members[first]]
    if last - first == 1:
        for i in range(m):
            cell[i] = a[begin + i]
        return
    b = codes[members[first + 1]]
    size = np.uint32(sizes[members[first + 1]])
    for i in range(m):
        cell[i] = np.uint32(a[begin + i]) * size + np.uint32(b[begin + i])
    for k in range(first + 2, last):
        b = codes[members[k]]
        size = np.uint32(sizes[members[k]])
        for i in range(m):
            cell[i] = cell[i] * size + np.uint32(b[begin + i])


@njit(cache=True, nogil=True, parallel=True)
def add_counts(
    codes: np.ndarray,
    label: np.ndarray,
    sizes: np.ndarray,
    members: np.ndarray,
    starts: np.ndarray,
    offsets: np.ndarray,
    order: np.ndarray,
    out: np.ndarray,
) -> None:
    """Add one chunk of rows to packed counters.

    Parameters
    ----------
    codes : (d, n) array of uint16 or uint32
        Level codes, one row per attribute, each below its size (not checked here).
    label : (n,) array of uint8
        0 or 1; zeros where there is no label.
    sizes : (d,) array of int64
    members, starts, offsets : arrays
        From :func:`layout`.
    order : (n_tables,) array of int64
        From :func:`dealt_out`.
    out : (n_cells,) array of int64
        Changed in place: ``out[cell] += 1 + (label << 32)``.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.aggregate.kernels.counting import add_counts, dealt_out, layout, unpacked
    >>> members, starts, offsets = layout([(0, 1)], [2, 2])
    >>> out = np.zeros(4, np.int64)
    >>> codes, label = np.array([[0, 0, 1], [1, 1, 0]], np.uint16), np.array([1, 0, 1], np.uint8)
    >>> add_counts(codes, label, np.array([2, 2]), members, starts, offsets, dealt_out(offsets, 1), out)
    >>> unpacked(out)
    (array([0, 2, 1, 0]), array([0, 1, 1, 0]))
    """
    n = codes.shape[1]
    for j in prange(order.shape[0]):
        t = order[j]
        table = out[offsets[t] : offsets[t + 1]]
        cell = np.empty(BLOCK, np.uint32)
        for begin in range(0, n, BLOCK):
            m = min(BLOCK, n - begin)
            _cells_of_block(codes, sizes, members, starts[t], starts[t + 1], begin, m, cell)
            for i in range(m):
                table[cell[i]] += np.int64(1) + (np.int64(label[begin + i]) << 32)


@njit(cache=True, nogil=True, parallel=True)
def add_weighted(
    codes: np.ndarray,
    label: np.ndarray,
    weights: np.ndarray,
    sizes: np.ndarray,
    members: np.ndarray,
    starts: np.ndarray,
    offsets: np.ndarray,
    order: np.ndarray,
    out: np.ndarray,
) -> None:
    """Add one chunk of weighted rows: ``out[cell] += (w, w * label)``, out of shape (n_cells, 2) and float64.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.aggregate.kernels.counting import add_weighted, dealt_out, layout
    >>> members, starts, offsets = layout([(0,)], [2])
    >>> out = np.zeros((2, 2))
    >>> codes, label = np.array([[0, 1, 1]], np.uint16), np.array([1, 0, 1], np.uint8)
    >>> w = np.array([0.5, 2.0, 1.0])
    >>> add_weighted(codes, label, w, np.array([2]), members, starts, offsets, dealt_out(offsets, 1), out)
    >>> out
    array([[0.5, 0.5],
           [3. , 1. ]])
    """
    n = codes.shape[1]
    for j in prange(order.shape[0]):
        t = order[j]
        table = out[offsets[t] : offsets[t + 1]]
        cell = np.empty(BLOCK, np.uint32)
        for begin in range(0, n, BLOCK):
            m = min(BLOCK, n - begin)
            _cells_of_block(codes, sizes, members, starts[t], starts[t + 1], begin, m, cell)
            for i in range(m):
                w = weights[begin + i]
                table[cell[i], 0] += w
                table[cell[i], 1] += w * label[begin + i]


def unpacked(out: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Counts and label sums of packed counters, as two int64 arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.aggregate.kernels.counting import unpacked
    >>> unpacked(np.array([5 + (2 << 32)]))
    (array([5]), array([2]))
    """
    return out & 0xFFFFFFFF, out >> 32
