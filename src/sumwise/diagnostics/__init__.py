"""The numbers behind every figure, one file per family; figures only draw them."""

from sumwise.deprecated import renamed
from sumwise.diagnostics.bags import (
    calibration_numbers,
    confusion,
    predicted_numbers,
    similarity_numbers,
    subgroup_numbers,
)
from sumwise.diagnostics.ecological import (
    contextual,  # noqa: F401 (deprecated)
    first_choices,
    interval_numbers,
    is_abstention,
    method_numbers,
    methods_table,
    polarisation_numbers,
    share_density,
    tomography,
    unit_cells,
    unit_scatter,
)
from sumwise.diagnostics.flows import (
    connectivity_numbers,
    flow_frames,
    flow_numbers,
    mean_moves,
    route_numbers,
    uncertainty_numbers,
)
from sumwise.diagnostics.held_out import cross_predict, cross_predict_shares, split_half, subgroup_shares
from sumwise.diagnostics.levels import class_margin, class_share_errors, level_shares
from sumwise.diagnostics.maps import map_numbers, unit_shapes
from sumwise.diagnostics.other_methods import finding_numbers, fit_others, other_methods, share_differences
from sumwise.diagnostics.training_curve import convergence, training_curve
from sumwise.estimator import family_of

__all__ = [
    "calibration_numbers",
    "class_margin",
    "class_share_errors",
    "confusion",
    "connectivity_numbers",
    "convergence",
    "cross_predict",
    "cross_predict_shares",
    "family_of",
    "finding_numbers",
    "first_choices",
    "fit_others",
    "flow_frames",
    "flow_numbers",
    "interval_numbers",
    "is_abstention",
    "level_shares",
    "map_numbers",
    "mean_moves",
    "method_numbers",
    "methods_table",
    "other_methods",
    "polarisation_numbers",
    "predicted_numbers",
    "route_numbers",
    "share_density",
    "share_differences",
    "similarity_numbers",
    "split_half",
    "subgroup_numbers",
    "subgroup_shares",
    "tomography",
    "training_curve",
    "uncertainty_numbers",
    "unit_cells",
    "unit_scatter",
    "unit_shapes",
]

__getattr__ = renamed("sumwise.diagnostics", {"course": "training_curve"})
