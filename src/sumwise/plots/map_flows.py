"""A week on a map: abundance as colour, mean moves as arrows, outlines below."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["plot_map_flows"]


def plot_map_flows(numbers: Mapping[str, Any], outlines: Any = None, ax: Any = None) -> Any:
    """Draw what `diagnostics.flow_numbers` returns in longitude and latitude, over outlines of land or states.

    Parameters
    ----------
    numbers : mapping
        ``positions`` (lon, lat), ``starts``, ``moves``, ``counts``, ``title``.
    outlines : dict, optional
        GeoJSON of polygons in longitude and latitude (``json.load`` of a file).
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes
        One degree of latitude is as long as one of longitude at the middle of the map; the bar is 500 km there.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.collective import Counts
    >>> from sumwise.diagnostics import flow_numbers
    >>> from sumwise.plots import plot_map_flows
    >>> counts = Counts({}, {("1", "2"): np.array([[1.0, 3.0], [0.0, 2.0]])}, 6)
    >>> ax = plot_map_flows(flow_numbers(counts, ("1", "2"), [[-90.0, 40.0], [-88.0, 42.0]]))
    >>> ax.get_xlabel()
    'longitude'
    """
    import matplotlib.pyplot as plt

    from sumwise.plots.labels import short

    ax = plt.subplots(figsize=(6, 5))[1] if ax is None else ax
    places = np.asarray(numbers["positions"], dtype=float)
    for ring in _rings(outlines):
        ax.plot(*ring.T, color="0.75", linewidth=0.6, zorder=0)
    starts, moves = (np.asarray(numbers[k], dtype=float).reshape(-1, 2) for k in ("starts", "moves"))
    counts = np.asarray(numbers["counts"], dtype=float)
    if len(starts):
        shown = ax.scatter(*starts.T, s=30, c=np.log10(np.maximum(counts, 1e-9)), cmap="cividis_r", zorder=1)
        ax.figure.colorbar(shown, ax=ax, label="individuals (log10)", shrink=0.7)
        ax.quiver(*starts.T, *moves.T, angles="xy", scale_units="xy", scale=1.0, width=0.004, zorder=2)
    middle = float(places[:, 1].mean())
    degrees = 500.0 / (111.195 * np.cos(np.radians(middle)))
    low, left = places[:, 1].min() - 1.0, places[:, 0].min()
    ax.plot([left, left + degrees], [low, low], color="black", linewidth=2)
    ax.annotate("500 km", (left, low), xytext=(0, 3), textcoords="offset points", fontsize=8)
    room = 2.0
    ax.set_xlim(places[:, 0].min() - room, places[:, 0].max() + room)
    ax.set_ylim(low - room, places[:, 1].max() + room)
    ax.set_aspect(1.0 / np.cos(np.radians(middle)))
    ax.set(title=short(numbers["title"]), xlabel="longitude", ylabel="latitude")
    return ax


def _rings(outlines: Any) -> list[np.ndarray]:
    out = []
    for feature in (outlines or {}).get("features", ()):
        shape = feature["geometry"]
        parts = shape["coordinates"] if shape["type"] == "MultiPolygon" else [shape["coordinates"]]
        out += [np.asarray(ring, dtype=float)[:, :2] for part in parts for ring in part]
    return out
