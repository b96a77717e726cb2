"""One flow problem: counts by time and place with their noise, as a chain that `map_counts` solves for any movement."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from sumwise.collective.counts import CountsFit
from sumwise.collective.map_counts import map_counts
from sumwise.collective.tree_model import TreeModel
from sumwise.domain import Domain
from sumwise.flows.movement import Movement
from sumwise.flows.places import Places
from sumwise.noise import Noise
from sumwise.table import Table
from sumwise.tables import Tables

RESERVE = 0.5  # individuals outside, as a share of the largest population: enough to draw entries from


@dataclass(frozen=True)
class StepMoves:
    """Log-probabilities of the moves of every step and of the first places: any movement, by distance or not."""

    logs: list[Any]
    start: np.ndarray


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
    tol: float = 1e-4
    mask: np.ndarray | None = None  # (T, L), where individuals can be; None: everywhere

    @property
    def names(self) -> list[str]:
        """Attributes of the chain; a cyclic one visits its first time twice."""
        return [f"t{k}" for k in range(len(self.counts) + self.cyclic)]

    @property
    def n_states(self) -> int:
        """Places, and outside where individuals come and go."""
        return self.counts.shape[1] + (self.turnover is not None)

    @cached_property
    def domain(self) -> Domain:
        """All times, over the same places."""
        return Domain(dict.fromkeys(self.names, self.n_states))

    def steps(self, movement: Any) -> list[Any]:
        """Log-probabilities of every step between states, of a `Movement` or of a table of moves per step."""
        n_steps = len(self.names) - 1
        one = isinstance(movement, Movement)
        made = [movement.log_moves(self.places, self.far)] * n_steps if one else list(movement.logs)
        ends: list[Any] = [None] * n_steps
        if self.mask is not None:
            ends = [self.mask[(k + 1) % len(self.mask)] for k in range(n_steps)]
            made = [_masked(logs, end) for logs, end in zip(made, ends)]
        if self.turnover is None:
            return made
        if one and self.mask is None:
            return [_with_outside(made[0], self.turnover)] * n_steps
        return [_with_outside(logs, self.turnover, end) for logs, end in zip(made, ends)]

    @cached_property
    def last(self) -> dict[str, Any]:
        """The last movement and its model: left-out times and intervals ask for it again."""
        return {"movement": None, "model": None}

    def model(self, movement: Any) -> TreeModel:
        """The chain of one individual."""
        if self.last["movement"] is not movement:
            self.last["movement"], self.last["model"] = movement, self._model(movement)
        return self.last["model"]

    def _model(self, movement: Any) -> TreeModel:
        edges = list(pairwise(self.names))
        potentials: dict[Any, Any] = dict(zip(edges, self.steps(movement)))
        plain = isinstance(movement, Movement)
        outside = [] if self.turnover is None else [0.0 if plain else np.log(RESERVE)]
        if not plain:
            potentials[self.names[0]] = np.append(movement.start, outside)
        if self.mask is not None:
            for k, name in enumerate(self.names):
                closed = np.where(self.mask[k % len(self.mask)], 0.0, -np.inf)
                start = potentials.get(name, 0.0)
                potentials[name] = start + np.append(closed, [0.0] * len(outside))
        return TreeModel(self.domain, edges, potentials)

    def tables(self, without: Any = ()) -> Tables:
        """What was observed, but for some times."""
        if not without:
            return self.all_tables
        left = {a for k, a in enumerate(self.names) if k % len(self.counts) in without}
        kept = [t for t in self.all_tables if t.attributes[0] not in left]
        return Tables(kept, self.domain, n=self.all_tables.n)

    @cached_property
    def all_tables(self) -> Tables:
        """What was observed."""
        made = []
        for k, name in enumerate(self.names):
            t = k % len(self.counts)
            if np.isnan(self.counts[t]).all():
                continue
            outside = self.n_states - self.counts.shape[1]  # isn't observed
            row = np.append(self.counts[t], np.full(outside, np.nan))
            made.append(Table(name, row, noise=cut_noise(self.noise, self.counts.shape, t, outside)))
        inside = self.n * (1.0 + RESERVE) if self.turnover is not None else self.n
        return Tables(made, self.domain, n=inside)

    def solve(self, movement: Any, without: Any = (), start: CountsFit | None = None) -> CountsFit:
        """The most likely flows under a movement (or log-probabilities per step), certified."""
        return map_counts(self.model(movement), self.tables(without), tol=self.tol, start=start)

    def inside(self, fit: CountsFit) -> np.ndarray:
        """Estimated counts (T, L) of the places."""
        return np.stack([fit.nodes[a][: self.counts.shape[1]] for a in self.names[: len(self.counts)]])

    def flows(self, fit: CountsFit) -> list[Any]:
        """Tables of moves (L, L) between the places, one per step."""
        n = self.counts.shape[1]
        return [_cut(fit.edges[e], n) for e in pairwise(self.names)]


def cut_noise(noise: Noise, shape: tuple[int, ...], at: Any, unseen: int = 0) -> Noise:
    """The noise of what is picked by `at` from what has that shape, and of cells that are not observed behind it.

    Parameters that are one number stay so.
    """
    given = {f.name: getattr(noise, f.name) for f in fields(noise)}
    cut = {name: np.broadcast_to(v, shape)[at] for name, v in given.items() if np.ndim(v)}
    return replace(noise, **{name: np.pad(v, (0, unseen), constant_values=1.0) for name, v in cut.items()})


def _cut(table: Any, n: int) -> Any:
    if sparse.issparse(table):
        return sparse.csr_array(table)[:n, :n] if table.shape[0] > n else sparse.csr_array(table)
    return np.ascontiguousarray(np.asarray(table)[:n, :n])


def _masked(steps: Any, end: np.ndarray) -> Any:
    """Log-probabilities that sum to 1 over the places that are open at the end of the step; the others are closed by
    the potentials of that time.
    """
    if not sparse.issparse(steps):
        total = np.logaddexp.reduce(np.where(end[None, :], steps, -np.inf), axis=1, keepdims=True)
        return steps - np.where(np.isfinite(total), total, 0.0)
    moves = sparse.coo_array(steps)
    total = np.bincount(moves.row, np.where(end[moves.col], np.exp(moves.data), 0.0), steps.shape[0])
    shift = np.log(np.where(total > 0, total, 1.0))
    return sparse.csr_array((moves.data - shift[moves.row], (moves.row, moves.col)), shape=steps.shape)


def _with_outside(steps: Any, turnover: float, end: np.ndarray | None = None) -> Any:
    """One more state: everybody may leave, and whoever is outside may enter anywhere that is open."""
    n, stays = steps.shape[0], np.log1p(-turnover)
    n_open = n if end is None else int(end.sum())
    leave, enter = np.full(n, np.log(turnover)), np.full(n, np.log(turnover) - np.log(n_open))
    if not sparse.issparse(steps):
        return np.block([[steps + stays, leave[:, None]], [enter[None, :], np.full((1, 1), stays)]])
    inner, here, last = sparse.coo_array(steps), np.arange(n), np.full(n, n)
    rows = np.concatenate([inner.row, here, last, [n]])
    cols = np.concatenate([inner.col, last, here, [n]])
    return sparse.csr_array(
        (np.concatenate([inner.data + stays, leave, enter, [stays]]), (rows, cols)), shape=(n + 1, n + 1)
    )
