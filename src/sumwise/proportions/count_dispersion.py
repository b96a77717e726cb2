"""Overdispersion: how much more counts of bags vary than the probabilities of a fit allow, and a warning."""

from __future__ import annotations

import warnings

import numpy as np

from sumwise.errors import ModelWarning
from sumwise.proportions.share_classifier import linear_logits
from sumwise.proportions.shares import BagShares, class_probabilities


def count_dispersion(data: BagShares, table) -> tuple[float, float]:
    """How counts vary beside what a fit expects of them.

    Returns
    -------
    times : float
        Squared residuals of the counts over their variance, both summed over bags and classes.
    slope : float
        Of the observed on the expected shares, in a regression over bags weighted by size; below 1 where the expected
        ones are spread too widely.
    """
    chances = class_probabilities(linear_logits(data.values, table))
    found = np.add.reduceat(chances * data.weights[:, None], data.offsets[:-1])
    allowed = float((data.weights @ (chances * (1.0 - chances))).sum())
    times = float(((data.sizes[:, None] * data.shares - found) ** 2).sum()) / max(allowed, 1e-12)
    expected = found / data.sizes[:, None]
    off = expected - np.average(expected, axis=0, weights=data.sizes)
    spread = float((data.sizes[:, None] * off**2).sum())
    slope = float((data.sizes[:, None] * off * data.shares).sum()) / spread if spread > 0.0 else np.inf
    return times, slope


def warn_of_dispersion(times: float, why: str, hint: str) -> None:
    """Warn that counts vary ``times`` as much as a fit allows."""
    warnings.warn(
        f"Counts of the bags vary {times:,.3g} times as much as the probabilities of this fit allow: they are too "
        f"certain, or {why}. Hint: {hint}",
        ModelWarning,
        stacklevel=4,
    )
