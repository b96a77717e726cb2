"""Dynamic programmes for the count of a bag: the direct one (forward-backward) and the banded one."""

from __future__ import annotations

import math

import numpy as np

from sumwise.inference.kernels.compiled import njit


@njit(cache=True, error_model="numpy")
def direct(probs: np.ndarray, first: int, weights: np.ndarray, posterior: np.ndarray) -> float:
    """Forward-backward over the full range of counts: O(n * n) time and memory.

    Parameters
    ----------
    probs : (n,) probabilities of label 1, tilted.
    first, weights : the potential is ``weights[s - first]`` for counts s in the window, 0 elsewhere.

    posterior : (n,) is filled with P(label i = 1 | the count's potential).

    Returns
    -------
    total : sum_s weight(s) P(count = s)
    """
    n = probs.size
    last = first + weights.size - 1
    forward = np.zeros((n + 1, last + 1))
    forward[0, 0] = 1.0
    for i in range(n):
        p = probs[i]
        for s in range(min(i, last) + 1):
            forward[i + 1, s] += forward[i, s] * (1.0 - p)
            if s < last:
                forward[i + 1, s + 1] += forward[i, s] * p
    backward = np.zeros(last + 2)  # backward[s]: expected weight from a partial count s; one more for s + 1
    backward[first : last + 1] = weights
    total = 0.0
    for s in range(first, last + 1):
        total += forward[n, s] * backward[s]
    for i in range(n - 1, -1, -1):
        p = probs[i]
        one = 0.0
        for s in range(min(i, last) + 1):
            one += forward[i, s] * backward[s + 1]
        posterior[i] = p * one / total
        for s in range(min(i, last) + 1):
            backward[s] = backward[s] * (1.0 - p) + backward[s + 1] * p
    return total


@njit(cache=True, error_model="numpy")
def _band(probs: np.ndarray, reach: float, begin: int, end: int) -> np.ndarray:
    """P(count = s) for s = begin..end, following only partial counts within ``reach`` of their mean.

    A partial count that ends in the window was never below begin - (labels still to come) nor above end.
    """
    n = probs.size
    dist = np.zeros(end + 1)
    dist[0] = 1.0
    low = 0
    top = 0
    mean = 0.0
    for i in range(n):
        p = probs[i]
        mean += p
        top = min(top + 1, end, math.ceil(mean + reach))
        new_low = max(low, begin - (n - 1 - i), math.floor(mean - reach))
        for s in range(top, max(new_low, 1) - 1, -1):
            dist[s] = dist[s] * (1.0 - p) + dist[s - 1] * p
        if new_low == 0:
            dist[0] *= 1.0 - p
        else:
            for s in range(low, new_low):
                dist[s] = 0.0
        low = new_low
    return dist


@njit(cache=True, error_model="numpy")
def banded(
    probs: np.ndarray, reach: float, begin: int, end: int, first: int, weights: np.ndarray, posterior: np.ndarray
) -> float:
    """As `direct`, in O(n * band) time and O(n) memory.

    One pass gives the distribution of the count in the band begin..end; dividing label i out again, upwards where
    its probability is below one half and downwards otherwise, keeps errors from growing (the factor p / (1 - p) is
    at most 1).
    """
    n = probs.size
    dist = _band(probs, reach, begin, end)
    last = first + weights.size - 1
    total = 0.0
    for s in range(first, last + 1):
        total += dist[s] * weights[s - first]
    for i in range(n):
        p = probs[i]
        one = 0.0  # sum_s weight(s) P(count of the others = s - 1)
        if p <= 0.5:
            inverse = 1.0 / (1.0 - p)
            ratio = p * inverse
            others = 0.0
            for s in range(begin, last):
                others = dist[s] * inverse - ratio * others
                if s + 1 >= first:
                    one += weights[s + 1 - first] * others
        else:
            inverse = 1.0 / p
            ratio = (1.0 - p) * inverse
            others = 0.0
            for s in range(end, first - 1, -1):
                others = dist[s] * inverse - ratio * others  # now P(count of the others = s - 1)
                if s <= last:
                    one += weights[s - first] * others
        posterior[i] = min(max(p * one / total, 0.0), 1.0)
    return total
