"""MoveChain: probabilities of an individual's moves, step by step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from sumwise.collective.counts import dense
from sumwise.collective.transitions import row_shares


@dataclass(frozen=True)
class MoveChain:
    """Steps of a chain that repeats after its last one."""

    steps: list[Any]  # per step, p(next place | place), (L, L)

    @property
    def n_places(self) -> int:
        return self.steps[0].shape[0]

    def step(self, k: int) -> Any:
        """Probabilities of step k, of any year."""
        return self.steps[k % len(self.steps)]

    def product(self, start: int, n_steps: int) -> Any:
        """p(place n steps later | place at `start`), (L, L)."""
        at: Any = sparse.eye_array(self.n_places, format="csr")
        at = at if sparse.issparse(self.steps[0]) else at.toarray()
        for k in range(n_steps):
            at = at @ self.step(start + k)
        return at

    def returning(self, start: int, n_steps: int) -> Any:
        """p(place n steps later, and back at the first place after a year | place at `start`), (L, L)."""
        home = self.product(start + n_steps, len(self.steps) - n_steps).T
        made = self.product(start, n_steps)
        return made.multiply(home) if sparse.issparse(made) else made * home

    def track_probabilities(self, tracks: Any) -> np.ndarray:
        """p(place, time of the second sighting | the first): tracks (first place, first time, place, steps between)."""
        places, starts, ends, lengths = tracks
        out = np.empty(len(places))
        for start in np.unique(starts):
            here = np.flatnonzero(starts == start)
            at = np.eye(self.n_places)[places[here]]
            for k in range(int(lengths[here].max()) + 1):
                done = lengths[here] == k
                out[here[done]] = at[done, ends[here[done]]]
                at = dense(at @ self.step(start + k))
        return out

    def returning_probabilities(self, tracks: Any) -> tuple[np.ndarray, np.ndarray]:
        """p(second sighting and back at the first place after a year | the first), p(back after a year | the first)."""
        places, starts, ends, lengths = tracks
        joint, total = np.empty(len(places)), np.empty(len(places))
        for start in np.unique(starts):
            here = np.flatnonzero(starts == start)
            at = np.eye(self.n_places)[places[here]]
            seen = np.where((lengths[here] == 0) & (places[here] == ends[here]), 1.0, 0.0)[:, None] * at
            for k in range(len(self.steps)):
                at, seen = dense(at @ self.step(start + k)), dense(seen @ self.step(start + k))
                for row in np.flatnonzero(lengths[here] == k + 1):
                    seen[row] = np.where(np.arange(self.n_places) == ends[here[row]], at[row], 0.0)
            rows = np.arange(len(here)), places[here]
            joint[here], total[here] = seen[rows], at[rows]
        return joint, total


def chain_of(flows: list[Any]) -> MoveChain:
    """The chain of a population's flows (L, L) per step."""
    return MoveChain([row_shares(f) for f in flows])
