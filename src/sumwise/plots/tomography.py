"""The tomography plot: every unit's line of possible shares, and where a method puts it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def plot_tomography(numbers: Mapping[str, Any], ax: Any = None) -> Any:
    """Draw what `diagnostics.tomography` returns.

    Parameters
    ----------
    numbers : mapping
        ``lines``, and where they are there ``points``, ``segments`` and ``contours``.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    See Also
    --------
    sumwise.diagnostics.tomography : The numbers behind this figure.

    Examples
    --------
    >>> from sumwise import Margins
    >>> from sumwise.diagnostics import tomography
    >>> from sumwise.plots import plot_tomography
    >>> plot_tomography(tomography(Margins([[50, 50]], [[75, 25]], row_names=["a", "b"]))).get_xlabel()
    'share of a for col0'
    """
    from matplotlib.collections import LineCollection

    from sumwise.plots.labels import axes_or_new, legend_above, percent, percent_axes, short, tips

    ax = axes_or_new(ax, 5, 5)
    grey = {"colors": "#9a9a9a", "linewidths": 0.6, "alpha": 0.7, "zorder": 1, "label": "possible shares of a unit"}
    ax.add_collection(LineCollection(list(numbers["lines"]), **grey))
    if "segments" in numbers:
        look = {"colors": "#E69F00", "linewidths": 1.2, "alpha": 0.6, "zorder": 2, "label": "80% interval of a unit"}
        ax.add_collection(LineCollection(list(numbers["segments"]), **look))
    if "points" in numbers:
        dots = ax.scatter(*numbers["points"].T, s=12, color="#D55E00", zorder=3, label="estimate of a unit")
        tips(dots, [f"{percent(a)}, {percent(b)}" for a, b in numbers["points"]])
    for style, (level, ring) in zip(("-", "--", ":"), numbers.get("contours", {}).items()):
        shown = f"{100 * float(level):g}% of units (fitted)"
        ax.plot(*ring.T, style, color="#0072B2", linewidth=1.5, label=shown, zorder=4)
    ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
    percent_axes(ax.xaxis, ax.yaxis)
    for axis, name in zip("xy", numbers["axes"]):
        ax.set(**{f"{axis}label": f"share of {short(name)} for {short(numbers['outcome'])}"})
    legend_above(ax)
    return ax
