"""Movement models that are averaged: each gives the moves of every step for its parameters, and their gradient.

In step t a move from i to j != i has the score ``-a_t - (d_ij - 1) e^{-b_t} + u_t . (x_j - x_i) + pull_j``, with
distances in units of neighbours, so that a is the cost of a move to a neighbour, which counts say more about than about
that of leaving alone; a softmax over j makes it a probability. ``(a, b, u)_t = B_t beta``: the models differ
in the basis B of each (constant, a harmonic of the year or the period of study, every step its own) and in whether
places pull.
With two types of individuals t numbers the types, and B gives their mean and half their difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from scipy.linalg import block_diag
from scipy.special import expit

from sumwise.collective.potentials import filled
from sumwise.flows.flow_problem import FlowProblem
from sumwise.flows.movement import Movement

CONSTANT, PLACES, SEASON, BOTH, STEPS = ("constant", "places differ", "season", "both", "every step")
LEAVING, TYPES = "leaving at every step", "two types"
CHANGING = (SEASON, BOTH, LEAVING, STEPS)  # over time
KINDS = (CONSTANT, PLACES, SEASON, BOTH, LEAVING, STEPS, TYPES)
KM_PER_DEGREE = np.pi / 180 * 6371.0088


@dataclass(frozen=True)
class Priors:
    """Standard deviations of normal priors, in log-probabilities, logs and log-probabilities per neighbour.

    They say what is a large change of movement: leaving seven times likelier, between times or between residents and
    those who pass through; moves half as long again, e times as many moves one way as the other (a third more in a
    single step, or type), a place that attracts twice as many. The cost of leaving itself has a uniform prior over the
    share that stays.
    """

    leaving: float = 2.0  # its changes over time, and half the difference of two types
    scale: tuple[float, float] = (0.8, 0.4)  # of distance: its level, its changes
    drift: tuple[float, float] = (1.0, 0.3)  # its level and its seasons; how steps or types differ from it
    pull: float = 0.7
    share: float = 1.5  # of the logit of a type's share: 8 to 92%; and of how far types are apart at first


@dataclass(frozen=True)
class MovementModel:
    """Moves of every step as a function of parameters z."""

    problem: FlowProblem
    kind: str
    priors: Priors = Priors()

    @property
    def n_steps(self) -> int:
        return len(self.problem.names) - 1

    @property
    def n_places(self) -> int:
        return self.problem.counts.shape[1]

    @cached_property
    def bases(self) -> list[np.ndarray]:
        """How parameters act on steps (or types), (S, K) for each of the terms."""
        ones, steps = np.ones((self.n_steps, 1)), np.arange(self.n_steps)
        if self.kind == TYPES:
            basis = np.array([[1.0, 1.0], [1.0, -1.0]])
        elif self.kind in (STEPS, LEAVING):
            basis = np.hstack([ones, np.eye(self.n_steps)])
        elif self.kind in (SEASON, BOTH):
            angle = 2 * np.pi * steps / self.n_steps
            basis = np.column_stack([ones, np.cos(angle), np.sin(angle)])
        else:
            basis = ones
        others = ones if self.kind == LEAVING else basis
        return [basis] + [others] * (len(self.terms) - 1)

    @cached_property
    def terms(self) -> np.ndarray:
        """What a unit of each time-dependent parameter adds to the scores of moves, (P, L, L); b apart."""
        places = self.problem.places
        apart = 1.0 - np.eye(self.n_places)
        out = [-apart, self.far - apart]
        if places.distances is None:
            x, y = places.positions.T
            dx, dy = x[None] - x[:, None], y[None] - y[:, None]
            if places.lon is not None:
                dx = (dx + 180.0) % 360.0 - 180.0  # the shorter way around
                dx, dy = dx * np.cos(np.radians(0.5 * (y[None] + y[:, None]))) * KM_PER_DEGREE, dy * KM_PER_DEGREE
            out += [dx / places.unit, dy / places.unit]
        return np.stack(out)

    @cached_property
    def far(self) -> np.ndarray:
        """Distances in units of neighbours; 0 where no move is possible."""
        far = -filled(-self.problem.far) / self.problem.places.unit
        return np.where(np.isfinite(far), far, 0.0)

    @cached_property
    def forbidden(self) -> np.ndarray:
        """Moves that can't be made, (S or 1, L, L)."""
        never = ~np.isfinite(filled(-self.problem.far))
        if self.problem.mask is None:
            return never[None]
        open_ = np.asarray(self.problem.mask, dtype=bool)
        return np.stack([never | ~open_[(k + 1) % len(open_)][None] for k in range(self.n_steps)])

    @property
    def n_types(self) -> int:
        """Types of individuals: the states of a step are the places once per type."""
        return 2 if self.kind == TYPES else 1

    @property
    def pulls(self) -> bool:
        return self.kind in (PLACES, BOTH)

    @cached_property
    def deviations(self) -> np.ndarray:
        """Prior standard deviations of all parameters; infinite for the level of the cost of leaving."""
        priors = self.priors
        more = [basis.shape[1] - 1 for basis in self.bases]
        out = [np.inf] + [priors.leaving] * more[0] + [priors.scale[0]] + [priors.scale[1]] * more[1]
        for k in more[2:]:
            out += [priors.drift[0]] + [priors.drift[self.kind in (STEPS, TYPES)]] * k
        out += [priors.pull] * self.n_places * self.pulls + [priors.share] * 2 * (self.n_types - 1)
        return np.array(out)

    @property
    def size(self) -> int:
        """Number of parameters."""
        return len(self.deviations)

    def starts(self) -> list[list[np.ndarray]]:
        """Parameters where searches begin: of constant movements, each list with those of one search.

        Counts can be explained by few long moves as well as by many short ones: the modes lie at different scales.
        """
        out: dict[float, list[np.ndarray]] = {}
        for cost, scale in product((0.0, 1.5, 3.0, 5.0, 8.0), (0.5, 1.0, 2.0)):
            z = np.zeros(self.size)
            z[0], z[self.bases[0].shape[1]] = cost, np.log(scale)
            out.setdefault(scale, []).append(z)
        return list(out.values())

    def starts_from(self, simpler: MovementModel, z: np.ndarray) -> list[np.ndarray]:
        """Parameters where searches begin: as a simpler model, or types of which few or most hardly move."""
        out, ends = np.zeros(self.size), np.cumsum([0, *(basis.shape[1] for basis in self.bases)])
        theirs = np.cumsum([0, *(basis.shape[1] for basis in simpler.bases)])
        for k, first, last in zip(ends, theirs, theirs[1:]):
            out[k : k + last - first] = z[first:last]
        if self.pulls and simpler.pulls:
            out[self._pull] = z[simpler._pull]
        if self.n_types == 1:
            return [out]
        out[1], out[-1] = self.priors.leaving, -self.priors.share
        starts = []
        for share in (-1.0, 1.0):
            for stay in (0.0, 1.5, 3.0, 5.0):
                start = out.copy()
                start[0], start[-2] = stay, share
                starts.append(start)
        return starts

    def contains(self, other: MovementModel) -> bool:
        """Whether the other model is this one with some parameters zero."""
        simpler = {PLACES: (), SEASON: (), LEAVING: (), BOTH: (PLACES, SEASON), STEPS: (LEAVING,), TYPES: ()}
        return other.kind == CONSTANT or other.kind in simpler.get(self.kind, ())

    def sensitivity(
        self, z: np.ndarray, inner: np.ndarray, step: int, x: np.ndarray, weight: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Gradients by the parameters of ``x' P`` and of ``sum_i w_i P_ij (1 - P_ij)``, (states, m) each."""
        n, keep, per_type = self.n_places, 1.0 - (self.problem.turnover or 0.0), len(inner) // self.n_types
        states, rows = len(x) // self.n_types, self._series(z)
        out = np.zeros((2, len(x), self.size))
        for k in range(self.n_types):
            p = inner[k * per_type + (step if per_type > 1 else 0)]
            row, at = (k if self.n_types > 1 else step), slice(k * states, k * states + n)
            factor = np.ones(len(self.terms))
            factor[1] = np.exp(-rows[row, 1])
            expected = factor[:, None] * np.einsum("ij,pij->pi", p, self.terms)
            for made, each in zip(out, (x[at, None], weight[at, None] * (1.0 - 2.0 * keep * p))):
                moved = keep * each * p
                by_term = factor[:, None] * np.einsum("ij,pij->pj", moved, self.terms) - expected @ moved
                columns = [column[:, None] * basis[row] for column, basis in zip(by_term, self.bases)]
                if self.pulls:
                    columns.append(np.diag(moved.sum(axis=0)) - moved.T @ p)
                together = np.hstack(columns)
                made[at, : together.shape[1]] = together
        return out[0], out[1]

    def inner(self, z: np.ndarray) -> np.ndarray:
        """Probabilities of moves between places, (S or 1, L, L), those of one type after those of the other."""
        rows = self._series(z)
        if self.kind in (CONSTANT, PLACES):
            rows = rows[:1]
        rows[:, 1] = -np.exp(-rows[:, 1])
        scores = np.tensordot(rows, self.terms, axes=1)
        if self.pulls:
            scores += z[self._pull]
        if self.n_types > 1:
            scores = np.repeat(scores, len(self.forbidden), axis=0)
        scores = np.where(np.tile(self.forbidden, (self.n_types, 1, 1)), -np.inf, scores)
        top = scores.max(axis=2, keepdims=True)
        shares = np.exp(scores - np.where(np.isfinite(top), top, 0.0))
        return shares / np.maximum(shares.sum(axis=2, keepdims=True), 1e-300)

    def moves(self, inner: np.ndarray) -> list[np.ndarray]:
        """Probabilities of every step between states: with the place outside, where individuals come and go."""
        share = self.problem.turnover
        tables: Any = inner
        if share is not None:
            n_open = len(inner) // self.n_types
            tables = np.stack([_with_outside(p, share, self.open_(k % n_open)) for k, p in enumerate(inner)])
        if self.n_types > 1:
            tables = [block_diag(*each) for each in zip(*np.split(tables, self.n_types))]
        return [tables[k if len(tables) > 1 else 0] for k in range(self.n_steps)]

    def slope(self, z: np.ndarray, inner: np.ndarray, by_moves: list[np.ndarray]) -> np.ndarray:
        """Gradient by the parameters, of gradients by the moves of every step; 0 for the share of a type."""
        n, keep = self.n_places, 1.0 - (self.problem.turnover or 0.0)
        states = len(by_moves[0]) // self.n_types
        each = keep * np.stack([g[m : m + n, m : m + n] for m in states * np.arange(self.n_types) for g in by_moves])
        if len(inner) == self.n_types:
            each = each.reshape(self.n_types, -1, n, n).sum(axis=1)
        score = inner * (each - (inner * each).sum(axis=2, keepdims=True))
        rows = np.tensordot(score, self.terms, axes=((1, 2), (1, 2)))  # (S or 1, P)
        if self.n_types > 1:
            rows = rows.reshape(self.n_types, -1, rows.shape[1]).sum(axis=1)
        scale = self._series(z)[: len(rows), 1]
        rows[:, 1] *= np.exp(-scale)  # d (-d e^{-b}) / db
        out = [basis[: len(rows)].T @ column for basis, column in zip(self.bases, rows.T)]
        if self.pulls:
            out.append(score.sum(axis=(0, 1)))
        return np.concatenate([*out, np.zeros(2 * (self.n_types - 1))])

    def movements(self, z: np.ndarray) -> list[Movement]:
        """The cost of leaving and scale of every type, their mean over steps, as a `Movement`."""
        cost, scale = self._series(z)[:, :2].T
        rows = np.column_stack([cost - np.exp(-scale), scale])  # that of a move to a neighbour is the cost of both
        rows = rows if self.n_types > 1 else rows.mean(axis=0)[None]
        return [Movement(float(stay), float(self.problem.places.unit * np.exp(scale))) for stay, scale in rows]

    def shares(self, z: np.ndarray) -> np.ndarray:
        """The share of individuals of every type."""
        if self.n_types == 1:
            return np.ones(1)
        return expit(np.array([1.0, -1.0]) * z[self.size - 2])

    def types(self, z: np.ndarray) -> tuple[float, float]:
        """The share of the first of two types, and how far types are apart at first, from 0 to 1."""
        share, apart = expit(z[self.size - 2 : self.size])
        return float(share), float(apart)

    @property
    def _pull(self) -> slice:
        last = sum(basis.shape[1] for basis in self.bases)
        return slice(last, last + self.n_places)

    def _series(self, z: np.ndarray) -> np.ndarray:
        """The parameters of every step or type, (S, P)."""
        ends = np.cumsum([basis.shape[1] for basis in self.bases])
        return np.column_stack([basis @ part for basis, part in zip(self.bases, np.split(z[: ends[-1]], ends[:-1]))])

    def open_(self, step: int) -> np.ndarray:
        """Where individuals can be after a step, (L,)."""
        mask = self.problem.mask
        return np.ones(self.n_places) if mask is None else np.asarray(mask[(step + 1) % len(mask)], dtype=float)


def _with_outside(inner: np.ndarray, share: float, open_: np.ndarray) -> np.ndarray:
    """One more state: a share of all leaves, and the same share of those outside enters anywhere that is open."""
    leave = np.full((len(inner), 1), share)
    enter = share * open_ / open_.sum()
    return np.block([[inner * (1.0 - share), leave], [enter[None], np.full((1, 1), 1.0 - share)]])
