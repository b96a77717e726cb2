"""A map to draw on: outlines, a projection, names of places, a scale bar."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sumwise.extras import require
from sumwise.plots.labels import NARROW_FIGURE, axes_or_new, short, wrapped_names
from sumwise.plots.land import land


def places_on_map(model: Any) -> dict[str, Any]:
    """Return where the places of a fitted `FlowModel` are, and their names if they are words, for maps.

    Parameters
    ----------
    model : FlowModel

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.flows import FlowModel, Movement, Places
    >>> from sumwise.plots.map_frame import places_on_map
    >>> places = Places(x=[0.0, 1.0], y=[0.0, 0.0], names=["Lake", "Marsh"])
    >>> places_on_map(FlowModel(places, Movement(1.0)).fit(np.array([[9, 1], [4, 6]])))["names"]
    ['Lake', 'Marsh']
    """
    places = model.places_
    out = {"positions": places.positions, "lonlat": places.lon is not None}
    named = not all(str(name).isdigit() for name in places.names)  # numbers say nothing on a map
    return {**out, "names": [str(name) for name in places.names]} if named else out


EARTH = 6371.0088  # km
ROUND_STEPS = (1.0, 2.0, 5.0, 10.0)
MOST_NAMED = 15  # places whose names are written beside them


class MapFrame:
    """A map on axes: `points` turns coordinates of the numbers into those of the axes.

    `numbers` has ``positions`` (L, 2), ``lonlat`` (whether they are degrees; default true) and perhaps ``names`` of
    the places and ``outlines`` (a list of rings; default: of the world's land). With a `projection` (anything that
    pyproj takes), degrees are projected.
    """

    def __init__(self, numbers: Mapping[str, Any], outlines: Any, projection: Any, ax: Any):

        self.ax: Any = axes_or_new(ax, 6.4, 5.2)
        self.lonlat = bool(numbers.get("lonlat", True))
        self.projector = None
        if projection is not None and self.lonlat:
            maker = require("pyproj").Transformer
            self.projector = maker.from_crs("EPSG:4326", projection, always_xy=True)
        self.places = self.points(numbers["positions"])
        self.kept_free = np.empty((0, 2))  # points where no name may be written
        self.bar: tuple[np.ndarray, float, str] | None = None  # where the scale bar begins and ends, and its length
        self.names = [str(name) for name in numbers.get("names", ())]
        outline_rings = rings(outlines) if outlines is not None else numbers.get("outlines")
        if outline_rings is None:
            outline_rings = land(np.asarray(numbers["positions"], dtype=float).reshape(-1, 2)) if self.lonlat else ()
        for ring in outline_rings:
            self.ax.plot(
                *self.points(ring).T, color="0.4", linewidth=0.6, linestyle="-", zorder=2.5
            )  # above the places

    def points(self, given: Any) -> np.ndarray:
        """Points (n, 2) in the coordinates of the axes."""
        at = np.asarray(given, dtype=float).reshape(-1, 2)
        if self.projector is None:
            return at
        return np.column_stack(self.projector.transform(*at.T))

    def colours(self, shown: Any, label: str) -> Any:
        """A bar of colours with its label: beside the map, or below it on a phone, where width is scarce."""
        place = "bottom" if self.ax.figure.get_size_inches()[0] < NARROW_FIGURE else "right"
        return self.ax.figure.colorbar(shown, ax=self.ax, label=label, shrink=0.7, location=place)

    def finish(self, title: str) -> Any:
        """Limits around the places, equal scales, a scale bar and labels; returns the axes."""
        low, high = self.places.min(axis=0), self.places.max(axis=0)
        room = 0.06 * np.maximum(high - low, (high - low).max() * 0.2 or 1.0)
        degrees = self.lonlat and self.projector is None
        middle = float(np.mean([low[1], high[1]]))
        shrink = float(np.cos(np.radians(np.clip(middle, -80, 80)))) if degrees else 1.0
        self.ax.set_xlim(low[0] - room[0], high[0] + room[0])
        self.ax.set_ylim(low[1] - 3.2 * room[1], high[1] + room[1])
        self.ax.set_aspect(1.0 / shrink)
        self.ax.locator_params(axis="x", nbins=6)  # more labels would touch
        if degrees:
            self.ax.set(xlabel="longitude", ylabel="latitude")
            self._bar(low, high, room, EARTH * np.pi / 180 * shrink, " km")
        elif self.projector is not None:
            self.ax.set(xlabel="east (km)", ylabel="north (km)")
            for axis in (self.ax.xaxis, self.ax.yaxis):
                axis.set_major_formatter(lambda v, _: f"{v / 1000:,.0f}")
            self._bar(low, high, room, 1e-3, " km")
        else:
            self.ax.set(xlabel="x", ylabel="y")
            self._bar(low, high, room, 1.0, "")
        if len(self.names) <= MOST_NAMED:
            self._name_places(shrink)
        with wrapped_names():
            self.ax.set_title(short(title))
        return self.ax

    def _name_places(self, shrink: float) -> None:
        """The names of few places beside them, where they touch neither a place nor another name."""
        (left, right), (low, high) = self.ax.get_xlim(), self.ax.get_ylim()
        map_width, map_height = self.ax.figure.get_size_inches() * 72 * 0.62  # about the points that the map itself has
        scale = min(map_width / ((right - left) * shrink), map_height / (high - low))
        at, free = ((given - [left, low]) * [scale * shrink, scale] for given in (self.places, self.kept_free))
        letter = float(self.ax.yaxis.get_label().get_fontsize())
        taken = np.vstack([np.hstack([at - 4, at + 4]), np.hstack([free - 2, free + 2])])  # left, low, right, high
        room = (right - left) * shrink * scale, (high - low) * scale
        if self.bar is not None:
            begin, end, said = self.bar
            x, y = (begin - [left, low]) * [scale * shrink, scale]
            span = max((end - begin[0]) * scale * shrink, 0.62 * letter * len(said))
            taken = np.vstack([taken, [x, y - 2, x + span, y + 3 + letter]])  # the scale bar and its length
        for (x, y), place, name in zip(at, self.places, self.names):
            text = short(name, 20)
            half = 0.31 * letter * len(text)
            places = ((0, 7, "center"), (0, -7 - letter, "center"), (8, -4, "left"), (-8, -4, "right"))
            for dx, dy, side in (*places, (8, 2, "left"), (-8, 2, "right")):
                begin = x + dx - {"center": half, "left": 0.0, "right": 2 * half}[side]
                box = begin, y + dy, begin + 2 * half, y + dy + letter
                inside = box[0] >= 0 and box[1] >= 0 and box[2] <= room[0] and box[3] <= room[1]
                apart = (taken[:, :2] >= box[2:]) | (taken[:, 2:] <= box[:2])
                if inside and apart.any(axis=1).all():
                    taken = np.vstack([taken, box])
                    look: dict[str, Any] = {"xytext": (dx, dy), "textcoords": "offset points", "ha": side, "zorder": 4}
                    self.ax.annotate(text, place, **look)
                    break

    def _bar(self, low: np.ndarray, high: np.ndarray, room: np.ndarray, factor: float, unit: str) -> None:
        """A bar of a round length, about a quarter of the map, that is exact at its middle latitude.

        None around one place alone: the size of that map means nothing.
        """
        if not (high > low).any():
            return
        aim = max(high[0] - low[0], 2 * room[0]) * factor / 4
        power = 10.0 ** np.floor(np.log10(aim))
        length = power * max(k for k in ROUND_STEPS if k * power <= aim)
        y = low[1] - 2.6 * room[1]
        self.ax.plot([low[0], low[0] + length / factor], [y, y], color="black", linewidth=2, linestyle="-")
        place = {"xytext": (0, 3), "textcoords": "offset points", "fontsize": "medium"}
        self.bar = np.array([low[0], y]), low[0] + length / factor, f"{length:,.4g}{unit}"
        self.ax.annotate(self.bar[2], (low[0], y), **place)


def round_numbers(low: float, high: float) -> np.ndarray:
    """Powers of ten between two logarithms, with their doubles and fives where there are few; at most nine."""
    powers = 10.0 ** np.arange(np.floor(low), np.ceil(high) + 1)
    ticks = powers
    for steps in ((1.0,), (1.0, 3.0), (1.0, 2.0, 5.0), tuple(range(1, 10))):
        ticks = np.concatenate([[k * p for k in steps] for p in powers])
        ticks = ticks[(ticks >= 10**low * (1 - 1e-9)) & (ticks <= 10**high * (1 + 1e-9))]
        if len(ticks) > 2:
            break
    if len(ticks) < 2:  # all counts are nearly alike
        ticks = np.unique([float(f"{10**v:.3g}") for v in (low, high)])
    return ticks[:: -(-len(ticks) // 9)]


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
