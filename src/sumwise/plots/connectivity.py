"""Which regions exchange individuals: shares as a matrix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


def plot_connectivity(numbers: Mapping[str, Any], ax: Any = None) -> Any:
    """Draw what `diagnostics.connectivity_numbers` returns: where the individuals of each region went.

    Parameters
    ----------
    numbers : mapping
        ``shares`` (R, R), rows are regions of departure; ``regions``, ``title``.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    See Also
    --------
    sumwise.diagnostics.connectivity_numbers : The numbers behind this figure.

    Examples
    --------
    >>> from sumwise.plots import plot_connectivity
    >>> ax = plot_connectivity({"shares": [[0.9, 0.1], [0.3, 0.7]], "regions": ["north", "south"], "title": "1 to 9"})
    >>> ax.get_xlabel()
    'region of arrival'
    """

    from sumwise.plots.labels import NARROW_FIGURE, axes_or_new, short

    shares = np.asarray(numbers["shares"], dtype=float)
    names = [short(r, 18) for r in numbers["regions"]]
    ax = axes_or_new(ax, 1.5 + 0.8 * len(names), 1.3 + 0.6 * len(names))
    ax.pcolormesh(shares, cmap="cividis_r", vmin=0.0, vmax=1.0, edgecolors="white", linewidth=0.6)
    sign = "" if len(names) > 5 and float(ax.figure.get_size_inches()[0]) < NARROW_FIGURE else "%"
    for i, j in np.ndindex(shares.shape):
        colour = "white" if shares[i, j] > 0.55 else "#111111"
        ax.text(j + 0.5, i + 0.5, f"{100 * shares[i, j]:.0f}{sign}", ha="center", va="center", color=colour)
    places = np.arange(len(names)) + 0.5
    ax.set_xticks(places, names, rotation=30, ha="right")
    ax.set_yticks(places, names)
    ax.invert_yaxis()
    across = "region of arrival" if sign else "region of arrival (shares in %)"
    ax.set(xlabel=across, ylabel="region of departure", title=str(numbers["title"]))
    return ax
