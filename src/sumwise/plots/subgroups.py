"""Shares of subgroups with their intervals, and the truth where it is known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sumwise.plots.style import ESTIMATE, INTERVAL


def subgroup_numbers(frame: Any, level: float = 0.95, most: int = 40, two: bool | str = False) -> dict[str, Any]:
    """Return shares of subgroups with intervals, ready to be drawn as lines.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``group``, ``level``, ``people``, ``class``, ``share``, ``low``, ``high``, and perhaps ``truth``.
    level : float in (0, 1), default 0.95
    most : int, default 40
        Lines; the largest subgroups are kept.
    two : bool or str, default False
        Whether there are two classes, of which the second is shown, or the class that is named.

    See Also
    --------
    sumwise.plots.plot_subgroups : Draws these numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.plots import subgroup_numbers
    >>> row = {"group": "sex", "level": "f", "people": 5, "class": "yes", "share": 0.5, "low": 0.4, "high": 0.6}
    >>> subgroup_numbers(pd.DataFrame([row]))["names"]
    ['sex f: yes']
    """
    part = frame[frame["class"] == (two if isinstance(two, str) else frame["class"].iloc[1])] if two else frame
    if len(part) > most:
        keep = np.sort(np.argsort(-part["people"].to_numpy(), kind="stable")[:most])
        part = part.iloc[keep]
    names = [
        ("everybody" if (g, lv) == ("everybody", "all") else f"{g} {lv}") + ("" if two else f": {c}")
        for g, lv, c in zip(part["group"], part["level"], part["class"])
    ]
    return {
        "names": names,
        "share": part["share"].to_numpy(dtype=float),
        "low": part["low"].to_numpy(dtype=float),
        "high": part["high"].to_numpy(dtype=float),
        "truth": part["truth"].to_numpy(dtype=float) if "truth" in part else None,
        "level": level,
    }


def plot_subgroups(numbers: Mapping[str, Any], ax: Any = None) -> Any:
    """Draw what `subgroup_numbers` returns: one line per subgroup.

    Parameters
    ----------
    numbers : mapping
        ``names``, ``share``, ``low``, ``high``, ``truth`` (or None), ``level``; perhaps ``label``, what the shares are.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    See Also
    --------
    sumwise.plots.subgroup_numbers : The numbers behind this figure.

    Examples
    --------
    >>> from sumwise.plots import plot_subgroups
    >>> numbers = {"names": ["f"], "share": [0.5], "low": [0.4], "high": [0.6], "truth": [0.45], "level": 0.95}
    >>> plot_subgroups(numbers).get_xlabel()
    'share'
    """

    from sumwise.plots.labels import axes_or_new, legend_above, line_names, percent, percent_axes, share_ends, tips

    share, low, high = (np.asarray(numbers[k], dtype=float) for k in ("share", "low", "high"))
    ax = axes_or_new(ax, 6, 0.9 + 0.28 * share.size)
    y = np.arange(share.size)[::-1]
    ax.hlines(y, low, high, color=INTERVAL, linewidth=2, label=f"{100 * numbers['level']:g}% interval")
    (dots,) = ax.plot(share, y, "o", color=ESTIMATE, markersize=6, label="estimate")
    rows = zip(numbers["names"], share, low, high)
    tips(dots, [f"{n}: {percent(s)} ({percent(a)} to {percent(b)})" for n, s, a, b in rows])
    truth = share if numbers.get("truth") is None else np.asarray(numbers["truth"], dtype=float)
    if numbers.get("truth") is not None:
        ax.plot(truth, y, "x", color="black", markersize=7, label="truth")
    ax.set(yticks=y, yticklabels=line_names(numbers, 38), xlabel=numbers.get("label", "share"))
    ax.set(xlim=share_ends(share, low, high, truth), ylim=(-0.6, share.size - 0.4))  # off the frame
    percent_axes(ax.xaxis)
    legend_above(ax)
    return ax
