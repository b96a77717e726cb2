"""Scores against truth."""

from sumwise.metrics.labels import auc, calibration, nllh

__all__ = ["auc", "calibration", "nllh"]
