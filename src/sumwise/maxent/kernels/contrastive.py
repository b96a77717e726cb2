"""One step of (persistent) contrastive divergence on a log-linear model: gradient, preconditioner, misfit.

The penalised objective is n log Z(mu, theta) - d.mu - c.theta + sum lambda_mu mu^2 + sum lambda_theta theta^2, with
counts d and label sums c (Gilotte et al. 2022, eqs. (4) and (5)).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Moments(NamedTuple):
    """Counts (P,) and label sums (C, P) of all terms, of the data or expected under the model."""

    counts: np.ndarray
    sums: np.ndarray


def gradients(data: Moments, model: Moments, rescale: bool) -> Moments:
    """Gradient of the loss without penalty: model minus data.

    With `rescale` the label sums are compared per count, c_hat d / d_hat against c (eq. (6)), so that theta moves only
    where the share of labels is off. One is added to both counts, and the smaller side is scaled down rather than
    the larger one up, so that empty cells are no trouble.
    """
    mu = model.counts - data.counts
    if not rescale:
        return Moments(mu, model.sums - data.sums)
    ratio = (np.maximum(data.counts, 0.0) + 1.0) / (model.counts + 1.0)
    down, up = np.minimum(ratio, 1.0), np.minimum(1.0 / ratio, 1.0)
    return Moments(mu, model.sums * down - data.sums * up)


def steps(gradient: Moments, data: Moments, model: Moments, penalties: Moments, pace: Moments) -> Moments:
    """Divide a gradient (penalty included) by a bound on the Hessian's rows: counts / pace, and twice the penalty.

    A cell shares its individuals with one cell of every table, so its row of the Hessian sums to its count times the
    number of tables: with a pace of 1 / tables no step is too long (Gershgorin), whatever the attributes' correlation.
    Counts are taken half at the data, half at the model. pace: of mu and of theta.
    """
    each = zip(gradient, data, model, penalties, pace)
    return Moments(*(s * g / curvature(d, m, s * p) for g, d, m, p, s in each))


def curvature(data: np.ndarray, model: np.ndarray, penalty: np.ndarray) -> np.ndarray:
    """Diagonal of the Hessian: expected counts and twice the penalty (appendix C, rare cells)."""
    return np.maximum(0.5 * (np.maximum(data, 0.0) + model) + 2 * penalty, 1e-9)


def misfit(first: Moments, second: Moments, data: Moments, noise: Moments | None = None) -> float:
    """How far the moments are off, in standard errors of the data, Monte Carlo error taken out.

    first and second are the same gradient estimated by two independent halves of the chains: the mean over cells of
    first * second / (count + 1) estimates the squared distance, for errors of the two halves don't correlate. noise:
    the variances of noisy counts and label sums, which add to the standard errors.
    """
    noise = Moments(np.zeros(1), np.zeros(1)) if noise is None else noise
    counts = np.mean(first.counts * second.counts / (np.maximum(data.counts, 0.0) + 1.0 + noise.counts))
    sums = np.mean(first.sums * second.sums / (np.maximum(data.sums, 0.0) + 1.0 + noise.sums))
    return float(np.sqrt(max(0.5 * (counts + sums), 0.0)))
