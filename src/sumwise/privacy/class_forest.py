"""ClassForest: a quick model of all pairs given the label, from the tables measured so far.

Attributes are joined by a forest within each class, the strongest measured pairs first; a pair that was not measured
follows along the path between its attributes, and is independent given the class where there is none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

FLOOR = 1e-12  # of a share
SWEEPS = 3  # of fitting a pair to the margins of its attributes


class Measured(Protocol):
    """Noisy counts (..., K) by class, and the standard deviation of one of them."""

    counts: np.ndarray
    scale: float


class ClassForest:
    """Probabilities of pairs by class, from noisy counts of single attributes and of some pairs.

    singles: one (L, K) per attribute; pairs: (L_i, L_j, K) per pair of attributes (i, j), i < j. What several tables
    have is averaged, weighted by precision; shares are the nearest ones that are not negative; pairs are shrunk towards
    independence within classes by the factor of James and Stein, as far as noise explains their distance from it.
    """

    def __init__(self, singles: Sequence[Measured], pairs: Mapping[tuple[int, int], Measured]) -> None:
        self.n_classes = singles[0].counts.shape[-1]
        measured = [*singles, *pairs.values()]
        weights = np.array([1.0 / (m.scale**2 * m.counts[..., 0].size) for m in measured])
        sums = np.stack([m.counts.reshape(-1, self.n_classes).sum(axis=0) for m in measured])
        self.totals = np.maximum(weights @ sums / weights.sum(), 1.0)  # (K,) people of each class
        self.singles = [self._margin(i, single, pairs) for i, single in enumerate(singles)]
        self.pairs = {key: self._pair(*key, measured) for key, measured in pairs.items()}
        self.paths = self._forest()

    def _margin(self, i: int, single: Measured, pairs: Mapping[tuple[int, int], Measured]) -> np.ndarray:
        """Shares (L, K) of an attribute's levels within each class, from every table that has it."""
        weight = single.scale**-2
        above, below = weight * single.counts, weight
        for key, pair in pairs.items():
            if i in key:
                other = 1 - key.index(i)
                weight = 1.0 / (pair.scale**2 * pair.counts.shape[other])
                above, below = above + weight * pair.counts.sum(axis=other), below + weight
        return self._shares(above / below)

    def _shares(self, counts: np.ndarray) -> np.ndarray:
        """Shares within each class, none negative."""
        flat = counts.reshape(-1, self.n_classes)
        shares = np.column_stack([nearest_shares(flat[:, k] / self.totals[k]) for k in range(self.n_classes)])
        return (shares.reshape(counts.shape) + FLOOR) / (1.0 + FLOOR * len(flat))

    def _pair(self, i: int, j: int, measured: Measured) -> np.ndarray:
        """Shares (L_i, L_j, K) of a measured pair within each class, with the margins of its attributes."""
        independent = self._independent(i, j)
        distance = float(np.sum((measured.counts - independent * self.totals) ** 2))
        kept = max(0.0, 1.0 - measured.scale**2 * measured.counts.size / max(distance, 1e-300))
        shares = kept * self._shares(measured.counts) + (1.0 - kept) * independent
        for _ in range(SWEEPS if kept else 0):
            shares = shares * (self.singles[i] / shares.sum(axis=1))[:, None]
            shares = shares * (self.singles[j] / shares.sum(axis=0))[None]
        return shares

    def _independent(self, i: int, j: int) -> np.ndarray:
        return np.einsum("ak,bk->abk", self.singles[i], self.singles[j])

    def _forest(self) -> dict[int, list[tuple[int, np.ndarray]]]:
        """Neighbours of each attribute, with P(neighbour | attribute, class) as (L, L', K)."""
        root = list(range(len(self.singles)))

        def find(i: int) -> int:
            while root[i] != i:
                i = root[i]
            return i

        strength = {
            (i, j): float(np.abs((joint - self._independent(i, j)) * self.totals).sum())
            for (i, j), joint in self.pairs.items()
        }
        joined: dict[int, list[tuple[int, np.ndarray]]] = {i: [] for i in root}
        for (i, j), size in sorted(strength.items(), key=lambda item: -item[1]):
            if size <= 0 or find(i) == find(j):
                continue
            root[find(i)] = find(j)
            joint = self.pairs[i, j]
            joined[i].append((j, joint / joint.sum(axis=1, keepdims=True)))
            joined[j].append((i, (joint / joint.sum(axis=0, keepdims=True)).transpose(1, 0, 2)))
        return joined

    def expected(self) -> dict[tuple[int, int], np.ndarray]:
        """Expected counts (L_i, L_j, K) of every pair: as measured, else along the forest."""
        out = {}
        for i, single in enumerate(self.singles):
            reached = {i: np.einsum("ab,ak->abk", np.eye(len(single)), single)}
            waiting = [i]
            while waiting:
                here = waiting.pop()
                for there, given in self.paths[here]:
                    if there not in reached:
                        reached[there] = np.einsum("abk,bck->ack", reached[here], given)
                        waiting.append(there)
            for j in range(i + 1, len(self.singles)):
                joint = reached.get(j)
                if joint is None:
                    joint = self._independent(i, j)
                out[i, j] = self.pairs.get((i, j), joint) * self.totals
        return out


def nearest_shares(values: np.ndarray) -> np.ndarray:
    """The shares (none negative, summing to 1) nearest to values (L,), by their squared distance."""
    falling = np.sort(values)[::-1]
    spare = (np.cumsum(falling) - 1.0) / np.arange(1, len(values) + 1)
    return np.maximum(values - spare[np.nonzero(falling > spare)[0][-1]], 0.0)
