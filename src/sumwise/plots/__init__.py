"""Figures, one per file, each drawn from the numbers of diagnostics: they take `ax=` and return it."""

from functools import wraps
from typing import Any

from sumwise.plots.calibration import plot_calibration
from sumwise.plots.coefficients import plot_coefficients
from sumwise.plots.confusion import plot_confusion
from sumwise.plots.connectivity import plot_connectivity
from sumwise.plots.containers import plot_containers, plot_estimate
from sumwise.plots.convergence import plot_convergence
from sumwise.plots.flow_animation import animate_flows
from sumwise.plots.flows import plot_flows
from sumwise.plots.font_cache import prepare_font_cache
from sumwise.plots.intervals import plot_intervals
from sumwise.plots.maps import plot_map_flows, plot_map_routes, plot_map_values
from sumwise.plots.methods import plot_methods
from sumwise.plots.polarisation import plot_polarisation
from sumwise.plots.predicted import plot_predicted
from sumwise.plots.sensitivity_contours import plot_sensitivity_contours
from sumwise.plots.share_density import plot_share_density
from sumwise.plots.share_heatmap import plot_share_heatmap
from sumwise.plots.share_scatter import plot_share_scatter
from sumwise.plots.similarity import plot_similarity
from sumwise.plots.subgroups import plot_subgroups
from sumwise.plots.tomography import plot_tomography
from sumwise.plots.training_curve import plot_training_curve
from sumwise.plots.truth_comparison import plot_findings
from sumwise.plots.unit_map import plot_unit_map
from sumwise.plots.unit_scatter import plot_unit_scatter

__all__ = [
    "animate_flows",
    "plot_calibration",
    "plot_coefficients",
    "plot_confusion",
    "plot_connectivity",
    "plot_containers",
    "plot_convergence",
    "plot_estimate",
    "plot_findings",
    "plot_flows",
    "plot_intervals",
    "plot_map_flows",
    "plot_map_routes",
    "plot_map_values",
    "plot_methods",
    "plot_polarisation",
    "plot_predicted",
    "plot_sensitivity_contours",
    "plot_share_density",
    "plot_share_heatmap",
    "plot_share_scatter",
    "plot_similarity",
    "plot_subgroups",
    "plot_tomography",
    "plot_training_curve",
    "plot_unit_map",
    "plot_unit_scatter",
]

prepare_font_cache()


def _as_written(draw: Any) -> Any:
    """A figure function whose names are not formulas: Matplotlib would read "$25k-$75k" as one.

    Texts that the figure had before, as titles of other axes, stay as they are.
    """

    @wraps(draw)
    def drawn(*args: Any, **options: Any) -> Any:
        from matplotlib.axes import Axes
        from matplotlib.text import Text

        given = next((a for a in (*args, *options.values()) if isinstance(a, Axes)), None)
        before = {} if given is None else {text: text.get_text() for text in given.figure.findobj(Text)}
        ax = draw(*args, **options)
        for text in ax.figure.findobj(Text) if hasattr(ax, "figure") else ():
            if "$" in text.get_text() and before.get(text) != text.get_text():
                text.set_parse_math(False)
        return ax

    return drawn


globals().update({name: _as_written(globals()[name]) for name in __all__ if name.startswith("plot_")})
