"""Exact inference over a bag given its count: how likely the count was, and each member's posterior; several methods
have one signature.

The labels of a bag are independent, label i is 1 with probability sigmoid(logit_i), and something is known of
their sum: the count itself, a range, or a noisy observation. All methods tilt first (see `poisson_binomial_tilt`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sumwise.errors import DataError
from sumwise.inference.kernels.compiled import njit
from sumwise.inference.kernels.threads import over_bags, writable
from sumwise.proportions.kernels import poisson_binomial_tilt as tilting
from sumwise.proportions.kernels.poisson_binomial_dp import banded, direct
from sumwise.proportions.kernels.poisson_binomial_fourier import fourier, fourier_parallel, period_and_frequencies
from sumwise.proportions.kernels.poisson_binomial_saddlepoint import saddlepoint_bags
from sumwise.proportions.kernels.poisson_binomial_tree import tree

METHODS = ("auto", "direct", "banded", "tree", "fourier", "saddlepoint")
NOISES = {
    "gaussian": tilting.GAUSSIAN,
    "poisson": tilting.POISSON,
    "geometric": tilting.GEOMETRIC,
    "laplace": tilting.LAPLACE,
}
_AUTO, _DIRECT, _BANDED, _FOURIER = 0, 1, 2, 3
_CODES = {"auto": _AUTO, "direct": _DIRECT, "banded": _BANDED, "fourier": _FOURIER}
HUGE = 50_000  # members from which one bag is worth both cores
SMALL = 20_000  # rows up to which compiling more methods would take longer than the slower one does


class CountObservations(NamedTuple):
    """What is known of each bag's count: it lies in [low, high], and possibly a noisy observation; arrays over
    bags."""

    kind: np.ndarray
    observed: np.ndarray
    scale: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def take(self, index: np.ndarray | slice) -> CountObservations:
        """The observations of some bags."""
        return CountObservations(*(field[index] for field in self))


class CountPosterior(NamedTuple):
    """What `count_posterior` returns."""

    log_prob: np.ndarray  # (n_bags,) log probability of what was observed
    posterior: np.ndarray  # (n_rows,) P(label = 1 | what was observed)
    error: np.ndarray  # (n_bags,) estimated error of the posterior: 0 where the method is exact up to rounding
    tilt: np.ndarray  # (n_bags,) the tilts that were used: a good start for the next call


def exact_counts(low: ArrayLike, high: ArrayLike | None = None) -> CountObservations:
    """Counts known exactly, or to lie in [low, high]; fractional ones are those of weighted members.

    Examples
    --------
    >>> exact_counts([2, 0]).high
    array([2, 0])
    """
    least = np.asarray(low)
    most = least if high is None else np.asarray(high)
    nothing = np.zeros(least.size)
    return CountObservations(np.zeros(least.size, dtype=np.int64), nothing, nothing + 1.0, least, most)


def noisy_counts(kind: str, observed: ArrayLike, scale: ArrayLike, sizes: ArrayLike) -> CountObservations:
    """Counts observed with noise of one kind: ``"gaussian"``, ``"poisson"`` (scale is the rate), ``"geometric"``,
    ``"laplace"``.

    Examples
    --------
    >>> noisy_counts("gaussian", [2.3], 1.0, sizes=[5]).high
    array([5])
    """
    values = np.asarray(observed, dtype=np.float64)
    kinds = np.full(values.size, NOISES[kind], dtype=np.int64)
    scales = np.broadcast_to(np.asarray(scale, dtype=np.float64), values.shape).copy()
    low = np.zeros(values.size, dtype=np.int64)
    return CountObservations(kinds, values, scales, low, np.asarray(sizes, dtype=np.int64))


@njit(cache=True, error_model="numpy")
def _certain(logits: np.ndarray, low: int, high: int, posterior: np.ndarray) -> float:
    """The closed form when the count must be 0 or n; NaN when it needn't be."""
    n = logits.size
    if not (high == 0 or low == n):
        return math.nan
    sign = 1.0 if low == n and n > 0 else -1.0
    total = 0.0
    for i in range(n):
        total -= tilting.softplus(-sign * logits[i])
        posterior[i] = 0.5 + 0.5 * sign
    return total


@njit(cache=True, error_model="numpy")
def _prepare(
    logits: np.ndarray, kind: int, observed: float, scale: float, low: int, high: int, start: float
) -> tuple[float, float, np.ndarray, float, int, int, int, np.ndarray, float]:
    """Tilt, tilted probabilities, reach, band and the potential's weights in its window."""
    n = logits.size
    t, mean, var = tilting.centre(logits, kind, observed, scale, low, high, start)
    reach = tilting.half_width(var)
    begin = max(0, math.floor(mean - reach))
    end = min(n, math.ceil(mean + reach))
    first, last = max(begin, low), min(end, high)
    weights, log_scale = tilting.window_weights(kind, observed, scale, t, mean, first, last)
    probs = np.empty(n)
    for i in range(n):
        probs[i] = tilting.sigmoid(logits[i] + t)
    log_factor = tilting.log_tilt_factor(logits, t) - t * mean + log_scale
    return t, var, probs, reach, begin, end, first, weights, log_factor


@njit(cache=True, error_model="numpy")
def _choose(n: int, var: float, reach: float, begin: int, end: int, width: int) -> int:
    """The faster of the two methods, by their measured costs per member and step."""
    frequencies = period_and_frequencies(n, var, reach, width)[1]
    return _BANDED if 2.6 * (end - begin + 1) < 2.3 * frequencies + 8.0 else _FOURIER


@njit(cache=True, error_model="numpy", nogil=True)
def _bags(
    start_bag: int,
    end_bag: int,
    logits: np.ndarray,
    offsets: np.ndarray,
    observations: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    start: np.ndarray,
    code: int,
    skip: np.ndarray,
    log_prob: np.ndarray,
    posterior: np.ndarray,
    tilt: np.ndarray,
) -> None:
    kind, observed, scale, low, high = observations
    for b in range(start_bag, end_bag):
        if skip[b]:
            continue
        eta = logits[offsets[b] : offsets[b + 1]]
        out = posterior[offsets[b] : offsets[b + 1]]
        tilt[b] = np.nan
        log_prob[b] = _certain(eta, low[b], high[b], out)
        if not math.isnan(log_prob[b]):
            log_prob[b] += tilting.log_potential(kind[b], observed[b], scale[b], float(low[b]))
            continue
        t, var, probs, reach, begin, end, first, weights, log_factor = _prepare(
            eta, kind[b], observed[b], scale[b], low[b], high[b], start[b]
        )
        how = _choose(eta.size, var, reach, begin, end, weights.size) if code == _AUTO else code
        if how == _DIRECT:
            total = direct(probs, first, weights, out)
        elif how == _BANDED:
            total = banded(probs, reach, begin, end, first, weights, out)
        else:
            total = fourier(probs, var, reach, first, weights, out)
        log_prob[b] = log_factor + math.log(total)
        tilt[b] = t


@njit(cache=True, error_model="numpy", nogil=True)
def _exact_bags(
    start_bag: int,
    end_bag: int,
    logits: np.ndarray,
    offsets: np.ndarray,
    counts: np.ndarray,
    start: np.ndarray,
    log_prob: np.ndarray,
    posterior: np.ndarray,
    tilt: np.ndarray,
) -> None:
    """As `_bags`, for exact counts and the banded programme alone: it compiles in a third of the time."""
    weights = np.ones(1)
    for b in range(start_bag, end_bag):
        eta = logits[offsets[b] : offsets[b + 1]]
        out = posterior[offsets[b] : offsets[b + 1]]
        count, n = counts[b], eta.size
        tilt[b] = np.nan
        log_prob[b] = _certain(eta, count, count, out)
        if not math.isnan(log_prob[b]):
            continue
        t, var = tilting.tilt_to(eta, float(count), start[b], 1e-3)
        reach = tilting.half_width(var)
        begin, end = max(0, math.floor(count - reach)), min(n, math.ceil(count + reach))
        probs = np.empty(n)
        for i in range(n):
            probs[i] = tilting.sigmoid(eta[i] + t)
        total = banded(probs, reach, begin, end, count, weights, out)
        log_prob[b] = tilting.log_tilt_factor(eta, t) - t * float(count) + math.log(total)
        tilt[b] = t


def _one_by_one(
    logits: np.ndarray,
    offsets: np.ndarray,
    observations: CountObservations,
    start: np.ndarray,
    which: np.ndarray,
    method: str,
    log_prob: np.ndarray,
    posterior: np.ndarray,
    tilt: np.ndarray,
) -> None:
    """Bags that are worked on alone: huge ones, and all bags for the tree."""
    for b in which:
        begin, end = offsets[b], offsets[b + 1]
        eta = logits[begin:end]
        kind, observed, scale, low, high = (field[b] for field in observations)
        log_prob[b] = _certain(eta, low, high, posterior[begin:end])
        tilt[b] = np.nan
        if not np.isnan(log_prob[b]):
            log_prob[b] += tilting.log_potential(kind, observed, scale, float(low))
            continue
        t, var, probs, reach, _, _, first, weights, factor = _prepare(eta, kind, observed, scale, low, high, start[b])
        if method == "tree":
            total, posterior[begin:end] = tree(probs, first, weights)
        else:
            total = fourier_parallel(probs, var, reach, first, weights, posterior[begin:end])
        tilt[b] = t
        log_prob[b] = factor + np.log(total)


def _are_exact(observations: CountObservations) -> bool:
    return bool((observations.low == observations.high).all() and (observations.kind == tilting.SUPPORT).all())


def _check(
    logits: np.ndarray,
    offsets: np.ndarray,
    observations: CountObservations,
    method: str,
    multiplicity: np.ndarray | None,
) -> None:
    sizes = np.diff(offsets)
    if method not in METHODS:
        raise DataError(f"Unknown method {method!r}.", hint=f"one of {', '.join(METHODS)}.")
    if not np.isfinite(logits).all():
        raise DataError(f"{int((~np.isfinite(logits)).sum())} of {logits.size} logits aren't finite.")
    bad = (observations.low < 0) | (observations.low > observations.high) | (observations.high > sizes)
    if multiplicity is None and bad.any():
        b = int(np.argmax(bad))
        raise DataError(
            f"{int(bad.sum())} of {sizes.size} bags have an impossible count. First: bag {b} of {sizes[b]} members has "
            f"a count between {observations.low[b]} and {observations.high[b]}."
        )
    if method == "direct" and (sizes.astype(float) * observations.high).max(initial=0.0) > 2.0**27:
        raise DataError(
            f"A bag of {sizes.max()} members is too large for the direct programme.", hint="method='auto' or 'banded'."
        )
    approximate = method == "saddlepoint" or multiplicity is not None
    if approximate and ((observations.low != observations.high).any() or (observations.kind != tilting.SUPPORT).any()):
        raise DataError(
            "The saddlepoint approximation takes exact counts only.",
            hint="method='auto' is exact for noisy counts and ranges; draw rows by weight where they carry weights.",
        )


def count_posterior(
    logits: np.ndarray,
    offsets: np.ndarray | list[int],
    observations: CountObservations,
    *,
    method: str = "auto",
    start: np.ndarray | None = None,
    multiplicity: np.ndarray | None = None,
) -> CountPosterior:
    """Log-probability of each bag's count and the posterior of each label, over bags of all sizes at once.

    Parameters
    ----------
    logits : (n_rows,) array
        Log-odds of label 1, untilted.
    offsets : (n_bags + 1,) array of int
        Bag b holds rows ``offsets[b]:offsets[b + 1]``.
    observations : CountObservations
        What is known of the counts, from `exact_counts` or `noisy_counts`.
    method : {"auto", "direct", "banded", "tree", "fourier", "saddlepoint"}
        ``"auto"`` takes the banded programme or the Fourier sum for each bag, whichever is faster (the banded one
        for all where there are few rows); both are exact.
    start : (n_bags,) array, optional
        First guesses of the tilts; NaN for none.
    multiplicity : (n_rows,) array, optional
        How many members each row stands for, not necessarily whole; needs (and takes) the saddlepoint approximation.

    Returns
    -------
    CountPosterior
        ``log_prob``, ``posterior``, ``error`` and ``tilt``.

    Examples
    --------
    >>> import numpy as np
    >>> result = count_posterior(np.array([0.0, 0.0, 2.0]), np.array([0, 3]), exact_counts([1]))
    >>> result.posterior.round(3)
    array([0.107, 0.107, 0.787])
    """
    logits, offsets = writable(logits), np.array(offsets, dtype=np.int64)
    _check(logits, offsets, observations, method, multiplicity)
    n_bags = offsets.size - 1
    start = np.full(n_bags, np.nan) if start is None else np.array(start, dtype=np.float64)
    log_prob, error, tilt = np.zeros(n_bags), np.zeros(n_bags), np.empty(n_bags)
    posterior = np.empty(logits.size)
    if method == "saddlepoint" or multiplicity is not None:
        sizes = np.ones(logits.size) if multiplicity is None else writable(multiplicity)
        counts = observations.low.astype(np.float64)
        saddlepoint_bags(logits, offsets, sizes, counts, start, log_prob, posterior, error, tilt)
        return CountPosterior(log_prob, posterior, error, tilt)
    sizes = np.diff(offsets)
    alone = np.ones(n_bags, bool) if method == "tree" else (sizes >= HUGE) & (method in ("auto", "fourier"))
    if method == "auto" and logits.size <= SMALL and _are_exact(observations):
        counts = np.array(observations.low)
        over_bags(lambda i, j: _exact_bags(i, j, logits, offsets, counts, start, log_prob, posterior, tilt), offsets)
    elif not alone.all():
        code = _CODES.get(method, _AUTO)
        fields = tuple(np.array(field) for field in observations)
        over_bags(
            lambda i, j: _bags(i, j, logits, offsets, fields, start, code, alone, log_prob, posterior, tilt), offsets
        )
    _one_by_one(logits, offsets, observations, start, np.flatnonzero(alone), method, log_prob, posterior, tilt)
    return CountPosterior(log_prob, posterior, error, tilt)
