"""Shapes of units from GeoJSON, and what colours them."""

from __future__ import annotations

import numpy as np
import pytest

from messages import raises
from sumwise import synthetic
from sumwise.ecological import EcologicalEM
from sumwise.errors import DataError, UnknownName
from sumwise.plots import map_numbers, unit_shapes


def collection(names, kind="Polygon", key="p"):
    made = []
    for k, name in enumerate(names):
        ring = [[k, 0], [k + 1, 0], [k + 1, 1], [k, 1], [k, 0]]
        coordinates = [ring] if kind == "Polygon" else [[ring]]
        made.append({"properties": {key: name, "n": k}, "geometry": {"type": kind, "coordinates": coordinates}})
    return {"type": "FeatureCollection", "features": made}


def test_shapes_are_found_by_name_in_the_order_of_the_units():
    assert [s[0][0][0] for s in unit_shapes(collection(["A", "B"]), ["B", "A"], "p")] == [1, 0]
    assert len(unit_shapes(collection(["A"], "MultiPolygon"), ["A"], "p")[0]) == 1
    assert len(unit_shapes(collection(["A", "A"]), ["A"], "p")[0]) == 2  # a unit in two pieces
    assert unit_shapes(collection(["A"]), ["A / 0"], ["p", "n"])
    many = collection(["A"])
    many["features"][0]["geometry"]["coordinates"] = [np.random.default_rng(0).random((500, 2)).tolist()]
    assert len(unit_shapes(many, ["A"], "p")[0][0]) < 120


def test_what_has_no_shape_is_named():
    with raises(DataError, "units-no-shape", 1, 2, "C"):
        unit_shapes(collection(["A", "B"]), ["A", "C"], "p")
    with raises(DataError, "feature-map-no", 1, "q"):
        unit_shapes(collection(["A"]), ["A"], "q")
    with raises(DataError, "feature-map-units", "Point"):
        unit_shapes(collection(["A"], "Point"), ["A"], "p")
    with raises(DataError, "map-not-featurecollection"):
        unit_shapes({}, ["A"], "p")


def test_numbers_of_maps():
    made = synthetic.precincts(20, 2, 2, random_state=0)
    m, est = made.margins, EcologicalEM().fit(made.margins)
    shapes = unit_shapes(collection(list(map(str, m.units))), list(m.units), "p")
    share = map_numbers(est, m, shapes, m.row_names[0], m.col_names[1])
    np.testing.assert_allclose(share["values"], est.cells_[:, 0, 1])
    left = np.array(map_numbers(est, m, shapes, m.row_names[0], m.col_names[1], "residual")["values"])
    assert abs(m.totals @ left) < 1e-6 * m.totals.sum()  # what is observed and expected has the same total
    wide = map_numbers(est, m, shapes, m.row_names[0], m.col_names[1], "uncertainty")
    assert min(wide["values"]) >= 0
    with pytest.raises(UnknownName):
        map_numbers(est, m, shapes, "nobody", m.col_names[1])
    with raises(DataError, "shapes-units-use", 3, 20):
        map_numbers(est, m, shapes[:3], m.row_names[0], m.col_names[1])


def test_holes_stay_open_and_ids_match_as_they_are_written():
    square = [[0, 0], [3, 0], [3, 3], [0, 3], [0, 0]]
    hole = [[1, 1], [2, 1], [2, 2], [1, 2], [1, 1]]  # the same way round as its outer ring, as many files have it
    made = collection([7.0, "other"])
    made["features"][0]["geometry"]["coordinates"] = [square, hole]
    made["features"][1]["geometry"] = None  # of no unit
    outer, inner = unit_shapes(made, [7], "p")[0]
    assert outer == square
    assert inner == hole[::-1]
    made["features"][0]["id"] = "A"
    made["features"][1]["id"] = "B"
    assert unit_shapes(made, ["A"], "id")
    with raises(DataError, "feature-map-units", 2):
        unit_shapes(made, ["B"], "id")
    made["features"][0]["geometry"]["coordinates"] = [1, 2]
    with raises(DataError, "coordinates-feature-map", 1):
        unit_shapes(made, ["A"], "id")
