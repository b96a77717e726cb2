"""Accounting: between epsilon and delta, rho of zero-concentrated and mu of Gaussian differential privacy.

A Gaussian mechanism of L2 sensitivity D and standard deviation s has mu = D / s and rho = mu**2 / 2. The squares of mu
add up over mechanisms, as rhos do, also where each is chosen after the last was seen.
"""

from __future__ import annotations

import math
from functools import lru_cache

from sumwise.errors import DataError
from sumwise.extras import require

LARGEST_EPSILON = 100.0
LARGEST_DELTA = 1e-3
DELTA_SLACK = 1e-6  # relative, of delta: noise is drawn on a grid of 2**-16, not on the line (see `mechanisms`)


def check_promise(epsilon: float, delta: float) -> None:
    """Refuse an epsilon or a delta that promises nothing."""
    if epsilon > LARGEST_EPSILON:
        raise DataError(
            f"epsilon is {epsilon:g}; above {LARGEST_EPSILON:g} it promises nothing.",
            hint="usual values are between 0.1 and 10; publish exact tables as such.",
        )
    if delta > LARGEST_DELTA:
        raise DataError(
            f"delta is {delta:g}; above {LARGEST_DELTA:g} it promises nothing.",
            hint="delta is the probability of losing all privacy: far below one over n, as 1e-6.",
        )


def gaussian_delta(epsilon: float, mu: float) -> float:
    """The least delta of a Gaussian mechanism at an epsilon (Balle and Wang 2018, theorem 8)."""
    from scipy.special import log_ndtr

    above, below = float(log_ndtr(mu / 2 - epsilon / mu)), float(log_ndtr(-mu / 2 - epsilon / mu))
    return math.exp(above) * max(-math.expm1(min(epsilon + below - above, 0.0)), 0.0)


@lru_cache(maxsize=256)
def epsilon_of_mu(mu: float, delta: float) -> float:
    """The epsilon that a Gaussian mechanism has at a delta, exactly."""
    if gaussian_delta(0.0, mu) <= delta * (1 - DELTA_SLACK):
        return 0.0
    high = 1.0
    while gaussian_delta(high, mu) > delta * (1 - DELTA_SLACK):
        high *= 2
    # the least epsilon: minus the largest of its negatives
    return -_most(lambda negative: gaussian_delta(-negative, mu) <= delta * (1 - DELTA_SLACK), -high, 0.0)


@lru_cache(maxsize=256)
def mu_of_epsilon(epsilon: float, delta: float) -> float:
    """The largest mu for which a Gaussian mechanism has (epsilon, delta): the analytic Gaussian mechanism."""
    low = math.sqrt(2 * loose_rho(epsilon, delta))  # no larger than what is sought
    high = 2 * low
    while gaussian_delta(epsilon, high) <= delta * (1 - DELTA_SLACK):
        high *= 2
    return _most(lambda mu: gaussian_delta(epsilon, mu) <= delta * (1 - DELTA_SLACK), low, high)


@lru_cache(maxsize=256)
def epsilon_of_rho(rho: float, delta: float) -> float:
    """The epsilon that rho-zCDP implies at a delta, by OpenDP's conversion (Canonne, Kamath and Steinke 2020)."""
    dp = require("opendp.prelude", extra="privacy")
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")
    profile = dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=1.0)).map(math.sqrt(2 * rho))
    return float(profile.epsilon(delta))


def loose_rho(epsilon: float, delta: float) -> float:
    """The rho by epsilon = rho + 2 sqrt(rho log(1 / delta)) (Bun and Steinke 2016, prop. 1.3), a lower bound."""
    log = -math.log(delta)
    return (epsilon / (math.sqrt(log + epsilon) + math.sqrt(log))) ** 2  # no difference of nearly equal roots


def _most(holds, low: float, high: float, steps: int = 100) -> float:
    """The largest number between two for which something holds that holds at the first."""
    for _ in range(steps):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
