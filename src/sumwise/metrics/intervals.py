"""Intervals of scores and of differences: a proportion, an area under the curve, an R squared."""

from __future__ import annotations

from typing import Any

import numpy as np

from sumwise import checks
from sumwise.metrics.labels import auc


def wilson_interval(successes: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of a proportion.

    Parameters
    ----------
    successes, n : float
    level : float in (0, 1), default 0.95

    Examples
    --------
    >>> from sumwise.metrics.intervals import wilson_interval
    >>> [round(x, 3) for x in wilson_interval(8, 10)]
    [0.49, 0.943]
    """
    from scipy.stats import norm

    checks.positive(n, "n", ndim=0)
    share, z = successes / n, float(norm.ppf((1 + checks.fraction(level, "level")) / 2))
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    return float(max(min(middle - half, share), 0.0)), float(min(max(middle + half, share), 1.0))


def auc_interval(labels: Any, probabilities: Any, level: float = 0.95) -> tuple[float, float]:
    """Score interval of the area under the ROC curve, as wide as the larger of two variances makes it.

    Hanley and McNeil's variance is a function of the area alone, so that the interval exists where positives and
    negatives are separated perfectly; DeLong's is estimated, and allows for spreads that differ between the classes.

    Parameters
    ----------
    labels : array of 0 and 1, shape (n,)
    probabilities : array of shape (n,) or (n, 2)
    level : float in (0, 1), default 0.95

    Examples
    --------
    >>> from sumwise.metrics.intervals import auc_interval
    >>> [round(x, 3) for x in auc_interval([0, 0, 0, 1, 1, 1], [0.1, 0.2, 0.4, 0.3, 0.8, 0.9])]
    [0.401, 0.989]
    """
    from scipy.optimize import brentq
    from scipy.stats import norm, rankdata

    area = auc(labels, probabilities)
    y, p = np.asarray(labels), np.asarray(probabilities, dtype=float)
    score = p[:, -1] if p.ndim == 2 else p
    ones, zeros = score[y == 1], score[y == 0]
    m, n = len(ones), len(zeros)
    ranks = rankdata(np.concatenate([ones, zeros]))
    above = (ranks[:m] - rankdata(ones)) / n, (ranks[m:] - rankdata(zeros)) / m
    own = sum(part.var(ddof=1) / len(part) for part in above if len(part) > 1)  # DeLong et al. 1988
    scale = own / (area * (1 - area)) if 0 < area < 1 else 0.0
    z, k = float(norm.ppf((1 + checks.fraction(level, "level")) / 2)), (m + n) / 2 - 1

    def half(t: float) -> float:
        by_area = (1 + k * (1 - t) / (2 - t) + k * t / (1 + t)) / (m * n)  # Newcombe 2006, method 5
        return z * float(np.sqrt(t * (1 - t) * max(by_area, scale)))

    edge = 1e-9  # both sides of the equation vanish at a perfect area
    low: Any = brentq(lambda t: area - t - half(t), 0.0, area - edge) if area > edge else 0.0
    high: Any = brentq(lambda t: t - area - half(t), area + edge, 1.0) if area < 1 - edge else 1.0
    return float(low), float(high)


def mean_error_interval(errors: Any, level: float = 0.95) -> tuple[float, float]:
    """Interval of the mean absolute error of independent errors, by Student's t on the logarithmic scale.

    Parameters
    ----------
    errors : array of shape (n,)
        Held-out errors; their sign does not matter.
    level : float in (0, 1), default 0.95

    Examples
    --------
    >>> from sumwise.metrics.intervals import mean_error_interval
    >>> [round(x, 3) for x in mean_error_interval([-1.0, 2.0, 0.5, 1.5] * 10)]
    [1.081, 1.445]
    """
    sizes = np.abs(checks.finite(errors, "errors")).ravel()
    mean = float(sizes.mean())
    if mean == 0:
        return 0.0, 0.0
    factor = float(np.exp(_student_half_width(sizes / mean, level)))
    return mean / factor, mean * factor


def r_squared_interval(actual: Any, predicted: Any, level: float = 0.95) -> tuple[float, float]:
    """Interval of R squared of independent predictions, by Student's t on the logarithm of the unexplained part.

    Parameters
    ----------
    actual, predicted : array of shape (n,)
    level : float in (0, 1), default 0.95

    Examples
    --------
    >>> from sumwise.metrics.intervals import r_squared_interval
    >>> [round(x, 2) for x in r_squared_interval([1, 2, 3, 4, 5, 6], [1.5, 1.8, 3.2, 3.7, 5.4, 5.5])]
    [0.92, 0.97]
    """
    y = checks.finite(actual, "actual").ravel()
    lost, spread = (y - checks.finite(predicted, "predicted").ravel()) ** 2, (y - y.mean()) ** 2
    if not lost.any() or not spread.any():
        score = 1.0 if not lost.any() else -np.inf
        return score, score
    ratio = float(lost.mean() / spread.mean())
    factor = float(np.exp(_student_half_width(lost / lost.mean() - spread / spread.mean(), level)))
    return 1 - ratio * factor, 1 - ratio / factor


def _student_half_width(values: np.ndarray, level: float) -> float:
    """Half the width of Student's interval of a mean; infinite for a single value."""
    from scipy.stats import t

    n = len(values)
    if n < 2:
        return np.inf
    return float(t.ppf((1 + checks.fraction(level, "level")) / 2, n - 1) * values.std(ddof=1) / n**0.5)


def difference_interval(first: Any, last: Any, bounds: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Interval of the difference last - first of estimates with independent errors (Zou and Donner 2008).

    The distance from an estimate to an end of its interval stands in for a multiple of its standard error on that
    side, so the intervals needn't be symmetric: of estimates a and b, the lower end is
    b - a - sqrt((b - low_b)^2 + (high_a - a)^2). The level is the one that both intervals have.

    Parameters
    ----------
    first, last : (estimate, low, high)
        Numbers or arrays of one shape; NaN where there is none.
    bounds : bool, default False
        Whether one of them has bounds, which hold whatever the errors are: distances are then added up.

    Returns
    -------
    low, high : array

    Examples
    --------
    >>> from sumwise.metrics import difference_interval
    >>> [round(float(end), 3) for end in difference_interval((0.50, 0.47, 0.53), (0.60, 0.56, 0.64))]
    [0.05, 0.15]
    >>> [round(float(end), 3) for end in difference_interval((0.50, 0.47, 0.53), (0.60, 0.56, 0.64), bounds=True)]
    [0.03, 0.17]
    """
    a, below_a, above_a = _arms(first)
    b, below_b, above_b = _arms(last)
    together = np.add if bounds else np.hypot
    return b - a - together(below_b, above_a), b - a + together(above_b, below_a)


def _arms(interval: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The estimate, and its distances to both ends: none to an end that is on the other side of it."""
    middle, low, high = (checks.finite(part, "the interval", allow_nan=True) for part in interval)
    return middle, np.maximum(middle - low, 0.0), np.maximum(high - middle, 0.0)
