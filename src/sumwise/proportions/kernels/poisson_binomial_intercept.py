"""A bag's own intercept, normal around 0, integrated out of the probability of its count.

Adding b to all logits of a bag multiplies P(count = z) by exp(b z - K(b) + K(0)), K(b) = sum_i log(1 + exp(logit_i
+ b)), and leaves the labels' posterior given z as it is. What remains is an integral in one dimension, done by
Gauss-Hermite quadrature around the integrand's mode.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logsumexp, softmax

N_NODES = 11


def _mode(
    logits: np.ndarray, bag: np.ndarray, starts: np.ndarray, sizes: np.ndarray, counts: np.ndarray, variance: float
) -> tuple[np.ndarray, np.ndarray]:
    """The b of each bag that maximises b z - K(b) - b^2 / (2 variance), concave, and minus its second derivative."""
    b, curvature = np.zeros(counts.size), np.full(counts.size, 1.0 / variance)
    for _ in range(100):
        p = expit(logits + b[bag])
        curvature = 1.0 / variance + np.add.reduceat(sizes * p * (1.0 - p), starts)
        step = (counts - b / variance - np.add.reduceat(sizes * p, starts)) / curvature
        step = np.clip(step, -2.0, 2.0)  # damped: K is flat far from the mode
        b += step
        if np.abs(step).max() < 1e-6:
            break
    return b, curvature


def intercept_posterior(
    logits: np.ndarray, offsets: np.ndarray, sizes: np.ndarray, counts: np.ndarray, scale: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What a random intercept of standard deviation ``scale`` changes in the likelihood of exact counts.

    Parameters
    ----------
    logits, offsets : as in `count_posterior`; no bag is empty.
    sizes : (n_rows,) members that each row stands for.
    counts : (n_bags,) exact counts.
    scale : float above 0

    Returns
    -------
    extra : (n_bags,) what is added to log P(count).
    prior : (n_rows,) mean of sigmoid(logit + b) under b's posterior: the gradient is the label's posterior minus it.
    second : (n_bags,) mean of b^2 under b's posterior.

    Examples
    --------
    >>> import numpy as np
    >>> extra, prior, second = intercept_posterior(np.zeros(4), np.array([0, 4]), np.ones(4), np.array([4.0]), 1.0)
    >>> bool(extra[0] > 0), bool(prior[0] > 0.5)
    (True, True)
    """
    nodes, weights = np.polynomial.hermite.hermgauss(N_NODES)
    variance, starts = float(scale) ** 2, np.asarray(offsets)[:-1]
    bag = np.repeat(np.arange(starts.size), np.diff(offsets))
    mode, curvature = _mode(logits, bag, starts, sizes, counts, variance)
    spread = curvature**-0.5
    at = mode + np.sqrt(2.0) * spread * nodes[:, None]
    base = np.logaddexp(0.0, logits)
    values = (np.log(weights) + nodes**2)[:, None] + at * counts - 0.5 * at**2 / variance
    for k, b in enumerate(at):
        values[k] -= np.add.reduceat(sizes * (np.logaddexp(0.0, logits + b[bag]) - base), starts)
    extra = np.asarray(logsumexp(values, axis=0)) + np.log(spread) - 0.5 * np.log(np.pi * variance)
    weight = softmax(values, axis=0)
    prior = np.zeros(logits.size)
    for w, b in zip(weight, at):
        prior += w[bag] * expit(logits + b[bag])
    return extra, prior, (weight * at**2).sum(axis=0)
