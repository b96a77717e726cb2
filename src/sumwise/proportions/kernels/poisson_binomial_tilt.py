"""Exponential tilting of a sum of independent 0/1 labels to what was observed of it.

Adding one number ``t`` to all logits of a bag changes p(count) by a known factor and p(labels | count) not at all.
We pick ``t`` such that the expected count is the observed one (or, for a noisy count, the most plausible one). All
that is left to compute then lies in a few standard deviations around the centre of a distribution, and nothing
underflows however unlikely the count was.
"""

from __future__ import annotations

import math

import numpy as np

from sumwise.inference.kernels.compiled import njit

# What is observed of the count s of a bag: s in [low, high], and a noisy observation of it.
SUPPORT, GAUSSIAN, POISSON, GEOMETRIC, LAPLACE = 0, 1, 2, 3, 4

# exp(-TAIL) is what a truncated tail may hold: below the rounding of doubles.
TAIL = 42.0


@njit(cache=True, error_model="numpy")
def sigmoid(x: float) -> float:
    if x >= 0.0:
        return 1.0 / (1.0 + math.exp(-x))
    e = math.exp(x)
    return e / (1.0 + e)


@njit(cache=True, error_model="numpy")
def softplus(x: float) -> float:
    """log(1 + exp(x)) without overflow."""
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


@njit(cache=True, error_model="numpy")
def log_potential(kind: int, observed: float, scale: float, s: float) -> float:
    """log p(observed | count s); 0 where the count is only known to lie in a range."""
    if kind == SUPPORT:
        return 0.0
    if kind == GAUSSIAN:
        return -0.5 * ((observed - s) / scale) ** 2 - math.log(scale) - 0.5 * math.log(2.0 * math.pi)
    if kind == POISSON:
        rate = scale * s
        if rate <= 0.0:
            return 0.0 if observed == 0.0 else -np.inf
        return observed * math.log(rate) - rate - math.lgamma(observed + 1.0)
    if kind == GEOMETRIC:
        a = math.exp(-1.0 / scale)
        return -abs(observed - s) / scale + math.log1p(-a) - math.log1p(a)
    return -abs(observed - s) / scale - math.log(2.0 * scale)


@njit(cache=True, error_model="numpy")
def _moments(logits: np.ndarray, t: float) -> tuple[float, float]:
    """Mean and variance of the count when ``t`` is added to every logit."""
    mean = 0.0
    var = 0.0
    for x in logits:
        p = sigmoid(x + t)
        mean += p
        var += p * (1.0 - p)
    return mean, var


@njit(cache=True, error_model="numpy")
def tilt_to(logits: np.ndarray, target: float, start: float, tol: float) -> tuple[float, float]:
    """The t with E[count] = target (0 < target < n), to ``tol`` standard deviations; also the variance there.

    Newton's method inside a bracket that the extreme logits give; it falls back to bisection where the mean is flat.
    """
    n = logits.size
    base = math.log(target) - math.log(n - target)
    top, bottom, total = logits[0], logits[0], 0.0  # by hand: NumPy's own take longer to compile than all of this
    for x in logits:
        top, bottom, total = max(top, x), min(bottom, x), total + x
    low = base - top
    high = base - bottom
    t = start if low <= start <= high else base - total / n
    t = min(max(t, low), high)
    var = 0.0
    for _ in range(200):
        mean, var = _moments(logits, t)
        gap = mean - target
        if abs(gap) <= tol * math.sqrt(var) or high - low <= 1e-15 * max(1.0, abs(t)):
            break
        if gap > 0.0:
            high = t
        else:
            low = t
        new = t - gap / var if var > 0.0 else math.nan
        t = new if low < new < high else 0.5 * (low + high)
    return t, var


@njit(cache=True, error_model="numpy")
def _slope(kind: int, observed: float, scale: float, s: float) -> tuple[float, float]:
    """d log p(observed | s) / ds, and its derivative, for the smooth kinds of noise."""
    if kind == GAUSSIAN:
        return (observed - s) / (scale * scale), -1.0 / (scale * scale)
    s = max(s, 1e-300)
    return observed / s - scale, -observed / (s * s)


@njit(cache=True, error_model="numpy")
def _tilt_smooth(logits: np.ndarray, kind: int, observed: float, scale: float) -> float:
    """The t that is the noise's slope at the tilted mean: the most plausible count, for Gaussian and Poisson
    noise."""
    n = logits.size
    low = _slope(kind, observed, scale, float(n))[0]
    if kind == GAUSSIAN:
        high = _slope(kind, observed, scale, 0.0)[0]
    else:
        high = max(low, 0.0) + 1.0
        for _ in range(60):
            mean, _var = _moments(logits, high)
            if _slope(kind, observed, scale, mean)[0] <= high:
                break
            high = 2.0 * high + 1.0
    t = min(max(0.0, low), high)
    for _ in range(200):
        mean, var = _moments(logits, t)
        slope, bend = _slope(kind, observed, scale, mean)
        gap = slope - t
        if abs(gap) <= 1e-6 * (1.0 + abs(t)) or high - low <= 1e-14 * max(1.0, abs(t)):
            break
        if gap > 0.0:
            low = t
        else:
            high = t
        new = t - gap / (bend * var - 1.0)
        t = new if low < new < high else 0.5 * (low + high)
    return t


@njit(cache=True, error_model="numpy")
def _tilt_kinked(logits: np.ndarray, observed: float, scale: float) -> float:
    """As `_tilt_smooth`, for the two-sided exponential kinds, whose slope jumps at the observed count."""
    n = logits.size
    above = _moments(logits, 1.0 / scale)[0]  # the mean when the noise pulls up with all its strength
    if above <= observed:
        return 1.0 / scale
    below = _moments(logits, -1.0 / scale)[0]
    if below >= observed:
        return -1.0 / scale
    if observed <= 0.0 or observed >= n:
        return 0.0
    return tilt_to(logits, observed, 0.0, 1e-3)[0]


@njit(cache=True, error_model="numpy")
def centre(
    logits: np.ndarray, kind: int, observed: float, scale: float, low: int, high: int, start: float
) -> tuple[float, float, float]:
    """Tilt, centre and variance of the count given what was observed; for bags whose count isn't certain to be 0
    or n."""
    n = logits.size
    if low == high:
        t, var = tilt_to(logits, float(low), start, 1e-3)
        return t, float(low), var
    if kind == SUPPORT:
        t = 0.0
    elif kind in (GAUSSIAN, POISSON):
        t = _tilt_smooth(logits, kind, observed, scale)
    else:
        t = _tilt_kinked(logits, observed, scale)
    mean, var = _moments(logits, t)
    if mean < low:
        mean = float(low) if low < n else n - 0.5
        t, var = tilt_to(logits, mean, start, 1e-3)
    elif mean > high:
        mean = float(high) if high > 0 else 0.5
        t, var = tilt_to(logits, mean, start, 1e-3)
    return t, mean, var


@njit(cache=True, error_model="numpy")
def half_width(var: float) -> float:
    """How far from its mean a sum of independent 0/1 labels stays but for exp(-TAIL) (Bennett's inequality)."""
    var = max(var, 1e-12)
    u = TAIL / 3.0 + math.sqrt(TAIL * TAIL / 9.0 + 2.0 * TAIL * var)  # Bernstein: above the root
    for _ in range(20):  # Newton on the convex var h(u / var) = TAIL, h(x) = (1 + x) log(1 + x) - x
        x = u / var
        step = (var * ((1.0 + x) * math.log1p(x) - x) - TAIL) / math.log1p(x)
        u -= step
        if step <= 1e-3 * u:
            break
    return u


@njit(cache=True, error_model="numpy")
def window_weights(
    kind: int, observed: float, scale: float, t: float, mean: float, first: int, last: int
) -> tuple[np.ndarray, float]:
    """exp(log potential - t (s - mean)) for s = first..last, scaled to a maximum of 1, and the log of the scale.

    With the tilt of `centre` and a log-concave potential the maximum is at the centre, so nothing is lost by the
    scaling.
    """
    weights = np.empty(last - first + 1)
    top = -math.inf
    for j in range(weights.size):
        s = float(first + j)
        weights[j] = log_potential(kind, observed, scale, s) - t * (s - mean)
        top = max(top, weights[j])
    for j in range(weights.size):
        weights[j] = math.exp(weights[j] - top)
    return weights, top


@njit(cache=True, error_model="numpy")
def log_tilt_factor(logits: np.ndarray, t: float) -> float:
    """K(t) - K(0) with K(t) = sum_i log(1 + exp(logit_i + t)), summed in blocks to keep rounding small."""
    total = 0.0
    for begin in range(0, logits.size, 256):
        part = 0.0
        for x in logits[begin : begin + 256]:
            part += softplus(x + t) - softplus(x)
        total += part
    return total
