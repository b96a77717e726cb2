"""Draws of functions of counts and flows, from their means and covariances at every point of a posterior."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr
from scipy.stats import binom, norm, poisson

N_DRAWS = 2000


def draws_of(moments: list[tuple[np.ndarray, np.ndarray]], weights: np.ndarray, jumps: np.ndarray) -> np.ndarray:
    """Draws (n, m) of m functions that are normal at every point, mixed by the points' weights.

    `jumps` (m,): how much of the function one individual is; such functions are not negative. NaN for those with
    negative weights, which stay normal.
    """
    ends = np.rint(N_DRAWS * np.cumsum(weights)).astype(int)
    sizes, rng = np.diff(ends, prepend=0), np.random.default_rng(0)
    parts = []
    for (mean, covariance), n in zip(moments, sizes):
        half = rng.standard_normal(((n + 1) // 2, len(mean)))
        standard = np.concatenate([half, -half])[:n]  # mirrored, so that means are exact
        sd = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        values, vectors = np.linalg.eigh(covariance / np.maximum(np.outer(sd, sd), 1e-300))
        correlated = standard @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
        parts.append(_counted(mean, sd, correlated, jumps))
    return np.concatenate(parts)


def _counted(mean: np.ndarray, sd: np.ndarray, standard: np.ndarray, jumps: np.ndarray) -> np.ndarray:
    """Normal draws as numbers of individuals, by their quantiles."""
    out = mean + sd * standard
    for k in np.flatnonzero(np.isfinite(jumps) & (sd > 0)):
        share = np.clip(ndtr(standard[:, k]), 1e-12, 1 - 1e-12)
        m, s = mean[k] / jumps[k], sd[k] / jumps[k]
        out[:, k] = jumps[k] * _individuals(m, s, share)
    return out


def _individuals(mean: float, sd: float, share: np.ndarray) -> np.ndarray:
    """Quantiles of a number of individuals: binomial or Poisson, or normal and at least 0 where noise adds to it."""
    if mean > 0 and sd**2 <= mean:
        trials = int(np.ceil(mean / max(1.0 - sd**2 / mean, 1e-9)))
        return binom.ppf(share, trials, min(mean / trials, 1.0)) if sd**2 < 0.99 * mean else poisson.ppf(share, mean)
    return np.maximum(norm.ppf(share, mean, sd), 0.0)
