"""Noisy tables that overlap, made to agree: least squares over all of them, effect by effect.

A table over attributes T splits into one *effect* per subset S of T: the sum onto S with the means along each of its
axes taken out. Effects of one table with independent noise of one variance are uncorrelated, and an effect of S means
the same in every table that holds S. So the best linear unbiased estimate of each effect is the mean over those tables,
weighted by the inverse of variance times the number of cells that were added up, and tables built of them agree.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np


class Agreed(NamedTuple):
    """values[S]: the agreed sums onto the attributes S, ascending; variances[S]: of one cell of the effect of S."""

    values: dict[tuple[int, ...], np.ndarray]
    variances: dict[tuple[int, ...], float]


def subsets(axes: Sequence[int]) -> Iterable[tuple[int, ...]]:
    """All subsets of ascending axes, the smaller ones first, the empty one included."""
    return (s for r in range(len(axes) + 1) for s in combinations(axes, r))


def effect(values: np.ndarray) -> np.ndarray:
    """What is left of a table (any shape) once the means along every axis are taken out."""
    for axis in range(values.ndim):
        values = values - values.mean(axis=axis, keepdims=True)
    return values


def reconcile(tables: Sequence[tuple[tuple[int, ...], np.ndarray, float]], total: float | None = None) -> Agreed:
    """Find the tables nearest to all given ones that agree with each other.

    tables: (attributes ascending, values shaped by their levels, variance of one cell); a variance of 0 is exact, and
    where an exact table has an effect, noisy ones are not used. total: the sum over all cells, where it is known.
    """
    found: dict[tuple[int, ...], list[tuple[np.ndarray, float]]] = {}
    for axes, values, variance in tables:
        for s in subsets(axes):
            away = tuple(i for i, a in enumerate(axes) if a not in s)
            added = math.prod(values.shape[i] for i in away)
            found.setdefault(s, []).append((effect(values.sum(axis=away)), variance * added))
    effects, variances = {}, {}
    for s in sorted(found, key=len):
        effects[s], variances[s] = _weighted(found[s])
    if total is not None:
        effects[()], variances[()] = np.asarray(float(total)), 0.0
    return Agreed({s: built(s, effects) for s in effects}, variances)


def _weighted(parts: list[tuple[np.ndarray, float]]) -> tuple[np.ndarray, float]:
    exact = [value for value, variance in parts if variance <= 0]
    if exact:
        return exact[0], 0.0
    weights = np.array([1.0 / variance for _, variance in parts])
    return sum(w * value for w, (value, _) in zip(weights, parts)) / weights.sum(), float(1.0 / weights.sum())


def built(wanted: tuple[int, ...], effects: dict[tuple[int, ...], np.ndarray]) -> np.ndarray:
    """The table over `wanted` whose effects are these; those of all its subsets must be there."""
    shape = effects[wanted].shape
    out = np.zeros(shape)
    for s in subsets(wanted):
        kept = [shape[i] if a in s else 1 for i, a in enumerate(wanted)]
        out = out + effects[s].reshape(kept) * (math.prod(kept) / math.prod(shape))
    return out
