"""Calibration of class scores by a few labelled rows: one slope, and a shift per class."""

from __future__ import annotations

import numpy as np

from sumwise.errors import DataError
from sumwise.inference.kernels.minimise import minimise
from sumwise.maxent.kernels.loglinear import log_sum

SLOPE_SD, SHIFT_SD = 0.5, 1.0  # of the normal priors around 1 and 0


def fit_calibration(scores: np.ndarray, labels: np.ndarray) -> tuple[float, np.ndarray]:
    """Slope and shifts (K,), the first 0, such that softmax(slope * scores + shifts) suits the labels (n,).

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.maxent.calibration import fit_calibration
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=5000)
    >>> y = (rng.random(5000) < 1 / (1 + np.exp(-(0.5 + 2.0 * z)))).astype(int)
    >>> slope, shifts = fit_calibration(np.column_stack([np.zeros(5000), z]), y)
    >>> round(slope, 1), shifts.round(1)
    (1.9, array([0. , 0.5]))
    """
    n, k = scores.shape
    if not n:
        raise DataError("There are no rows to calibrate on.", hint="give a few labelled individuals.")
    if not np.isfinite(scores).all():
        raise DataError("Some scores are infinite.", hint="raise penalty_theta.")
    hit = np.eye(k)[labels]

    def loss(x: np.ndarray):
        z = x[0] * scores + np.concatenate([[0.0], x[1:]])
        whole = log_sum(z, axis=1)
        off = np.exp(z - whole[:, None]) - hit
        value = np.sum(whole) - np.sum(hit * z)
        value += 0.5 * ((x[0] - 1) / SLOPE_SD) ** 2 + 0.5 * np.sum((x[1:] / SHIFT_SD) ** 2)
        slope = np.sum(off * scores) + (x[0] - 1) / SLOPE_SD**2
        return value, np.concatenate([[slope], off.sum(axis=0)[1:] + x[1:] / SHIFT_SD**2])

    start = np.concatenate([[1.0], np.zeros(k - 1)])
    bounds = [(0.0, None)] + [(None, None)] * (k - 1)  # the order of individuals is the tables'
    found = minimise(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    return float(found[0]), np.concatenate([[0.0], found[1:]])
