"""A bag's own intercept, normal around 0, integrated out of the probability of its count.

Adding b to all logits of a bag multiplies P(count = z) by exp(b z - K(b) + K(0)), K(b) = sum_i log(1 + exp(logit_i
+ b)), and leaves the labels' posterior given z as it is. What remains is an integral in one dimension, done by
Gauss-Hermite quadrature around the integrand's mode.
"""

from __future__ import annotations

import math

import numpy as np

from sumwise.inference.kernels.compiled import njit
from sumwise.inference.kernels.threads import over_bags, writable
from sumwise.proportions.kernels.poisson_binomial_tilt import sigmoid, softplus

N_NODES = 17


@njit(cache=True, error_model="numpy")
def _mode(logits: np.ndarray, sizes: np.ndarray, count: float, variance: float) -> tuple[float, float]:
    """The b that maximises b z - K(b) - b^2 / (2 variance), a concave function, and minus its second derivative."""
    b = 0.0
    bend = 1.0 / variance
    for _ in range(100):
        slope = count - b / variance
        bend = 1.0 / variance
        for i in range(logits.size):
            p = sigmoid(logits[i] + b)
            slope -= sizes[i] * p
            bend += sizes[i] * p * (1.0 - p)
        step = slope / bend
        step = min(max(step, -2.0), 2.0)  # damped: K is flat far from the mode
        b += step
        if abs(step) < 1e-6:
            break
    return b, bend


@njit(cache=True, error_model="numpy", nogil=True)
def _bags(
    start_bag: int,
    end_bag: int,
    logits: np.ndarray,
    offsets: np.ndarray,
    sizes: np.ndarray,
    counts: np.ndarray,
    variance: float,
    nodes: np.ndarray,
    log_weights: np.ndarray,
    extra: np.ndarray,
    prior: np.ndarray,
    second: np.ndarray,
) -> None:
    n_nodes = nodes.size
    values = np.empty(n_nodes)
    at = np.empty(n_nodes)
    for bag in range(start_bag, end_bag):
        eta = logits[offsets[bag] : offsets[bag + 1]]
        m = sizes[offsets[bag] : offsets[bag + 1]]
        mode, bend = _mode(eta, m, counts[bag], variance)
        spread = 1.0 / math.sqrt(bend)
        for k in range(n_nodes):
            at[k] = mode + math.sqrt(2.0) * spread * nodes[k]
            values[k] = log_weights[k] + at[k] * counts[bag] - 0.5 * at[k] * at[k] / variance
        for i in range(eta.size):
            base = softplus(eta[i])
            for k in range(n_nodes):
                values[k] -= m[i] * (softplus(eta[i] + at[k]) - base)
        top = values.max()
        total = 0.0
        for k in range(n_nodes):
            values[k] = math.exp(values[k] - top)
            total += values[k]
        extra[bag] = top + math.log(total) + math.log(spread) - 0.5 * math.log(math.pi * variance)
        second[bag] = 0.0
        for k in range(n_nodes):
            values[k] /= total
            second[bag] += values[k] * at[k] * at[k]
        for i in range(eta.size):
            p = 0.0
            for k in range(n_nodes):
                if values[k] > 1e-18:
                    p += values[k] * sigmoid(eta[i] + at[k])
            prior[offsets[bag] + i] = p


def intercept_posterior(
    logits: np.ndarray, offsets: np.ndarray, sizes: np.ndarray, counts: np.ndarray, scale: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What a random intercept of standard deviation ``scale`` changes in the likelihood of exact counts.

    Parameters
    ----------
    logits, offsets : as in `count_posterior`.
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
    log_weights = np.log(weights) + nodes**2
    logits, offsets = writable(logits), np.array(offsets, dtype=np.int64)
    sizes, counts = writable(sizes), writable(counts)
    extra, second = np.empty(offsets.size - 1), np.empty(offsets.size - 1)
    prior = np.empty(logits.size)
    variance = float(scale) ** 2
    over_bags(
        lambda i, j: _bags(i, j, logits, offsets, sizes, counts, variance, nodes, log_weights, extra, prior, second),
        offsets,
    )
    return extra, prior, second
