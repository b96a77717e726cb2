"""The same shares by several methods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sumwise.plots.style import BOUNDS, PALETTE


def method_numbers(fits: Any, level: float = 0.95) -> dict[str, Any]:
    """Return the shares of several methods on the same margins, and the intervals of the first.

    Parameters
    ----------
    fits : mapping of name to fitted estimator
    level : float in (0, 1), default 0.95

    See Also
    --------
    sumwise.plots.plot_methods : Draws these numbers.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.plots import method_numbers
    >>> from sumwise.ecological import EcologicalEM, Goodman
    >>> m = synthetic.precincts(40, random_state=0).margins
    >>> method_numbers({"EM": EcologicalEM().fit(m), "Goodman": Goodman().fit(m)})["shares"].shape
    (2, 2, 2)
    """
    names = list(fits)
    first = fits[names[0]]
    low, high = first.interval(level)
    return {
        "methods": names,
        "shares": np.stack([fits[name].shares_ for name in names]),
        "low": low,
        "high": high,
        "groups": first.row_names_,
        "outcomes": first.col_names_,
        "level": level,
    }


MARKERS = "osD^vP*X"


def plot_methods(numbers: Mapping[str, Any], ax: Any = None) -> Any:
    """Draw what `method_numbers` returns: a line per share below the name of its group, a mark per method.

    Parameters
    ----------
    numbers : mapping
        ``methods``, ``shares`` (methods, groups, outcomes), ``low``, ``high``, ``groups``, ``outcomes``, ``level``;
        or ``labels``, one for every share, in place of groups and outcomes.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    See Also
    --------
    sumwise.plots.method_numbers : The numbers behind this figure.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.plots import plot_methods
    >>> names = {"methods": ["EM", "King"], "groups": ["a"], "outcomes": ["x"], "level": 0.95}
    >>> ax = plot_methods({**names, "shares": [[[0.2]], [[0.3]]], "low": [[0.1]], "high": [[0.4]]})
    >>> ax.get_xlabel()
    'share of the group'
    """

    from sumwise.plots.labels import axes_or_new, distinct, legend_above, percent, percent_axes, share_ends, tips

    shares = np.asarray(numbers["shares"], dtype=float)
    shares = shares.reshape(len(shares), -1)
    low, high = (np.asarray(numbers[k], dtype=float).ravel() for k in ("low", "high"))
    headings = [] if numbers.get("labels") else distinct(numbers["groups"], 40)
    each = low.size // max(len(headings), 1)  # lines of a group
    rows = np.arange(low.size) + (np.arange(low.size) // each + 1 if headings else 0)
    n_rows = low.size + len(headings)
    y = n_rows - 1 - rows
    ax = axes_or_new(ax, 6, 0.8 + 0.3 * n_rows)
    shown = f"{100 * numbers['level']:g}% interval"
    ax.hlines(y, low, high, color=BOUNDS, alpha=0.7, linewidth=9, label=shown)
    names = numbers.get("labels") or [f"{g}: {o}" for g in numbers["groups"] for o in numbers["outcomes"]]
    for k, (name, values) in enumerate(zip(numbers["methods"], shares)):
        marker, colour = MARKERS[k % len(MARKERS)], PALETTE[k % len(PALETTE)]
        look = {"color": colour, "markersize": 7, "markerfacecolor": colour if k == 0 else "none"}
        (dots,) = ax.plot(values, y, marker, label=name, **look)
        tips(dots, [f"{name}, {label}: {percent(v)}" for label, v in zip(names, values)])
    shown = distinct(numbers.get("labels") or numbers["outcomes"], 40) * max(len(headings), 1)
    above = n_rows - 1 - np.arange(len(headings)) * (each + 1)
    ax.set(yticks=[*y, *above], yticklabels=[*shown, *headings], xlabel="share of the group")
    for label in ax.get_yticklabels()[low.size :]:
        label.set_fontweight("bold")
    ax.tick_params(axis="y", length=0)
    ax.set(xlim=share_ends(shares, low, high, pad=0.02), ylim=(-0.7, n_rows - 0.3))  # markers whole
    percent_axes(ax.xaxis)
    legend_above(ax)
    return ax
