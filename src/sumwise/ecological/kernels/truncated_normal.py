"""King's model of 2 x 2 units: a bivariate normal of the two groups' shares, truncated to the unit square."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri

from sumwise.inference.kernels.compiled import njit

NODES, WEIGHTS = np.polynomial.legendre.leggauss(48)


class LineMoments(NamedTuple):
    """Of each unit: the variance of T, and mean and standard deviation of the first share given T."""

    variance: np.ndarray
    mean: np.ndarray
    sd: np.ndarray


def natural(phi: np.ndarray) -> tuple[float, float, float, float, float]:
    """King's reparameterisation back to (mean_b, mean_w, sd_b, sd_w, rho).

    mean = phi (1/4 + sd^2) + 1/2, sd = exp(phi), rho = tanh(phi) (King 1997, section 7.4).

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.kernels.truncated_normal import natural
    >>> natural(np.zeros(5))
    (0.5, 0.5, 1.0, 1.0, 0.0)
    """
    sb, sw = math.exp(phi[2]), math.exp(phi[3])
    return float(phi[0]) * (0.25 + sb**2) + 0.5, float(phi[1]) * (0.25 + sw**2) + 0.5, sb, sw, math.tanh(phi[4])


def line_bounds(x: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of the first group's share on each unit's tomography line; 0 and 1 where the group is absent.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.kernels.truncated_normal import line_bounds
    >>> line_bounds(np.array([0.5, 0.0]), np.array([0.75, 0.3]))
    (array([0.5, 0. ]), array([1., 1.]))
    """
    low = np.divide(t - (1 - x), x, out=np.zeros_like(t), where=x > 0)
    high = np.divide(t, x, out=np.ones_like(t), where=x > 0)
    low = np.clip(low, 0.0, 1.0)
    return low, np.maximum(np.clip(high, 0.0, 1.0), low)


def line_moments(
    x: np.ndarray,
    t: np.ndarray,
    mean_b: np.ndarray | float,
    mean_w: np.ndarray | float,
    sd_b: float,
    sd_w: float,
    rho: float,
) -> LineMoments:
    """Moments on each unit's line T = x b + (1 - x) w, before truncation.

    With w_i = sd_b^2 x + cov (1 - x), the variance of b given T is sd_b^2 - w_i^2 / var T (paper 004 prints w_i).
    """
    cov = rho * sd_b * sd_w
    along = sd_b**2 * x + cov * (1 - x)
    variance = sd_b**2 * x**2 + sd_w**2 * (1 - x) ** 2 + 2 * cov * x * (1 - x)
    deviation = t - mean_b * x - mean_w * (1 - x)
    left = np.maximum(sd_b**2 - along**2 / variance, 1e-12)
    return LineMoments(variance, mean_b + along / variance * deviation, np.sqrt(left))


def log_interval(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """log(Phi(high) - Phi(low)) without cancellation in either tail.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.kernels.truncated_normal import log_interval
    >>> float(log_interval(np.array([20.0]), np.array([np.inf]))[0].round(2))
    -203.92
    """
    flip = low > 0
    a, b = np.where(flip, -high, low), np.where(flip, -low, high)
    upper = log_ndtr(b)
    with np.errstate(divide="ignore"):
        return upper + np.log1p(-np.exp(np.minimum(log_ndtr(a) - upper, -1e-15)))


def draw_between(
    mean: np.ndarray | float,
    sd: np.ndarray | float,
    low: np.ndarray | float,
    high: np.ndarray | float,
    uniform: np.ndarray,
) -> np.ndarray:
    """Quantiles `uniform` of normals truncated to [low, high]; arrays that broadcast.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.kernels.truncated_normal import draw_between
    >>> float(draw_between(0.5, 0.1, 0.0, 1.0, np.array([0.5]))[0])
    0.5
    """
    a, b = (low - mean) / sd, (high - mean) / sd
    flip = a > 0  # work in the lower tail, where Phi is precise
    first, second = np.where(flip, -b, a), np.where(flip, -a, b)
    p = ndtr(first) + np.where(flip, 1 - uniform, uniform) * (ndtr(second) - ndtr(first))
    z = ndtri(np.clip(p, 1e-300, 1 - 1e-16))
    return np.clip(mean + sd * np.where(flip, -z, z), low, high)


@njit(cache=True)
def _log_ndtr(z: float) -> float:
    if z > -20.0:
        return math.log(0.5 * math.erfc(-z * 0.7071067811865476))
    u = 1.0 / (z * z)  # the asymptotic series
    return -0.5 * z * z - math.log(-z * 2.5066282746310002) + math.log1p(-u * (1 - 3 * u * (1 - 5 * u)))


@njit(cache=True)
def log_gap(a: float, b: float) -> float:
    if a > 0:
        a, b = -b, -a
    upper = _log_ndtr(b)
    return upper + math.log1p(-math.exp(min(_log_ndtr(a) - upper, -1e-15)))


@njit(cache=True)
def _log_slice(b: float, mean_b: float, mean_w: float, sd_b: float, sd_w: float, rho: float, sd: float) -> float:
    """Log density of b times the mass of w in [0, 1] given b; concave in b."""
    z = (b - mean_b) / sd_b
    centre = mean_w + rho * sd_w * z
    return -0.5 * z * z - 0.9189385332046727 - math.log(sd_b) + log_gap(-centre / sd, (1 - centre) / sd)


@njit(cache=True)
def log_square_mass(
    mean_b: float, mean_w: float, sd_b: float, sd_w: float, rho: float, nodes: np.ndarray, weights: np.ndarray
) -> float:
    """Log of the mass that a bivariate normal has on the unit square, by Gauss-Legendre quadrature.

    The mass of w in [0, 1] given b has a closed form. The integrand over b is log-concave: its mode is searched for,
    and the rule runs on either side of it as far as the integrand matters, so that masses far below double precision
    are right too. `nodes`, `weights`: a rule on [-1, 1].
    """
    sd = sd_w * math.sqrt(1 - rho * rho)
    low, high = 0.0, 1.0
    for _ in range(60):
        first, second = low + 0.381966 * (high - low), low + 0.618034 * (high - low)
        down = _log_slice(first, mean_b, mean_w, sd_b, sd_w, rho, sd)
        if down > _log_slice(second, mean_b, mean_w, sd_b, sd_w, rho, sd):
            high = second
        else:
            low = first
        if high - low < 1e-3 * min(sd_b, 1.0) * min(1.0, sd_b / (sd_b + abs(mean_b))):
            break
    mode = 0.5 * (low + high)
    mode = 0.0 if mode < 1e-6 * sd_b else mode
    top = _log_slice(mode, mean_b, mean_w, sd_b, sd_w, rho, sd)
    total = 0.0
    for side in (-1.0, 1.0):
        edge = mode if side < 0 else 1 - mode
        reach = edge
        near, far = 0.0, edge
        for _ in range(40):  # where the integrand has fallen by exp(-40)
            if far <= 0 or _log_slice(mode + side * far, mean_b, mean_w, sd_b, sd_w, rho, sd) > top - 40:
                reach = far
                break
            reach = far
            far *= 0.5
            near = far
        if near > 0:
            reach = 2 * near
        for k in range(nodes.shape[0]):
            b = mode + side * reach * 0.5 * (nodes[k] + 1)
            value = _log_slice(b, mean_b, mean_w, sd_b, sd_w, rho, sd)
            total += 0.5 * reach * weights[k] * math.exp(value - top)
    return top + math.log(total)


@njit(cache=True)
def units_log_likelihood(
    x: np.ndarray,
    t: np.ndarray,
    weight: np.ndarray,
    mean_b: np.ndarray,
    mean_w: np.ndarray,
    sd_b: float,
    sd_w: float,
    rho: float,
    nodes: np.ndarray,
    weights: np.ndarray,
) -> float:
    """Log-likelihood of the units' t given x (King 1997, eq. 7.1), up to a constant.

    sum_i [ -log(var_i)/2 - dev_i^2 / (2 var_i) + log S_i - log R_i ]: S_i the mass of the unit's line inside its
    bounds, R_i that of the bivariate normal inside the unit square. mean_b and mean_w are (n,), or (1,) where all
    units share them.
    """
    shared = mean_b.shape[0] == 1 and mean_w.shape[0] == 1
    cov = rho * sd_b * sd_w
    total = 0.0
    outside = log_square_mass(mean_b[0], mean_w[0], sd_b, sd_w, rho, nodes, weights)
    for i in range(x.shape[0]):
        mb, mw = mean_b[i % mean_b.shape[0]], mean_w[i % mean_w.shape[0]]
        if not shared:
            outside = log_square_mass(mb, mw, sd_b, sd_w, rho, nodes, weights)
        y = 1 - x[i]
        along = sd_b**2 * x[i] + cov * y
        variance = sd_b**2 * x[i] ** 2 + sd_w**2 * y**2 + 2 * cov * x[i] * y
        deviation = t[i] - mb * x[i] - mw * y
        value = -0.5 * (math.log(variance) + deviation**2 / variance) - outside
        low = min(max((t[i] - y) / x[i], 0.0), 1.0) if x[i] > 0 else 0.0
        high = min(max(t[i] / x[i], low), 1.0) if x[i] > 0 else 1.0
        sd = math.sqrt(max(sd_b**2 - along**2 / variance, 1e-12))
        centre = mb + along / variance * deviation
        if y <= 0:  # b is known, and w is anywhere in [0, 1]
            centre, sd = mw + rho * sd_w / sd_b * deviation, sd_w * math.sqrt(1 - rho * rho)
            value += log_gap(-centre / sd, (1 - centre) / sd)
        elif high - low > 1e-9:
            value += log_gap((low - centre) / sd, (high - centre) / sd)
        else:  # t is 0 or 1 and so are both shares: the line is a point, and S its density (times a constant width)
            value += -0.5 * ((low - centre) / sd) ** 2 - math.log(sd)
        total += weight[i] * value
    return total
