"""Shares of every group with their intervals, and the bounds behind them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sumwise.plots import labels as look
from sumwise.plots.labels import percent


def plot_intervals(numbers: Mapping[str, Any], ax: Any = None) -> Any:
    """Draw what `diagnostics.interval_numbers` returns: one line per group and outcome.

    Parameters
    ----------
    numbers : mapping
        ``share``, ``low``, ``high``, ``lower_bound``, ``upper_bound``, ``groups``, ``outcomes``, ``level``.
        ``bounds_only``: there is no estimate, so that none is drawn.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    See Also
    --------
    sumwise.diagnostics.interval_numbers : The numbers behind this figure.

    Examples
    --------
    >>> from sumwise import Margins
    >>> from sumwise.diagnostics import interval_numbers
    >>> from sumwise.ecological import Bounds
    >>> from sumwise.plots import plot_intervals
    >>> plot_intervals(interval_numbers(Bounds().fit(Margins([[60, 40]], [[80, 20]])))).get_xlabel()
    'share of the group'
    """

    share = np.asarray(numbers["share"])
    labels = look.line_names(numbers)
    ax = look.axes_or_new(ax, 6, 0.8 + look.line_inches(labels) * share.size)
    y = np.arange(share.size)[::-1]
    ax.hlines(
        y,
        numbers["lower_bound"].ravel(),
        numbers["upper_bound"].ravel(),
        color="#b9b9b9",
        alpha=0.7,
        linewidth=9,
        label="bounds",
    )
    ends = [np.asarray(numbers[k], dtype=float).ravel() for k in ("low", "high", "lower_bound", "upper_bound")]
    names = [f"{g}: {o}" for g in numbers["groups"] for o in numbers["outcomes"]]
    if numbers.get("bounds_only"):
        (marks,) = ax.plot(np.concatenate(ends[2:]), np.tile(y, 2), "|", color="#0072B2", markersize=9)
        look.tips(marks, 2 * [f"{n} {percent(c)} to {percent(d)}" for n, c, d in zip(names, *ends[2:])])
    else:
        shown = f"{100 * numbers['level']:g}% interval"
        ax.hlines(y, ends[0], ends[1], color="#0072B2", linewidth=2.5, label=shown)
        (dots,) = ax.plot(share.ravel(), y, "o", color="#D55E00", markersize=6, label="estimate")
        rows = zip(names, share.ravel(), *ends)
        said = [
            f"{n} {percent(s)} ({percent(a)} to {percent(b)}; bounds {percent(c)} to {percent(d)})"
            for n, s, a, b, c, d in rows
        ]
        look.tips(dots, said)
    ax.set(xlim=look.share_ends(share, *ends), yticks=y, yticklabels=labels)
    ax.set(xlabel="share of the group", ylim=(-0.7, share.size - 0.3))
    look.percent_axes(ax.xaxis)
    look.legend_above(ax)
    return ax
