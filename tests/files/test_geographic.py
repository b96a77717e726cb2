"""Attributes of GeoJSON and GeoPackage files; shapes are left out, views and odd names are not read."""

from __future__ import annotations

import json
import sqlite3

import pytest

from messages import raises
from sumwise.errors import DataError, UnknownName
from sumwise.io.formats import read_margins
from sumwise.io.formats.geographic import open_geojson, open_geopackage

SIDES = {"rows": ["young", "old"], "cols": ["yes", "no"], "unit": "p"}
ROWS = [("a", 60, 40, 55, 45), ("b", 10, 90, 30, 70)]


def write_geojson(path, rows):
    names = ("p", "young", "old", "yes", "no")
    features = [{"type": "Feature", "geometry": None, "properties": dict(zip(names, row))} for row in rows]
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return path


def write_geopackage(path, table="votes", again=False):
    with sqlite3.connect(path) as con:
        con.execute("CREATE TABLE gpkg_contents (table_name TEXT, data_type TEXT)")
        con.execute("CREATE TABLE gpkg_geometry_columns (table_name TEXT, column_name TEXT)")
        quoted = table.replace('"', '""')
        con.execute(f'CREATE TABLE "{quoted}" (geom BLOB, p TEXT, young INT, old INT, yes INT, no INT)')
        con.executemany(f"INSERT INTO \"{quoted}\" VALUES (x'00', ?, ?, ?, ?, ?)", ROWS)
        con.execute("INSERT INTO gpkg_contents VALUES (?, 'features')", [table])
        con.execute("INSERT INTO gpkg_geometry_columns VALUES (?, 'geom')", [table])
        if again:
            con.execute("CREATE TABLE more (p TEXT)")
            con.execute("CREATE VIEW seen AS SELECT 1 AS p")
            con.execute("INSERT INTO gpkg_contents VALUES ('more', 'attributes'), ('seen', 'features')")
    con.close()
    return path


def test_margins_are_read(tmp_path):
    expected = [[60, 40], [10, 90]]
    assert read_margins(write_geojson(tmp_path / "a.geojson", ROWS), **SIDES).rows.tolist() == expected
    assert read_margins(write_geopackage(tmp_path / "a.gpkg"), **SIDES).rows.tolist() == expected


def test_missing_properties_are_named(tmp_path):
    path = write_geojson(tmp_path / "a.geojson", [*ROWS, ("c", 1)])
    with raises(DataError, "rows-first-fill-drop", "old", 1, 3, "feature 3"):
        read_margins(path, **SIDES)


def test_other_json_is_refused(tmp_path):
    for text, words in (("[1]", ("not-featurecollection-geojson",)), ("{", ("not-valid-json",))):
        (tmp_path / "a.json").write_text(text)
        with raises(DataError, *words):
            open_geojson(tmp_path / "a.json")
    with raises(DataError, "no-attributes-shapes"):
        open_geojson(write_geojson(tmp_path / "b.geojson", []))


def test_tables_are_chosen_and_views_are_not_read(tmp_path):
    path = write_geopackage(tmp_path / "a.gpkg", again=True)
    with raises(DataError, "holds-tables-say-table", 2, "votes, more"):
        open_geopackage(path)
    assert open_geopackage(path, "votes").columns == ("p", "young", "old", "yes", "no")
    with raises(UnknownName, "there-is-no", "table", "seen"):
        open_geopackage(path, "seen")


def test_a_name_with_signs_reaches_no_statement(tmp_path):
    with raises(DataError, "name-table-characters"):
        open_geopackage(write_geopackage(tmp_path / "a.gpkg", 'v"; DROP TABLE x; --'))
    (tmp_path / "b.gpkg").write_text("no database at all, but long enough to be looked at")
    with raises(DataError, "cant-read-complete-geopackage"):
        open_geopackage(tmp_path / "b.gpkg")


ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT 'votes' AS table_name FROM r"


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        (
            f"DROP TABLE gpkg_geometry_columns; CREATE VIEW gpkg_geometry_columns AS {ENDLESS}",
            ("cant-read-complete-geopackage",),
        ),
        (f"DROP TABLE gpkg_contents; CREATE VIEW gpkg_contents AS {ENDLESS}", ("cant-read-complete-geopackage",)),
        ("ALTER TABLE votes ADD COLUMN big AS (zeroblob(900000000))", ("cant-read-complete-geopackage",)),
        ("DROP TABLE votes; CREATE VIRTUAL TABLE votes USING fts5(p)", ("no-table-features",)),
    ],
)
def test_what_a_file_would_run_is_not_run(tmp_path, statement, words):
    path = write_geopackage(tmp_path / "a.gpkg")
    con = sqlite3.connect(path)
    con.executescript(statement)
    con.close()
    with raises(DataError, *words):
        open_geopackage(path)


def test_triggers_of_a_file_change_nothing(tmp_path):
    path = write_geopackage(tmp_path / "a.gpkg")
    con = sqlite3.connect(path)
    con.executescript("CREATE TRIGGER t AFTER INSERT ON votes BEGIN DELETE FROM votes; END")
    con.close()
    before = path.read_bytes()
    assert len(open_geopackage(path).frame) == 2
    assert path.read_bytes() == before


def test_a_geopackage_of_attributes_alone_needs_no_list_of_shapes(tmp_path):
    path = write_geopackage(tmp_path / "a.gpkg")
    with sqlite3.connect(path) as con:
        con.execute("DROP TABLE gpkg_geometry_columns")
        con.execute("ALTER TABLE votes DROP COLUMN geom")
    con.close()
    assert open_geopackage(path).columns == ("p", "young", "old", "yes", "no")


@pytest.mark.parametrize("place", ["name", "value"])
def test_half_of_a_surrogate_pair_is_refused_and_a_whole_one_read(place, tmp_path):
    path = write_geojson(tmp_path / "a.geojson", ROWS)
    whole = path.read_text().replace('"p"' if place == "name" else '"a"', '"\\ud83d\\ude00"')
    path.write_text(whole)
    sheet = open_geojson(path)
    assert "\U0001f600" in (sheet.columns if place == "name" else sheet.frame["p"].tolist())
    path.write_text(whole.replace("\\ude00", ""))
    with raises(DataError, "not-valid-json", "half of a surrogate pair"):
        open_geojson(path)


@pytest.mark.parametrize("properties", [[1, 2], "text", 5, True])
def test_properties_that_are_no_object_are_an_error_of_the_input(tmp_path, capsys, properties):
    from sumwise.cli import main

    features = [{"type": "Feature", "properties": p, "geometry": None} for p in ({"a": 1}, properties)]
    path = tmp_path / "x.geojson"
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    assert main(["init", str(path), "--out", str(tmp_path / "p.toml")]) == 2
    assert "feature 2" in capsys.readouterr().err


def test_a_list_of_objects_is_read_as_records(tmp_path):
    path = tmp_path / "votes.json"
    path.write_text(json.dumps([{"ward": "A", "yes": 3}, {"ward": "B", "yes": 4, "no": 1}]))
    sheet = open_geojson(path)
    assert sheet.columns == ("ward", "yes", "no")
    assert sheet.row(1) == "record 2"
    assert sheet.frame["no"].isna().tolist() == [True, False]
