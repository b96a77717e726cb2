"""One flow problem: counts by time and place with their noise, as a chain that `map_counts` solves for any movement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from sumwise.collective.counts import CountsFit
from sumwise.collective.map_counts import map_counts
from sumwise.collective.movement import Movement
from sumwise.collective.places import Places
from sumwise.collective.tree_model import TreeModel
from sumwise.domain import Domain
from sumwise.noise import Gaussian, Geometric, Laplace, Noise, Poisson
from sumwise.table import Table
from sumwise.tables import Tables

RESERVE = 0.5  # individuals outside, as a share of the largest population: enough to draw entries from


@dataclass(frozen=True)
class FlowProblem:
    """What is known of a population before its movement: times, counts, noise and who may come and go."""

    places: Places
    far: Any  # distances of possible moves, dense or sparse
    counts: np.ndarray  # (T, L), NaN where not observed
    noise: Noise
    n: float  # individuals inside, at the time when there are most
    turnover: float | None = None  # share that leaves or enters per step; None: nobody does
    cyclic: bool = False  # the last time leads to the first
    moves: Mapping[int, Table] | None = None  # step -> counts of moves with their noise
    tol: float = 1e-4
    weight: float = 1.0  # what the movement of one individual counts for, against what was observed

    @property
    def names(self) -> list[str]:
        """Attributes of the chain; a cyclic one visits its first time twice."""
        return [f"t{k}" for k in range(len(self.counts) + self.cyclic)]

    @property
    def n_states(self) -> int:
        """Places, and outside where individuals come and go."""
        return self.counts.shape[1] + (self.turnover is not None)

    def domain(self) -> Domain:
        """All times, over the same places."""
        return Domain(dict.fromkeys(self.names, self.n_states))

    def model(self, movement: Movement) -> TreeModel:
        """The chain of one individual."""
        steps = movement.log_moves(self.places, self.far)
        if self.turnover is not None:
            steps = _with_outside(steps, self.turnover)
        edges = list(pairwise(self.names))
        return TreeModel(self.domain(), edges, dict.fromkeys(edges, steps))

    def tables(self, without: Any = ()) -> Tables:
        """What was observed, but for some times."""
        made = []
        for k, name in enumerate(self.names):
            t = k % len(self.counts)
            if t in without or np.isnan(self.counts[t]).all():
                continue
            row = self.counts[t]
            padded = np.append(row, np.nan) if self.turnover is not None else row
            made.append(Table(name, padded, noise=self._noise_at(t, len(padded))))
        for k, table in (self.moves or {}).items():
            made.append(replace(table, attributes=tuple(self.names[k : k + 2])))
        inside = self.n * (1.0 + RESERVE) if self.turnover is not None else self.n
        weighted = made if self.weight == 1.0 else [_sharpened(t, self.weight) for t in made]
        return Tables(weighted, self.domain(), n=inside)

    def _noise_at(self, t: int, length: int) -> Noise:
        """The noise of one time; parameters per place, or per time and place, are cut to it."""
        given = {f.name: getattr(self.noise, f.name) for f in fields(self.noise)}
        if all(np.ndim(v) == 0 for v in given.values()):
            return self.noise
        cut = {k: np.broadcast_to(v, self.counts.shape)[t] if np.ndim(v) else v for k, v in given.items()}
        cut = {k: np.append(v, np.ones(length - len(v))) if np.ndim(v) else v for k, v in cut.items()}
        return type(self.noise)(**cut)

    def solve(self, movement: Movement, without: Any = ()) -> CountsFit:
        """The most likely flows under a movement, certified."""
        return map_counts(self.model(movement), self.tables(without), tol=self.tol)

    def inside(self, fit: CountsFit) -> np.ndarray:
        """Estimated counts (T, L) of the places."""
        return np.stack([fit.nodes[a][: self.counts.shape[1]] for a in self.names[: len(self.counts)]])

    def flows(self, fit: CountsFit) -> list[Any]:
        """Tables of moves (L, L) between the places, one per step."""
        n = self.counts.shape[1]
        return [_cut(fit.edges[e], n) for e in pairwise(self.names)]


def _sharpened(table: Table, weight: float) -> Table:
    """The table with its log-likelihood divided by `weight` (up to a constant): noise of the same kind, but less."""
    noise = table.noise
    if isinstance(noise, Poisson):
        return Table(table.attributes, table.counts / weight, noise=Poisson(noise.rate / weight))
    if isinstance(noise, Gaussian):
        return Table(table.attributes, table.counts, noise=Gaussian(noise.scale * np.sqrt(weight)))
    if isinstance(noise, (Laplace, Geometric)):
        return Table(table.attributes, table.counts, noise=Laplace(noise.scale * weight))
    return table


def _cut(table: Any, n: int) -> Any:
    if sparse.issparse(table):
        return sparse.csr_array(table)[:n, :n] if table.shape[0] > n else sparse.csr_array(table)
    return np.ascontiguousarray(np.asarray(table)[:n, :n])


def _with_outside(steps: Any, turnover: float) -> Any:
    """One more state: everybody may leave, and whoever is outside may enter anywhere."""
    n, stays = steps.shape[0], np.log1p(-turnover)
    leave, enter = np.full(n, np.log(turnover)), np.full(n, np.log(turnover) - np.log(n))
    if not sparse.issparse(steps):
        return np.block([[steps + stays, leave[:, None]], [enter[None, :], np.full((1, 1), stays)]])
    inner, here, last = sparse.coo_array(steps), np.arange(n), np.full(n, n)
    rows = np.concatenate([inner.row, here, last, [n]])
    cols = np.concatenate([inner.col, last, here, [n]])
    return sparse.csr_array(
        (np.concatenate([inner.data + stays, leave, enter, [stays]]), (rows, cols)), shape=(n + 1, n + 1)
    )
