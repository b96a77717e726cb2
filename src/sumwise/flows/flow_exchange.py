"""Flows in the formats of others: origin-destination matrices and frames, GeoJSON, GeoPandas, xarray and NetCDF."""

from __future__ import annotations

import json
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from sumwise import checks
from sumwise.collective.counts import dense as as_dense
from sumwise.errors import DataError
from sumwise.extras import require
from sumwise.flows.flow_summaries import FlowSummaries
from sumwise.flows.places import Places, feature
from sumwise.frames import is_frame, to_pandas
from sumwise.io.writer import new_file

FLOW_COLUMNS = ("origin", "destination", "flow")  # as scikit-mobility's FlowDataFrame calls them
LON, LAT, X, Y = ("lon", "longitude"), ("lat", "latitude"), ("x", "easting"), ("y", "northing")
MOST_CELLS = 2e8  # of a dense array of flows


def od_table(given: Any, places: Places) -> np.ndarray:
    """Return moves (L, L) of a matrix, of a frame with a row per flow, or of a square frame by names of places.

    Parameters
    ----------
    given : (L, L) array or frame
        A frame has the columns origin, destination and flow (a `FlowDataFrame` of scikit-mobility has) with one row per
        pair, or one row and one column per place, named alike.
    places : Places

    See Also
    --------
    transitions : Moves as probabilities.

    Examples
    --------
    >>> from sumwise.flows import Places
    >>> from sumwise.flows.flow_exchange import od_table
    >>> towns = Places(x=[0.0, 1.0], y=[0.0, 0.0], names=["a", "b"])
    >>> od_table({"origin": ["a", "b", "b"], "destination": ["b", "a", "b"], "flow": [3, 1, 7]}, towns)
    array([[0., 3.],
           [1., 7.]])
    """
    if not (is_frame(given) or isinstance(given, dict)):
        return as_dense(given)
    n = len(places)
    names = list(given) if isinstance(given, dict) else list(given.columns)
    if set(FLOW_COLUMNS) <= set(names):
        data = to_pandas(given, list(FLOW_COLUMNS), "the frame of flows")
        out = np.zeros((n, n))
        flow = checks.counts(data["flow"].to_numpy(dtype=float), "flow")
        again = data.duplicated(["origin", "destination"]).to_numpy()
        checks.nowhere(
            again,
            "{} rows repeat a pair of origin and destination",
            lambda i: "{!r} to {!r}".format(*data[["origin", "destination"]].iloc[i].tolist()),
            "add such rows up, or keep the rows of one time.",
        )
        out[places.index(data["origin"]), places.index(data["destination"])] = flow
        return out
    data = given if isinstance(given, pd.DataFrame) else None
    if data is None or data.shape != (n, n):
        raise DataError(
            f"The moves have columns {', '.join(map(repr, names[:4]))}.",
            hint="give origin, destination and flow, or a square frame with a row and a column per place.",
        )
    if set(data.index) != set(places.names) or set(data.columns) != set(places.names):
        raise DataError("Rows or columns of the matrix of moves are not named as the places are.")
    return data.loc[list(places.names), list(places.names)].to_numpy(dtype=float)


def places_of_array(data: Any, time: str) -> tuple[Any, Places]:
    """An `xarray.DataArray` with its other dimensions stacked to places, and these places."""
    other = [d for d in data.dims if d != time]
    if len(other) not in (1, 2):
        raise DataError(f"The array has dimensions {tuple(data.dims)}.", hint="time and place, or time and a grid.")
    stacked = data.transpose(time, *other).reset_coords(drop=True) if len(other) == 1 else data.transpose(time, *other)
    if len(other) == 2:
        known = [next((d for d in other if str(d).lower() in words), None) for words in (LON, LAT, X, Y)]
        if not (all(known[:2]) or all(known[2:])):
            raise DataError(f"The grid has dimensions {other}.", hint="call them lon and lat, or x and y.")
        first, second = known[:2] if all(known[:2]) else known[2:]
        stacked = stacked.stack(place=other)  # noqa: PD013  xarray's
        columns = [np.asarray(stacked[d].values, dtype=float) for d in (first, second)]
        stacked = stacked.drop_vars(["place", *other]).assign_coords(place=np.arange(len(columns[0])))
        seen = ~np.isnan(np.asarray(stacked.values, dtype=float)).all(axis=0)  # sea, or outside of the region
        kind = ("lon", "lat") if all(known[:2]) else ("x", "y")
        names = np.flatnonzero(seen).tolist()
        kept: dict[str, Any] = {k: c[seen] for k, c in zip(kind, columns)}
        return stacked[:, seen], Places(names=names, **kept)
    (place,) = other
    names = data[place].values.tolist() if place in data.coords else list(range(data.sizes[place]))
    stacked = stacked.assign_coords({place: names}).rename({place: "place"} if place != "place" else {})
    for first, second, kind in ((LON, LAT, ("lon", "lat")), (X, Y, ("x", "y"))):
        found = [next((c for c in data.coords if str(c).lower() in words), None) for words in (first, second)]
        if all(found):
            made: dict[str, Any] = {k: np.asarray(data[c].values, dtype=float) for k, c in zip(kind, found)}
            return stacked, Places(names=names, **made)
    return stacked, Places(distances=1.0 - np.eye(len(names)), names=names)


class FlowExchange(FlowSummaries):
    """A fitted model in the formats of others."""

    def od_matrix(self, from_time: Any, to_time: Any = None) -> pd.DataFrame:
        """Return expected counts of individuals by place at `from_time` (rows) and `to_time` (columns).

        Default: the next time, as the fitted flows have them. Later times follow the transitions.
        """
        self._fitted("steps_")
        k = self._time(from_time)
        if to_time is None:
            table = self._step(self._step_after(k, from_time))
        else:
            table = sparse.diags_array(np.maximum(self.nodes_[k], 0.0)) @ self.transitions(from_time, to_time)
        rows, columns = (pd.Index(list(self.places_.names), name=side) for side in ("origin", "destination"))
        return pd.DataFrame(as_dense(table), index=rows, columns=columns)

    def flow_frame(self, from_time: Any, least: float = 0.05) -> pd.DataFrame:
        """Return the flows of a step with the columns of scikit-mobility: origin, destination, flow."""
        return self.flows(from_time, least).set_axis(list(FLOW_COLUMNS), axis=1)

    def to_geojson(self, from_time: Any, path: str | PathLike | None = None, least: float = 0.05) -> dict[str, Any]:
        """Return (and write) the step after `from_time` as GeoJSON: places as points, flows between them as lines."""
        where = self._lonlat()
        k = self._time(from_time)
        features = []
        for name, point, n in zip(self.places_.names, where, self.nodes_[k]):
            what = {"place": name, "time": str(from_time), "count": float(n)}
            features.append(feature("Point", point.tolist(), what))
        at = {name: point.tolist() for name, point in zip(self.places_.names, where)}
        for origin, destination, flow in self.flow_frame(from_time, least).to_numpy(dtype=object):
            if origin != destination:
                what = {"origin": origin, "destination": destination, "flow": float(flow)}
                features.append(feature("LineString", [at[origin], at[destination]], what))
        return _collection(features, path)

    def routes_geojson(self, n: int = 10, path: str | PathLike | None = None, **options: Any) -> dict[str, Any]:
        """Return (and write) drawn routes as GeoJSON lines; options are those of `routes`."""
        self._lonlat()
        drawn = self.routes(n, **options)
        features = [
            feature("LineString", part[["lon", "lat"]].to_numpy().tolist(), {"route": k})
            for k, (_, part) in enumerate(drawn.groupby("route_id"), 1)
        ]
        return _collection(features, path)

    def to_geopandas(self, from_time: Any, least: float = 0.05) -> Any:
        """Return the flows of a step as a `geopandas.GeoDataFrame` of lines (EPSG:4326), for any GIS.

        Needs the extra ``geo``.
        """
        frame = require("geopandas")
        lines = [f for f in self.to_geojson(from_time, least=least)["features"] if f["geometry"]["type"] != "Point"]
        if not lines:
            raise DataError(f"Nobody moves after {from_time!r} by flows of {least:g} or more.")
        return frame.GeoDataFrame.from_features(lines, crs="EPSG:4326")

    def to_xarray(self, dense: bool = True, least: float = 0.05) -> Any:
        """Return estimated counts (time, place) and flows (step, origin, destination) as an `xarray.Dataset`.

        ``to_xarray().to_netcdf(path)`` writes NetCDF. With ``dense=False`` flows are listed along one dimension, with
        the numbers of their step, origin and destination: all of `least` or more. Needs the extra ``geo``.
        """
        xarray = require("xarray")
        n, steps = len(self._fitted("steps_").places_), len(self.steps_[0])
        if dense and n * n * steps > MOST_CELLS:
            raise DataError(
                f"{steps} steps between {n} places would take {8e-9 * n * n * steps:.0f} GB as dense arrays.",
                hint="list the flows: to_xarray(dense=False).",
            )
        names = [str(a) if not isinstance(a, (int, float, str)) else a for a in self.places_.names]
        place: dict[str, Any] = {"place": names} | ({"origin": names, "destination": names} if dense else {})
        flows = self._flow_tables() if dense else self._flow_list(least)
        given = self.places_
        pairs = {"lon": given.lon, "lat": given.lat, "x": given.x, "y": given.y}
        where = {k: ("place", v) for k, v in pairs.items() if v is not None}
        times = [t if isinstance(t, (int, float, str, pd.Timestamp)) else str(t) for t in self.times_]
        made = xarray.Dataset(
            {
                "counted": (("time", "place"), self.counts_),
                "estimated": (("time", "place"), self.nodes_),
                **flows,
            },
            coords={"time": times, "step": times[:steps], **place, **where},
        )
        made.attrs["individuals"] = float(self.n_)
        made.attrs["title"] = "Flows estimated from counts by sumwise.flows.FlowModel"
        return made

    def _flow_tables(self) -> dict[str, Any]:
        tables = np.stack([as_dense(self._step(k)) for k in range(len(self.steps_[0]))])
        return {"flow": (("step", "origin", "destination"), tables)}

    def _flow_list(self, least: float) -> dict[str, Any]:
        """Flows of `least` or more, and numbers from 0 of their steps, origins and destinations."""
        parts = []
        for k in range(len(self.steps_[0])):
            table = sparse.coo_array(self._step(k))
            kept = table.data >= least
            parts.append((np.full(int(kept.sum()), k), table.row[kept], table.col[kept], table.data[kept]))
        columns = [np.concatenate(column) for column in zip(*parts)]
        names = ("flow_step", "flow_origin", "flow_destination", "flow")
        return {name: (("flow_number",), column) for name, column in zip(names, columns)}

    def _lonlat(self) -> np.ndarray:
        places = self._fitted("steps_").places_
        if places.lon is None:
            raise DataError(
                "GeoJSON is in longitude and latitude, which these places don't have.",
                hint="give Places(lon=..., lat=...), or Places.from_projected(x, y, crs).",
            )
        return places.positions


def _collection(features: list, path: str | PathLike | None) -> dict[str, Any]:
    """Features together, also written to `path`."""
    made = {"type": "FeatureCollection", "features": features}
    if path is not None:
        with new_file(path) as file:
            file.write(json.dumps(made, default=str, allow_nan=False).encode())
    return made
