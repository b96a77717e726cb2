"""Shares of subgroups with their intervals, and the truth where it is known."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from sumwise.plots.style import ESTIMATE, FAINT, INTERVAL, MOST_LINES

NEGATIVE = re.compile(r"(?<![\w-])-(?=\d)")  # the hyphen of a number, which is set as a minus sign


def subgroup_numbers(
    frame: Any, level: float = 0.95, most: int = MOST_LINES, two: bool | str = False, withheld: Collection[str] = ()
) -> dict[str, Any]:
    """Return shares of subgroups with intervals, ready to be drawn as lines below a heading for each group.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``group``, ``level``, ``people``, ``class``, ``share``, ``low``, ``high``, and perhaps ``truth``.
    level : float in (0, 1), default 0.95
    most : int, default 24
        Lines; the largest subgroups are kept.
    two : bool or str, default False
        Whether there are two classes, of which the second is shown, or the class that is named.
    withheld : collection of str, optional
        Groups whose shares are not findings: their intervals are hatched, and no estimate is drawn.

    See Also
    --------
    sumwise.plots.plot_subgroups : Draws these numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.plots import subgroup_numbers
    >>> row = {"group": "sex", "level": "f", "people": 5, "class": "yes", "share": 0.5, "low": 0.4, "high": 0.6}
    >>> subgroup_numbers(pd.DataFrame([row]))["names"]
    ['sex', 'f: yes']
    """
    part = frame[frame["class"] == (two if isinstance(two, str) else frame["class"].iloc[1])] if two else frame
    if len(part) > most:
        keep = np.sort(np.argsort(-part["people"].to_numpy(), kind="stable")[:most])
        part = part.iloc[keep]
    columns = [c for c in ("share", "low", "high", "truth") if c in part]
    lines: list[dict[str, Any]] = []
    for row in part.to_dict("records"):
        everybody = (row["group"], row["level"]) == ("everybody", "all")
        if not everybody and not any(line["group"] == row["group"] for line in lines):
            lines.append({"group": row["group"], "name": str(row["group"]), "heading": True})
        name = "everybody" if everybody else str(row["level"])
        line = {"group": row["group"], "name": name if two else f"{name}: {row['class']}", "heading": False}
        lines.append(line | {c: row[c] for c in columns})
    values = {c: np.array([line.get(c, np.nan) for line in lines], dtype=float) for c in columns}
    return {
        "names": [line["name"] for line in lines],
        "headings": [line["heading"] for line in lines],
        "withheld": [line["group"] in withheld and not line["heading"] for line in lines],
        **values,
        "truth": values.get("truth"),
        "level": level,
    }


def plot_subgroups(numbers: Mapping[str, Any], ax: Any = None) -> Any:
    """Draw what `subgroup_numbers` returns: one line per subgroup.

    Parameters
    ----------
    numbers : mapping
        ``names``, ``share``, ``low``, ``high``, ``truth`` (or None), ``level``; perhaps ``label``, what the shares are;
        ``headings``, which lines are headings; ``withheld``, which are no findings; ``reference``, a share to compare
        with, and ``reference_name``; ``value_name``, what a dot is ("estimate").
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
    n_lines, named = share.size, f"{100 * numbers['level']:g}% interval"
    headings, withheld = (np.asarray(numbers.get(k, [False] * n_lines), dtype=bool) for k in ("headings", "withheld"))
    ax = axes_or_new(ax, 6, 0.9 + 0.28 * n_lines)
    y = np.arange(n_lines)[::-1]
    reference = numbers.get("reference")
    if reference is not None:
        ax.axvline(reference, color=FAINT, linewidth=1, linestyle=":", label=numbers.get("reference_name", "overall"))
    drawn = ~headings & ~withheld
    ax.hlines(y[drawn], low[drawn], high[drawn], color=INTERVAL, linewidth=2.5, label=named)
    (dots,) = ax.plot(
        share[drawn], y[drawn], "o", color=ESTIMATE, markersize=6, label=numbers.get("value_name", "estimate")
    )
    rows = zip([n for n, there in zip(numbers["names"], drawn) if there], share[drawn], low[drawn], high[drawn])
    tips(dots, [f"{n}: {percent(s)} ({percent(a)} to {percent(b)})" for n, s, a, b in rows])
    if withheld.any():
        bar = {"height": 0.5, "facecolor": "none", "edgecolor": FAINT, "hatch": "////", "linewidth": 0.6}
        ax.barh(y[withheld], (high - low)[withheld], left=low[withheld], label="no finding", **bar)
    truth = share if numbers.get("truth") is None else np.asarray(numbers["truth"], dtype=float)
    if numbers.get("truth") is not None:
        ax.plot(truth, y, "x", color="black", markersize=7, label=numbers.get("truth_name", "truth"))
    ax.set(
        yticks=y,
        yticklabels=[NEGATIVE.sub("\u2212", n) for n in line_names(numbers, 38)],
        xlabel=numbers.get("label", "share"),
    )
    for label, heading in zip(ax.get_yticklabels(), headings):
        label.set_fontweight("bold" if heading else "normal")
    ax.tick_params(axis="y", length=0)
    ax.set(xlim=share_ends(share, low, high, truth), ylim=(-0.6, n_lines - 0.4))  # off the frame
    percent_axes(ax.xaxis)
    legend_above(ax)
    return ax
