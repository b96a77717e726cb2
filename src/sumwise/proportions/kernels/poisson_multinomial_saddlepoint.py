"""Multivariate saddlepoint approximation to the sum of outcome vectors, with an estimate of its error."""

from __future__ import annotations

import math

import numpy as np

from sumwise.inference.kernels.compiled import njit
from sumwise.proportions.kernels.poisson_binomial_saddlepoint import log_normaliser
from sumwise.proportions.kernels.poisson_multinomial_linear import cholesky, dot, inverse

SAMPLE = 4000  # members that the error estimate looks at


@njit(cache=True, error_model="numpy")
def _mean(probs: np.ndarray, outcomes: np.ndarray, mu: np.ndarray) -> None:
    for j in range(mu.size):
        mu[j] = 0.0
        for a in range(probs.size):
            mu[j] += probs[a] * outcomes[a, j]


@njit(cache=True, error_model="numpy")
def _distance(precision: np.ndarray, dev: np.ndarray) -> float:
    """dev' B dev"""
    total = 0.0
    for j in range(dev.size):
        total += dot(precision[j], dev) * dev[j]
    return total


@njit(cache=True, error_model="numpy")
def _normaliser(lower: np.ndarray) -> tuple[float, np.ndarray]:
    """Log normaliser of the sum whose covariance is L L', and W with W' W the derivative of twice it in the covariance.

    Dimensions are taken one after the other, each with its variance given the ones before, L_jj^2.
    """
    d = lower.shape[0]
    total = 0.0
    white = np.zeros((d, d))  # diag(sqrt(slopes)) L^-1
    for j in range(d):
        white[j, j] = 1.0
        for k in range(j):
            for l in range(k + 1):
                white[j, l] -= lower[j, k] * white[k, l]
        for l in range(j + 1):
            white[j, l] /= lower[j, j]
    for j in range(d):
        value, slope = log_normaliser(lower[j, j] ** 2, 1.0)
        total += value
        root = math.sqrt(max(slope, 0.0))
        for l in range(j + 1):
            white[j, l] *= root
    return total, white


@njit(cache=True, error_model="numpy")
def _second_order(probs: np.ndarray, outcomes: np.ndarray, white: np.ndarray, sizes: np.ndarray) -> float:  # noqa: C901 (plain loops compile best)
    """The size of the next term of the expansion of log P (McCullagh 1987, section 6.3), signs disregarded."""
    n, m = probs.shape
    d = outcomes.shape[1]
    step = max(1, n // SAMPLE)
    scale = sizes.sum() / sizes[::step].sum()
    skew = np.zeros((d, d, d))
    fourth = 0.0
    mu, y = np.empty(d), np.empty(d)
    own = np.empty((d, d))
    for i in range(0, n, step):
        _mean(probs[i], outcomes, mu)
        quartic = 0.0
        for j in range(d):
            for k in range(d):
                own[j, k] = 0.0
        for a in range(m):
            for j in range(d):
                y[j] = 0.0
                for k in range(j + 1):
                    y[j] += (outcomes[a, k] - mu[k]) * white[j, k]
            quartic += probs[i, a] * dot(y, y) ** 2
            weight = scale * sizes[i] * probs[i, a]
            for j in range(d):
                for k in range(d):
                    own[j, k] += probs[i, a] * y[j] * y[k]
                    for l in range(d):
                        skew[j, k, l] += weight * y[j] * y[k] * y[l]
        trace = 0.0
        squares = 0.0
        for j in range(d):
            trace += own[j, j]
            squares += dot(own[j], own[j])
        fourth += scale * sizes[i] * (quartic - trace * trace - 2.0 * squares)
    total = abs(fourth) / 8.0
    for j in range(d):
        contracted = 0.0
        for k in range(d):
            contracted += skew[j, k, k]
            total += dot(skew[j, k], skew[j, k]) / 12.0
        total += contracted * contracted / 8.0
    return total


@njit(cache=True, error_model="numpy")
def saddlepoint(
    probs: np.ndarray, outcomes: np.ndarray, cov: np.ndarray, sizes: np.ndarray
) -> tuple[float, np.ndarray, float]:
    """log P(sum) and posteriors to first order, where ``probs`` are tilted exactly to the target.

    log P = -log det(2 pi cov) / 2, and the posterior is the gradient of log P in the log-potentials:
    q_ia = p_ia (1 - (r_ia - g_i - (v_a - mu_i) . A u) / 2) with A = cov^-1, r_ia = (v_a - mu_i)' B (v_a - mu_i),
    g_i = sum_a p_ia r_ia, u = sum_ia p_ia (r_ia - g_i) (v_a - mu_i), and B = A. Where the sum is nearly certain in
    some direction, `log_normaliser` takes the place of log(2 pi variance) / 2, and B that of its derivative.

    Returns
    -------
    log_total, posterior, error : the error of the posterior is estimated by the next term of log P times the
    largest share that a
        member has in the variance.
    """
    n, m = probs.shape
    d = outcomes.shape[1]
    lower = cholesky(cov, 1e-12)
    precision = inverse(lower)
    log_norm, white = _normaliser(lower)
    bend = white.T @ white
    posterior = np.empty((n, m))
    pull, push = np.zeros(d), np.zeros(d)
    mu, dev = np.empty(d), np.empty(d)
    largest = 0.0
    for i in range(n):
        _mean(probs[i], outcomes, mu)
        g = 0.0
        for a in range(m):
            for j in range(d):
                dev[j] = outcomes[a, j] - mu[j]
            posterior[i, a] = _distance(bend, dev)
            g += probs[i, a] * posterior[i, a]
        largest = max(largest, g)
        for a in range(m):
            posterior[i, a] -= g
            for j in range(d):
                pull[j] += sizes[i] * probs[i, a] * posterior[i, a] * (outcomes[a, j] - mu[j])
    for j in range(d):
        push[j] = dot(precision[j], pull)
    for i in range(n):
        _mean(probs[i], outcomes, mu)
        for a in range(m):
            turn = 0.0
            for j in range(d):
                turn += (outcomes[a, j] - mu[j]) * push[j]
            posterior[i, a] = max(probs[i, a] * (1.0 - 0.5 * (posterior[i, a] - turn)), 0.0)
    error = _second_order(probs, outcomes, white, sizes) * largest
    return -log_norm, posterior, error
