"""How many people have each level, from noisy counts of many levels: empirical Bayes."""

from __future__ import annotations

import numpy as np

POINTS = 300  # of the grid of counts, evenly spread in their logs
ROUNDS = 3  # of expectation maximisation: few, so that the distribution stays smooth; 0, 3, 10 and 50 were compared
KNOWN = 8.0  # standard deviations above which a count is taken as it is


def level_counts(noisy: np.ndarray, variance: np.ndarray, n: float) -> tuple[np.ndarray, np.ndarray]:
    """Means and variances (S,) of counts that add up to n, given noisy ones with their variances.

    The counts of an attribute's levels are treated as draws from one distribution on 1/2 to n, which is estimated from
    the noisy counts themselves (Robbins 1956; Kiefer and Wolfowitz 1956), starting from one that is even in the logs of
    counts. Where many levels are rare, noise above zero would otherwise pass for people. What the means lack of n is
    shared out in proportion to their variances.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.maxent.kernels.level_counts import level_counts
    >>> rng = np.random.default_rng(0)
    >>> true = np.append(np.full(40, 20.0), 9200.0)  # forty rare levels, and one that nearly all have
    >>> noisy = true + rng.normal(0, 200, 41)
    >>> means, _ = level_counts(noisy, np.full(41, 200.0**2), 10_000)
    >>> [round(float(np.abs(x - true).sum()) / 20_000, 2) for x in (noisy.clip(0), means)]  # total variation
    [0.15, 0.03]
    """
    grid = np.exp(np.linspace(np.log(0.5), np.log(max(n, 1.0)), POINTS))
    log = -0.5 * (noisy[:, None] - grid) ** 2 / variance[:, None]
    likelihood = np.exp(log - log.max(axis=1, keepdims=True))
    even = shares = np.full(POINTS, 1.0 / POINTS)
    for _ in range(ROUNDS):
        each = likelihood * shares
        shares = ((each / each.sum(axis=1, keepdims=True)).sum(axis=0) + even) / (len(noisy) + 1)
    each = likelihood * shares
    each /= each.sum(axis=1, keepdims=True)
    means = each @ grid
    spread = np.maximum(each @ grid**2 - means**2, 1e-6 * variance)
    known = noisy > KNOWN * np.sqrt(variance)  # the grid has few points up there
    means, spread = np.where(known, noisy, means), np.where(known, variance, spread)
    return np.maximum(means + (n - means.sum()) * spread / spread.sum(), 0.5), spread
