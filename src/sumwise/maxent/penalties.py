"""The penalty of every parameter: by the order of its table, and by how far its cell is trusted."""

from __future__ import annotations

from typing import Any

import numpy as np

from sumwise import checks
from sumwise.kernels.contrastive import Moments
from sumwise.maxent.large import large_penalties
from sumwise.maxent.sufficient import Sufficient
from sumwise.maxent.trust import distrust

__all__ = ["penalties_of"]


def penalties_of(
    found: Sufficient, penalty_theta: Any, penalty_mu: float, aware: bool = True, large: bool = True
) -> Moments:
    """Penalties of mu (P,) and theta (C, P).

    With `aware` they are larger where noise hides a cell, with `large` also for attributes of many levels, as
    `large_penalties` says.

    Examples
    --------
    >>> from sumwise import Tables
    >>> from sumwise.maxent.penalties import penalties_of
    >>> from sumwise.maxent.sufficient import sufficient
    >>> t = Tables.from_frame({"a": [0, 0, 1], "b": [1, 0, 1], "y": [1, 0, 1]}, ["a", "b"], label="y")
    >>> penalties_of(sufficient(t), (1.0, 48.0), 1.0).sums  # of a x b, then a, then b
    array([[48., 48., 48., 48.,  1.,  1.,  1.,  1.]])
    """
    given = penalty_theta if np.ndim(penalty_theta) else [penalty_theta]
    by_order = [checks.at_least(p, "penalty_theta", 0, whole_number=False) for p in given]
    lay = found.layout
    orders = np.repeat([len(t) for t in lay.terms], np.diff(lay.term_starts))
    theta = np.array(by_order, dtype=float)[np.minimum(orders, len(by_order)) - 1]
    theta = np.broadcast_to(theta, found.data.sums.shape)
    if large:
        theta = large_penalties(found, theta, most=max(by_order))
    mu = np.full(lay.n_params, float(penalty_mu))
    if not (aware and found.noisy):
        return Moments(mu, theta)
    less = distrust(found)
    return Moments(mu * (1 + less.counts), theta * (1 + less.sums))
