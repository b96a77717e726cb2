"""Figures, one per file: its numbers, as a dict, then its drawing, which takes `ax=` and returns it."""

from sumwise.plots.bag_contrast import bag_contrast_numbers, plot_bag_contrast
from sumwise.plots.calibration import calibration_numbers, plot_calibration
from sumwise.plots.coefficients import plot_coefficients
from sumwise.plots.confusion import confusion_numbers, plot_confusion
from sumwise.plots.connectivity import connectivity_numbers, plot_connectivity
from sumwise.plots.containers import plot_containers, plot_estimate
from sumwise.plots.flow_animation import animate_flows, flow_frames
from sumwise.plots.flows import flow_numbers, plot_flows
from sumwise.plots.font_cache import prepare_font_cache
from sumwise.plots.intervals import interval_numbers, plot_intervals
from sumwise.plots.methods import method_numbers, plot_methods
from sumwise.plots.places import plot_places, uncertainty_numbers
from sumwise.plots.polarisation import plot_polarisation, polarisation_numbers
from sumwise.plots.predicted import plot_predicted, predicted_numbers
from sumwise.plots.routes import plot_routes, route_numbers
from sumwise.plots.sensitivity_band import plot_sensitivity_band
from sumwise.plots.share_density import plot_share_density, share_density_numbers
from sumwise.plots.share_heatmap import plot_share_heatmap
from sumwise.plots.style import styled
from sumwise.plots.subgroups import plot_subgroups, subgroup_numbers
from sumwise.plots.tomography import plot_tomography, tomography_numbers
from sumwise.plots.training_curve import plot_training_curve, training_numbers
from sumwise.plots.unit_map import map_numbers, plot_unit_map, unit_shapes
from sumwise.plots.unit_scatter import plot_unit_scatter, unit_scatter_numbers

__all__ = [
    "animate_flows",
    "bag_contrast_numbers",
    "calibration_numbers",
    "confusion_numbers",
    "connectivity_numbers",
    "flow_frames",
    "flow_numbers",
    "interval_numbers",
    "map_numbers",
    "method_numbers",
    "plot_bag_contrast",
    "plot_calibration",
    "plot_coefficients",
    "plot_confusion",
    "plot_connectivity",
    "plot_containers",
    "plot_estimate",
    "plot_flows",
    "plot_intervals",
    "plot_methods",
    "plot_places",
    "plot_polarisation",
    "plot_predicted",
    "plot_routes",
    "plot_sensitivity_band",
    "plot_share_density",
    "plot_share_heatmap",
    "plot_subgroups",
    "plot_tomography",
    "plot_training_curve",
    "plot_unit_map",
    "plot_unit_scatter",
    "polarisation_numbers",
    "predicted_numbers",
    "route_numbers",
    "share_density_numbers",
    "subgroup_numbers",
    "tomography_numbers",
    "training_numbers",
    "uncertainty_numbers",
    "unit_scatter_numbers",
    "unit_shapes",
]

prepare_font_cache()


globals().update({name: styled(globals()[name]) for name in __all__ if name.startswith("plot_")})
