"""ChainDraw: how individuals of every type move, at one point of the posterior; answers about several steps use all."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from sumwise.flows.move_chain import MoveChain


@dataclass(frozen=True)
class ChainDraw:
    """One draw of movement: its weight, and for every type who is where and the probabilities of all moves."""

    weight: float
    overdispersion: float
    present: np.ndarray  # (types, T, L), individuals of each type
    chains: list[MoveChain]

    @cached_property
    def shares(self) -> np.ndarray:
        """What share of the individuals at each time and place is of each type, (types, T, L)."""
        there = np.maximum(self.present, 1e-300)
        return there / there.sum(axis=0)

    def moved(self, start: int, n_steps: int, returning: bool = False) -> Any:
        """p(place n steps later | place at `start`), (L, L); jointly with the return to it after a year if asked."""
        total: Any = None
        for chain, share in zip(self.chains, self.shares[:, start % self.shares.shape[1]]):
            made = chain.returning(start, n_steps) if returning else chain.product(start, n_steps)
            made = made if len(self.chains) == 1 else sparse.diags_array(share) @ made
            total = made if total is None else total + made
        return total

    def futures(self, people: np.ndarray, start: int, n_steps: int, rng: np.random.Generator) -> np.ndarray:
        """Counts (n_steps, draws, L) that chance makes of whole numbers of people (draws, L), who keep their type."""
        out, rest = np.zeros((n_steps, *people.shape), dtype=np.int64), people
        shares = self.shares[:, start % self.shares.shape[1]]
        left = np.ones(people.shape[1])
        for k, chain in enumerate(self.chains):
            last = k == len(self.chains) - 1
            some = rest if last else rng.binomial(rest, np.clip(shares[k] / np.maximum(left, 1e-300), 0.0, 1.0))
            rest, left = rest - some, left - shares[k]
            for step in range(n_steps):
                some = next_counts(some, sparse.csr_array(chain.step(start + step)), rng)
                out[step] += some
        return out


def quotas(weights: np.ndarray, n: int) -> np.ndarray:
    """How many of n draws each of the weighted points gives."""
    return np.diff(np.rint(n * np.cumsum(weights)).astype(int), prepend=0)


def next_counts(people: np.ndarray, p: Any, rng: np.random.Generator) -> np.ndarray:
    """Where people (draws, L) are after a step of probabilities p, sparse by rows."""
    out = np.zeros_like(people)
    for place in np.flatnonzero(people.any(axis=0)):
        here = slice(p.indptr[place], p.indptr[place + 1])
        share = p.data[here]
        out[:, p.indices[here]] += rng.multinomial(people[:, place], share / share.sum())
    return out
