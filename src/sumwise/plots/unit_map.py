"""A choropleth map of units, coloured by a number: shares, uncertainty or residuals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

COLOURS = {"share": "cividis", "uncertainty": "Greys", "residual": "PuOr"}


def plot_unit_map(numbers: Mapping[str, Any], ax: Any = None) -> Any:
    """Draw what `diagnostics.map_numbers` returns: every unit in the colour of its number, grey where it has none.

    Parameters
    ----------
    numbers : mapping
        ``shapes``, ``values``, ``units``, ``label``, ``what``.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    See Also
    --------
    sumwise.diagnostics.map_numbers : The numbers behind this figure.

    Examples
    --------
    >>> from sumwise.plots import plot_unit_map
    >>> shapes = [[[[k, 0], [k + 1, 0], [k + 1, 1], [k, 1], [k, 0]]] for k in range(2)]
    >>> numbers = {"shapes": shapes, "values": [0.2, 0.8], "units": ["A", "B"], "label": "share", "what": "share"}
    >>> len(plot_unit_map(numbers).collections[0].get_paths())
    2
    """
    import matplotlib.pyplot as plt
    from matplotlib.collections import PathCollection
    from matplotlib.path import Path

    from sumwise.plots.labels import axes_or_new, tips

    ax = axes_or_new(ax, 6.4, 5.2)
    paths = [Path.make_compound_path(*(Path(np.asarray(ring, dtype=float)) for ring in s)) for s in numbers["shapes"]]
    values = np.array([np.nan if v is None else v for v in numbers["values"]], dtype=float)
    colours = plt.get_cmap(COLOURS[str(numbers["what"])]).with_extremes(bad="0.85")
    drawn = PathCollection(paths, cmap=colours, edgecolor="0.4", linewidth=0.3)
    drawn.set_array(np.ma.masked_invalid(values))
    if numbers["what"] == "residual":
        most = float(np.nanmax(np.abs(values), initial=0.0)) or 1.0
        drawn.set_clim(-most, most)
    ax.add_collection(drawn)
    points = np.vstack([path.vertices for path in paths])
    low, high = points.min(axis=0), points.max(axis=0)
    degrees = bool((np.abs(points[:, 0]) <= 180).all() and (np.abs(points[:, 1]) <= 90).all())
    ax.set_xlim(low[0], high[0])
    ax.set_ylim(low[1], high[1])
    middle = np.clip((low[1] + high[1]) / 2, -80, 80) if degrees else 0.0
    ax.set_aspect(1.0 / np.cos(np.radians(middle)))
    ax.set_axis_off()
    shown = [f"{u}: {v:.3f}" if np.isfinite(v) else f"{u}: nobody" for u, v in zip(numbers["units"], values)]
    tips(drawn, shown)
    ax.figure.colorbar(drawn, ax=ax, label=str(numbers["label"]), shrink=0.7)
    return ax
