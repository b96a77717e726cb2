"""Scores against truth."""

from sumwise.metrics.intervals import (
    auc_interval,
    conformal_half_width,
    difference_interval,
    mean_error_interval,
    r_squared_interval,
    wilson_interval,
)
from sumwise.metrics.labels import auc, calibration, nllh
from sumwise.metrics.shares import (
    bag_calibration,
    majority_hits,
    pair_order,
    share_scores,
    weighted_rmse,
)

__all__ = [
    "auc",
    "auc_interval",
    "bag_calibration",
    "calibration",
    "conformal_half_width",
    "difference_interval",
    "majority_hits",
    "mean_error_interval",
    "nllh",
    "pair_order",
    "r_squared_interval",
    "share_scores",
    "weighted_rmse",
    "wilson_interval",
]
