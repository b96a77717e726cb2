"""The most likely labels of bags whose class counts are known: sorting for two classes, shortest paths for more."""

from __future__ import annotations

import heapq
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike


def top_labels(
    scores: ArrayLike, offsets: ArrayLike, counts: ArrayLike, weights: ArrayLike | None = None
) -> np.ndarray:
    """Give each bag's highest scores the label 1 until its count is used up.

    Maximises sum_i w_i y_i s_i over 0 <= y_i <= 1 with sum w_i y_i = z in each bag; with unit weights and whole
    counts every y_i is 0 or 1, else one member per bag may get a part.

    Parameters
    ----------
    scores : (n_rows,) array
    offsets : (n_bags + 1,) array of int
    counts : (n_bags,) array
    weights : (n_rows,) array, optional

    Returns
    -------
    (n_rows,) array

    Examples
    --------
    >>> top_labels(np.array([0.1, 3.0, 0.2, 5.0]), np.array([0, 3, 4]), np.array([2, 0]))
    array([0., 1., 1., 0.])
    """
    score, start, count = np.asarray(scores, dtype=np.float64), np.asarray(offsets), np.asarray(counts, np.float64)
    sizes = np.diff(start)
    weight = np.ones(score.size) if weights is None else np.asarray(weights, dtype=np.float64)
    order = np.lexsort((-score, np.repeat(np.arange(sizes.size), sizes)))
    before = np.concatenate([[0.0], np.cumsum(weight[order])])
    used = before[:-1] - np.repeat(before[start[:-1]], sizes)
    left = np.repeat(count, sizes) - used
    part = np.clip(left / np.where(weight[order] > 0, weight[order], 1.0), 0.0, 1.0)
    near = np.abs(part - np.rint(part)) < 1e-9  # what rounding of the sums leaves
    labels = np.empty(score.size)
    labels[order] = np.where(near, np.rint(part), part)
    return labels


def most_likely_labels(scores: np.ndarray, offsets: np.ndarray, counts: np.ndarray | list[list[int]]) -> np.ndarray:
    """Labels that maximise the sum of their scores among those with the class counts of each bag.

    Every member begins in its best class; then members move along the cheapest paths from classes with too many to
    classes with too few, one at a time. Each state is the best for the counts that it has, so the last is the answer.

    Parameters
    ----------
    scores : (n_rows, n_classes) array
        Log-probabilities, for instance.
    offsets : (n_bags + 1,) array of int
    counts : (n_bags, n_classes) array of int, rows summing to the bags' sizes

    Returns
    -------
    (n_rows,) array of int

    Examples
    --------
    >>> scores = np.array([[0.0, 1.0, 0.0], [0.0, 3.0, 0.0], [0.0, 2.0, 1.5]])
    >>> most_likely_labels(scores, np.array([0, 3]), np.array([[1, 1, 1]]))
    array([0, 1, 2])
    """
    scores = np.asarray(scores, dtype=np.float64)
    out = np.empty(len(scores), dtype=np.int64)
    for b, (begin, end) in enumerate(pairwise(offsets)):
        out[begin:end] = _one_bag(scores[begin:end], np.asarray(counts[b], dtype=np.int64))
    return out


def _one_bag(scores: np.ndarray, counts: np.ndarray) -> np.ndarray:
    labels = np.argmax(scores, axis=1)
    n_classes = scores.shape[1]
    excess = np.bincount(labels, minlength=n_classes) - counts
    # heaps[c][d]: members of c by what moving to d loses; entries of members that have left are dropped when met
    heaps = [[[] for _ in range(n_classes)] for _ in range(n_classes)]
    for c in range(n_classes):
        members = np.flatnonzero(labels == c)
        for d in range(n_classes):
            if d != c:
                heaps[c][d] = list(zip((scores[members, c] - scores[members, d]).tolist(), members.tolist()))
                heapq.heapify(heaps[c][d])
    while excess.any():
        for c, d, i in _cheapest_path(heaps, labels, excess):
            labels[i] = d
            excess[c] -= 1
            excess[d] += 1
            for e in range(n_classes):
                if e != d:
                    heapq.heappush(heaps[d][e], (scores[i, d] - scores[i, e], i))
    return labels


def _cheapest_path(
    heaps: list[list[list[tuple[float, int]]]], labels: np.ndarray, excess: np.ndarray
) -> list[tuple[int, int, int]]:
    """The moves (from, to, member) of the cheapest path from a class with too many to one with too few."""
    n_classes = excess.size
    step = {}
    for c in range(n_classes):
        for d in range(n_classes):
            heap = heaps[c][d]
            while heap and labels[heap[0][1]] != c:
                heapq.heappop(heap)
            if heap:
                step[c, d] = heap[0]
    cost = np.where(excess > 0, 0.0, np.inf)
    came: list[Any] = [None] * n_classes
    for _ in range(n_classes - 1):  # Bellman and Ford: moves may gain, cycles never do
        for (c, d), (loss, _i) in step.items():
            if cost[c] + loss < cost[d] - 1e-12:
                cost[d], came[d] = cost[c] + loss, c
    d = min(np.flatnonzero(excess < 0), key=lambda k: cost[k])
    moves = []
    while came[d] is not None:
        moves.append((came[d], d, step[came[d], d][1]))
        d = came[d]
    return moves
