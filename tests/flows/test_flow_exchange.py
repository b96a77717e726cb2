"""Flows in the formats of others: what goes out comes back."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from messages import raises
from sumwise.errors import DataError
from sumwise.flows import FlowModel, Movement, Places
from sumwise.flows.flow_exchange import od_table
from sumwise.noise import Exact, Poisson

TOWNS = Places(lon=[-74.0, -73.0, -72.0], lat=[40.0, 41.0, 42.0], names=["a", "b", "c"])
NEAR = Movement(1.0, 100.0)
COUNTS = np.array([[80.0, 15.0, 5.0], [50.0, 40.0, 10.0], [30.0, 40.0, 30.0]])


@pytest.fixture(scope="module")
def flow():
    return FlowModel(TOWNS, NEAR).fit(COUNTS)


def test_matrices_and_flow_frames_agree_and_come_back_as_moves(flow):
    matrix = flow.od_matrix(0)
    frame = flow.flow_frame(0, least=0.0)
    assert frame.columns.tolist() == ["origin", "destination", "flow"]
    np.testing.assert_allclose(od_table(frame, TOWNS), matrix.to_numpy())
    shuffled = matrix.iloc[::-1, ::-1]
    np.testing.assert_allclose(od_table(shuffled, TOWNS), matrix.to_numpy())
    later = flow.od_matrix(0, 2)
    np.testing.assert_allclose(later.sum(axis=1), flow.nodes_[0], rtol=1e-6)
    given = {"moves": {(0, 1): (frame, Poisson())}}
    known = FlowModel(TOWNS, noise=Exact()).fit(COUNTS, **given)
    assert known.moves_[0][1].counts.shape == (3, 3)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (pd.DataFrame({"from": ["a"], "to": ["b"], "n": [1]}), ("moves-columns-origin", "from", "to", "n")),
        (pd.DataFrame(np.ones((3, 3))), ("rows-columns-matrix",)),
        ({"origin": ["z"], "destination": ["a"], "flow": [1]}, ("places-unknown-first", "z")),
        ({"origin": ["b"], "destination": ["a"], "flow": [-1]}, ("negative-counts-start", "flow")),
    ],
)
def test_bad_moves_are_refused(given, words):
    with raises(DataError, *words):
        od_table(given, TOWNS)


def test_geojson_has_points_lines_and_routes(flow, tmp_path):
    made = flow.to_geojson(0, tmp_path / "flows.geojson")
    assert json.loads((tmp_path / "flows.geojson").read_text()) == made
    kinds = [f["geometry"]["type"] for f in made["features"]]
    assert kinds.count("Point") == 3
    lines = [f for f in made["features"] if f["geometry"]["type"] == "LineString"]
    moved = flow.flow_frame(0)
    assert len(lines) == int((moved["origin"] != moved["destination"]).sum())
    drawn = flow.routes_geojson(4, tmp_path / "routes.geojson", random_state=1)
    assert [len(f["geometry"]["coordinates"]) for f in drawn["features"]] == [3] * 4
    again = Places.from_geojson(TOWNS.to_geojson(), "place")
    np.testing.assert_allclose(again.positions, TOWNS.positions)
    with raises(DataError, "geojson-longitude-latitude"):
        FlowModel(Places(x=[0.0, 1.0, 2.0], y=[0.0, 0.0, 0.0]), NEAR).fit(COUNTS).to_geojson(0)


def test_geopandas_in_and_out(flow):
    geopandas = pytest.importorskip("geopandas")
    lines = flow.to_geopandas(0)
    assert lines.crs == "EPSG:4326"
    assert lines["flow"].sum() == pytest.approx(flow.flow_frame(0).query("origin != destination")["flow"].sum())
    from shapely.geometry import box

    tiles = geopandas.GeoDataFrame(
        {"tile_ID": ["s", "t"]}, geometry=[box(-74, 40, -73, 41), box(-73, 40, -72, 41)], crs="EPSG:4326"
    )
    for frame in (tiles, tiles.to_crs("EPSG:5070")):
        places = Places.from_geopandas(frame, "tile_ID")
        np.testing.assert_allclose(places.positions, [[-73.5, 40.5], [-72.5, 40.5]], atol=0.01)
        np.testing.assert_allclose(places.area, 111.195**2 * np.cos(np.radians(40.5)), rtol=0.01)
    with raises(DataError, "frame-no-geometry"):
        Places.from_geopandas(pd.DataFrame({"tile_ID": ["s"]}), "tile_ID")
    with raises(DataError, "no-column-columns", "tile"):
        Places.from_geopandas(tiles, "tile")


def test_xarray_and_netcdf_in_and_out(flow, tmp_path):
    xarray = pytest.importorskip("xarray")
    made = flow.to_xarray()
    made.to_netcdf(tmp_path / "flows.nc")
    with xarray.open_dataset(tmp_path / "flows.nc") as back:
        np.testing.assert_allclose(back["flow"].sum("destination").values, flow.nodes_[:-1], rtol=1e-4)
        again = FlowModel(movement=NEAR).fit(back["counted"])
        np.testing.assert_allclose(again.nodes_, flow.nodes_)
        np.testing.assert_allclose(again.places_.positions, TOWNS.positions)


def test_a_list_of_flows_says_what_the_tables_say(flow, tmp_path):
    xarray = pytest.importorskip("xarray")
    flow.to_xarray(dense=False, least=1e-9).to_netcdf(tmp_path / "flows.nc")
    full = flow.to_xarray()["flow"].values
    with xarray.open_dataset(tmp_path / "flows.nc") as back:
        made = np.zeros_like(full)
        made[tuple(back[f"flow_{k}"].values for k in ("step", "origin", "destination"))] = back["flow"].values
    np.testing.assert_allclose(made, full, atol=1e-9)
    assert set(flow.to_xarray(dense=False).sizes) == {"time", "place", "step", "flow_number"}


def test_a_grid_of_an_array_is_read_without_its_empty_cells():
    xarray = pytest.importorskip("xarray")
    values = np.arange(1.0, 13.0).reshape(2, 2, 3)
    values[:, 1, 2] = np.nan  # the sea
    grid = xarray.DataArray(
        values, dims=("week", "lat", "lon"), coords={"week": [1, 2], "lat": [40, 41], "lon": [5, 6, 7]}
    )
    model = FlowModel(movement=NEAR).fit(grid, time="week")
    assert model.places_.names == (0, 1, 2, 3, 4)
    assert model.places_.positions[3].tolist() == [5.0, 41.0]
    assert model.counts_[1].tolist() == [7.0, 8.0, 9.0, 10.0, 11.0]
    one = grid.to_dataset(name="n")
    assert FlowModel(movement=NEAR).fit(one, time="week").n_ == model.n_
    with raises(DataError, "xarray-object-holds"):
        FlowModel(movement=NEAR).fit(one.assign(more=grid), time="week")
    with raises(DataError, "array-dimensions-fit", "week"):
        FlowModel(movement=NEAR).fit(grid, time="month")
    with raises(DataError, "grid-dimensions-call"):
        FlowModel(movement=NEAR).fit(grid.rename(lat="row", lon="column"), time="week")


def test_two_rows_of_one_pair_are_refused_and_not_added():
    first, second = TOWNS.names[:2]
    given = {"origin": [first, first], "destination": [second, second], "flow": [3, 1]}
    with raises(DataError, "rows-repeat-pair-origin", first, 2, "a"):
        od_table(given, TOWNS)
