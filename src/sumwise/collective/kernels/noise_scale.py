"""How much noise counts over time and place carry, by the counts themselves."""

from __future__ import annotations

import numpy as np


def laplace_sd(counts: np.ndarray, totals: np.ndarray, n_places: int) -> float:
    """The standard deviation of Laplace noise: by how far counts go below 0, and by totals that hardly change.

    How far Laplace noise goes below 0 is exponential with the noise's own scale, whatever the count was. Totals of one
    population differ by the noise of all places; their successive differences leave out slow changes.

    Parameters
    ----------
    counts : (n,) array, some of them negative
    totals : (n_times,) array
        Sums over all places at each time, in order; may be empty.
    n_places : int
    """
    below = -counts[counts < 0]
    k, n, sd = len(below), len(totals) - 1, float(np.sqrt(2) * np.mean(below))
    if n < 2:
        return sd
    by_totals = float(np.sqrt(np.mean(np.diff(totals) ** 2) / (2 * n_places)))
    if by_totals > sd * (1 + 2 * np.sqrt(1 / k + 1 / n)):
        return sd  # the population itself changes
    return (k * sd + n * by_totals) / (k + n)


def robust_sd(totals: np.ndarray, n_places: int) -> float:
    """The standard deviation of one count's noise at most: by the median change of totals, which few mistakes move."""
    return 1.4826 * float(np.median(np.abs(np.diff(totals)))) / float(np.sqrt(2 * n_places))
