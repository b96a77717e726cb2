"""King's likelihood, its maximum, importance sampling of its parameters and simulation of units."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sumwise.ecological.kernels import truncated_normal as tn
from sumwise.inference.kernels.minimise import minimise

DISTANCE = 0.25  # of the end of a search from the mode, in standard errors, that counts as converged
FARTHEST = 7.0  # standard deviations from the normal's centre to the unit square; beyond it a density is rounding
STEEP = 1e-2  # slope at which a failed line search isn't at the mode
STARTS = ((0.0, 0.0, -1.2, -1.2, 0.0), (1.0, 1.0, -1.2, -1.2, 0.5), (-1.0, -1.0, -1.2, -1.2, -0.5))


class KingData(NamedTuple):
    """Units: share x of the first group, share t of the first outcome, weights, centred covariates of each mean."""

    x: np.ndarray
    t: np.ndarray
    weight: np.ndarray
    zb: np.ndarray
    zw: np.ndarray


class KingPriors(NamedTuple):
    """Scales of the priors; 0 leaves one out. ebeta penalises means at distance d outside [0, 1] by d^2 / (2 ebeta)."""

    erho: float = 0.5
    esigma: float = 0.5
    ebeta: float = 0.5
    ealpha: float = 1.0


def _means(phi: np.ndarray, data: KingData) -> tuple[np.ndarray | float, np.ndarray | float, float, float, float]:
    """Means of both groups per unit (or once, without covariates), standard deviations and correlation."""
    mean_b, mean_w, sb, sw, rho = tn.natural(phi)
    sb, sw = max(sb, 1e-3), max(sw, 1e-3)  # a narrower normal is flat for the likelihood and steep for a search
    kb, kw = data.zb.shape[1], data.zw.shape[1]
    if kb:
        mean_b = mean_b + data.zb @ phi[5 : 5 + kb]
    if kw:
        mean_w = mean_w + data.zw @ phi[5 + kb : 5 + kb + kw]
    return mean_b, mean_w, sb, sw, rho


def log_posterior(phi: np.ndarray, data: KingData, priors: KingPriors) -> float:
    """Log-likelihood of the units (see `truncated_normal.units_log_likelihood`) plus the log priors.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.kernels.king import KingData, KingPriors, log_posterior
    >>> none = np.zeros((2, 0))
    >>> data = KingData(np.array([0.3, 0.6]), np.array([0.5, 0.4]), np.ones(2), none, none)
    >>> round(float(log_posterior(np.zeros(5), data, KingPriors())), 3)
    -1.251
    """
    mean_b, mean_w, sb, sw, rho = _means(phi, data)
    means = np.atleast_1d(mean_b), np.atleast_1d(mean_w)
    if max(sb, sw) > 50 or abs(rho) > 1 - 1e-8 or squared_distance(*means, sb, sw, rho) > FARTHEST**2:
        return -1e10
    total = tn.units_log_likelihood(data.x, data.t, data.weight, *means, sb, sw, rho, tn.NODES, tn.WEIGHTS)
    return total + _log_prior(phi, mean_b, mean_w, sb, sw, priors) if np.isfinite(total) else -1e10


def squared_distance(mean_b: np.ndarray, mean_w: np.ndarray, sb: float, sw: float, rho: float) -> float:
    """The largest squared Mahalanobis distance of a unit's centre from the unit square: that of the nearest edge point.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.kernels.king import squared_distance
    >>> squared_distance(np.array([0.5]), np.array([0.5]), 0.1, 0.1, 0.9)
    0.0
    >>> round(squared_distance(np.array([-0.2]), np.array([0.5]), 0.1, 0.1, 0.0), 6)
    4.0
    """
    nearest = np.full(np.broadcast(mean_b, mean_w).shape, np.inf)
    for one, two, s, r in ((mean_b, mean_w, sb, sw), (mean_w, mean_b, sw, sb)):
        for edge in (0.0, 1.0):
            u = (edge - one) / s
            v = (np.clip(two + rho * r * u, 0.0, 1.0) - two) / r
            nearest = np.minimum(nearest, (u**2 - 2 * rho * u * v + v**2) / (1 - rho**2))
    inside = (mean_b >= 0) & (mean_b <= 1) & (mean_w >= 0) & (mean_w <= 1)
    return float(np.where(inside, 0.0, nearest).max())


def _log_prior(
    phi: np.ndarray, mean_b: np.ndarray | float, mean_w: np.ndarray | float, sb: float, sw: float, priors: KingPriors
) -> float:
    value = 0.0
    if priors.erho > 0:
        value -= phi[4] ** 2 / (2 * priors.erho**2)
    if priors.esigma > 0:
        value -= (sb**2 + sw**2) / (2 * priors.esigma**2)
    if priors.ebeta > 0:
        for mean in (float(np.mean(mean_b)), float(np.mean(mean_w))):
            outside = max(-mean, mean - 1, 0.0)
            value -= outside**2 / (2 * priors.ebeta)
    if priors.ealpha > 0:
        value -= float(np.sum(phi[5:] ** 2)) / (2 * priors.ealpha**2)
    return value


def maximise(
    data: KingData, priors: KingPriors, max_iter: int = 500, starts: int = 2
) -> tuple[np.ndarray, np.ndarray, Any, list[float]]:
    """The mode of the posterior and the covariance there; returns (phi, covariance, SciPy's record, course).

    BFGS from up to three starts; where its line search fails on the way, Nelder and Mead's search goes on and BFGS ends
    it. The best end wins.
    """
    size = 5 + data.zb.shape[1] + data.zw.shape[1]
    course: list[float] = []

    def loss(phi: np.ndarray) -> float:
        return -log_posterior(phi, data, priors)

    best: Any = None
    for start in STARTS[:starts]:
        first = np.zeros(size)
        first[:5] = start
        done = minimise(loss, first, method="BFGS", options={"maxiter": max_iter, "gtol": 1e-5})
        if not done.success and np.abs(done.jac).max() > STEEP and done.nit < max_iter:
            steps = {"maxiter": max_iter * size, "xatol": 1e-4, "fatol": 1e-6, "adaptive": True}
            near = minimise(loss, done.x, method="Nelder-Mead", options=steps)
            done = minimise(loss, near.x, method="BFGS", options={"maxiter": max_iter, "gtol": 1e-5})
        course.append(-float(done.fun))
        if best is None or done.fun < best.fun - 1e-8:
            best = done
    hessian = _hessian(loss, best.x)
    values, vectors = np.linalg.eigh(hessian)
    covariance = (vectors / np.maximum(values, 1e-3)) @ vectors.T
    return best.x, covariance, best, course


def distance_to_mode(slope: np.ndarray, covariance: np.ndarray) -> float:
    """How far the end of a search is from the mode, in standard errors: Newton's decrement.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.kernels.king import distance_to_mode
    >>> distance_to_mode(np.array([0.3, 0.0]), np.diag([0.01, 1.0])) < 0.1
    True
    """
    return float(np.sqrt(max(slope @ covariance @ slope, 0.0)))


def _hessian(loss: Callable[..., Any], point: np.ndarray) -> np.ndarray:
    size = len(point)
    step = 1e-3 * np.maximum(np.abs(point), 0.1)
    eye = np.diag(step)
    matrix = np.empty((size, size))
    for i in range(size):
        for j in range(i + 1):
            corners = [loss(point + a * eye[i] + b * eye[j]) for a, b in ((1, 1), (1, -1), (-1, 1), (-1, -1))]
            matrix[i, j] = matrix[j, i] = (corners[0] - corners[1] - corners[2] + corners[3]) / (4 * step[i] * step[j])
    return matrix


def resample(
    phi: np.ndarray,
    covariance: np.ndarray,
    data: KingData,
    priors: KingPriors,
    n_draws: int,
    *,
    rng: np.random.Generator,
    factor: int = 3,
) -> tuple[np.ndarray, float]:
    """Draws of phi by sampling-importance-resampling from N(phi, covariance / 4), as King's programs propose.

    Half of the standard errors keep to the centre of the posterior. Returns (n_draws, k) and
    the effective number of draws behind the weights.
    """
    n_proposals = 2 * -(-factor * n_draws // 2)
    root = 0.5 * np.linalg.cholesky(covariance + 1e-12 * np.eye(len(phi)))
    half = rng.standard_normal((n_proposals // 2, len(phi)))
    z = np.concatenate([half, -half])
    proposals = phi + z @ root.T
    log_weight = np.array([log_posterior(p, data, priors) for p in proposals]) + 0.5 * np.sum(z**2, axis=1)
    weight = np.exp(log_weight - log_weight.max())
    weight = np.minimum(weight, weight.mean() * np.sqrt(n_proposals))  # truncated importance sampling (Ionides 2008)
    weight /= weight.sum()
    picked = rng.choice(n_proposals, size=n_draws, p=weight)
    return proposals[picked], float(1 / np.sum(weight**2))


def simulate(draws: np.ndarray, data: KingData, *, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Both groups' shares in every unit for every draw of phi, (n_draws, n) each.

    The first is drawn from its truncated normal on the unit's line, the second follows from the line. In a unit
    without the second group, its share isn't on the line and is drawn by itself given the first.
    """
    low, high = tn.line_bounds(data.x, data.t)
    only = data.x >= 1
    b, w = np.empty((len(draws), len(data.x))), np.empty((len(draws), len(data.x)))
    for k, phi in enumerate(draws):
        mean_b, mean_w, sb, sw, rho = _means(phi, data)
        line = tn.line_moments(data.x, data.t, mean_b, mean_w, sb, sw, rho)
        b[k] = tn.draw_between(line.mean, line.sd, low, high, rng.random(len(data.x)))
        rest = np.where(only, 1.0, 1 - data.x)
        w[k] = np.clip((data.t - data.x * b[k]) / rest, 0.0, 1.0)
        if only.any():
            centre = mean_w + rho * sw / sb * (b[k] - mean_b)
            drawn = tn.draw_between(centre, sw * np.sqrt(1 - rho**2), 0.0, 1.0, rng.random(len(data.x)))
            w[k, only] = np.broadcast_to(drawn, data.x.shape)[only]
    return b, w
