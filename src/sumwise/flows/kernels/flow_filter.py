"""A Kalman filter for counts of a population whose individuals move as a Markov chain, and for sums of its flows.

Counts x_t (L,) of n individuals have ``E x_{t+1} = P' x_t`` and the covariance of multinomial moves, here times an
overdispersion phi. Linear functions of flows are carried along as sums, correlated with the counts, so that after the
last observation their means and covariances are those given all observations. One pass back over the filter (its
adjoint) gives the gradients of the marginal likelihood and the expected counts and flows given all observations::

    E[n_ij | y] = p_ij (m_i + (C P r)_i + phi w_i (r_j - (P r)_i)),    r = d log p(y) / d x_{t+1}

Where individuals are of several types, which counts don't tell apart, the states are the places once per type, and what
is observed is the sum of a place's states.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg import block_diag, get_lapack_funcs

from sumwise.errors import DataError

dpotrf, dpotri, dtrtrs = get_lapack_funcs(("potrf", "potri", "trtrs"), dtype=np.float64)  # without checks: faster


@dataclass(frozen=True)
class Functions:
    """Linear functions of counts and flows: per time or step, numbers of functions and their weights."""

    size: int = 0
    of_counts: dict[int, list[tuple[int, np.ndarray]]] = field(default_factory=dict)  # time -> (number, (L,))
    of_flows: dict[int, list[tuple[int, np.ndarray]]] = field(default_factory=dict)  # step -> (number, (L, L))

    def repeated(self, types: int) -> Functions:
        """The same functions of sums over types."""
        if types == 1:
            return self
        counts = {t: [(k, np.tile(b, types)) for k, b in asked] for t, asked in self.of_counts.items()}
        flows = {t: [(k, np.asarray(block_diag(*[a] * types))) for k, a in asked] for t, asked in self.of_flows.items()}
        return Functions(self.size, counts, flows)


Slopes = Callable[[int, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Smoothed:
    """What one pass forward and back gives, all given every observation."""

    log_likelihood: float
    counts: np.ndarray  # (T, L), means
    flows: list[np.ndarray]  # (L, L) per step, means; empty unless asked for
    moves_slope: list[np.ndarray]  # d log-likelihood / d P, (L, L) per step
    phi_slope: float
    mean_slope: np.ndarray  # d log-likelihood / d mean of the first counts, (L,)
    covariance_slope: np.ndarray  # d log-likelihood / d covariance of the first counts, (L, L)


@dataclass
class _Update:
    """What the observation of one time did: kept for the way back."""

    at: np.ndarray  # (types, m), the states of every observed place
    mean: np.ndarray  # before
    covariance: np.ndarray  # before
    precision: np.ndarray  # (m, m), of the observations
    slope: np.ndarray  # (L,), precision times what was observed beyond the mean
    after: tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Filter:
    """Observations of the states of a chain, and what is known of the states at first."""

    seen: np.ndarray  # (T, places), NaN where not observed; L = places x types
    variance: np.ndarray  # (T, places), of the noise
    around: np.ndarray  # (T, L), counts at which the variance of moves is taken
    mean: np.ndarray  # (L,), of the first states
    covariance: np.ndarray  # (L, L)

    def moments(self, moves: list[np.ndarray], phi: float, functions: Functions) -> tuple[np.ndarray, np.ndarray]:
        """Means (m,) and covariances (m, m) of the functions given what was seen.

        `moves` are probabilities (L, L) of every step.
        """
        x, c = self.mean, self.covariance
        s, own = np.zeros(functions.size), np.zeros((functions.size, functions.size))
        across = np.zeros((len(x), functions.size))  # covariances of counts and functions
        for t in range(len(self.seen)):
            places = np.flatnonzero(~np.isnan(self.seen[t]))
            if len(places):
                at = self._states(places)
                with_places = _summed(c, at)
                root = _root(_summed(with_places.T, at) + np.diag(self.variance[t, places]))
                off = self.seen[t, places] - _summed(x, at)
                both = np.column_stack([off, with_places, _summed(across, at)])
                solved = dtrtrs(root, both, lower=1)[0]
                off, u, w = solved[:, 0], solved[:, 1 : len(x) + 1], solved[:, len(x) + 1 :]
                x, c = x + u.T @ off, c - u.T @ u
                s, own, across = s + w.T @ off, own - w.T @ w, across - u.T @ w
            for k, b in functions.of_counts.get(t, ()):
                moved = c @ b
                shared = b @ across
                own[k] += shared
                own[:, k] += shared
                own[k, k] += float(b @ moved)
                s[k] += float(b @ x)
                across[:, k] += moved
            if t == len(self.seen) - 1:
                break
            p, weight = moves[t], phi * self.around[t]
            if functions.size:
                g, with_next, spread = _flow_noise(functions, t, p, weight)
                moved = c @ g
                shared = g.T @ across
                own = own + shared + shared.T + g.T @ moved + spread
                s = s + g.T @ x
                across = p.T @ (across + moved) + with_next
            x, c = _step(x, c, p, weight)
        return s, own

    def _states(self, places: np.ndarray) -> np.ndarray:
        """The states of places, (types, m)."""
        n = self.seen.shape[1]
        return places + n * np.arange(len(self.mean) // n)[:, None]

    def log_likelihood(self, moves: list[np.ndarray], phi: float) -> float:
        """Log marginal likelihood of what was seen."""
        return self._forward(moves, phi)[0]

    def smooth(self, moves: list[np.ndarray], phi: float, flows: bool = False) -> Smoothed:
        """Counts and flows given what was seen, and gradients of its log marginal likelihood."""
        value, updates = self._forward(moves, phi)
        n, steps = len(self.mean), len(moves)
        rx, rc = np.zeros(n), np.zeros((n, n))  # gradients by the mean and the covariance of the counts of a time
        counts, tables = np.empty((steps + 1, n)), [np.empty((0, 0))] * (steps if flows else 0)
        slopes, phi_slope = [np.empty((0, 0))] * steps, 0.0
        for t in range(steps, -1, -1):
            update = updates[t]
            if t < steps:
                x, c = update.after
                p, around = moves[t], self.around[t]
                weight, pr, pc = phi * around, p @ rx, p @ rc
                if flows:
                    tables[t] = p * ((x + c @ pr)[:, None] + weight[:, None] * (rx[None] - pr[:, None]))
                own = rc.diagonal()
                slopes[t] = 2.0 * (c @ pc - weight[:, None] * pc) + x[:, None] * rx + weight[:, None] * own
                phi_slope += float(own @ (p.T @ around)) - float(around @ (pc * p).sum(axis=1))
                rx, rc = pr, pc @ p.T
            rx, rc = _before(update, rx, rc, self.variance[t])
            counts[t] = update.mean + update.covariance @ rx
        return Smoothed(value, counts, tables, slopes, phi_slope, rx, rc)

    def information(self, moves: list[np.ndarray], phi: float, first: np.ndarray, slopes: Slopes) -> np.ndarray:
        """Expected information (m + 2, m + 2) of parameters of movement, of log(phi - 1), and of the first spread.

        ``sum_t J' S^-1 J + 1/2 sum_j (d log S_jj)^2``, with J the gradient of what the filter predicts at time t and S
        its covariance, whose changes are those that the last step makes. `first` (L, m) is the gradient of the first
        mean, `slopes` that of a step.
        """
        m = first.shape[1]
        out, by_mean = np.zeros((m + 2, m + 2)), first
        by_variance = np.zeros((len(first), m + 2))
        by_variance[:, m + 1] = 2.0 * np.diag(self.covariance)
        for t, update in enumerate(self._forward(moves, phi)[1]):
            if update.at.size:
                with_places = _summed(update.covariance, update.at)
                variance = _summed(with_places.T, update.at).diagonal() + self.variance[t, update.at[0]]
                predicted = _summed(by_mean, update.at)
                solved = update.precision @ predicted
                out[:m, :m] += predicted.T @ solved
                by_mean = by_mean - with_places.T @ solved
                relative = _summed(by_variance, update.at) / variance[:, None]
                out += 0.5 * relative.T @ relative
            if t < len(moves):
                p, around = moves[t], self.around[t]
                by_mean, by_variance = p.T @ by_mean, np.zeros((len(first), m + 2))
                mean_slope, variance_slope = slopes(t, update.after[0], phi * around)
                by_mean += mean_slope
                by_variance[:, :m] = variance_slope
                by_variance[:, m] = (phi - 1.0) * (p.T @ around - (p * p).T @ around)
        return out

    def _forward(self, moves: list[np.ndarray], phi: float) -> tuple[float, list[_Update]]:
        x, c, value, updates = self.mean, self.covariance, 0.0, []
        for t, seen in enumerate(self.seen):
            places = np.flatnonzero(~np.isnan(seen))
            update = _Update(self._states(places), x, c, np.empty((0, 0)), np.zeros(len(x)), (x, c))
            if len(places):
                value += _observe(update, seen[places], self.variance[t, places])
            x, c = update.after
            updates.append(update)
            if t < len(moves):
                x, c = _step(x, c, moves[t], phi * self.around[t])
        return value, updates


def _summed(values: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Sums over types of the rows of states `at` (types, m)."""
    return values[at].sum(axis=0) if len(at) > 1 else values[at[0]]


def _observe(update: _Update, seen: np.ndarray, variance: np.ndarray) -> float:
    """Condition on the observations of one time; their log-likelihood."""
    x, c, at = update.mean, update.covariance, update.at
    every = at.size == len(x) and len(at) == 1
    with_places = c if every else _summed(c, at)  # (m, L)
    spread = c.copy() if every else _summed(with_places.T, at)
    spread.flat[:: len(seen) + 1] += variance
    root = _root(spread)
    precision = dpotri(root, lower=1)[0]  # its upper half is 0, as that of the root
    precision = precision + precision.T
    precision.flat[:: len(seen) + 1] *= 0.5
    off = seen - _summed(x, at)
    slope = precision @ off
    update.precision, update.slope[at] = precision, slope
    if every:  # R - R S^-1 R = c - c S^-1 c, with R = S - c
        left = -variance[:, None] * precision * variance
        left.flat[:: len(seen) + 1] += variance
    else:
        left = c - with_places.T @ (precision @ with_places)
        left = 0.5 * (left + left.T)
    update.after = (x + with_places.T @ slope, left)
    return -0.5 * float(off @ slope) - float(np.log(root.diagonal()).sum())


def _step(x: np.ndarray, c: np.ndarray, p: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance one step later."""
    moved = p.T @ (c @ p - weight[:, None] * p)
    moved.flat[:: len(p) + 1] += p.T @ weight
    return p.T @ x, 0.5 * (moved + moved.T)


def _before(update: _Update, rx: np.ndarray, rc: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gradients by the mean and covariance before an observation, of those after it and of its own likelihood."""
    at, g, precision = update.at, update.slope, update.precision
    if not at.size:
        return rx, rc
    if at.size == len(rx) and len(at) == 1:  # what a change before leaves after is S^-1 R of it
        ax = precision @ (variance * rx)
        full = precision @ (variance[:, None] * rc * variance) @ precision
        full += (ax + 0.5 * g)[:, None] * g - 0.5 * precision
        return ax + g, 0.5 * (full + full.T)
    with_places = _summed(update.covariance, at)
    ax, full = rx.copy(), rc.copy()
    ax[at] -= precision @ (with_places @ rx)
    full[at] -= precision @ (with_places @ rc)
    full[:, at] -= ((full @ with_places.T) @ precision)[:, None]
    full += (ax + 0.5 * g)[:, None] * g
    full[at[:, :, None, None], at] -= 0.5 * precision[:, None]
    return ax + g, 0.5 * (full + full.T)


def _root(covariance: np.ndarray) -> np.ndarray:
    """The lower Cholesky root; where rounding left none, of the matrix with a little added."""
    root, failed = dpotrf(covariance, lower=1)
    if failed:
        more = 1e-9 * float(np.diag(covariance).max())
        root, failed = dpotrf(covariance + more * np.eye(len(covariance)), lower=1)
    if failed:
        raise DataError(
            "The covariance of the counts is not positive definite.",
            hint="state more noise; counts of hugely different size can cause this, too.",
        )
    return root


def _flow_noise(functions: Functions, step: int, p: np.ndarray, weight: np.ndarray) -> tuple[Any, Any, Any]:
    """Of the functions of one step: means per individual (L, m), covariances with the next counts, and their own."""
    size = functions.size
    mean, with_next, spread = np.zeros((len(p), size)), np.zeros((len(p), size)), np.zeros((size, size))
    asked = functions.of_flows.get(step, ())
    if asked:
        numbers = np.array([k for k, _ in asked])
        weights = np.stack([a.ravel() for _, a in asked])
        per_move = weights * p.ravel()
        own = per_move.reshape(len(asked), *p.shape).sum(axis=2)  # (m, L)
        joint = (per_move * np.repeat(weight, len(p))) @ weights.T - (own * weight) @ own.T
        np.add.at(spread, (numbers[:, None], numbers[None, :]), joint)
        np.add.at(mean.T, numbers, own)
        for k, moved, average in zip(numbers, per_move.reshape(len(asked), *p.shape), own):
            with_next[:, k] += weight @ (moved - average[:, None] * p)
    return mean, with_next, spread
