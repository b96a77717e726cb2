"""Posterior means of noisy vectors that rest on known numbers of rows, in closed form."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Shrinkage(NamedTuple):
    """Mean (D,), axes (D, r) in which the noise is white, the way back (r, D), and the variance between units (r,)."""

    mean: np.ndarray
    axes: np.ndarray
    back: np.ndarray
    between: np.ndarray


def shrinkage(vectors: np.ndarray, sizes: np.ndarray, within: np.ndarray) -> Shrinkage:
    """Estimate how vectors v_i = t_i + e_i, t_i ~ N(m, B), e_i ~ N(0, W / n_i) shrink.

    vectors (n, D), sizes (n,) with n_i, within (D, D) is W. In axes where W is white and the spread diagonal, B has
    variances max(0, total - mean(1 / n_i)). Means over units are weighted by n_i / (n_i + median): the spread of small
    units is mostly noise.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.distribution.kernels.shrinkage import shrinkage
    >>> found = shrinkage(np.random.default_rng(0).normal(0, 2.0, (4000, 1)), np.ones(4000), np.eye(1))
    >>> bool(abs(found.between[0] - 3.0) < 0.3)
    True
    """
    weights = sizes / (sizes + np.median(sizes))
    weights = weights / weights.sum()
    mean = weights @ vectors
    values, turn = np.linalg.eigh(within)
    floor = 1e-3 * max(values[-1], 1e-300)
    root = np.sqrt(np.maximum(values, floor))  # directions of little noise get some: axes stay well apart
    white = turn / root
    scaled = ((vectors - mean) @ white) * np.sqrt(weights)[:, None]
    total, rotation = np.linalg.eigh(scaled.T @ scaled)
    between = np.maximum(total - weights @ (1.0 / sizes), 0.0)
    return Shrinkage(mean, white @ rotation, rotation.T @ (turn * root).T, between)


def shrink(vectors: np.ndarray, sizes: np.ndarray, found: Shrinkage) -> np.ndarray:
    """Posterior means m + B (B + W / n_i)^-1 (v_i - m), (n, D).

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.distribution.kernels.shrinkage import Shrinkage, shrink
    >>> found = Shrinkage(np.zeros(1), np.eye(1), np.eye(1), np.ones(1))
    >>> shrink(np.array([[2.0], [2.0]]), np.array([1.0, 3.0]), found)
    array([[1. ], [1.5]])
    """
    factor = found.between / (found.between + 1.0 / sizes[:, None])
    return found.mean + (((vectors - found.mean) @ found.axes) * factor) @ found.back
