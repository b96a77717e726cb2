"""Predicted shares of groups against polled or true ones, around the diagonal."""

from __future__ import annotations

from typing import Any

import numpy as np

from sumwise import checks, frames
from sumwise.plots.labels import axes_or_new, percent_axes
from sumwise.plots.methods import COLOURS, MARKERS


def plot_share_scatter(table: Any, by: str | None = None, ax: Any = None) -> Any:
    """Draw what `metrics.compare_polls` returns: a point per group, with its interval where there is one.

    Parameters
    ----------
    table : data frame
        ``predicted``, ``polled``, and perhaps ``low``, ``high``, ``weight`` (the area of a point).
    by : str, optional
        A column whose values get colours and markers of their own.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from sumwise.plots import plot_share_scatter
    >>> plot_share_scatter({"sex": ["m", "f"], "predicted": [0.4, 0.5], "polled": [0.44, 0.56]}, "sex").get_xlabel()
    'polled share'
    """

    points = frames.to_pandas(table)
    for column in ("predicted", "polled", *([] if by is None else [by])):
        checks.known(column, list(points.columns), "column")
    ax = axes_or_new(ax, 5, 5)
    ax.plot([0, 1], [0, 1], color="0.7", linewidth=1, zorder=1)
    for line in (ax.axvline, ax.axhline):  # majorities are right in the lower left and the upper right quarter
        line(0.5, color="0.9", linewidth=1, zorder=0)
    weight = points["weight"].to_numpy(float) if "weight" in points else np.ones(len(points))
    area = 10 + 50 * weight / weight.max() if "weight" in points else 30 * weight
    labels = np.zeros(len(points)) if by is None else points[by].to_numpy()
    for k, name in enumerate(dict.fromkeys(labels.tolist())):
        mine = labels == name
        part = points[mine]
        colour, marker = COLOURS[k % len(COLOURS)], MARKERS[k % len(MARKERS)]
        if "low" in part:
            ax.vlines(part["polled"], part["low"], part["high"], color=colour, linewidth=1, alpha=0.5, zorder=2)
        look = {"color": colour, "marker": marker, "edgecolor": "white", "linewidth": 0.5, "label": name}
        ax.scatter(part["polled"], part["predicted"], s=area[mine], zorder=3, **look)
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel="polled share", ylabel="predicted share")
    percent_axes(ax.xaxis, ax.yaxis)
    if by is not None:
        ax.legend(loc="best", title=str(by))
    return ax
