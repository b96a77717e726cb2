"""Where a population went: arrows on a map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

COLOURS = ("#3a9bdc", "#9b6fd0", "#d81b60")  # from few to many, visible on white and on black


def plot_flows(numbers: Mapping[str, Any], ax: Any = None) -> Any:
    """Draw what `diagnostics.flow_numbers` returns: an arrow per cell for its mean move, darker for more.

    Parameters
    ----------
    numbers : mapping
        ``positions``, ``starts``, ``moves``, ``counts``, ``title``.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    See Also
    --------
    sumwise.diagnostics.flow_numbers : The numbers behind this figure.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.collective import TreeModel, map_counts
    >>> from sumwise.diagnostics import flow_numbers
    >>> from sumwise.plots import plot_flows
    >>> season = synthetic.birds(4, 5, 500, random_state=0)
    >>> model = TreeModel(season.domain, season.edges, season.log_potentials)
    >>> ax = plot_flows(flow_numbers(map_counts(model, season.tables), ("t0", "t1"), season.positions))
    >>> ax.get_title()
    't0 to t1'
    """
    from matplotlib.colors import LinearSegmentedColormap, LogNorm

    from sumwise.plots.labels import NARROW_FIGURE, axes_or_new, short, tips

    ax = axes_or_new(ax, 5, 5)
    ax.scatter(*np.asarray(numbers["positions"], dtype=float).T, s=8, color="#a8a8a8", zorder=0)
    starts, moves = (np.asarray(numbers[k], dtype=float).reshape(-1, 2) for k in ("starts", "moves"))
    counts = np.asarray(numbers["counts"], dtype=float)
    if len(starts):
        ends = max(float(counts.min()), 0.1), max(float(counts.max()), 0.2)
        colours = LinearSegmentedColormap.from_list("few to many", COLOURS)
        look: dict[str, Any] = {"cmap": colours, "norm": LogNorm(*ends)}
        arrows = ax.quiver(
            *starts.T, *moves.T, np.maximum(counts, 0.1), angles="xy", scale_units="xy", scale=1.0, width=0.008, **look
        )
        dots = ax.scatter(*starts.T, s=6 + 60 * counts / counts.max(), c=np.maximum(counts, 0.1), zorder=2, **look)
        tips(dots, [f"{n:,.1f} individuals; mean move {np.hypot(*m):.3g}" for n, m in zip(counts, moves)])
        narrow = float(ax.figure.get_size_inches()[0]) < NARROW_FIGURE
        side = {"location": "bottom", "aspect": 30} if narrow else {"location": "right", "shrink": 0.7}
        bar = ax.figure.colorbar(arrows, ax=ax, label="individuals at the start (log scale)", **side)
        bar.minorticks_off()
        (bar.ax.xaxis if narrow else bar.ax.yaxis).set_major_formatter(lambda v, _: f"{v:,.3g}")
    ax.set(title=short(numbers["title"]), aspect="equal", xlabel="x", ylabel="y")
    return ax
