"""A choropleth map of units, coloured by a number: shares, uncertainty or residuals."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.errors import DataError
from sumwise.margins import Margins
from sumwise.nonvoting import people_who

WHAT = ("share", "uncertainty", "residual")
MOST_POINTS = 80  # of a ring that is drawn; more are thinned


def unit_shapes(geojson: Mapping[str, Any], units: Sequence[Any], key: str | Sequence[str]) -> list[list]:
    """Return the shape of every unit, as rings of points, from a GeoJSON FeatureCollection.

    Parameters
    ----------
    geojson : mapping
        As ``json.load`` gives it: polygons with properties.
    units : sequence
        Names of the units, as ``margins.units``.
    key : str, or list of str
        The property that holds the unit's name ("id" may be the features' own); several are joined by " / ", as in a
        problem file.

    Returns
    -------
    list
        A list of rings for every unit; a ring is a list of [x, y].

    Examples
    --------
    >>> from sumwise.plots import unit_shapes
    >>> square = {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 0]]]}
    >>> features = [{"type": "Feature", "geometry": square, "properties": {"p": "A"}}]
    >>> len(unit_shapes({"type": "FeatureCollection", "features": features}, ["A"], "p")[0][0])
    4
    """
    features = geojson.get("features") if isinstance(geojson, Mapping) else None
    if not isinstance(features, list):
        raise DataError(
            "The map is not a FeatureCollection.", hint="GeoJSON has features with properties and geometry."
        )
    keys = [key] if isinstance(key, str) else list(key)
    wanted, rings_of_unit = set(map(str, units)), dict[str, list]()
    seen: list[str] = []
    for number, feature in enumerate(features, start=1):
        words = " / ".join(_property(feature, name, number) for name in keys)
        seen.append(words)
        if words in wanted:
            rings_of_unit.setdefault(words, []).extend(_rings(feature.get("geometry"), number))
    lacking = [str(unit) for unit in units if str(unit) not in rings_of_unit]
    if lacking:
        raise DataError(
            f"{len(lacking)} of {len(units)} units have no shape in the map: {', '.join(map(repr, lacking[:5]))}"
            f"{', ...' if lacking[5:] else ''}.",
            hint=f"the map has {', '.join(map(repr, seen[:3]))}; check the property that is named by key.",
        )
    return [rings_of_unit[str(unit)] for unit in units]


def _property(feature: Any, name: str, number: int) -> str:
    """A feature's property, or its id, as text: numbers as they are written."""
    if not isinstance(feature, Mapping):
        raise DataError(f"Feature {number} of the map is not a feature.", hint="it has properties and a geometry.")
    properties = feature.get("properties") or {}
    value = properties.get(name, feature.get("id") if name == "id" else None)
    if value is None:
        raise DataError(
            f"Feature {number} of the map has no property {name!r}.",
            hint=f"it has {', '.join(map(str, properties)) or 'none'}.",
        )
    return str(int(value) if isinstance(value, float) and value.is_integer() else value).strip()


def _rings(geometry: Any, number: int) -> list[list[list[float]]]:
    """Rings of a polygon, outer ones anticlockwise and holes clockwise, so that holes are left open when drawn."""
    kind = geometry.get("type") if isinstance(geometry, Mapping) else None
    if kind not in ("Polygon", "MultiPolygon"):
        what = f"is a {kind}" if kind else "has no geometry"
        raise DataError(f"Feature {number} of the map {what}.", hint="units are polygons.")
    rings = []
    try:
        for polygon in geometry["coordinates"] if kind == "MultiPolygon" else [geometry["coordinates"]]:
            for k, points in enumerate(polygon):
                ring = np.asarray(points, dtype=float)[:, :2]
                x, y = ring[:, 0] - ring[0, 0], ring[:, 1] - ring[0, 1]
                anticlockwise = np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y) > 0
                rings.append(_thinned(ring if anticlockwise == (k == 0) else ring[::-1]))
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise DataError(
            f"The coordinates of feature {number} of the map can't be read: {error}.",
            hint="a polygon is a list of rings, a ring a list of points [x, y].",
        ) from None
    return rings


def _thinned(ring: np.ndarray) -> list[list[float]]:
    step = max(1, len(ring) // MOST_POINTS)
    thinned = ring[::step]
    closed = thinned if (thinned[-1] == ring[-1]).all() else np.vstack([thinned, ring[-1]])
    return np.round(closed, 6).tolist()


def map_numbers(
    est: Any, margins: Margins, shapes: Sequence, group: Any, outcome: Any, what: str = "share", level: float = 0.95
) -> dict[str, Any]:
    """Return what a map of units shows: a share in every unit, its uncertainty, or its residual.

    Parameters
    ----------
    est : fitted estimator on margins
    margins : Margins
        What it was fitted to.
    shapes : list
        From `unit_shapes`.
    group, outcome
        By name.
    what : {"share", "uncertainty", "residual"}
        The estimated share of the group with the outcome in every unit; the width of its interval; or the unit's
        observed share of the outcome (of everybody) minus the share expected from the groups' overall shares.
    level : float in (0, 1), default 0.95
        Level of the intervals.

    See Also
    --------
    sumwise.plots.plot_unit_map : Draws these numbers.

    Examples
    --------
    >>> from sumwise import Margins
    >>> from sumwise.plots import map_numbers
    >>> from sumwise.ecological import Goodman
    >>> groups = [[60, 40], [10, 90], [30, 70], [50, 50], [80, 20]]
    >>> m = Margins(groups, [[55, 45], [30, 70], [40, 60], [50, 50], [65, 35]], row_names=["a", "b"])
    >>> est = Goodman(constrained=True).fit(m)
    >>> shapes = [[[[k, 0], [k + 1, 0], [k + 1, 1], [k, 0]]] for k in range(5)]
    >>> len(map_numbers(est, m, shapes, "a", "col0", "residual")["values"])
    5
    """
    checks.choice(what, "what", WHAT)
    rows, cols = list(map(str, margins.row_names)), list(map(str, margins.col_names))
    checks.known(str(group), rows, "group")
    checks.known(str(outcome), cols, "outcome")
    if len(shapes) != len(margins):
        raise DataError(f"There are {len(shapes)} shapes for {len(margins)} units.", hint="use unit_shapes.")
    r, c = rows.index(str(group)), cols.index(str(outcome))
    if what == "share":
        values, label = est.unit_shares(margins)[:, r, c], f"share of {people_who(group, cols, c)}"
    elif what == "uncertainty":
        low, high = est.unit_interval(margins, level)
        values, label = high[:, r, c] - low[:, r, c], f"width of the {100 * level:g}% interval of that share"
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            values = margins.col_shares[:, c] - margins.row_shares @ est.shares_[:, c]
        label = f"share of {outcome}: observed less expected (points)"
    empty = margins.rows[:, r] <= 0 if what != "residual" else margins.totals <= 0
    return {
        "shapes": [list(shape) for shape in shapes],
        "values": np.where(empty, np.nan, values).tolist(),
        "units": [str(unit) for unit in margins.units],
        "label": label,
        "what": what,
    }


COLOURS = {"share": "cividis", "uncertainty": "Greys", "residual": "PuOr"}


def plot_unit_map(numbers: Mapping[str, Any], ax: Any = None) -> Any:
    """Draw what `map_numbers` returns: every unit in the colour of its number, grey if it has none.

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
    sumwise.plots.map_numbers : The numbers behind this figure.

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
    from matplotlib.ticker import MaxNLocator

    from sumwise.plots.labels import axes_or_new, percent, tips

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
    shown = [f"{u}: {percent(v)}" if np.isfinite(v) else f"{u}: nobody" for u, v in zip(numbers["units"], values)]
    tips(drawn, shown)
    label = textwrap.fill(str(numbers["label"]), 34)
    written = (lambda v, _: f"{100 * v:+.3g}") if numbers["what"] == "residual" else (lambda v, _: f"{100 * v:.3g}%")
    bar = {"shrink": 0.8, "location": "bottom", "ticks": MaxNLocator(5), "format": written}
    ax.figure.colorbar(drawn, ax=ax, label=label, **bar)
    return ax
