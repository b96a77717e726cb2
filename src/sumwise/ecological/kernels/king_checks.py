"""Checks of King's three assumptions: truncated normality, means free of X, units free of their neighbours."""

from __future__ import annotations

import numpy as np
from scipy import stats

from sumwise.ecological.kernels import truncated_normal as tn
from sumwise.ecological.kernels.least_squares import fitted_curvature


def normality(
    x: np.ndarray, t: np.ndarray, phi: np.ndarray, n_draws: int, *, rng: np.random.Generator
) -> tuple[float, float]:
    """Kolmogorov-Smirnov distance and p-value of the units' ranks among draws from the fitted truncated normal.

    Each unit's t is compared with x b + (1 - x) w for draws (b, w) inside the unit square; under the model the ranks
    are uniform.
    """
    mean_b, mean_w, sb, sw, rho = tn.natural(phi)
    uniform = rng.random((2, n_draws))
    b = _first_margin(mean_b, mean_w, sb, sw, rho, uniform[0])
    given = mean_w + rho * sw / sb * (b - mean_b)
    w = tn.draw_between(given, sw * np.sqrt(1 - rho**2), 0.0, 1.0, uniform[1])
    predicted = x[:, None] * b + (1 - x[:, None]) * w
    rank = (np.sum(predicted < t[:, None], axis=1) + 0.5 * np.sum(predicted == t[:, None], axis=1)) / n_draws
    test = stats.kstest(rank, "uniform")
    return float(test.statistic), float(test.pvalue)


def _first_margin(mean_b: float, mean_w: float, sb: float, sw: float, rho: float, uniform: np.ndarray) -> np.ndarray:
    """Quantiles of b under the bivariate normal truncated to the square, on a fine grid."""
    grid = (np.arange(2000) + 0.5) / 2000
    given = mean_w + rho * sw / sb * (grid - mean_b)
    sd = sw * np.sqrt(1 - rho**2)
    log = -0.5 * ((grid - mean_b) / sb) ** 2 + tn.log_interval((0 - given) / sd, (1 - given) / sd)
    mass = np.cumsum(np.exp(log - log.max()))
    return np.interp(uniform * mass[-1], mass, grid)


def curvature_in_x(x: np.ndarray, t: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """Coefficient and p-value of x^2 in a weighted regression of t on 1, x, x^2.

    Where both groups' means are free of x, t is linear in x (Goodman's identity), so that curvature speaks against it.
    """
    coefficient, error, freedom = fitted_curvature(x, t, weight)
    if error <= 0:
        return coefficient, 1.0
    return coefficient, float(2 * stats.t.sf(abs(coefficient / error), freedom))


def moran(
    residual: np.ndarray,
    coordinates: np.ndarray,
    n_permutations: int,
    *,
    rng: np.random.Generator,
    n_neighbours: int = 6,
) -> tuple[float, float]:
    """Moran's I of the residuals over each unit's nearest neighbours, and its permutation p-value (one-sided).

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.kernels.king_checks import moran
    >>> place = np.arange(60.0)[:, None]
    >>> i, p = moran(np.sin(place[:, 0] / 10), place, 99, rng=np.random.default_rng(0))
    >>> i > 0.8, p
    (True, 0.01)
    """
    from scipy.spatial import KDTree

    k = min(n_neighbours, len(residual) - 1)
    near = np.asarray(KDTree(coordinates).query(coordinates, k=k + 1)[1])[:, 1:]
    z = residual - residual.mean()

    def index(values: np.ndarray) -> float:
        return float(np.sum(values[:, None] * values[near]) / k / np.sum(values**2))

    seen = index(z)
    shuffled = [index(rng.permutation(z)) for _ in range(n_permutations)]
    return seen, (1 + sum(value >= seen for value in shuffled)) / (n_permutations + 1)
