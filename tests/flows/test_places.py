"""Places: distances, neighbours, sparse moves, barriers, ways in, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import sparse

from messages import raises, warns
from sumwise.errors import DataError
from sumwise.flows import Places


def test_great_circle_distances_are_those_of_a_sphere():
    poles = Places(lon=[0.0, 90.0, 0.0], lat=[90.0, 0.0, -90.0])
    far = poles.moves()
    assert far[0, 2] == pytest.approx(np.pi * 6371.0088)
    assert far[0, 1] == pytest.approx(np.pi / 2 * 6371.0088)
    assert (np.diag(far) == 0).all()


@pytest.mark.parametrize("spherical", [True, False])
def test_a_reach_keeps_the_same_moves_sparsely(spherical):
    rng = np.random.default_rng(0)
    first, second = rng.uniform(-5, 5, (2, 40))
    kind = {"lon": first, "lat": second} if spherical else {"x": first, "y": second}
    dense = Places(**kind).moves()
    reach = float(np.quantile(dense, 0.3))
    made = Places(**kind, reach=reach).moves()
    assert sparse.issparse(made)
    stored = np.zeros(made.shape, dtype=bool)
    coo = sparse.coo_array(made)
    stored[coo.row, coo.col] = True
    np.testing.assert_array_equal(stored, dense <= reach)
    np.testing.assert_allclose(coo.data, dense[coo.row, coo.col], atol=1e-9)


def test_barriers_forbid_moves_across_them():
    wall = Places.grid(1, 4, barriers=[((2.0, -1.0), (2.0, 2.0))]).moves()
    np.testing.assert_array_equal(np.isinf(wall), np.kron([[0, 1], [1, 0]], np.ones((2, 2))))


def test_nearest_and_index_find_places():
    towns = Places(lon=[0.0, 10.0], lat=[0.0, 50.0], names=["a", "b"])
    assert towns.nearest([9.0, 1.0], [48.0, -1.0]).tolist() == [1, 0]
    assert towns.index(["b", "a"]).tolist() == [1, 0]
    with raises(DataError, "places-unknown-first", 1, "c"):
        towns.index(["a", "c"])


def test_polygons_have_centroids_and_areas(tmp_path):
    square = [[[0, 0], [2, 0], [2, 2], [0, 2], [0, 0]], [[0.5, 0.5], [1.5, 0.5], [1.5, 1.5], [0.5, 1.5], [0.5, 0.5]]]
    feature = {"properties": {"id": "q"}, "geometry": {"type": "Polygon", "coordinates": square}}
    path = tmp_path / "places.geojson"
    path.write_text(json.dumps({"type": "FeatureCollection", "features": [feature]}), "utf-8")
    made = Places.from_geojson(path, "id")
    assert made.names == ("q",)
    np.testing.assert_allclose(made.positions, [[1.0, 1.0]])
    assert made.area[0] == pytest.approx(3 * 111.195**2 * np.cos(np.radians(1)), rel=1e-3)


def test_projected_coordinates_and_hexagons_need_the_extra():
    pytest.importorskip("pyproj")
    lon, lat = Places.from_projected([500000.0], [0.0], "EPSG:32631").positions[0]
    assert (lon, lat) == (pytest.approx(3.0), pytest.approx(0.0))
    h3 = pytest.importorskip("h3")
    cells = [h3.latlng_to_cell(40.7, -74.0, 5), h3.latlng_to_cell(41.7, -74.0, 5)]
    assert Places.from_hexagons(cells).distance(*cells) == pytest.approx(111, abs=15)
    numbers = [int(c, 16) for c in cells]
    assert Places.from_hexagons(numbers).names == tuple(numbers)
    with raises(DataError, "hexagons-not-cells", 1, 3, "zzz"):
        Places.from_hexagons([*cells, "zzz"])


def test_features_without_a_shape_are_refused():
    shapes = {"features": [{"properties": {"id": "a"}, "geometry": None}]}
    with raises(DataError, "features-no-geometry", 1, "a"):
        Places.from_geojson(shapes, "id")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, ("places-need-longitude",)),
        ({"lon": [0.0]}, ("places-need-longitude",)),
        ({"lon": [0.0], "lat": [91.0]}, ("latitude-longitude-latitude", 91)),
        ({"x": [0.0, 1.0], "y": [0.0]}, ("has-entries", "x", 2, "y", 1)),
        ({"x": [0.0, 1.0], "y": [0.0, 1.0], "names": ["a"]}, ("there-are-for", 1, "names", 2)),
        ({"x": [0.0, 1.0], "y": [0.0, 1.0], "area": [1.0]}, ("there-are-for", 1, "area", 2)),
        ({"distances": [[0.0, 1.0]]}, ("distances-shape-row",)),
        ({"distances": [[0.0, -1.0], [1.0, 0.0]]}, ("distances-negative", 1)),
        ({"distances": np.zeros((2, 2)), "barriers": [((0, 0), (1, 1))]}, ("barriers-need-coordinates",)),
        ({"x": [0.0], "y": [0.0], "barriers": [((0, 0),)]}, ("barrier-shape-x", 0)),
    ],
)
def test_bad_places_are_refused(given, words):
    with raises(DataError, *words):
        Places(**given)


def test_longitudes_of_0_to_360_become_western_ones_with_a_warning():
    wall = ((285.5, 39.0), (285.5, 45.0))
    with warns(UserWarning, "give-degrees-from"):
        made = Places(lon=[286.0, 285.0, 287.0], lat=[40.0, 40.0, 41.0], barriers=[wall])
    np.testing.assert_array_equal(made.lon, [-74.0, -75.0, -73.0])
    plain = Places(lon=[-74.0, -75.0, -73.0], lat=[40.0, 40.0, 41.0], barriers=[((-74.5, 39.0), (-74.5, 45.0))])
    np.testing.assert_array_equal(made.moves(), plain.moves())


def test_longitudes_across_the_180th_meridian_are_kept():
    np.testing.assert_array_equal(Places(lon=[170.0, 187.0], lat=[0.0, 0.0]).lon, [170.0, 187.0])


@pytest.mark.parametrize(
    ("lon", "lat", "words"),
    [
        ([40.0, 41.0], [-100.0, -101.0], ("latitude-longitude-latitude",)),
        ([4e5, 5.0], [1.0, 2.0], ("longitude-degrees-projected",)),
    ],
)
def test_degrees_that_no_place_has_are_refused(lon, lat, words):
    with raises(DataError, *words):
        Places(lon=lon, lat=lat)
