"""Predicted against actual, on the diagonal where they agree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sumwise.plots.style import FAINT, INTERVAL


def predicted_numbers(actual: Any, predicted: Any, what: str, low: Any = None, high: Any = None) -> dict[str, Any]:
    """Return predictions with the true values, ready to be drawn against each other.

    Parameters
    ----------
    actual, predicted : arrays of shape (n,)
    what : str
        What is predicted.
    low, high : arrays, optional
        Intervals.

    See Also
    --------
    sumwise.plots.plot_predicted : Draws these numbers.

    Examples
    --------
    >>> from sumwise.plots import predicted_numbers
    >>> predicted_numbers([1, 2], [1.5, 2.5], "age")["error"]
    0.5
    """
    a, p = np.asarray(actual, dtype=float), np.asarray(predicted, dtype=float)
    return {
        "actual": a,
        "predicted": p,
        "low": None if low is None else np.asarray(low, dtype=float),
        "high": None if high is None else np.asarray(high, dtype=float),
        "what": what,
        "error": float(np.abs(a - p).mean()),
    }


MOST_DOTS = 2000  # drawn one by one, with hover text; more become one picture, which a browser shows at once


def plot_predicted(numbers: Mapping[str, Any], ax: Any = None) -> Any:
    """Draw what `predicted_numbers` returns.

    Parameters
    ----------
    numbers : mapping
        ``actual``, ``predicted``, ``low`` and ``high`` (or None), ``what``; perhaps ``share``, whether they are shares,
        and ``labels`` of the two axes.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    See Also
    --------
    sumwise.plots.predicted_numbers : The numbers behind this figure.

    Examples
    --------
    >>> from sumwise.plots import predicted_numbers
    >>> from sumwise.plots import plot_predicted
    >>> plot_predicted(predicted_numbers([1, 2], [1.5, 2.5], "age")).get_xlabel()
    'actual age'
    """

    from sumwise.plots.labels import axes_or_new, fitted, percent, percent_axes, tips

    ax = axes_or_new(ax, 5, 5)
    a, p = (np.asarray(numbers[k], dtype=float) for k in ("actual", "predicted"))
    drawn = [numbers[k] for k in ("low", "high") if numbers.get(k) is not None]
    ends = fitted(a, p, *drawn)
    ax.plot(ends, ends, color="0.6", linewidth=1, linestyle="--")
    if numbers.get("low") is not None:
        ax.vlines(a, numbers["low"], numbers["high"], color=FAINT, alpha=0.6, linewidth=1)
    dots = ax.scatter(a, p, s=22, color=INTERVAL, alpha=0.7, rasterized=a.size > MOST_DOTS)
    if a.size <= MOST_DOTS:
        shown = percent if numbers.get("share") else "{:.4g}".format
        tips(dots, [f"actual {shown(x)}, predicted {shown(y)}" for x, y in zip(a, p)])
    across, up = numbers.get("labels", (f"actual {numbers['what']}", f"predicted {numbers['what']}"))
    ax.set(xlim=ends, ylim=ends, xlabel=across, ylabel=up)
    if numbers.get("share"):
        percent_axes(ax.xaxis, ax.yaxis)
    elif max(map(abs, ends)) >= 10_000:
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter(lambda v, _=None: f"{v:,.0f}".replace("-", "\u2212"))
    return ax
