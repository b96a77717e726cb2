"""Support for each group's first choice, from the estimate to place-only voting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


def plot_sensitivity_band(numbers: Mapping[str, Any], ax: Any = None) -> Any:
    """Draw what `ecological.sensitivity_band` returns: a line per group.

    Parameters
    ----------
    numbers : mapping
        ``parts``, ``shares``, ``groups``, ``choices``.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from sumwise.plots import plot_sensitivity_band
    >>> numbers = {"parts": [0, 1], "shares": [[0.8, 0.6]], "groups": ["young"], "choices": ["yes"]}
    >>> len(plot_sensitivity_band(numbers).lines)
    1
    """
    from sumwise.plots.labels import axes_or_new, name_lines, percent_axes

    ax = axes_or_new(ax, 5.5, 4.2)
    parts = np.asarray(numbers["parts"], dtype=float)
    every = [np.asarray(shares, dtype=float) for shares in numbers["shares"]]
    for shares in every:
        ax.plot(parts, shares)
    ax.set(xlabel="part of the difference that lies between places", xlim=(parts[0], parts[-1]), ylim=(0, 1))
    ax.set_ylabel("share for the first choice")
    percent_axes(ax.xaxis, ax.yaxis)
    names = [f"{group}: {choice}" for group, choice in zip(numbers["groups"], numbers["choices"])]
    name_lines(ax, names, [float(shares[-1]) for shares in every])
    return ax
