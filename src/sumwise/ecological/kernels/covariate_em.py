"""Row shares that depend on covariates of the unit, by the EM of `entropic_em` with a logit as its M step.

The shares of unit i with covariates z_i (k,) are p_ir = softmax(log p_r + z_i' s), with slopes s (k, C) that all groups
share, and

    F(p, s) = sum_i [ w_i D_i(p_i) + g_i/2 log det V_i ] - alpha sum_rc log p_rc + ridge/2 sum_kc s_kc^2

in the notation there. Raking a unit to its column totals undoes whatever is common to all groups: the E step doesn't
depend on the slopes. The M step does. Without covariates, groups that live where an outcome is popular with everybody
are taken to prefer it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sumwise.ecological.kernels import LEAST
from sumwise.ecological.kernels.entropic_em import (
    RakingProblem,
    SharesSolution,
    accelerated,
    normalised,
    subtract_pull,
    unit_scales,
)
from sumwise.ecological.kernels.raking import tilt
from sumwise.inference.kernels.compiled import njit


@njit(cache=True)
def _tables(
    rows: np.ndarray,
    cols: np.ndarray,
    weight: np.ndarray,
    log_shares: np.ndarray,
    tilts: np.ndarray,
    options: np.ndarray,
    b: np.ndarray,
    pull: np.ndarray,
) -> float:
    """Rake every unit: row shares into b (n, R, C), the determinants' pulls into pull (n, R, C); log determinants."""
    gamma, newton, tol = options[0], int(options[1]), options[2]
    n_cols = log_shares.shape[1]
    work = np.zeros((2 * n_cols + 3, n_cols))
    target = np.empty(n_cols)
    value = 0.0
    for i in range(rows.shape[0]):
        total = rows[i].sum()
        if total <= 0 or weight[i] <= 0:
            continue
        for c in range(n_cols):
            target[c] = cols[i, c] * (1 - LEAST) + LEAST * total / n_cols
        tilt(log_shares, rows[i], target, tilts[i], b[i], newton, tol, work)
        if gamma > 0:
            lower = work[n_cols : 2 * n_cols]
            for c in range(n_cols):
                value += weight[i] * gamma * np.log(lower[c, c])
            subtract_pull(rows[i], b[i], lower, weight[i] * gamma, pull[i])
    return value


def unit_log_shares(log_shares: np.ndarray, slopes: np.ndarray, covariates: np.ndarray) -> np.ndarray:
    """Log shares (n, R, C) of units with covariates (n, k): log_shares (R, C) moved by slopes (k, C), normalised.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.kernels.covariate_em import unit_log_shares
    >>> np.exp(unit_log_shares(np.log([[0.5, 0.5]]), np.array([[1.0, 0.0]]), np.array([[0.0], [1.0]]))).round(3)[:, 0]
    array([[0.5  , 0.5  ],
           [0.731, 0.269]])
    """
    moved = log_shares[None] + (covariates @ slopes)[:, None]
    moved = moved - moved.max(axis=2, keepdims=True)
    return moved - np.log(np.exp(moved).sum(axis=2, keepdims=True))


class Logit(NamedTuple):
    """Counts (n, R, C) with row sums `sizes` (n, R) and covariates (n, k), and the two penalties."""

    counts: np.ndarray
    sizes: np.ndarray
    covariates: np.ndarray
    alpha: float
    ridge: float

    def likelihood(self, log_shares: np.ndarray, slopes: np.ndarray) -> float:
        """The penalised log-likelihood of the counts."""
        fitted = unit_log_shares(log_shares, slopes, self.covariates)
        penalty = 0.5 * self.ridge * np.sum(slopes**2)
        return float(np.sum(self.counts * fitted) + self.alpha * log_shares.sum() - penalty)

    def step(self, log_shares: np.ndarray, slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """One Newton step: new log shares and slopes; halved until the likelihood of the counts doesn't fall."""
        n_rows, here = len(log_shares), self.likelihood(log_shares, slopes)
        gradient, information = self._derivatives(log_shares, slopes)
        step = np.linalg.lstsq(information, gradient, rcond=1e-10)[0].reshape(-1, log_shares.shape[1])
        length = min(1.0, 4.0 / max(float(np.abs(step).max()), 1e-300))
        while length > 1e-4:
            p = normalised(log_shares + length * step[:n_rows])
            s = slopes + length * step[n_rows:]
            if self.likelihood(p, s) >= here - 1e-9 * abs(here):
                return p, s - s.mean(axis=1, keepdims=True)
            length /= 2
        return log_shares, slopes

    def _derivatives(self, log_shares: np.ndarray, slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradient and information of the log shares, then of the slopes."""
        n_rows, n_cols = log_shares.shape
        sizes, covariates, alpha = self.sizes, self.covariates, self.alpha
        k = covariates.shape[1]
        p = np.exp(unit_log_shares(log_shares, slopes, covariates))
        base = np.exp(log_shares)
        residual = self.counts - sizes[:, :, None] * p
        of_shares = residual.sum(axis=0) + alpha * (1 - n_cols * base)
        gradient = np.vstack([of_shares, covariates.T @ residual.sum(axis=1) - self.ridge * slopes])
        design = [sizes * (np.arange(n_rows) == r) for r in range(n_rows)]
        design += [sizes * covariates[:, j : j + 1] for j in range(k)]
        information = np.zeros((n_rows + k, n_cols, n_rows + k, n_cols))
        for a in range(n_rows + k):
            for b in range(a, n_rows + k):
                if a < n_rows and b < n_rows and a != b:
                    continue
                other = (np.arange(n_rows) == b)[None] if b < n_rows else covariates[:, b - n_rows, None]
                weight = design[a] * other
                block = np.diag(np.einsum("ir,irc->c", weight, p))
                block -= np.einsum("irc,ire->ce", weight[:, :, None] * p, p, optimize=True)
                information[a, :, b], information[b, :, a] = block, block.T
        for r in range(n_rows):
            information[r, :, r] += alpha * n_cols * (np.diag(base[r]) - np.outer(base[r], base[r]))
        for j in range(n_rows, n_rows + k):
            information[j, :, j] += self.ridge * np.eye(n_cols)
        size = (n_rows + k) * n_cols
        return gradient.ravel(), information.reshape(size, size) + 1e-9 * np.eye(size) * max(float(sizes.sum()), 1.0)


def covariate_shares(
    problem: RakingProblem,
    start: np.ndarray,
    covariates: np.ndarray,
    *,
    ridge: float = 1e-3,
    max_iter: int = 200,
    tol: float = 1e-4,
    slopes: np.ndarray | None = None,
) -> SharesSolution:
    """Minimise F over the shares (R, C) at covariates 0 and the slopes (k, C), from shares `start` and `slopes`.

    covariates (n, k) are best centred. Every second EM step is followed by squared
    extrapolation (Varadhan and Roland 2008), taken back where it makes F worse.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.kernels.covariate_em import covariate_shares, unit_log_shares
    >>> from sumwise.ecological.kernels.entropic_em import RakingProblem
    >>> rng = np.random.default_rng(0)
    >>> z = rng.standard_normal((60, 1))
    >>> rows = rng.integers(50, 400, (60, 2)).astype(float)
    >>> p = np.exp(unit_log_shares(np.log([[0.8, 0.2], [0.3, 0.7]]), np.array([[0.5, -0.5]]), z))
    >>> problem = RakingProblem(rows, np.einsum("ir,irc->ic", rows, p), np.ones(60), gamma=0.0)
    >>> done = covariate_shares(problem, np.full((2, 2), 0.5), z, tol=1e-7, max_iter=2000)
    >>> np.exp(done.log_shares).round(2), done.slopes.round(2)
    (array([[0.8, 0.2], [0.3, 0.7]]), array([[ 0.5, -0.5]]))
    """
    rows, cols, weight, alpha = problem.rows, problem.cols, problem.weight, problem.alpha
    n, n_cols = cols.shape
    n_rows, k = start.shape[0], covariates.shape[1]
    live = (rows.sum(axis=1) > 0) & (weight > 0)
    scale = np.where(live, unit_scales(rows.sum(axis=1), weight, problem.rho), 0.0)
    sizes = scale[:, None] * rows
    tilts, b = np.zeros((n, n_cols)), np.zeros((n, n_rows, n_cols))

    def em(point: np.ndarray, newton: float = 2.0) -> tuple[np.ndarray, float, np.ndarray]:
        """The next point, F at this one, and the units' divergences."""
        p, s = point[:n_rows], point[n_rows:]
        pull = np.zeros_like(b)
        value = _tables(rows, cols, weight, p, tilts, np.array([problem.gamma, newton, 1e-7]), b, pull)
        own = rows[:, :, None] * b
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.where(own > 0, np.log(np.maximum(b, 1e-300)) - unit_log_shares(p, s, covariates), 0.0)
        divergence = np.sum(own * logs, axis=(1, 2)) * live
        value += float(scale @ divergence) - alpha * float(p.sum()) + 0.5 * ridge * float(np.sum(s**2))
        new = Logit(sizes[:, :, None] * b + pull, sizes, covariates, alpha, ridge).step(p, s)
        return np.vstack(new), value, divergence

    first_shares = normalised(np.log(np.maximum(start, 1e-7)))
    here = np.vstack([first_shares, np.zeros((k, n_cols)) if slopes is None else slopes])
    here, course = accelerated(em, here, n_rows, n, max_iter, tol, np.zeros(0))
    _, _, divergence = em(here, 50.0)
    return SharesSolution(here[:n_rows], divergence, *course, slopes=here[n_rows:])
