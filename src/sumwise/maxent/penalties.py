"""The penalty of every parameter: by the order of its table, and by how far its cell is trusted."""

from __future__ import annotations

from typing import Any

import numpy as np

from sumwise import checks
from sumwise.errors import DataError
from sumwise.maxent.high_cardinality import large_penalties
from sumwise.maxent.kernels.contrastive import Moments
from sumwise.maxent.noise_penalty import distrust, ties
from sumwise.maxent.sufficient_statistics import Sufficient

__all__ = ["penalties_of", "usual_penalties"]

PER_OTHER = 3.0  # penalty of pairs, for each attribute that one is paired with


def penalties_of(
    found: Sufficient, penalty_theta: Any, penalty_mu: Any, aware: bool = True, large: bool = True
) -> Moments:
    """Penalties of mu (P,) and theta (C, P).

    With `aware` they are larger where noise hides a cell, with `large` also for attributes of many levels, as
    `large_penalties` says.

    Examples
    --------
    >>> from sumwise import Tables
    >>> from sumwise.maxent.penalties import penalties_of
    >>> from sumwise.maxent.sufficient_statistics import sufficient
    >>> t = Tables.from_frame({"a": [0, 0, 1], "b": [1, 0, 1], "y": [1, 0, 1]}, ["a", "b"], label="y")
    >>> penalties_of(sufficient(t), (1.0, 48.0), 1.0).sums  # of a x b, then a, then b
    array([[48., 48., 48., 48.,  1.,  1.,  1.,  1.]])
    """
    theta, mu = _by_order(found, penalty_theta, "penalty_theta"), _by_order(found, penalty_mu, "penalty_mu")
    theta = np.broadcast_to(theta, found.data.sums.shape)
    if large:
        theta = large_penalties(found, theta, most=float(np.max(penalty_theta)))
    if not (aware and found.noisy):
        return Moments(mu, theta)
    less = distrust(found)
    return Moments(mu * ties(found) * (1 + less.counts), theta * (1 + less.sums))


def _by_order(found: Sufficient, penalty: Any, name: str) -> np.ndarray:
    """Penalties (P,): one for tables of one attribute, of two, and so on, the last also for larger ones."""
    given = penalty if np.ndim(penalty) else [penalty]
    if not len(given):
        raise DataError(f"{name} is empty.", hint="give a number, or one for each order of tables.")
    by_order = np.array([checks.at_least(p, name, 0, whole_number=False) for p in given], dtype=float)
    lay = found.layout
    orders = np.repeat([len(t) for t in lay.terms], np.diff(lay.term_starts))
    return by_order[np.minimum(orders, len(by_order)) - 1]


def usual_penalties(n_attributes: int) -> tuple[float, float]:
    """Penalties of theta for one-way tables and larger ones, where nothing else is known.

    An attribute of D is in D - 1 pairs. If interactions together move log-odds about as much whatever D is, those of
    one pair have a variance like 1 / (D - 1), and its inverse is the penalty. The factor is what "auto" chose on rows
    of `synthetic` with three to five attributes (5.5, 6.8, 14.5, 14.8 for the pairs, about 1 for levels).

    Examples
    --------
    >>> from sumwise.maxent.penalties import usual_penalties
    >>> usual_penalties(5), usual_penalties(14)
    ((1.0, 12.0), (1.0, 39.0))
    """
    return 1.0, PER_OTHER * max(n_attributes - 1, 1)
