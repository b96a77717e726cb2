"""Scores against truth."""

from sumwise.metrics.intervals import difference_interval
from sumwise.metrics.labels import auc, calibration, nllh
from sumwise.metrics.shares import bag_calibration, share_scores

__all__ = ["auc", "bag_calibration", "calibration", "difference_interval", "nllh", "share_scores"]
