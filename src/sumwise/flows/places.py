"""Places: where individuals can be, how far apart those places are, and which moves are possible."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.spatial import KDTree

from sumwise import checks
from sumwise.display import finding_html
from sumwise.errors import DataError
from sumwise.extras import require
from sumwise.frames import in_one_order, is_frame, to_pandas
from sumwise.io.documents import read_json

EARTH = 6371.0088  # km, mean radius


def western_longitudes(lon: np.ndarray) -> tuple[np.ndarray, str] | None:
    """Longitudes from 0 to 360 as -180 to 180, and words on it; None where none is above 180.

    Places on both sides of the 180th meridian keep theirs, so that neighbours stay together on a map.
    """
    turned = np.where(lon > 180, lon - 360, lon)
    if not ((lon > 180) & (lon <= 360)).any() or np.ptp(turned) > np.ptp(lon):
        return None
    most = float(lon.max())
    return turned, f"Longitudes go from 0 to 360: those above 180 are read as west ({most:g} as {most - 360:g})."


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Places:
    """Places on a map (or with any distances between them), for `FlowModel`.

    Give one of three: longitude and latitude, projected coordinates, or a matrix of distances (or costs).

    Parameters
    ----------
    lon, lat : (L,) arrays, optional
        Degrees; distances are great-circle distances in km. Longitudes from 0 to 360 become -180 to 180, with a
        warning, unless the places lie on both sides of the 180th meridian.
    x, y : (L,) arrays, optional
        Projected coordinates; distances are Euclidean, in their unit.
    distances : (L, L) array, optional
        Distances or costs of moving from row to column; they need not be symmetric. NaN or infinity forbids a move.
    names : sequence, optional
        Identifiers, as the counts name the places; default 0, 1, ...
    area : (L,) array, optional
        Size of each place, for ``Movement(attraction=...)``.
    reach : float > 0, optional
        No single move is longer. Moves are then stored sparsely, so that tens of thousands of places fit in memory.
    barriers : sequence of ((x, y), (x, y)), optional
        Line segments (lon, lat or x, y) that no move may cross: a mountain range, a strait.

    See Also
    --------
    FlowModel : Flows of a population between places, from counts over time: who went where, along which routes, and
        where next.

    Examples
    --------
    >>> from sumwise.flows import Places
    >>> towns = Places(lon=[-74.0, -73.9, -73.8], lat=[40.7, 40.8, 41.0], names=["a", "b", "c"])
    >>> towns.distance("a", "c").round(1)
    np.float64(37.4)
    >>> towns.neighbours(20.0)
    {'a': ['b'], 'b': ['a'], 'c': []}
    """

    lon: np.ndarray | None = None
    lat: np.ndarray | None = None
    x: np.ndarray | None = None
    y: np.ndarray | None = None
    distances: np.ndarray | None = None
    names: tuple = ()
    area: np.ndarray | None = None
    reach: float | None = None
    barriers: tuple = ()

    if TYPE_CHECKING:  # callers may give more kinds than are stored

        def __init__(
            self,
            lon: Any = None,
            lat: Any = None,
            x: Any = None,
            y: Any = None,
            distances: Any = None,
            names: Any = (),
            area: Any = None,
            reach: float | None = None,
            barriers: Any = (),
        ) -> None: ...

    def __post_init__(self):
        set_ = object.__setattr__
        self._align()
        pairs = [(a, b) for a, b in (("lon", "lat"), ("x", "y")) if getattr(self, a) is not None]
        if len(pairs) + (self.distances is not None) != 1 or any(getattr(self, b) is None for _, b in pairs):
            raise DataError(
                "Places need one of: longitude and latitude, x and y, or distances.",
                hint="give Places(lon=..., lat=...), Places(x=..., y=...) or Places(distances=...).",
            )
        for name in pairs[0] if pairs else ():
            set_(self, name, checks.frozen(checks.finite(getattr(self, name), name, ndim=1)))
        if self.distances is not None:
            set_(self, "distances", _cost_matrix(self.distances))
        self._check_lengths(pairs)
        if self.reach is not None:
            checks.positive(self.reach, "reach", ndim=0)
        set_(self, "barriers", tuple(_segment(s, k) for k, s in enumerate(self.barriers)))
        if self.barriers and not pairs:
            raise DataError("Barriers need coordinates.", hint="give lon and lat, or x and y.")
        if self.lon is not None and (west := western_longitudes(self.lon)) is not None:
            warnings.warn(west[1] + " Hint: give degrees from -180 to 180.", UserWarning, stacklevel=3)
            set_(self, "lon", checks.frozen(west[0]))
            set_(self, "barriers", tuple(tuple((a - 360 * (a > 180), b) for a, b in s) for s in self.barriers))

    def _align(self) -> None:
        """Put pandas series into one order by their index, and a frame's columns into that of its rows."""
        given = {name: getattr(self, name) for name in ("lon", "lat", "x", "y", "distances", "names", "area")}
        square = given["distances"]
        if hasattr(square, "columns") and is_frame(square):
            square = to_pandas(square)
            rows, columns = square.index.tolist(), square.columns.tolist()
            if rows != columns and set(rows) == set(columns):
                given["distances"] = square[rows]
            elif not set(rows).isdisjoint(columns) and rows != columns:
                raise DataError(
                    "The rows and columns of distances have different labels.",
                    hint="label both by the same places, or give an array.",
                )
        aligned, labels = in_one_order(given)
        for name, value in aligned.items():
            object.__setattr__(self, name, value)
        if labels is not None and not len(self.names):
            object.__setattr__(self, "names", labels)

    def _check_lengths(self, pairs) -> None:
        n = len(self)
        for a, b in pairs:
            if len(getattr(self, b)) != n:
                raise DataError(f"{a} has {n} entries, {b} {len(getattr(self, b))}.")
        if self.lat is not None and (np.abs(self.lat) > 90).any():
            swapped = self.lon is not None and (np.abs(self.lon) <= 90).all() and (np.abs(self.lat) <= 180).all()
            raise DataError(
                f"A latitude is {self.lat[np.argmax(np.abs(self.lat))]:g}.",
                hint="are longitude and latitude swapped?" if swapped else "give degrees, -90 to 90.",
            )
        if self.lon is not None and ((self.lon < -180) | (self.lon > 360)).any():
            raise DataError(
                f"A longitude is {self.lon[np.argmax(np.abs(self.lon))]:g}.",
                hint="give degrees, -180 to 180; projected coordinates are x and y.",
            )
        names = [checks.plain(a) for a in self.names] if len(self.names) else list(range(n))
        object.__setattr__(self, "names", checks.unique(names, "Places"))
        for name in ("names", "area"):
            given = getattr(self, name)
            if given is not None and len(given) != n:
                raise DataError(f"There are {len(given)} {name} for {n} places.")
        if self.area is not None:
            object.__setattr__(self, "area", checks.frozen(checks.positive(self.area, "area", ndim=1)))

    # --- other ways in

    @classmethod
    def from_frame(
        cls, frame: Any, place: str, lon: str | None = None, lat: str | None = None, **options: Any
    ) -> Places:
        """Return the places of a frame with a row each; ``x=`` and ``y=`` name projected columns, ``area=`` sizes.

        Examples
        --------
        >>> from sumwise.flows import Places
        >>> len(Places.from_frame({"id": ["a", "b"], "lon": [0.0, 1.0], "lat": [0.0, 0.0]}, "id", "lon", "lat"))
        2
        """
        named = {"lon": lon, "lat": lat, **{k: options.pop(k) for k in ("x", "y", "area") if k in options}}
        columns = {k: c for k, c in named.items() if c is not None}
        data = to_pandas(frame, [place, *columns.values()], "the frame of places")
        return cls(
            names=data[place].tolist(), **{k: data[c].to_numpy(dtype=float) for k, c in columns.items()}, **options
        )

    @classmethod
    def grid(cls, n_rows: int, n_columns: int, size: float = 1.0, **options: Any) -> Places:
        """Return the cells of a grid, row by row from the top, with centres `size` apart.

        Examples
        --------
        >>> from sumwise.flows import Places
        >>> Places.grid(2, 3).y.tolist()
        [1.5, 1.5, 1.5, 0.5, 0.5, 0.5]
        """
        checks.at_least(n_rows, "n_rows", 1)
        checks.at_least(n_columns, "n_columns", 1)
        row, col = np.divmod(np.arange(n_rows * n_columns), n_columns)
        return cls(x=(col + 0.5) * size, y=(n_rows - row - 0.5) * size, **options)

    @classmethod
    def from_geojson(cls, source: str | PathLike | dict, name: str, **options: Any) -> Places:
        """Return the features of a GeoJSON file in longitude and latitude: centroids and areas (km2) of polygons.

        `name` is the property that identifies a feature.
        """
        from sumwise.flows.kernels.polygons import centroid_and_area

        try:
            found = source if isinstance(source, dict) else read_json(source)
        except ValueError as error:
            raise DataError(f"{str(source)!r} is not valid JSON: {error}.", hint="is the file complete?") from None
        features = found.get("features") if isinstance(found, dict) else None
        if not features:
            raise DataError("The GeoJSON has no features.", hint="give a FeatureCollection.")
        names = [f.get("properties", {}).get(name) for f in features]
        if None in names:
            raise DataError(f"Feature {names.index(None)} has no property {name!r}.")
        shapeless = [called for called, f in zip(names, features) if not f.get("geometry")]
        if shapeless:
            raise DataError(
                f"{len(shapeless)} features have no geometry. First: {shapeless[0]!r}.", hint="leave them out."
            )
        centres, areas = zip(*(centroid_and_area(f["geometry"]) for f in features))
        lon, lat = np.array(centres).T
        area = None if min(areas) <= 0 else np.array(areas) * np.cos(np.radians(lat)) * (np.pi * EARTH / 180) ** 2
        return cls(lon=lon, lat=lat, names=names, area=area, **options)

    @classmethod
    def from_geopandas(cls, frame: Any, name: str, **options: Any) -> Places:
        """Return the rows of a `geopandas.GeoDataFrame` in any reference system: centroids, and areas of polygons.

        `name` is the column that identifies a row, such as ``tile_ID`` of a tessellation of scikit-mobility.
        """
        if not hasattr(frame, "geometry") or getattr(frame, "crs", None) is None:
            raise DataError(
                "The frame has no geometry with a coordinate reference system.",
                hint="give a GeoDataFrame, and set_crs(...) where it has none.",
            )
        if name not in frame:
            raise DataError(f"There is no column {name!r}.", hint=f"columns are {', '.join(map(repr, frame.columns))}.")
        shapes = json.loads(frame[[name, frame.geometry.name]].to_crs("EPSG:4326").to_json())
        for feature, given in zip(shapes["features"], frame[name].tolist()):
            feature["properties"][name] = given
        return cls.from_geojson(shapes, name, **options)

    @classmethod
    def from_projected(cls, x: Any, y: Any, crs: Any, **options: Any) -> Places:
        """Return places from coordinates in any reference system (needs the extra ``geo``: pyproj)."""
        pyproj = require("pyproj")
        try:
            transformer = pyproj.Transformer.from_crs(crs, "EPSG:4326", always_xy=True)
        except pyproj.exceptions.ProjError as error:
            hint = "give a code, such as 'EPSG:32633', or a system whose way to longitude and latitude is known."
            raise DataError(f"crs is {str(crs)[:80]!r}: {' '.join(str(error).split())}.", hint=hint) from error
        lon, lat = transformer.transform(np.asarray(x, dtype=float), np.asarray(y, dtype=float))
        return cls(lon=lon, lat=lat, **options)

    @classmethod
    def from_hexagons(cls, cells: Sequence[Any], **options: Any) -> Places:
        """Return H3 hexagons by their ids, texts or numbers (needs the extra ``geo``: h3)."""
        h3 = require("h3")
        ids = [c if isinstance(c, str) else h3.int_to_str(int(c)) for c in cells]
        bad = [c for c, i in zip(cells, ids) if not h3.is_valid_cell(i)]
        if bad or not ids:
            first = f" First: {bad[0]!r}." if bad else ""
            raise DataError(f"{len(bad)} of {len(ids)} hexagons are not cells of H3.{first}", hint="give ids of cells.")
        lat, lon = np.array([h3.cell_to_latlng(c) for c in ids]).T
        area = [h3.cell_area(c, unit="km^2") for c in ids]
        return cls(lon=lon, lat=lat, names=list(cells), area=area, **options)

    # --- what they have

    def __len__(self) -> int:
        given = next(v for v in (self.lon, self.x, self.distances) if v is not None)
        return len(given)

    def _repr_html_(self) -> str:
        if self.distances is not None:
            return finding_html(f"{len(self):,} places, by a matrix of distances.")
        across = np.ptp(self.positions, axis=0)
        unit = ("degrees of longitude", "of latitude") if self.lon is not None else ("by x", "by y")
        words = f"{len(self):,} places, {across[0]:.4g} {unit[0]} and {across[1]:.4g} {unit[1]} across."
        words += f" A typical neighbour is {self.unit:.4g}{' km' if self.lon is not None else ''} away."
        return finding_html(words + (f" No move is longer than {self.reach:g}." if self.reach is not None else ""))

    def __repr__(self) -> str:
        kind = "longitude and latitude" if self.lon is not None else "x and y" if self.x is not None else "distances"
        return f"Places({len(self)}, by {kind})"

    def index(self, given: Any) -> np.ndarray:
        """Return the numbers of places by their names."""
        at = {name: k for k, name in enumerate(self.names)}
        listed = [checks.plain(g) for g in given]
        unknown = [g for g in listed if g not in at]
        if unknown:
            raise DataError(
                f"{len(unknown)} places are unknown. First: {unknown[0]!r}.",
                hint=f"places are called {', '.join(map(repr, self.names[:4]))}, ...",
            )
        return np.array([at[g] for g in listed], dtype=np.int64)

    def nearest(self, first: Any, second: Any) -> np.ndarray:
        """Return the number of the place nearest to each point (lon, lat or x, y)."""
        points = np.column_stack([checks.finite(first, "first", ndim=1), checks.finite(second, "second", ndim=1)])
        return np.asarray(KDTree(self._vectors()).query(_vectors(points, self.lon is not None))[1])

    def distance(self, first: Any, second: Any) -> Any:
        """Return the distance between two places by name."""
        i, j = self.index([first, second])
        return self._pair_distances(np.array([i]), np.array([j]))[0]

    def separations(self) -> np.ndarray:
        """Return the distances (L, L) between all places."""
        i, j = np.indices((len(self), len(self))).reshape(2, -1)
        return np.asarray(self._pair_distances(i, j), dtype=float).reshape(len(self), -1)

    @property
    def positions(self) -> np.ndarray:
        """Coordinates (L, 2) for maps: longitude and latitude, or x and y."""
        given: Any = (self.lon, self.lat) if self.lon is not None else (self.x, self.y)
        if given[0] is None:
            raise DataError("These places have no coordinates.", hint="give lon and lat, or x and y.")
        return np.column_stack(given)

    @property
    def unit(self) -> float:
        """The median distance to the nearest other place."""
        if len(self) < 2:
            return 1.0
        if self.distances is not None:
            far = np.where(np.eye(len(self), dtype=bool), np.inf, self.distances).min(axis=1)
            return float(np.median(far[np.isfinite(far)])) or 1.0
        near = np.asarray(KDTree(self._vectors()).query(self._vectors(), 2)[1])
        other = np.where(near[:, 1] == np.arange(len(self)), near[:, 0], near[:, 1])
        return float(np.median(self._pair_distances(np.arange(len(self)), other))) or 1.0

    def headings(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Return unit vectors (n, 2) of the direction from places `first` to `second`, by number: east and north.

        In longitude and latitude, those in which the great circle arrives at the second place and leaves the first one
        differ; this is the direction halfway, which both moves of a pair are near.
        """
        a, b = self.positions[first], self.positions[second]
        way = b - a
        if self.lon is not None:
            way[:, 0] = (way[:, 0] + 180.0) % 360.0 - 180.0
            way[:, 0] *= np.cos(np.radians(0.5 * (a[:, 1] + b[:, 1])))
        return way / np.maximum(np.sqrt((way**2).sum(axis=1, keepdims=True)), 1e-300)

    def moves(self) -> Any:
        """Return distances of all possible moves: an (L, L) array, infinite where impossible; sparse with a `reach`.

        In the sparse form every stored move is possible, staying included (distance 0).
        """
        if self.reach is None:
            i, j = np.divmod(np.arange(len(self) ** 2), len(self))
            far = self._pair_distances(i, j)
            return np.where(self._crossed(i, j), np.inf, far).reshape(len(self), len(self))
        if self.distances is not None:
            far = np.where(self.distances <= self.reach, self.distances, np.inf)
            np.fill_diagonal(far, 0.0)
            i, j = np.nonzero(np.isfinite(far))
            return sparse.csr_array((far[i, j], (i, j)), shape=far.shape)
        limit = self.reach if self.lon is None else 2.0 * np.sin(min(self.reach / EARTH, np.pi) / 2.0)
        pairs = KDTree(self._vectors()).query_pairs(limit * (1 + 1e-9), output_type="ndarray")
        here = np.arange(len(self))
        i, j = (np.concatenate([here, pairs[:, a], pairs[:, 1 - a]]) for a in (0, 1))
        kept = ~self._crossed(i, j)
        i, j = i[kept], j[kept]
        return sparse.csr_array((self._pair_distances(i, j), (i, j)), shape=(len(self), len(self)))

    def to_geojson(self) -> dict[str, Any]:
        """Return the places as GeoJSON points, with their names and areas."""
        if self.lon is None:
            raise DataError("These places have no longitude and latitude.", hint="see Places.from_projected.")
        areas = [None] * len(self) if self.area is None else self.area.tolist()
        features = [
            feature("Point", point, {"place": name} | ({} if area is None else {"area": area}))
            for name, point, area in zip(self.names, self.positions.tolist(), areas)
        ]
        return {"type": "FeatureCollection", "features": features}

    def neighbours(self, radius: float) -> dict[Any, list]:
        """Return the names of the places within `radius` of each."""
        checks.positive(radius, "radius", ndim=0)
        near = np.asarray(self.moves().toarray() if self.reach is not None else self.moves())
        near = np.where(
            np.eye(len(self), dtype=bool) | ((near == 0) if self.reach is not None else False), np.inf, near
        )
        return {a: [self.names[j] for j in np.flatnonzero(row <= radius)] for a, row in zip(self.names, near)}

    def _vectors(self) -> np.ndarray:
        return _vectors(self.positions, self.lon is not None)

    def _pair_distances(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        if self.distances is not None:
            return self.distances[i, j]
        v = self._vectors()
        chord = np.sqrt(((v[i] - v[j]) ** 2).sum(axis=1))
        return chord if self.lon is None else 2.0 * EARTH * np.arcsin(np.minimum(chord / 2.0, 1.0))

    def _crossed(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        from sumwise.flows.kernels.polygons import crossings

        out = np.zeros(len(i), dtype=bool)
        for a, b in self.barriers:
            out |= crossings(self.positions[i], self.positions[j], np.array(a), np.array(b)) != 0
        return out


def _vectors(points: np.ndarray, spherical: bool) -> np.ndarray:
    """Points in a space where Euclidean neighbours are neighbours: the unit sphere, or the plane."""
    if not spherical:
        return points
    lon, lat = np.radians(points).T
    return np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])


def feature(kind: str, coordinates: list, properties: dict[str, Any]) -> dict[str, Any]:
    """A feature of GeoJSON."""
    return {"type": "Feature", "geometry": {"type": kind, "coordinates": coordinates}, "properties": properties}


def _cost_matrix(given: Any) -> np.ndarray:
    far = np.array(given, dtype=float)
    if far.ndim != 2 or far.shape[0] != far.shape[1]:
        raise DataError(f"distances have shape {far.shape}.", hint="give one row and one column per place.")
    far = np.where(np.isnan(far), np.inf, far)
    if (far < 0).any():
        raise DataError(f"{int((far < 0).sum())} distances are negative.")
    return checks.frozen(far)


def _segment(given: Any, k: int) -> tuple:
    ends = checks.finite(given, f"barrier {k}", ndim=2)
    if ends.shape != (2, 2):
        raise DataError(f"Barrier {k} has shape {ends.shape}.", hint="give ((x, y), (x, y)).")
    return tuple(map(tuple, ends.tolist()))
