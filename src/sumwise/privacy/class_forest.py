"""ClassForest: a quick model of all pairs given the label, from the tables measured so far.

Attributes are joined by a forest within each class, the strongest measured pairs first; a pair that was not measured
follows along the path between its attributes, and is independent given the class where there is none.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

FLOOR = 1e-9


class ClassForest:
    """Probabilities of pairs by class, from noisy counts of single attributes and of some pairs.

    singles: per attribute, counts (L, K); pairs: per pair of attributes (i, j), i < j, counts (L_i, L_j, K); noise: the
    standard deviation of a cell of each pair.
    """

    def __init__(
        self,
        singles: list[np.ndarray],
        pairs: Mapping[tuple[int, int], np.ndarray],
        noise: Mapping[tuple[int, int], float],
    ) -> None:
        totals = np.mean([s.sum(axis=0) for s in singles], axis=0)
        self.totals = np.maximum(totals, 1.0)  # (K,) people of each class
        self.n_classes = len(self.totals)
        self.singles = [self._shares(s) for s in singles]
        self.pairs = {key: self._shares(p.reshape(-1, self.n_classes)).reshape(p.shape) for key, p in pairs.items()}
        self.paths = self._forest(noise)

    def _shares(self, counts: np.ndarray) -> np.ndarray:
        """Shares within each class, none negative."""
        clipped = np.maximum(counts, 0.0) + FLOOR
        return clipped / clipped.sum(axis=0)

    def _forest(self, noise: Mapping[tuple[int, int], float]) -> dict[int, list[tuple[int, np.ndarray]]]:
        """Neighbours of each attribute, with P(neighbour | attribute, class) as (L, L', K)."""
        root = list(range(len(self.singles)))

        def find(i: int) -> int:
            while root[i] != i:
                i = root[i]
            return i

        strength = {}
        for (i, j), joint in self.pairs.items():
            apart = np.einsum("ak,bk->abk", self.singles[i], self.singles[j])
            expected = noise[i, j] * joint[..., 0].size * self.n_classes * np.sqrt(2 / np.pi)
            strength[i, j] = float(np.abs((joint - apart) * self.totals).sum()) - expected
        joined: dict[int, list[tuple[int, np.ndarray]]] = {i: [] for i in root}
        for i, j in sorted(strength, key=strength.get, reverse=True):  # type: ignore[arg-type]
            if strength[i, j] <= 0 or find(i) == find(j):
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
                    joint = np.einsum("ak,bk->abk", single, self.singles[j])
                out[i, j] = self.pairs.get((i, j), joint) * self.totals
        return out
