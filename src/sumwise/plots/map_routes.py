"""Routes of single individuals on a map, coloured by time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["plot_map_routes"]


def plot_map_routes(numbers: Mapping[str, Any], outlines: Any = None, projection: Any = None, ax: Any = None) -> Any:
    """Draw what `diagnostics.route_numbers` returns: a line per route, its start as a dot.

    Parameters
    ----------
    numbers : mapping
        ``positions``, ``routes`` (n, T, 2), ``times`` (T names), ``title``.
    outlines, projection, ax
        As for `plot_map_flows`.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from sumwise.plots import plot_map_routes
    >>> numbers = {"positions": [[-90.0, 40.0], [-88.0, 42.0]], "times": [1, 2], "title": "A route"}
    >>> plot_map_routes({**numbers, "routes": [[[-90.0, 40.0], [-88.0, 42.0]]]}).get_title()
    'A route'
    """
    from matplotlib.collections import LineCollection

    from sumwise.plots.map_frame import MapFrame

    frame = MapFrame(numbers, outlines, projection, ax)
    ax = frame.ax
    ax.scatter(*frame.places.T, s=4, color="0.8", zorder=1)
    lines = np.asarray(numbers["routes"], dtype=float)
    n, steps = lines.shape[:2]
    at = frame.points(lines.reshape(-1, 2)).reshape(n, steps, 2)
    pieces = np.stack([at[:, :-1], at[:, 1:]], axis=2).reshape(-1, 2, 2)
    when = np.tile(np.arange(steps - 1), n)
    drawn = ax.add_collection(LineCollection(list(pieces), array=when, cmap="cividis", linewidths=1.6, zorder=2))
    ax.scatter(*at[:, 0].T, s=22, color="#D55E00", zorder=3)
    bar = ax.figure.colorbar(drawn, ax=ax, label=numbers.get("time_name", "time"), shrink=0.7)
    times = [str(t) for t in numbers["times"]]
    ticks = np.unique(np.linspace(0, steps - 2, min(steps - 1, 5)).round().astype(int))
    bar.set_ticks(ticks.tolist(), labels=[times[k] for k in ticks])
    return frame.finish(numbers["title"])
