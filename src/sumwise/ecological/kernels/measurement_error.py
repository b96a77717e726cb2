"""Groups' counts that are the truth plus noise: what they are expected to be, given what was observed.

Noise makes units look more different in their groups than they are, and so groups more alike in what they do
(attenuation). Regression calibration (Carroll and others 2006, chapter 4) replaces the observed composition w of a unit
by the best linear prediction of the true one,

    E[x | w] = m + S (S + E)^- (w - m)

with m and S the mean and covariance of true compositions over units, given covariates, and E that of the unit's noise;
S is the covariance of what was observed less the mean of E. Shares of outcomes are linear in x, so a regression on this
prediction is consistent where one on w is not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

LEAST = 0.02  # of the observed variance in every direction is taken to be real


class CalibratedRows(NamedTuple):
    """Expected counts (n, R), and each group's reliability (R,): the part of its observed variance that is real."""

    rows: np.ndarray
    reliability: np.ndarray


def noise_covariances(shares: np.ndarray, sd: np.ndarray) -> np.ndarray:
    """Covariances (n, R, R) of noisy counts as shares of a known total: shares (n, R), sd (n, R) over that total.

    Scaling to the total turns noise e into e - x sum(e), to first order.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.kernels.measurement_error import noise_covariances
    >>> noise_covariances(np.array([[0.5, 0.5]]), np.array([[0.1, 0.1]])).round(4)
    array([[[ 0.005, -0.005],
            [-0.005,  0.005]]])
    """
    scaled = np.eye(shares.shape[1])[None] - shares[:, :, None]
    return np.einsum("iab,ib,icb->iac", scaled, sd**2, scaled)


def calibrated_rows(
    rows: np.ndarray, row_sd: np.ndarray, weight: np.ndarray, covariates: np.ndarray | None = None
) -> CalibratedRows:
    """The expected counts of groups given observed `rows` (n, R) with noise `row_sd` (n, R); totals are kept.

    weight (n,) of units, covariates (n, k) that the mean composition depends on. Units weigh by their people.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.kernels.measurement_error import calibrated_rows
    >>> rows = np.array([[20.0, 80.0], [50.0, 50.0], [80.0, 20.0]])
    >>> done = calibrated_rows(rows, np.full((3, 2), 10.0), np.ones(3))
    >>> done.rows.round(1).tolist()
    [[23.4, 76.6], [50.0, 50.0], [76.6, 23.4]]
    """
    totals = rows.sum(axis=1)
    live = (totals > 0) & (weight > 0)
    size = np.where(totals > 0, totals, 1.0)[:, None]
    shares = rows / size
    noise = noise_covariances(shares, row_sd / size)
    people = np.where(live, weight * totals, 0.0)
    people = people / people.sum()
    design = np.ones((len(rows), 1)) if covariates is None else np.column_stack([np.ones(len(rows)), covariates])
    scaled = design * people[:, None]
    mean = design @ np.linalg.lstsq(scaled.T @ design, scaled.T @ shares, rcond=None)[0]
    apart = shares - mean
    observed = np.einsum("i,ia,ib->ab", people, apart, apart)
    real, reliability = _real_part(observed, np.einsum("i,iab->ab", people, noise))
    gain = real[None] @ np.linalg.pinv(real[None] + noise, rcond=1e-9, hermitian=True)
    expected = np.maximum(mean + np.einsum("iab,ib->ia", gain, apart), 0.0)
    expected = expected / expected.sum(axis=1, keepdims=True) * totals[:, None]
    return CalibratedRows(np.where((row_sd > 0).any(axis=1, keepdims=True), expected, rows), reliability)


def _real_part(observed: np.ndarray, noise: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The observed covariance (R, R) less that of noise, at least `LEAST` of it in every direction; reliabilities."""
    values, vectors = np.linalg.eigh(observed)
    positive = values > 1e-12 * max(values[-1], 1e-300)
    root = vectors[:, positive] * np.sqrt(values[positive])
    back = vectors[:, positive] / np.sqrt(values[positive])
    inner, turn = np.linalg.eigh(np.eye(int(positive.sum())) - back.T @ noise @ back)
    real = root @ (turn * np.maximum(inner, LEAST)) @ turn.T @ root.T
    variances = np.diag(observed)
    return real, np.divide(np.diag(observed - noise), variances, out=np.ones(len(variances)), where=variances > 0)
