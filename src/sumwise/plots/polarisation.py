"""How far every group is from everybody else, per outcome."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


def plot_polarisation(numbers: Mapping[str, Any], ax: Any = None) -> Any:
    """Draw what `diagnostics.polarisation_numbers` returns: one line per group and outcome around zero.

    Parameters
    ----------
    numbers : mapping
        ``gap``, ``low``, ``high``, ``groups``, ``outcomes``, ``level``; or ``labels``, one for every gap, in place of
        groups and outcomes. Perhaps ``label``, what the gaps are.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    See Also
    --------
    sumwise.diagnostics.polarisation_numbers : The numbers behind this figure.

    Examples
    --------
    >>> from sumwise.plots import plot_polarisation
    >>> numbers = {"gap": [[0.2]], "low": [[0.1]], "high": [[0.3]], "groups": ["a"], "outcomes": ["x"], "level": 0.95}
    >>> plot_polarisation(numbers).get_xlabel()
    'group less all others (percentage points)'
    """

    from sumwise.plots.labels import axes_or_new, line_inches, line_names, tips

    gap, low, high = (np.asarray(numbers[k], dtype=float).ravel() for k in ("gap", "low", "high"))
    ax = axes_or_new(ax, 6, 0.8 + line_inches(line_names(numbers)) * gap.size)
    y = np.arange(gap.size)[::-1]
    ax.axvline(0, color="0.4", linewidth=1, linestyle="--")
    ax.hlines(y, low, high, color="#0072B2", linewidth=2)
    sure = (low > 0) | (high < 0)
    listed = numbers.get("labels") or [f"{g}: {o}" for g in numbers["groups"] for o in numbers["outcomes"]]
    names = np.array(listed, dtype=object)
    for part, look in ((sure, {}), (~sure, {"markerfacecolor": "none"})):
        if part.any():
            (dots,) = ax.plot(gap[part], y[part], "o", color="#D55E00", markersize=6, **look)
            rows = zip(names[part], gap[part], low[part], high[part])
            tips(dots, [f"{n} {100 * g:+.1f} points ({100 * a:+.1f} to {100 * b:+.1f})" for n, g, a, b in rows])
    widest = max(0.1, float(np.nanmax(np.abs([low, high]))))
    ax.set(xlim=(-1.12 * widest, 1.12 * widest), ylim=(-0.7, gap.size - 0.3), yticks=y)
    ax.set(yticklabels=line_names(numbers), xlabel=numbers.get("label", "group less all others (percentage points)"))
    ax.xaxis.set_major_formatter(lambda v, _: "0" if abs(v) < 0.005 else f"{100 * v:+.0f}".replace("-", "\u2212"))
    return ax
