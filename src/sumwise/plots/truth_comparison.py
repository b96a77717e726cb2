"""Estimates beside the truth, in percent of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


def plot_findings(numbers: Mapping[str, Any], ax: Any = None) -> Any:
    """Draw what `diagnostics.finding_numbers` returns: how far estimates are from the truth, with their intervals.

    Parameters
    ----------
    numbers : mapping
        ``names``, ``off``, ``low``, ``high``: in percent of the truth; NaN where there is no interval.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    See Also
    --------
    sumwise.diagnostics.finding_numbers : The numbers behind this figure.

    Examples
    --------
    >>> from sumwise.plots import plot_findings
    >>> plot_findings({"names": ["heads"], "off": [5.0], "low": [-10.0], "high": [20.0]}).get_xlabel()
    'off the truth, in percent of it'
    """

    from sumwise.plots.labels import axes_or_new, short

    off, low, high = (np.asarray(numbers[k], dtype=float) for k in ("off", "low", "high"))
    ax = axes_or_new(ax, 6, 0.8 + 0.3 * off.size)
    y = np.arange(off.size)[::-1]
    ax.axvline(0, color="0.4", linewidth=1, linestyle="--")
    ax.hlines(y, low, high, color="#0072B2", linewidth=2)
    ax.plot(off, y, "o", color="#D55E00", markersize=5)
    ax.set(yticks=y, yticklabels=[short(name, 40) for name in numbers["names"]], ylim=(-0.7, off.size - 0.3))
    ax.set_xlabel("off the truth, in percent of it")
    return ax
