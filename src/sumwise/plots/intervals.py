"""Shares of every group with their intervals, and the bounds behind them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sumwise.ecological.bounds import Bounds
from sumwise.plots.grouped_rows import NARROW, grouped_rows, rows_height
from sumwise.plots.labels import axes_or_new, legend_above, percent, percent_axes, share_ends, tips
from sumwise.plots.style import BOUNDS, FAINT

BOUND_KEYS = ("lower_bound", "upper_bound")


def interval_numbers(est: Any, level: float = 0.95) -> dict[str, Any]:
    """Return shares, intervals and bounds of every group and outcome, ready to be drawn as bars.

    Parameters
    ----------
    est : ecological estimator
        Fitted.
    level : float in (0, 1), default 0.95
        Level of the intervals.

    See Also
    --------
    sumwise.plots.plot_intervals : Draws these numbers.
    sumwise.plots.plot_share_heatmap : Draws these numbers.

    Examples
    --------
    >>> from sumwise import Margins
    >>> from sumwise.plots import interval_numbers
    >>> from sumwise.ecological import Bounds
    >>> interval_numbers(Bounds().fit(Margins([[60, 40]], [[80, 20]])))["low"].round(2).tolist()
    [[0.67, 0.0], [0.5, 0.0]]
    """
    low, high = est.interval(level)
    return {
        "bounds_only": isinstance(est, Bounds),  # whose shares are no estimates
        "share": est.shares_,
        "low": low,
        "high": high,
        "lower_bound": est.lower_bound_,
        "upper_bound": est.upper_bound_,
        "level": level,
        "groups": est.row_names_,
        "outcomes": est.col_names_,
    }


def plot_intervals(numbers: Mapping[str, Any], ax: Any = None) -> Any:
    """Draw what `interval_numbers` returns: one line per group and outcome.

    Parameters
    ----------
    numbers : mapping
        ``share``, ``low``, ``high``, ``lower_bound``, ``upper_bound``, ``groups``, ``outcomes``, ``level``.
        ``bounds_only``: there is no estimate, so that none is drawn. ``withheld``: which estimates are no findings, so
        that their bounds are hatched instead.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    See Also
    --------
    sumwise.plots.interval_numbers : The numbers behind this figure.

    Examples
    --------
    >>> from sumwise import Margins
    >>> from sumwise.plots import interval_numbers
    >>> from sumwise.ecological import Bounds
    >>> from sumwise.plots import plot_intervals
    >>> plot_intervals(interval_numbers(Bounds().fit(Margins([[60, 40]], [[80, 20]])))).get_xlabel()
    'share of the group'
    """

    share, low, high = (np.asarray(numbers[k], dtype=float) for k in ("share", "low", "high"))
    groups, outcomes = numbers["groups"], numbers["outcomes"]
    bounds = [np.asarray(numbers.get(k, np.full(share.shape, np.nan)), dtype=float) for k in BOUND_KEYS]
    ax = axes_or_new(ax, 6.5, rows_height(len(groups), len(outcomes)))
    y, colours = grouped_rows(ax, groups, outcomes)
    names = [f"{g}: {o}" for g in groups for o in outcomes]
    if np.isfinite(bounds).any():
        ax.hlines(y.ravel(), *(b.ravel() for b in bounds), color=BOUNDS, alpha=0.5, linewidth=8, label="bounds")
    if numbers.get("bounds_only"):
        words = [f"{n} {percent(a)} to {percent(b)}" for n, a, b in zip(names, *(b.ravel() for b in bounds))]
        ends, at = np.concatenate([b.ravel() for b in bounds]), np.tile(y.ravel(), 2)
        tips(ax.scatter(ends, at, marker="|", c=[*colours.ravel(), *colours.ravel()], s=80), 2 * words)
    else:
        withheld = np.asarray(numbers.get("withheld", np.zeros(share.shape)), dtype=bool)
        there = ~withheld
        shown = colours[there].tolist()
        ax.hlines(y[there], low[there], high[there], color=shown, linewidth=2.5)
        dots = ax.scatter(share[there], y[there], c=shown, s=38, zorder=3)
        listed = [name for name, drawn in zip(names, there.ravel()) if drawn]
        tips(dots, _words(listed, *(part[there] for part in (share, low, high, *bounds))))
        if withheld.any():
            least, most = (b[withheld] for b in bounds)
            bar = {"facecolor": "none", "edgecolor": FAINT, "hatch": "////", "linewidth": 0.6, "label": "no finding"}
            ax.barh(y[withheld], most - least, left=least, height=0.5 * NARROW / len(outcomes), **bar)
            low, high, share = (np.where(withheld, np.nan, part) for part in (low, high, share))
        ax.plot([], [], "o-", color=FAINT, linewidth=2.5, label=f"estimate, {100 * numbers['level']:g}% interval")
    ax.set(xlim=share_ends(share, low, high, *bounds), xlabel=numbers.get("label", "share of the group"))
    percent_axes(ax.xaxis)
    legend_above(ax)
    return ax


def _words(names: list[str], *columns: np.ndarray) -> list[str]:
    """What a mark says on hover."""
    words = []
    for name, share, low, high, least, most in zip(names, *(column.ravel() for column in columns)):
        bounds = f"; bounds {percent(least)} to {percent(most)}" if np.isfinite(least) else ""
        words.append(f"{name} {percent(share)} ({percent(low)} to {percent(high)}{bounds})")
    return words
