"""How wrong estimates may be: chance, and groups that behave differently from place to place; a distribution of tables.

The model is in ``kernels/contextual_effects.py``. `TAU`, `TAU_SPREAD`, `CHANCE` and `EDGE` were chosen on contests
whose cells were counted (386 of New Zealand and Scotland, also merged to small tables);
``benchmarks/ecological_intervals.py`` chooses the first on all elections but the one that it scores. The package has
two more numbers that were fitted to contests: `DETERMINANT` of ``em.py`` and `CORRECTED_ERROR` of ``pooling.py``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import chdtri

from sumwise.ecological.kernels import contextual_effects as kernel
from sumwise.ecological.kernels.polytope import moved_inside, scaled_inside

TAU = 0.1  # median over contests of the slopes' deviation: covers 97.2% of their cells; .07 covers 93.6%, .12 98.2%
TAU_SPREAD = 0.7  # standard deviation of its logarithm: at .4, simulated slopes of .5 are covered in 82%, not in 88%
CHANCE = 0.5  # EM's standard error over that of a regression: at .7 the mean interval score is .316, not .310
PRIOR = 3**-0.5  # deviation of a share of which nothing is known, uniform on [0, 1], over sqrt(p (1 - p)) at one half
EDGE = 0.01  # shares nearer to 0 or 1 err as much as there: estimates of .003 have a true mean of .007 in contests
TAUS = TAU * np.exp(TAU_SPREAD * np.linspace(-3.0, 5.0, 17))  # a grid of slopes: from no context to shares that swap
STEPS = 5  # that move the draws' mean to the estimate, each of as many rakings; what is left is below chance error


class ContextualError(NamedTuple):
    """The error of shares (R, C): normal given tau, whose weights come from its prior and the units' curvature."""

    weights: np.ndarray  # (K,) of `TAUS`
    covariances: np.ndarray  # (K, R, R) in units of `scale`
    scale: np.ndarray  # (R, C)
    shift: np.ndarray  # (R, C) what a standard normal variable that all cells share adds

    @property
    def standard_errors(self) -> np.ndarray:
        """Standard deviations (R, C)."""
        variance = np.einsum("k,krr->r", self.weights, self.covariances)
        return np.sqrt(np.maximum(variance, 0.0)[:, None] * self.scale**2 + self.shift**2)

    def rejects(self, moved: np.ndarray, level: float = 0.05) -> bool:
        """Whether an estimate `moved` (R, C) from one with this error lies outside its region of 1 - `level`."""
        n_rows, n_cols = moved.shape
        covariance = np.einsum("k,krs->rs", self.weights, self.covariances)
        z = moved / self.scale
        inverse = np.linalg.pinv(covariance, rcond=1e-9, hermitian=True)  # totals are known: one direction is free
        distance = np.einsum("rc,rs,sc->", z, inverse, z) * (n_cols - 1) / n_cols
        return bool(distance > chdtri((n_rows - 1) * (n_cols - 1), level))

    @property
    def slope_deviation(self) -> float:
        """Expected tau: how much slopes vary, in units of sqrt(p (1 - p)) per unit of composition."""
        return float(self.weights @ TAUS) if len(self.weights) == len(TAUS) else 0.0


def contextual_error(
    rows: np.ndarray,
    cols: np.ndarray,
    shares: np.ndarray,
    rho: float,
    *,
    covariates: np.ndarray | None = None,
    row_variance: np.ndarray | None = None,
    shift: np.ndarray | None = None,
    context: bool = True,
) -> ContextualError:
    """The error of `shares` (R, C), estimated from units with rows (n, R), cols (n, C) and overdispersion rho.

    `row_variance` (n,): of outcomes by errors of the groups' counts, in units of p (1 - p); `shift` (R, C): a standard
    deviation that all cells share. Without `context`, chance alone.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.contextual_error import contextual_error
    >>> x = np.linspace(0.1, 0.9, 50)
    >>> rows = 500 * np.column_stack([x, 1 - x])
    >>> shares = np.array([[0.7, 0.3], [0.2, 0.8]])
    >>> error = contextual_error(rows, rows @ shares, shares, rho=0.002)
    >>> error.standard_errors.round(2)
    array([[0.05, 0.05],
           [0.05, 0.05]])
    """
    used = (rows.sum(axis=1) > 0) & (cols.sum(axis=1) > 0)
    rows, cols = rows[used], cols[used]
    variance = 1 / rows.sum(axis=1) + max(rho, 1e-4)
    if row_variance is not None:
        variance = variance + row_variance[used]
    m = kernel.moments(rows, cols, variance, None if covariates is None else covariates[used])
    outcome = np.clip(cols.sum(axis=0) / cols.sum(), EDGE, 1 - EDGE)
    p = np.clip(shares, EDGE, 1 - EDGE)
    scale = (p * (1 - p) * outcome * (1 - outcome)) ** 0.25  # between the deviation of the group's and of the total's
    chance = kernel.sampling_covariance(m, PRIOR, CHANCE)
    shift = np.zeros(shares.shape) if shift is None else shift
    if not context:
        return ContextualError(np.ones(1), chance[None], scale, shift)
    log_weights = -0.5 * (np.log(TAUS / TAU) / TAU_SPREAD) ** 2
    # Curvature shows that slopes differ; its absence doesn't show that they don't, as shared slopes bend nothing.
    log_weights += np.maximum.accumulate(kernel.curvature_evidence(m, outcome * (1 - outcome), TAUS))
    weights = np.exp(log_weights - log_weights.max())
    covariances = chance + TAUS[:, None, None] ** 2 * kernel.slope_covariance(m)
    return ContextualError(weights / weights.sum(), covariances, scale, shift)


def draw_tables(
    shares: np.ndarray,
    sizes: np.ndarray,
    error: ContextualError,
    lower: np.ndarray,
    upper: np.ndarray,
    rng: Any,
    n_draws: int = 2000,
) -> np.ndarray:
    """Draws (n_draws, R, C) of shares with mean `shares`, inside the bounds, whose totals are those of both sides.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.contextual_error import contextual_error, draw_tables
    >>> rows = np.array([[400.0, 100.0], [100.0, 400.0], [350.0, 150.0], [200.0, 300.0]])
    >>> shares = np.array([[0.9, 0.1], [0.2, 0.8]])
    >>> error = contextual_error(rows, rows @ shares, shares, rho=0.002)
    >>> drawn = draw_tables(shares, rows.sum(axis=0), error, 0 * shares, 1 + 0 * shares, np.random.default_rng(0))
    >>> drawn.mean(axis=0).round(3), np.corrcoef(drawn[:, :, 0].T).round(2)[0, 1]
    (array([[0.9, 0.1],
           [0.2, 0.8]]), np.float64(-1.0))
    """
    return centred_tables(shares + _normal_errors(error, n_draws, rng), shares, sizes, lower, upper)


def centred_tables(
    free: np.ndarray, shares: np.ndarray, sizes: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> np.ndarray:
    """Draws `free` (n, R, C) moved until their mean is `shares` and each has the bounds and both sides' totals.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.contextual_error import centred_tables
    >>> shares = np.array([[0.9, 0.1], [0.2, 0.8]])
    >>> free = 0.5 + 0.1 * np.random.default_rng(0).standard_normal((400, 2, 2))
    >>> drawn = centred_tables(free, shares, np.array([100.0, 300.0]), np.zeros((2, 2)), np.ones((2, 2)))
    >>> drawn.mean(axis=0).round(3).tolist(), bool(np.ptp([100, 300] @ drawn, axis=0).max() < 1e-6)
    ([[0.9, 0.1], [0.2, 0.8]], True)
    """
    margins, moved = (sizes, sizes @ shares, lower, upper), np.zeros_like(shares)
    for _ in range(STEPS):
        drawn = scaled_inside(free + moved, *margins, STEPS)
        ahead = free + moved
        loose = np.maximum(((ahead > lower) & (ahead < upper)).mean(axis=0), 0.2)  # draws at a bound stay there
        moved += (shares - drawn.mean(axis=0)) / loose
    drawn = moved_inside(scaled_inside(free + moved, *margins, STEPS), *margins)
    return moved_inside(drawn + shares - drawn.mean(axis=0), *margins)


def _normal_errors(error: ContextualError, n_draws: int, rng: np.random.Generator) -> np.ndarray:
    """Errors (n, R, C): of every tau as many draws as its weight asks for, in pairs mirrored at 0."""
    n_rows, n_cols = error.scale.shape
    half = -(-n_draws // 2)
    ends = np.rint(half * np.cumsum(error.weights)).astype(int)
    standard = rng.standard_normal((half, n_rows, n_cols))
    start = 0
    for end, covariance in zip(ends, error.covariances):
        standard[start:end] = np.einsum("rs,nsc->nrc", _root(covariance), standard[start:end])
        start = end
    for r in range(n_rows):
        standard[:, r] = standard[:, r] @ _root(zero_sum_correlation(error.scale[r] ** 2)) * error.scale[r]
    standard += rng.standard_normal((half, 1, 1)) * error.shift
    return np.concatenate([standard, -standard])[:n_draws]


def zero_sum_correlation(variances: np.ndarray) -> np.ndarray:
    """Correlations (K, K) of errors with these variances (K,) that sum to zero.

    They are those of independent errors given their sum, ``diag(q) - q q'`` with ``q (1 - q)`` proportional to the
    variances; no part q is above a half, as where one variance exceeds what the others can make up for.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.contextual_error import zero_sum_correlation
    >>> zero_sum_correlation(np.ones(3)).round(2)
    array([[ 1. , -0.5, -0.5],
           [-0.5,  1. , -0.5],
           [-0.5, -0.5,  1. ]])
    """
    if len(variances) == 1:
        return np.ones((1, 1))
    variances = np.maximum(variances, 1e-10 * variances.max())  # a group without members has errors, too
    part = variances / variances.sum()
    for _ in range(50):
        part = variances / (1 - part)
        part = np.minimum(part / part.sum(), 0.5)
    covariance = np.diag(part) - np.outer(part, part) / part.sum()
    deviation = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    return covariance / np.outer(deviation, deviation)


def _root(covariance: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(covariance)
    values = np.where(values > 1e-12 * values.max(initial=0.0), values, 0.0)  # the root of rounding would be large
    return (vectors * np.sqrt(values)) @ vectors.T
