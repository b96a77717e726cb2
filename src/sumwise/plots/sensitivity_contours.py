"""How much dependence on composition would overturn a group's first choice, as contours of its lead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


def plot_sensitivity_contours(numbers: Mapping[str, Any], ax: Any = None) -> Any:
    """Draw what `ecological.sensitivity_contours` returns: the lead of the first choice, and the line where it is 0.

    Parameters
    ----------
    numbers : mapping
        ``first_slope``, ``second_slope``, ``gap``, ``group``, ``first``, ``second``.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from sumwise.plots import plot_sensitivity_contours
    >>> numbers = {"first_slope": [0, 1], "second_slope": [0, 1], "gap": [[0.5, 0], [0, -0.5]], "group": "young"}
    >>> plot_sensitivity_contours(numbers | {"first": "yes", "second": "no"}).get_xlabel()
    'points more for yes in units of young alone'
    """

    from sumwise.plots.labels import axes_or_new, short

    gap = 100 * np.asarray(numbers["gap"], dtype=float)
    ax = axes_or_new(ax, 5.5, 4.2)
    x, y = (100 * np.asarray(numbers[key], dtype=float) for key in ("first_slope", "second_slope"))
    reach = max(float(np.abs(gap).max()), 1e-4)
    step = next((s for s in (0.5, 1, 2, 5, 10, 20) if 7 * s >= reach), 40)  # of round numbers, at most 14 colours
    ends = step * np.ceil(reach / step)
    levels = np.arange(-ends, ends + step / 2, step)
    filled = ax.contourf(x, y, gap.T, cmap="RdBu", levels=levels)
    if gap.min() < 0 < gap.max():
        line = ax.contour(x, y, gap.T, levels=[0], colors="#111111", linewidths=1.5)
        ax.clabel(line, fmt="overturned beyond", fontsize=11)
    group, first, second = (short(str(numbers[key]), 18) for key in ("group", "first", "second"))
    ax.set(xlabel=f"points more for {first} in units of {group} alone", ylabel=f"points less for {second} there")
    ticks = levels[len(levels) // 2 % 2 :: 2]  # every second one, zero among them
    label = f"lead of {first} (points)"
    bar = ax.figure.colorbar(filled, ax=ax, label=label, ticks=ticks)
    bar.set_ticklabels([f"{v:+g}".replace("-", "\u2212") if v else "0" for v in ticks.round(6)])
    return ax
