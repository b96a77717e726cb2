"""A Kalman filter for counts of a population whose individuals move as a Markov chain, and for sums of its flows.

Counts x_t (L,) of n individuals have ``E x_{t+1} = P' x_t`` and the covariance of multinomial moves, here times an
overdispersion phi. Linear functions of flows are carried along as sums, correlated with the counts, so that after the
last observation their mean and variance are those given all observations.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg import get_lapack_funcs

from sumwise.errors import DataError

dpotrf, dtrtrs = get_lapack_funcs(("potrf", "trtrs"), dtype=np.float64)  # without checks, which take longer here


@dataclass(frozen=True)
class Functions:
    """Linear functions of counts and flows: per time or step, numbers of functions and their weights."""

    size: int = 0
    of_counts: dict[int, list[tuple[int, np.ndarray]]] = field(default_factory=dict)  # time -> (number, (L,))
    of_flows: dict[int, list[tuple[int, np.ndarray]]] = field(default_factory=dict)  # step -> (number, (L, L))


@dataclass(frozen=True)
class Filter:
    """Observations of the states of a chain, and what is known of the states at first."""

    seen: np.ndarray  # (T, L), NaN where not observed
    variance: np.ndarray  # (T, L), of the noise
    around: np.ndarray  # (T, L), counts at which the variance of moves is taken
    mean: np.ndarray  # (L,), of the first states
    covariance: np.ndarray  # (L, L)

    def run(self, moves: list[np.ndarray], phi: float, functions: Functions) -> tuple[float, np.ndarray, np.ndarray]:
        """Log marginal likelihood of what was seen; means and variances of the functions given it.

        `moves` are probabilities (L, L) of every step.
        """
        x, c = self.mean, self.covariance
        s, own = np.zeros(functions.size), np.zeros(functions.size)
        across = np.zeros((len(x), functions.size))  # covariances of counts and functions
        log_likelihood = 0.0
        for t in range(len(self.seen)):
            at = np.flatnonzero(~np.isnan(self.seen[t]))
            if len(at):
                root = _root(c[np.ix_(at, at)] + np.diag(self.variance[t, at]))
                both = np.column_stack([self.seen[t, at] - x[at], c[at], across[at]])
                found = dtrtrs(root, both, lower=1)[0]
                off, u, w = found[:, 0], found[:, 1 : len(x) + 1], found[:, len(x) + 1 :]
                log_likelihood -= 0.5 * float(off @ off) + float(np.log(np.diag(root)).sum())
                x, c = x + u.T @ off, c - u.T @ u
                s, own, across = s + w.T @ off, own - (w * w).sum(axis=0), across - u.T @ w
            for k, b in functions.of_counts.get(t, ()):
                moved = c @ b
                own[k] += 2.0 * float(b @ across[:, k]) + float(b @ moved)
                s[k] += float(b @ x)
                across[:, k] += moved
            if t == len(self.seen) - 1:
                break
            p, weight = moves[t], self.around[t]
            if functions.size:
                g, with_next, spread = _flow_noise(functions, t, p, phi * weight)
                moved = c @ g
                own = own + 2.0 * (g * across).sum(axis=0) + (g * moved).sum(axis=0) + spread
                s = s + g.T @ x
                across = p.T @ (across + moved) + with_next
            x = p.T @ x
            c = p.T @ (c @ p - (phi * weight)[:, None] * p) + np.diag(phi * (p.T @ weight))
            c = 0.5 * (c + c.T)
        return log_likelihood, s, np.maximum(own, 0.0)


def _root(covariance: np.ndarray) -> np.ndarray:
    """The lower Cholesky root; where rounding left none, of the matrix with a little added."""
    root, failed = dpotrf(covariance, lower=1)
    if failed:
        more = 1e-9 * float(np.diag(covariance).max())
        root, failed = dpotrf(covariance + more * np.eye(len(covariance)), lower=1)
    if failed:
        raise DataError(
            "Intervals failed: the covariance of the counts is not positive definite.",
            hint="state more noise; counts of hugely different size can cause this, too.",
        )
    return root


def _flow_noise(functions: Functions, step: int, p: np.ndarray, weight: np.ndarray) -> tuple[Any, Any, Any]:
    """Of the functions of one step: means per individual (L, m), covariances with the next counts, and variances."""
    mean = np.zeros((len(p), functions.size))
    with_next, spread = np.zeros_like(mean), np.zeros(functions.size)
    for k, a in functions.of_flows.get(step, ()):
        moved = a * p
        mean[:, k] = moved.sum(axis=1)
        with_next[:, k] = weight @ (moved - mean[:, k, None] * p)
        spread[k] = float(weight @ ((a * moved).sum(axis=1) - mean[:, k] ** 2))
    return mean, with_next, spread
