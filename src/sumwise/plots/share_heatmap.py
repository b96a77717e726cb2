"""Shares of many groups and outcomes as a heat map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

MOST_COLUMNS = 15  # outcomes whose names still fit below their columns


def turned(shape: tuple[int, ...]) -> bool:
    """Whether a table of groups and outcomes is drawn with a row per outcome."""
    return shape[1] > MOST_COLUMNS and shape[1] > 2 * shape[0]


def plot_share_heatmap(numbers: Mapping[str, Any], ax: Any = None) -> Any:
    """Draw what `interval_numbers` returns as a heat map: a row per group, a column per outcome.

    Where outcomes are many and groups few, outcomes are the rows: their names would touch below the columns.

    Parameters
    ----------
    numbers : mapping
        ``share`` (groups, outcomes), ``groups``, ``outcomes``.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    See Also
    --------
    sumwise.plots.interval_numbers : The numbers behind this figure.

    Examples
    --------
    >>> from sumwise.plots import plot_share_heatmap
    >>> plot_share_heatmap({"share": [[0.2, 0.8]], "groups": ["a"], "outcomes": ["x", "y"]}).get_ylabel()
    'group'
    """

    from sumwise.plots.labels import NARROW_FIGURE, axes_or_new, distinct, percent, tips, turn_where_long

    share, names = np.asarray(numbers["share"], dtype=float), [numbers["groups"], numbers["outcomes"]]
    labels = ["group", "outcome"]
    if turned(share.shape):
        share, names, labels = share.T, names[::-1], labels[::-1]
    ax = axes_or_new(ax, 1.5 + 0.6 * share.shape[1], 1.2 + 0.32 * share.shape[0])
    top = max(float(np.nanmax(share)), 1e-3)
    cells = ax.pcolormesh(share, cmap="Blues", vmin=0, vmax=top, edgecolors="white", linewidth=0.5)
    narrow = float(ax.figure.get_size_inches()[0]) < NARROW_FIGURE
    if share.size <= 400 and not (narrow and share.shape[1] > 9):
        for (r, c), value in np.ndenumerate(share):
            colour = "white" if value > 0.6 * top else "#111111"
            text = ax.text(c + 0.5, r + 0.5, f"{100 * value:.0f}", ha="center", va="center", color=colour)
            group, outcome = (c, r) if labels[0] == "outcome" else (r, c)
            tips(text, [f"{numbers['groups'][group]}: {numbers['outcomes'][outcome]} {percent(value)}"])
    below = distinct(names[1], 18)
    ax.set_xticks(np.arange(share.shape[1]) + 0.5, below)
    turn_where_long(ax, below)
    ax.set_yticks(np.arange(share.shape[0]) + 0.5, distinct(names[0], 22))
    ax.set(xlabel=labels[1], ylabel=labels[0])
    ax.invert_yaxis()
    side = {"location": "top", "aspect": 30} if narrow else {"location": "right", "shrink": 0.8}
    label = "share of the group" if narrow or share.shape[0] > 5 else "share"  # of a bar as tall as the rows
    ax.figure.colorbar(cells, ax=ax, label=label, format=lambda v, _: f"{100 * v:.0f}%", **side)
    return ax
