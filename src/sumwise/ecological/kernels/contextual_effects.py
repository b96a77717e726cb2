"""Errors of ecological estimates whose groups behave differently from place to place, in closed form.

The share of outcome c in unit i with composition x_i is taken as

    y_ic = sum_r x_ir (p_rc + sum_s (x_is - m_s) (a_sc + d_rsc)) + noise,

with mean composition m. A slope a_sc is shared by all groups of a place, d_rsc is one group's own; both are normal with
mean 0 and standard deviation tau. An estimate of p mistakes slopes for differences between groups. Shared slopes leave
no trace in margins; own slopes bend y in composition, and the curvature is evidence of tau. All is in units of
sqrt(p (1 - p)), so that one matrix (R, R) serves all outcomes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sumwise.ecological.kernels import BLOCK, ROUNDING

UNKNOWN = 2.0  # deviation of what no unit identifies: intervals are then the bounds


class Moments(NamedTuple):
    """Sums over units that all formulas are made of; R groups, C outcomes, k covariates, T = R R products."""

    mean: np.ndarray  # (R,) composition of all people
    second: np.ndarray  # (R, R) people's E[x x']
    third: np.ndarray  # (k + R, T) people's E[design q'] with q = x (x - m)'
    people: np.ndarray  # (k + R, k + R) people's E[design design']
    design: np.ndarray  # (k + R, k + R) design' W design, W the inverse variances of units
    bent: np.ndarray  # (k + R, T) design' W q
    curved: np.ndarray  # (T, T) q' W q
    outcomes: np.ndarray  # (k + R, C) design' W y
    bent_outcomes: np.ndarray  # (T, C) q' W y
    square: np.ndarray  # (C,) y' W y
    n_units: int


def moments(rows: np.ndarray, cols: np.ndarray, variance: np.ndarray, covariates: np.ndarray | None = None) -> Moments:
    """Sums over units with rows (n, R), cols (n, C), relative variances of their outcomes (n,), covariates (n, k).

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.kernels.contextual_effects import moments
    >>> rows = np.array([[30.0, 10.0], [10.0, 30.0]])
    >>> moments(rows, rows, np.ones(2)).second
    array([[0.3125, 0.1875],
           [0.1875, 0.3125]])
    """
    totals = rows.sum(axis=1)
    weight, mean = totals / totals.sum(), rows.sum(axis=0) / totals.sum()
    parts = []
    for start in range(0, len(rows), BLOCK):
        block = slice(start, start + BLOCK)
        x, y = rows[block] / totals[block, None], cols[block] / totals[block, None]
        z = np.hstack([x] if covariates is None else [x, covariates[block]])
        q = (x[:, :, None] * (x - mean)[:, None, :]).reshape(len(x), -1)
        w, v = weight[block, None], 1 / variance[block, None]
        people = x.T @ (w * x), z.T @ (w * q), z.T @ (w * z)
        precise = z.T @ (v * z), z.T @ (v * q), q.T @ (v * q), z.T @ (v * y), q.T @ (v * y), (v * y**2).sum(axis=0)
        parts.append((*people, *precise))
    sums = [np.sum(same, axis=0) for same in zip(*parts)]
    return Moments(mean, *sums, n_units=len(rows))


def sampling_covariance(m: Moments, prior: float, chance: float = 1.0) -> np.ndarray:
    """Covariance (R, R) of errors `chance` times a regression's; shares have prior deviation `prior`, totals none.

    Directions that no unit identifies, and all of them where units leave no residual, have a deviation of `UNKNOWN`.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.kernels.contextual_effects import moments, sampling_covariance
    >>> alike = np.tile([50.0, 50.0], (9, 1))
    >>> np.diag(sampling_covariance(moments(alike, alike, np.full(9, 0.01)), prior=0.5))
    array([2., 2.])
    """
    size = len(m.mean)
    values, vectors = np.linalg.eigh(m.design)
    identified = values > ROUNDING * max(float(values[-1]), 1e-300)
    identified &= m.n_units > int(identified.sum())
    precision = np.where(identified, values / chance**2 + prior**-2, UNKNOWN**-2)
    covariance = ((vectors / precision) @ vectors.T)[:size, :size]
    along = covariance @ m.mean
    return covariance - np.outer(along, along) / max(float(m.mean @ along), 1e-300)


def slope_covariance(m: Moments) -> np.ndarray:
    """Covariance (R, R) of the errors by slopes with standard deviation 1: each group's own, and those shared.

    A slope of group r on x_s adds x_r (x_s - m_s) to the outcome. A regression takes that for its projection on the
    composition; in truth it adds E[x_r x_s] / m_r - m_s to the share of group r.
    """
    size = len(m.mean)
    taken = (np.linalg.pinv(m.people, hermitian=True) @ m.third)[:size].reshape(size, size, size)
    true = m.second / np.maximum(m.mean, 1e-300)[:, None] - m.mean
    errors = taken.copy()
    errors[np.arange(size), np.arange(size)] -= true
    own, shared = errors.reshape(size, -1), errors.sum(axis=1)
    return own @ own.T + shared @ shared.T


def curvature_evidence(m: Moments, outcome_variance: np.ndarray, taus: np.ndarray) -> np.ndarray:
    """Log-likelihood of each tau (K,) given the curvature of outcomes in composition, (K,); 0 where units show none.

    Along the directions of curvature that composition leaves free, coefficients are independent, with the residual
    variance and tau squared times outcome_variance (C,) times the direction's eigenvalue. Outcomes sum to one, so that
    C of them are worth C - 1.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.kernels.contextual_effects import curvature_evidence, moments
    >>> x = np.linspace(0.1, 0.9, 60)
    >>> rows = 1000 * np.column_stack([x, 1 - x])
    >>> def best(y):
    ...     m = moments(rows, 1000 * np.column_stack([y, 1 - y]), np.full(60, 0.01))
    ...     return int(curvature_evidence(m, np.full(2, 0.25), np.array([0.01, 0.1, 1.0])).argmax())
    >>> wave = 0.02 * np.sin(20 * x)
    >>> best(0.3 + 0.4 * x + wave), best(0.2 + 0.6 * x**2 + wave)
    (0, 2)
    """
    n_cols = len(outcome_variance)
    fitted = np.linalg.pinv(m.design, hermitian=True)
    free = m.curved - m.bent.T @ fitted @ m.bent
    values, vectors = np.linalg.eigh(free)
    used = values > ROUNDING * max(float(np.abs(np.diag(m.curved)).max()), 1e-300)
    left = m.n_units - np.linalg.matrix_rank(m.design) - int(used.sum())
    if n_cols < 2 or not used.any() or left < 1:
        return np.zeros(len(taus))
    values, vectors = values[used], vectors[:, used]
    bends = vectors.T @ (m.bent_outcomes - m.bent.T @ fitted @ m.outcomes) / np.sqrt(values)[:, None]
    residual = m.square - np.einsum("kc,kc->c", m.outcomes, fitted @ m.outcomes) - (bends**2).sum(axis=0)
    noise = np.maximum(residual / left, 1e-12 * np.maximum(m.square, 1e-300))
    variance = noise + taus[:, None, None] ** 2 * values[:, None] * outcome_variance
    likelihood = -0.5 * (np.log(variance) + bends**2 / variance).sum(axis=(1, 2))
    return likelihood * (n_cols - 1) / n_cols
