"""Intervals from errors and from successes: conformal half-widths and Wilson's interval."""

from __future__ import annotations

from typing import Any

import numpy as np

from sumwise import checks
from sumwise.errors import DataError


def conformal_half_width(errors: Any, level: float = 0.95) -> float:
    """Half the width of an interval around a prediction that would have held a share `level` of these errors.

    The split-conformal quantile of absolute held-out errors: a new prediction plus or minus this width holds the
    truth with probability `level` if the new unit is exchangeable with those behind the errors.

    Parameters
    ----------
    errors : array
        Held-out errors; their sign plays no part.
    level : float in (0, 1), default 0.95

    Examples
    --------
    >>> from sumwise.metrics import conformal_half_width
    >>> conformal_half_width([-1.0, 2.0, 0.5, 4.0], level=0.5)
    2.0
    """
    found = np.sort(np.abs(checks.finite(errors, "errors")).ravel())
    if not found.size:
        raise DataError("There are no errors to take a width from.", hint="predict held-out units first.")
    place = min(len(found) - 1, int(np.ceil((len(found) + 1) * checks.fraction(level, "level"))) - 1)
    return float(found[place])


def wilson_interval(successes: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of a proportion.

    Parameters
    ----------
    successes, n : float
    level : float in (0, 1), default 0.95

    Examples
    --------
    >>> from sumwise.metrics import wilson_interval
    >>> [round(x, 3) for x in wilson_interval(8, 10)]
    [0.49, 0.943]
    """
    from scipy.stats import norm

    checks.positive(n, "n", ndim=0)
    share, z = successes / n, float(norm.ppf((1 + checks.fraction(level, "level")) / 2))
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    return float(max(min(middle - half, share), 0.0)), float(min(max(middle + half, share), 1.0))
