"""MoveChain: probabilities of an individual's moves, step by step, with or without memory of the step before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from sumwise.collective.counts import dense
from sumwise.collective.forecast import row_shares


@dataclass(frozen=True)
class MoveChain:
    """Steps of a chain that repeats after its last one.

    The state after a step is the place (first order), or the move itself (second order): what the next step depends on.
    Memory of direction doesn't cross the end of the chain.
    """

    steps: list[Any]  # per step, p(next place | place), (L, L)
    pairs: list[Any] | None = None  # per step but the first, p(move | move before), (E, E)
    moves: tuple[np.ndarray, np.ndarray] | None = None  # (from, to) of the E moves

    @property
    def n_places(self) -> int:
        return self.steps[0].shape[0]

    def begin(self, k: int) -> Any:
        """From places to the states after step k, (L, E)."""
        step = self.steps[k % len(self.steps)]
        if self.moves is None:
            return step
        first, second = self.moves
        shares = np.asarray(sparse.csr_array(step)[first, second], dtype=float).ravel()
        return sparse.csr_array((shares, (first, np.arange(len(first)))), shape=(self.n_places, len(first)))

    def follow(self, k: int) -> Any:
        """From states after step k - 1 to states after step k."""
        if self.pairs is None or self.moves is None:
            return self.begin(k)
        if k % len(self.steps) == 0:
            return self._arrival() @ self.begin(k)
        return self.pairs[k % len(self.steps) - 1]

    def _arrival(self) -> Any:
        """Which place each state is, (E, L)."""
        assert self.moves is not None
        second = self.moves[1]
        ones = np.ones(len(second))
        return sparse.csr_array((ones, (np.arange(len(second)), second)), shape=(len(second), self.n_places))

    def arrive(self, at: Any) -> Any:
        """Places (..., L) of states (..., E)."""
        return at if self.moves is None else at @ self._arrival()

    def where(self, place: int) -> np.ndarray:
        """Which states are at a place, a mask."""
        return (np.arange(self.n_places) if self.moves is None else self.moves[1]) == place

    def product(self, start: int, n_steps: int) -> Any:
        """p(place n steps later | place at `start`), (L, L)."""
        made: Any = sparse.eye_array(self.n_places, format="csr")
        made = made if sparse.issparse(self.steps[0]) else made.toarray()
        if n_steps == 0:
            return made
        at = made @ self.begin(start)
        for k in range(1, n_steps):
            at = at @ self.follow(start + k)
        return self.arrive(at)

    def returning(self, start: int, n_steps: int) -> Any:
        """p(place n steps later, and back at the first place after a year | place at `start`), (L, L)."""
        if self.moves is None or n_steps == 0:
            home = self.product(start + n_steps, len(self.steps) - n_steps).T
            made = self.product(start, n_steps)
            return made.multiply(home) if sparse.issparse(made) else made * home
        at: Any = self.begin(start)
        for k in range(1, n_steps):
            at = at @ self.follow(start + k)
        back: Any = self._arrival().T  # p(back at each place | state), (L, E)
        for k in range(len(self.steps) - 1, n_steps - 1, -1):
            back = back @ self.follow(start + k).T
        both = at.multiply(back) if sparse.issparse(at) else at * back
        return self.arrive(both)

    def track_probabilities(self, tracks: Any) -> np.ndarray:
        """p(place, time of the second sighting | the first): tracks (first place, first time, place, steps between)."""
        places, starts, ends, lengths = tracks
        out = np.empty(len(places))
        for start in np.unique(starts):
            here = np.flatnonzero(starts == start)
            at = np.zeros((len(here), self.n_places))
            at[np.arange(len(here)), places[here]] = 1.0
            stay = lengths[here] == 0
            out[here[stay]] = at[stay, ends[here[stay]]]
            for k in range(int(lengths[here].max())):
                at = dense(at @ (self.follow(start + k) if k else self.begin(start)))
                done = lengths[here] == k + 1
                if done.any():
                    out[here[done]] = dense(self.arrive(at[done]))[np.arange(done.sum()), ends[here[done]]]
        return out

    def returning_probabilities(self, tracks: Any) -> tuple[np.ndarray, np.ndarray]:
        """p(second sighting and back at the first place after a year | the first), p(back after a year | the first)."""
        places, starts, ends, lengths = tracks
        joint, whole = np.empty(len(places)), np.empty(len(places))
        for start in np.unique(starts):
            here = np.flatnonzero(starts == start)
            at = np.zeros((len(here), self.n_places))
            at[np.arange(len(here)), places[here]] = 1.0
            seen = np.where((lengths[here] == 0) & (places[here] == ends[here]), 1.0, 0.0)[:, None] * at
            for k in range(len(self.steps)):
                step = self.follow(start + k) if k else self.begin(start)
                at, seen = dense(at @ step), dense(seen @ step)
                for row in np.flatnonzero(lengths[here] == k + 1):
                    seen[row] = np.where(self.where(ends[here[row]]), at[row], 0.0)
            rows = np.arange(len(here)), places[here]
            joint[here], whole[here] = dense(self.arrive(seen))[rows], dense(self.arrive(at))[rows]
        return joint, whole


def chain_of(flows: list[Any], pairs: list[Any] | None = None, moves: Any = None) -> MoveChain:
    """The chain of a population's flows (L, L) per step, and (E, E) per two steps between `moves` (from, to)."""
    return MoveChain([row_shares(f) for f in flows], pairs and [row_shares(p) for p in pairs], moves)
