"""Units by a group's share and an outcome's share, with Goodman's line and the units' bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


def plot_unit_scatter(numbers: Mapping[str, Any], ax: Any = None, bounds: bool = True) -> Any:
    """Draw what `diagnostics.unit_scatter` returns.

    Parameters
    ----------
    numbers : mapping
        ``x``, ``t``, ``size``, ``line``, ``lower``, ``upper``, ``group``, ``outcome``; ``head_counts`` is False where
        sizes are not numbers of people.
    ax : matplotlib axes, optional
    bounds : bool, default True
        Draw each unit's bounds of the group's share as a thin upright line.

    Returns
    -------
    matplotlib axes

    See Also
    --------
    sumwise.diagnostics.unit_scatter : The numbers behind this figure.

    Examples
    --------
    >>> from sumwise import Margins
    >>> from sumwise.diagnostics import unit_scatter
    >>> from sumwise.plots import plot_unit_scatter
    >>> m = Margins([[80, 20], [30, 70]], [[70, 30], [40, 60]], row_names=["a", "b"], col_names=["yes", "no"])
    >>> plot_unit_scatter(unit_scatter(m)).get_ylabel()
    'share of yes in the unit'
    """

    from sumwise.plots.labels import axes_or_new, fitted, legend_above, percent, percent_axes, short, tips

    ax = axes_or_new(ax, 5.5, 4.5)
    if bounds:
        ax.vlines(
            numbers["x"],
            numbers["lower"],
            numbers["upper"],
            color="#9a9a9a",
            alpha=0.5,
            linewidth=0.8,
            label="bounds",
            zorder=1,
        )
    area = 4 + 40 * np.asarray(numbers["size"]) / max(float(np.max(numbers["size"])), 1e-300)
    dots = ax.scatter(numbers["x"], numbers["t"], s=area, alpha=0.6, zorder=2, label="units")
    if np.size(numbers["x"]) <= 2000:
        rows = zip(numbers["x"], numbers["t"], numbers["size"])
        people = ", {:,.0f} people" if numbers.get("head_counts", True) else ""
        tips(dots, [f"group {percent(x)}, outcome {percent(t)}{people.format(n)}" for x, t, n in rows])
    ax.plot([0, 1], numbers["line"], color="#D55E00", label="Goodman's regression", zorder=3)
    ax.set(
        xlim=fitted(numbers["x"], least=(0, 1), pad=0.02),
        ylim=fitted(numbers["t"], numbers["line"], least=(0, 1), pad=0.02),
        xlabel=f"share of {short(numbers['group'])} in the unit",
        ylabel=f"share of {short(numbers['outcome'])} in the unit",
    )
    percent_axes(ax.xaxis, ax.yaxis)
    legend_above(ax)
    return ax
