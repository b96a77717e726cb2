"""Movement models that are averaged: each gives the moves of every step for its parameters, and their gradient.

In step t a move from i to j has the score ``-a_t [i != j] - d_ij e^{-b_t} + u_t . (x_j - x_i) + pull_j``, with
distances in units of neighbours; a softmax over j makes it a probability. ``(a, b, u)_t = B_t beta``: the models differ
in the basis B (constant, a harmonic of the year or the period of study, every step its own) and in whether places pull.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sumwise.collective.potentials import filled
from sumwise.flows.flow_problem import FlowProblem
from sumwise.flows.movement import Movement

CONSTANT, PLACES, SEASON, BOTH, STEPS = KINDS = ("constant", "places differ", "season", "both", "every step")
KM_PER_DEGREE = np.pi / 180 * 6371.0088


@dataclass(frozen=True)
class Priors:
    """Standard deviations of normal priors, in log-probabilities, logs and log-probabilities per neighbour.

    They say what is a large change of movement: leaving e times likelier, moves half as long again, a third more moves
    one way than the other, a place that attracts twice as many. The cost of leaving itself has a uniform prior over
    the share that stays.
    """

    leaving: float = 1.0  # its changes over time
    scale: tuple[float, float] = (0.8, 0.4)  # of distance: its level, its changes
    drift: float = 0.3
    pull: float = 0.7


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
    def basis(self) -> np.ndarray:
        """How parameters act on steps, (S, K)."""
        ones, steps = np.ones((self.n_steps, 1)), np.arange(self.n_steps)
        if self.kind == STEPS:
            return np.hstack([ones, np.eye(self.n_steps)])
        if self.kind in (SEASON, BOTH):
            angle = 2 * np.pi * steps / self.n_steps
            return np.column_stack([ones, np.cos(angle), np.sin(angle)])
        return ones

    @cached_property
    def terms(self) -> np.ndarray:
        """What a unit of each time-dependent parameter adds to the scores of moves, (P, L, L); b apart."""
        places = self.problem.places
        out = [-(1.0 - np.eye(self.n_places)), self.far]
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
    def pulls(self) -> bool:
        return self.kind in (PLACES, BOTH)

    @cached_property
    def deviations(self) -> np.ndarray:
        """Prior standard deviations of all parameters; infinite for the level of the cost of leaving."""
        more, priors = self.basis.shape[1] - 1, self.priors
        out = [np.inf] + [priors.leaving] * more + [priors.scale[0]] + [priors.scale[1]] * more
        out += [priors.drift] * (len(self.terms) - 2) * (more + 1)
        out += [priors.pull] * self.n_places * self.pulls
        return np.array(out)

    @property
    def size(self) -> int:
        """Number of parameters."""
        return len(self.deviations)

    def start(self, stay: float, scale: float) -> np.ndarray:
        """Parameters of a constant movement, `scale` in units of neighbours."""
        z = np.zeros(self.size)
        z[0], z[self.basis.shape[1]] = stay, np.log(scale)
        return z

    def inner(self, z: np.ndarray) -> np.ndarray:
        """Probabilities of moves between places, (S or 1, L, L)."""
        rows = self._series(z)
        if self.basis.shape[1] == 1:
            rows = rows[:1]
        rows[:, 1] = -np.exp(-rows[:, 1])
        scores = np.tensordot(rows, self.terms, axes=1)
        if self.pulls:
            scores += z[self._pull]
        scores = np.where(self.forbidden, -np.inf, scores)
        top = scores.max(axis=2, keepdims=True)
        shares = np.exp(scores - np.where(np.isfinite(top), top, 0.0))
        return shares / np.maximum(shares.sum(axis=2, keepdims=True), 1e-300)

    def moves(self, inner: np.ndarray) -> list[np.ndarray]:
        """Probabilities of every step between states: with the place outside, where individuals come and go."""
        share = self.problem.turnover
        if share is None:
            return [inner[k if len(inner) > 1 else 0] for k in range(self.n_steps)]
        wide = [_with_outside(p, share, self.open_(k)) for k, p in enumerate(inner)]
        return [wide[k if len(wide) > 1 else 0] for k in range(self.n_steps)]

    def slope(self, z: np.ndarray, inner: np.ndarray, by_moves: list[np.ndarray]) -> np.ndarray:
        """Gradient by the parameters, of gradients by the moves of every step."""
        n, share = self.n_places, self.problem.turnover
        cut = [g if share is None else (1.0 - share) * g[:n, :n] for g in by_moves]
        each = np.stack(cut) if len(inner) > 1 else np.sum(cut, axis=0)[None]
        score = inner * (each - (inner * each).sum(axis=2, keepdims=True))
        rows = np.tensordot(score, self.terms, axes=((1, 2), (1, 2)))  # (S or 1, P)
        scale = self._series(z)[: len(rows), 1]
        rows[:, 1] *= np.exp(-scale)  # d (-d e^{-b}) / db
        out = [(self.basis[: len(rows)].T @ rows).T.ravel()]
        if self.pulls:
            out.append(score.sum(axis=(0, 1)))
        return np.concatenate(out)

    def movement(self, z: np.ndarray) -> Movement:
        """The mean cost of leaving and scale over steps, as a `Movement`."""
        stay, scale = self._series(z)[:, :2].mean(axis=0)
        return Movement(float(stay), float(self.problem.places.unit * np.exp(scale)))

    @property
    def _pull(self) -> slice:
        last = self.basis.shape[1] * len(self.terms)
        return slice(last, last + self.n_places)

    def _series(self, z: np.ndarray) -> np.ndarray:
        """The parameters of every step, (S, P)."""
        k = self.basis.shape[1]
        return self.basis @ z[: k * len(self.terms)].reshape(len(self.terms), k).T

    def open_(self, step: int) -> np.ndarray:
        """Where individuals can be after a step, (L,)."""
        mask = self.problem.mask
        return np.ones(self.n_places) if mask is None else np.asarray(mask[(step + 1) % len(mask)], dtype=float)


def _with_outside(inner: np.ndarray, share: float, open_: np.ndarray) -> np.ndarray:
    """One more state: a share of all leaves, and the same share of those outside enters anywhere that is open."""
    leave = np.full((len(inner), 1), share)
    enter = share * open_ / open_.sum()
    return np.block([[inner * (1.0 - share), leave], [enter[None], np.full((1, 1), 1.0 - share)]])
