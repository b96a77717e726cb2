"""The sum of outcome vectors by a dynamic programme over the box of partial sums below the target."""

from __future__ import annotations

import math

import numpy as np

from sumwise.inference.kernels.compiled import njit


@njit(cache=True, error_model="numpy")
def _reachable(outcomes: np.ndarray, target: np.ndarray) -> np.ndarray:
    """For each cell of the box and each outcome: the cell after adding the outcome, or -1 outside; cells in
    row-major order."""
    m, d = outcomes.shape
    shape = np.empty(d, np.int64)
    cells = 1
    for j in range(d):
        shape[j] = int(target[j]) + 1
        cells *= shape[j]
    after = np.empty((cells, m), np.int64)
    place = np.zeros(d, np.int64)
    for c in range(cells):
        rest = c
        for j in range(d - 1, -1, -1):
            place[j] = rest % shape[j]
            rest //= shape[j]
        for a in range(m):
            index = 0
            inside = True
            for j in range(d):
                s = place[j] + int(outcomes[a, j])
                inside &= s < shape[j]
                index = index * shape[j] + s
            after[c, a] = index if inside else -1
    return after


@njit(cache=True, error_model="numpy")
def direct(probs: np.ndarray, outcomes: np.ndarray, target: np.ndarray) -> tuple[float, np.ndarray]:  # noqa: C901 (plain loops compile best)
    """Forward-backward over partial sums; every term is positive, so there is no cancellation.

    Parameters
    ----------
    probs : (n, m) tilted probabilities.
    outcomes : (m, d) vectors of 0 and 1.
    target : (d,) their sum.

    Returns
    -------
    log_total, posterior : log P(sum = target); (n, m)
    """
    n, m = probs.shape
    after = _reachable(outcomes, target)
    cells = after.shape[0]
    forward = np.zeros((n, cells))
    forward[0, 0] = 1.0
    for i in range(n - 1):
        for c in range(cells):
            if forward[i, c] > 0.0:
                for a in range(m):
                    if after[c, a] >= 0:
                        forward[i + 1, after[c, a]] += forward[i, c] * probs[i, a]
    backward = np.zeros(cells)
    backward[cells - 1] = 1.0
    fresh = np.empty(cells)
    posterior = np.empty((n, m))
    parts = np.empty(m)
    total = 0.0
    for i in range(n - 1, -1, -1):
        for a in range(m):
            parts[a] = 0.0
        for c in range(cells):
            value = 0.0
            for a in range(m):
                if after[c, a] >= 0:
                    b = backward[after[c, a]]
                    value += probs[i, a] * b
                    parts[a] += forward[i, c] * b
            fresh[c] = value
        total = 0.0
        for a in range(m):
            parts[a] *= probs[i, a]
            total += parts[a]
        for a in range(m):
            posterior[i, a] = parts[a] / total
        backward, fresh = fresh, backward
    return math.log(total) if total > 0.0 else -np.inf, posterior
