"""Saddlepoint approximation to the count of a bag, with an estimate of its error; takes members that stand for
several."""

from __future__ import annotations

import math

import numpy as np

from sumwise.inference.kernels.compiled import njit
from sumwise.proportions.kernels.poisson_binomial_tilt import sigmoid, softplus

CERTAIN = 1e-6  # variance of a count below which further terms are nil
TURN = 0.4  # variance around which the count of rare flips gives way to the expansion


@njit(cache=True, error_model="numpy")
def _tilt_weighted(logits: np.ndarray, sizes: np.ndarray, target: float, start: float) -> float:
    """The t with sum_i m_i sigmoid(logit_i + t) = target, to rounding."""
    total = sizes.sum()
    base = math.log(target) - math.log(total - target)
    low = base - logits.max()
    high = base - logits.min()
    t = start if low <= start <= high else base - logits.mean()
    t = min(max(t, low), high)
    for _ in range(200):
        mean = 0.0
        var = 0.0
        for i in range(logits.size):
            p = sigmoid(logits[i] + t)
            mean += sizes[i] * p
            var += sizes[i] * p * (1.0 - p)
        gap = mean - target
        if abs(gap) <= 1e-13 * target or high - low <= 1e-15 * max(1.0, abs(t)):
            break
        if gap > 0.0:
            high = t
        else:
            low = t
        new = t - gap / var if var > 0.0 else math.nan
        t = new if low < new < high else 0.5 * (low + high)
    return t


@njit(cache=True, error_model="numpy")
def log_normaliser(var: float, turn: float) -> tuple[float, float]:
    """-log P(sum = its mean) to first order, and twice its derivative in log(var).

    log sqrt(2 pi var) where labels are in doubt. Where nearly all are certain, flips up and flips down are rare and
    Poisson, var / 2 each, and P = exp(-var) I_0(var) that they are as many. In between a mean of the two, 1 / (1 +
    (var / turn)^4) of it the latter.
    """
    if var > 10.0:
        return 0.5 * math.log(2.0 * math.pi * var), 1.0
    var = max(var, 1e-200)
    zeroth, first, term, k = 0.0, 0.0, 1.0, 0  # I_0 = sum_k (var / 2)^2k / k!^2, and I_1
    while term > 1e-17 * zeroth:
        zeroth += term
        first += term * 0.5 * var / (k + 1.0)
        k += 1
        term *= (0.5 * var / k) ** 2
    rare, rare_slope = var - math.log(zeroth), 2.0 * var * (1.0 - first / zeroth)
    wide = 0.5 * math.log(2.0 * math.pi * var)
    share = 1.0 / (1.0 + (var / turn) ** 4)
    shift = 8.0 * (var / turn) ** 4 * share**2 * (wide - rare)
    return share * rare + (1.0 - share) * wide, share * rare_slope + (1.0 - share) + shift


@njit(cache=True, error_model="numpy")
def saddlepoint(
    logits: np.ndarray, sizes: np.ndarray, target: float, start: float, posterior: np.ndarray
) -> tuple[float, float, float]:
    """log P(count = target) and the posterior of each label, from the count's first five cumulants.

    Parameters
    ----------
    logits : (n,) of the untilted labels.
    sizes : (n,) how many persons each row stands for (ones, or survey weights scaled to the size of the bag).
    target : the count, 0 < target < sum of sizes.
    start : a first guess of the tilt.
    posterior : (n,) is filled.

    Returns
    -------
    log_prob, tilt, error : the error is that of the posterior, estimated by the last term of the expansion that
    was kept.
    """
    # Daniels 1954: P = exp(K(t) - t z) / sqrt(2 pi K''(t)) (1 + k4 / (8 k2^2) - 5 k3^2 / (24 k2^3)); the posterior
    # is its gradient in the logits, with dt/dlogit_i = -v_i / k2.
    t = _tilt_weighted(logits, sizes, target, start)
    k2 = k3 = k4 = k5 = log_factor = 0.0
    for i in range(logits.size):
        p = sigmoid(logits[i] + t)
        v = p * (1.0 - p)
        k2 += sizes[i] * v
        k3 += sizes[i] * v * (1.0 - 2.0 * p)
        k4 += sizes[i] * v * (1.0 - 6.0 * v)
        k5 += sizes[i] * v * (1.0 - 2.0 * p) * (1.0 - 12.0 * v)
        log_factor += sizes[i] * (softplus(logits[i] + t) - softplus(logits[i]))
    if k2 <= 0.0:  # every label is certain
        for i in range(logits.size):
            posterior[i] = sigmoid(logits[i] + t)
        return log_factor - t * target, t, 0.0
    log_norm, slope = log_normaliser(k2, TURN)
    use = use_slope = bend = bend_slope = 0.0
    if k2 > CERTAIN:  # the next term, bounded smoothly by a half and faded out where the count is nearly certain
        use = 1.0 - 1.0 / (1.0 + (k2 / TURN) ** 4)
        use_slope = 4.0 * use * (1.0 - use) / k2
        raw = k4 / (8.0 * k2**2) - 5.0 * k3**2 / (24.0 * k2**3)
        bend = raw / math.sqrt(1.0 + 4.0 * raw * raw)
        bend_slope = (1.0 + 4.0 * raw * raw) ** -1.5
    error = 0.0
    for i in range(logits.size):
        p = sigmoid(logits[i] + t)
        v = p * (1.0 - p)
        d3 = v * (1.0 - 2.0 * p) - k3 * v / k2  # derivatives of k2, k3, k4 in this logit
        term = 0.0
        if use > 0.0:
            d4 = v * (1.0 - 6.0 * v) - k4 * v / k2
            d5 = v * (1.0 - 2.0 * p) * (1.0 - 12.0 * v) - k5 * v / k2
            term = d5 / (8.0 * k2**2) - k4 * d3 / (4.0 * k2**3)
            term -= 5.0 / 24.0 * (2.0 * k3 * d4 / k2**3 - 3.0 * k3**2 * d3 / k2**4)
            term *= use * bend_slope / (1.0 + bend)
            term += use_slope * d3 * math.log1p(bend)
        error = max(error, abs(term), (1.0 - use) * k2 * v)
        posterior[i] = min(max(p - 0.5 * slope * d3 / k2 + term, 0.0), 1.0)
    return log_factor - t * target - log_norm + use * math.log1p(bend), t, error


@njit(cache=True, error_model="numpy")
def saddlepoint_bags(
    logits: np.ndarray,
    offsets: np.ndarray,
    sizes: np.ndarray,
    counts: np.ndarray,
    starts: np.ndarray,
    log_prob: np.ndarray,
    posterior: np.ndarray,
    error: np.ndarray,
    tilts: np.ndarray,
) -> None:
    """`saddlepoint` for every bag, in place; a count of 0 or all is certain."""
    for b in range(offsets.size - 1):
        begin, end = offsets[b], offsets[b + 1]
        eta = logits[begin:end]
        m = sizes[begin:end]
        total = m.sum()
        if counts[b] <= 0.0 or counts[b] >= total * (1.0 - 1e-14):
            sign = 1.0 if counts[b] > 0.0 else -1.0
            part = 0.0
            for i in range(eta.size):
                part -= m[i] * softplus(-sign * eta[i])
                posterior[begin + i] = 0.5 + 0.5 * sign
            log_prob[b] = part
            tilts[b] = np.nan
        else:
            log_prob[b], tilts[b], error[b] = saddlepoint(eta, m, counts[b], starts[b], posterior[begin:end])
