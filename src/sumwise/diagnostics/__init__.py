"""The numbers behind every figure, one file per family; figures only draw them."""

from sumwise.deprecated import renamed
from sumwise.diagnostics.bags import calibration_numbers, confusion, predicted_numbers, subgroup_numbers
from sumwise.diagnostics.distribution import similarity_numbers
from sumwise.diagnostics.ecological import (
    contextual,
    interval_numbers,
    method_numbers,
    polarisation_numbers,
    share_density,
    tomography,
    unit_scatter,
)
from sumwise.diagnostics.findings import finding_numbers
from sumwise.diagnostics.flows import flow_numbers, mean_moves
from sumwise.diagnostics.training_curve import convergence, training_curve

__all__ = [
    "calibration_numbers",
    "confusion",
    "contextual",
    "convergence",
    "finding_numbers",
    "flow_numbers",
    "interval_numbers",
    "mean_moves",
    "method_numbers",
    "polarisation_numbers",
    "predicted_numbers",
    "share_density",
    "similarity_numbers",
    "subgroup_numbers",
    "tomography",
    "training_curve",
    "unit_scatter",
]

__getattr__ = renamed("sumwise.diagnostics", {"course": "training_curve"})
