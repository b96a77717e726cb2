"""What all maps share: coordinates and their projection, outlines below, a scale bar."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sumwise.extras import require

EARTH = 6371.0088  # km
NICE = (1.0, 2.0, 5.0, 10.0)


class MapFrame:
    """A map on axes: `points` turns coordinates of the numbers into those of the axes.

    `numbers` has ``positions`` (L, 2), ``lonlat`` (whether they are degrees; default true) and perhaps ``outlines``
    (a list of rings). With a `projection` (anything that pyproj takes), degrees are projected.
    """

    def __init__(self, numbers: Mapping[str, Any], outlines: Any, projection: Any, ax: Any):
        import matplotlib.pyplot as plt

        self.ax: Any = plt.subplots(figsize=(6.4, 5.2))[1] if ax is None else ax
        self.lonlat = bool(numbers.get("lonlat", True))
        self.projector = None
        if projection is not None and self.lonlat:
            maker = require("pyproj").Transformer
            self.projector = maker.from_crs("EPSG:4326", projection, always_xy=True)
        self.places = self.points(numbers["positions"])
        given = rings(outlines) if outlines is not None else numbers.get("outlines")
        for ring in () if given is None else given:
            self.ax.plot(
                *self.points(ring).T, color="0.4", linewidth=0.6, linestyle="-", zorder=2.5
            )  # above the places

    def points(self, given: Any) -> np.ndarray:
        """Points (n, 2) in the coordinates of the axes."""
        at = np.asarray(given, dtype=float).reshape(-1, 2)
        if self.projector is None:
            return at
        return np.column_stack(self.projector.transform(*at.T))

    def finish(self, title: str) -> Any:
        """Limits around the places, equal scales, a scale bar and labels; returns the axes."""
        from sumwise.plots.labels import short

        low, high = self.places.min(axis=0), self.places.max(axis=0)
        room = 0.06 * np.maximum(high - low, (high - low).max() * 0.2 or 1.0)
        degrees = self.lonlat and self.projector is None
        middle = float(np.mean([low[1], high[1]]))
        shrink = float(np.cos(np.radians(np.clip(middle, -80, 80)))) if degrees else 1.0
        self.ax.set_xlim(low[0] - room[0], high[0] + room[0])
        self.ax.set_ylim(low[1] - 2.2 * room[1], high[1] + room[1])
        self.ax.set_aspect(1.0 / shrink)
        if degrees:
            self.ax.set(xlabel="longitude", ylabel="latitude")
            self._bar(low, room, (high[0] - low[0]), EARTH * np.pi / 180 * shrink, " km")
        elif self.projector is not None:
            self.ax.set(xlabel="east (km)", ylabel="north (km)")
            for axis in (self.ax.xaxis, self.ax.yaxis):
                axis.set_major_formatter(lambda v, _: f"{v / 1000:,.0f}")
            self._bar(low, room, (high[0] - low[0]), 1e-3, " km")
        else:
            self.ax.set(xlabel="x", ylabel="y")
            self._bar(low, room, (high[0] - low[0]), 1.0, "")
        self.ax.set_title(short(title))
        return self.ax

    def _bar(self, low: np.ndarray, room: np.ndarray, width: float, factor: float, unit: str) -> None:
        """A bar of a round length, about a quarter of the map, that is exact at its middle latitude."""
        aim = max(width, 1e-12) * factor / 4
        power = 10.0 ** np.floor(np.log10(aim))
        length = power * max(k for k in NICE if k * power <= aim)
        y = low[1] - 1.6 * room[1]
        self.ax.plot([low[0], low[0] + length / factor], [y, y], color="black", linewidth=2, linestyle="-")
        place = {"xytext": (0, 3), "textcoords": "offset points", "fontsize": "medium"}
        self.ax.annotate(f"{length:,.4g}{unit}", (low[0], y), **place)


def rings(outlines: Any) -> list[np.ndarray]:
    """Rings of the polygons of a GeoJSON mapping, as arrays (n, 2) of longitude and latitude."""
    out = []
    for feature in (outlines or {}).get("features", ()):
        shape = feature["geometry"]
        if shape is None or shape["type"] not in ("Polygon", "MultiPolygon"):
            continue
        parts = shape["coordinates"] if shape["type"] == "MultiPolygon" else [shape["coordinates"]]
        out += [np.asarray(ring, dtype=float)[:, :2] for part in parts for ring in part]
    return out
