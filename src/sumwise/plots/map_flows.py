"""A week on a map: abundance as colour, mean moves as arrows, outlines below."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["plot_map_flows"]


def plot_map_flows(numbers: Mapping[str, Any], outlines: Any = None, projection: Any = None, ax: Any = None) -> Any:
    """Draw what `diagnostics.flow_numbers` returns on a map, over outlines of land or states.

    Parameters
    ----------
    numbers : mapping
        ``positions`` (lon, lat; or x, y with ``lonlat`` false), ``starts``, ``moves``, ``counts``, ``title``.
    outlines : dict, optional
        GeoJSON of polygons in longitude and latitude (``json.load`` of a file).
    projection : optional
        A coordinate reference system that pyproj takes, such as "EPSG:5070" (extra ``geo``). Without it, one degree
        of latitude is as long as one of longitude at the middle of the map.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

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
    from matplotlib.ticker import MaxNLocator

    from sumwise.plots.labels import tips
    from sumwise.plots.map_frame import MapFrame

    frame = MapFrame(numbers, outlines, projection, ax)
    ax = frame.ax
    ax.scatter(*frame.places.T, s=4, color="0.8", zorder=1)
    counts = np.asarray(numbers["counts"], dtype=float)
    if len(counts):
        begin, move = (np.asarray(numbers[k], dtype=float).reshape(-1, 2) for k in ("starts", "moves"))
        starts = frame.points(begin)
        moves = frame.points(begin + move) - starts
        shown = ax.scatter(*starts.T, s=30, c=np.log10(np.maximum(counts, 1e-9)), cmap="cividis_r", zorder=2)
        tips(shown, [f"{n:,.1f} individuals" for n in counts])
        bar = ax.figure.colorbar(shown, ax=ax, label="individuals (log scale)", shrink=0.7)
        bar.ax.yaxis.set_major_locator(MaxNLocator(integer=True))
        bar.ax.yaxis.set_major_formatter(lambda v, _: f"{10**v:,.6g}")
        ax.quiver(*starts.T, *moves.T, angles="xy", scale_units="xy", scale=1.0, width=0.004, zorder=3)
    return frame.finish(numbers["title"])
