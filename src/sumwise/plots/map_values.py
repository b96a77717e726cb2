"""One number per place on a map: abundance, or how uncertain it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["plot_map_values"]


def plot_map_values(numbers: Mapping[str, Any], outlines: Any = None, projection: Any = None, ax: Any = None) -> Any:
    """Draw a value per place as colour, as `diagnostics.uncertainty_numbers` returns them.

    Parameters
    ----------
    numbers : mapping
        ``positions``, ``values`` (NaN: an empty ring), ``label`` (of the colours), ``title``.
    outlines, projection, ax
        As for `plot_map_flows`.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from sumwise.plots import plot_map_values
    >>> numbers = {"positions": [[-90.0, 40.0], [-88.0, 42.0]], "values": [1.0, 3.0], "label": "sd", "title": "May"}
    >>> plot_map_values(numbers).get_title()
    'May'
    """
    from sumwise.plots.labels import tips
    from sumwise.plots.map_frame import MapFrame

    frame = MapFrame(numbers, outlines, projection, ax)
    values = np.asarray(numbers["values"], dtype=float)
    seen = np.isfinite(values)
    frame.ax.scatter(*frame.places[~seen].T, s=24, facecolors="none", edgecolors="0.7", zorder=1)
    if seen.any():
        shown = frame.ax.scatter(*frame.places[seen].T, s=40, c=values[seen], cmap="cividis_r", zorder=2)
        tips(shown, [f"{v:,.3g}" for v in values[seen]])
        frame.ax.figure.colorbar(shown, ax=frame.ax, label=str(numbers["label"]), shrink=0.7)
    return frame.finish(numbers["title"])
