"""Gibbs moves on tables that list their cells: a row is 1 but for a few cells, and correlated pairs move together.

Where most cells of a table are empty, the weight of a listed cell is kept as a ratio to that of all the others, which
cancels. A row of the table then multiplies a few levels only. Two attributes with such a table are redrawn together at
the cost of their levels and of the listed cells, not of their product: with A and B the weights of their levels by all
other tables, row v has the mass A[v] (sum of B + sum over its listed cells of (ratio - 1) B).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sumwise.errors import DataError
from sumwise.inference.kernels.compiled import njit
from sumwise.maxent.kernels.loglinear import Layout


class SparsePlan(NamedTuple):
    """Where a sweep finds the listed cells.

    A factor is a table that lists its cells, by the attribute that is redrawn: entries of one row (levels of the other
    attributes, as one key) follow each other.

    parts (V, 2, 2): first and last factor of a visit on its first attribute, on its second.
    joint (V,): the factor of a pair that is redrawn together, by its second attribute; -1 for none.
    others (F + 1,): slices of other_attribute and other_stride, which make up a key.
    key_ends (F + 1,): slices of keys, ascending; entry_ends (n_keys + 1,): slices of the entries level, cell and rest.
    listed_ends (n_cliques + 1,): slices of listed, the cells of each clique, ascending.
    """

    parts: np.ndarray
    joint: np.ndarray
    others: np.ndarray
    other_attribute: np.ndarray
    other_stride: np.ndarray
    key_ends: np.ndarray
    keys: np.ndarray
    entry_ends: np.ndarray
    level: np.ndarray
    cell: np.ndarray
    rest: np.ndarray
    listed_ends: np.ndarray
    listed: np.ndarray


def sparse_plan(lay: Layout, visits: Sequence[tuple[int, int]]) -> SparsePlan:
    """Lay out the listed cells for a sweep that makes these visits (first attribute, second or -1)."""
    listing = [c for c in range(len(lay.cliques)) if lay.sparse_cells(c) is not None]
    factors: list[tuple[Any, ...]] = []
    parts, joint = np.zeros((len(visits), 2, 2), np.int64), np.full(len(visits), -1, np.int64)
    for i, visit in enumerate(visits):
        for side, a in enumerate(visit):
            begin = len(factors)
            factors += [_factor(lay, c, a) for c in listing if set(visit) & set(lay.cliques[c]) == {a}]
            parts[i, side] = begin, len(factors)
        for c in listing:
            if set(visit) <= set(lay.cliques[c]):
                if len(lay.cliques[c]) > 2:
                    raise DataError(
                        f"Attributes {visit} can't be redrawn together: they share a larger table that is mostly empty."
                    )
                joint[i] = len(factors)
                factors.append(_factor(lay, c, visit[1]))
    columns = list(zip(*factors)) or [()] * 6
    others, keys, sizes, level, cell, rest = columns
    pairs = [pair for o in others for pair in o]
    return SparsePlan(
        parts=parts,
        joint=joint,
        others=_ends([len(o) for o in others]),
        other_attribute=np.array([a for a, _ in pairs], dtype=np.int64),
        other_stride=np.array([s for _, s in pairs], dtype=np.int64),
        key_ends=_ends([len(k) for k in keys]),
        keys=_joined(keys),
        entry_ends=_ends(_joined(sizes)),
        level=_joined(level),
        cell=_joined(cell),
        rest=_joined(rest),
        listed_ends=_ends([len(lay.listed[c]) if c in listing else 0 for c in range(len(lay.cliques))]),  # type: ignore[arg-type]
        listed=_joined([lay.listed[c] for c in listing]),  # type: ignore[misc]  # `listing`: those that have a list
    )


def _factor(lay: Layout, c: int, drawn: int) -> tuple[Any, ...]:
    """(attribute, stride) pairs of the key, the keys, entries per key, and level, cell and rest of the entries."""
    clique, shape, cells = lay.cliques[c], lay.shape(lay.cliques[c]), lay.listed[c]
    at = dict(zip(clique, np.unravel_index(cells, shape)))  # type: ignore[arg-type]
    others = [a for a in clique if a != drawn]
    strides = [math.prod(lay.shape(others[i + 1 :])) for i in range(len(others))]
    key = sum(at[a] * s for a, s in zip(others, strides))
    order = np.lexsort((at[drawn], key))
    keys, sizes = np.unique(key, return_counts=True)
    places = lay.starts[c] + order
    rest = np.full(len(order), lay.starts[c + 1] - 1)
    return list(zip(others, strides)), keys, sizes, at[drawn][order], places, rest


def _ends(sizes: np.ndarray | list[int]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.zeros(0, np.int64), *parts]).astype(np.int64)


def ratios(sparse: SparsePlan, weights: np.ndarray) -> np.ndarray:
    """Weights (K, E) of the entries over those of the cells that aren't listed, from log-weights (K, n_cells)."""
    return np.exp(np.take(weights, sparse.cell, axis=1) - np.take(weights, sparse.rest, axis=1))  # rows contiguous


@njit(forceinline=True, error_model="numpy")
def search(values: np.ndarray, low: int, high: int, wanted: int) -> int:
    """Position of `wanted` in values[low:high], which ascend; -1 where it isn't there."""
    end = high
    while low < high:
        middle = (low + high) // 2
        if values[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low if low < end and values[low] == wanted else -1


@njit(forceinline=True, error_model="numpy")
def _row(f: int, x: np.ndarray, sparse: SparsePlan) -> int:
    """Which key of factor `f` the levels x of its other attributes have; -1 where its row lists no cell."""
    key = 0
    for q in range(sparse.others[f], sparse.others[f + 1]):
        key += np.int64(x[sparse.other_attribute[q]]) * sparse.other_stride[q]
    return search(sparse.keys, sparse.key_ends[f], sparse.key_ends[f + 1], key)


@njit(error_model="numpy", cache=True)
def apply_ratios(i: int, side: int, x: np.ndarray, ratio: np.ndarray, w: np.ndarray, sparse: SparsePlan | None) -> None:
    """Multiply the listed cells of visit `i` onto the weights w of its attribute's levels; None lists no cell."""
    if sparse is None:
        return
    for f in range(sparse.parts[i, side, 0], sparse.parts[i, side, 1]):
        q = _row(f, x, sparse)
        if q >= 0:
            for e in range(sparse.entry_ends[q], sparse.entry_ends[q + 1]):
                w[sparse.level[e]] *= ratio[e]


@njit(error_model="numpy", cache=True)
def apply_logs(i: int, side: int, x: np.ndarray, ratio: np.ndarray, w: np.ndarray, sparse: SparsePlan | None) -> None:
    """As `apply_ratios`, onto log-weights."""
    if sparse is None:
        return
    for f in range(sparse.parts[i, side, 0], sparse.parts[i, side, 1]):
        q = _row(f, x, sparse)
        if q >= 0:
            for e in range(sparse.entry_ends[q], sparse.entry_ends[q + 1]):
                w[sparse.level[e]] += math.log(ratio[e])


@njit(error_model="numpy", cache=True)
def joint_pick(
    f: int, m: int, n: int, u: float, ratio: np.ndarray, w: np.ndarray, w2: np.ndarray, sparse: SparsePlan
) -> int:
    """Position in m * n of the draw `u`, given the levels' weights w[:m] and w2[:n]; -1 if the sum is out of range.

    w is changed.
    """
    total_b = 0.0
    for t in range(n):
        total_b += w2[t]
    begin, end = sparse.key_ends[f], sparse.key_ends[f + 1]
    total, q = 0.0, begin
    for v in range(m):
        row = total_b
        if q < end and sparse.keys[q] == v:
            for e in range(sparse.entry_ends[q], sparse.entry_ends[q + 1]):
                row += (ratio[e] - 1.0) * w2[sparse.level[e]]
            q += 1
        w[v] *= max(row, 0.0)
        total += w[v]
    if not 1e-280 < total < 1e280:
        return -1
    left = u * total
    v = 0
    while left >= w[v] and v < m - 1:
        left -= w[v]
        v += 1
    q = search(sparse.keys, begin, end, v)
    first, last = (sparse.entry_ends[q], sparse.entry_ends[q + 1]) if q >= 0 else (0, 0)
    row, e = 0.0, first
    for t in range(n):
        if e < last and sparse.level[e] == t:
            w2[t] *= ratio[e]
            e += 1
        row += w2[t]
    left = min(left / w[v], 1.0) * row if w[v] > 0.0 else 0.0
    t = 0
    acc = w2[0]
    while acc <= left and t < n - 1:
        t += 1
        acc += w2[t]
    return v * n + t


@njit(forceinline=True, error_model="numpy")
def cell_of(c: int, flat: int, start: int, sparse: SparsePlan) -> int | np.uint64:
    """Where clique `c`, which starts at `start`, has the cell `flat` of its table."""
    low, high = sparse.listed_ends[c], sparse.listed_ends[c + 1]
    if low == high:
        return start + flat
    at = search(sparse.listed, low, high, np.int64(flat))
    return start + np.uint64(at - low if at >= 0 else high - low)
