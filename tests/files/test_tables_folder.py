"""A folder of tables: whole or not at all."""

import json
import os

import sumwise
from messages import raises
from sumwise import Domain, Table, Tables
from sumwise.encoding import Encoding
from sumwise.errors import DataError
from sumwise.io.formats import read_tables
from sumwise.io.formats.tables_folder import check_free, read_tables_folder, write_tables_folder
from sumwise.noise import Geometric

TABLES = Tables([Table("a", [3.0, -1.0], noise=Geometric(2.0))], Domain({"a": ["it's", "ü"]}))


def test_folder_round_trip_keeps_noise_and_encoding(tmp_path):
    encoding = Encoding.fit({"a": ["it's", "ü"]}, ["a"])
    tables = Tables(TABLES.tables, TABLES.domain, encoding=encoding)
    write_tables_folder(tables, tmp_path / "t", {"source": "rows.csv"}, cells=True)
    assert read_tables_folder(tmp_path / "t") == tables
    assert sorted(os.listdir(tmp_path / "t")) == ["cells.parquet", "encoding.json", "summary.json", "tables.sumwise"]
    facts = json.loads((tmp_path / "t" / "summary.json").read_text())
    assert facts["source"] == "rows.csv"
    assert facts["noise"] == ["Geometric"]
    assert read_tables(tmp_path / "t" / "cells.parquet")["a"].noise == Geometric(2.0)


def test_empty_folder_is_filled(tmp_path):
    (tmp_path / "t").mkdir()
    write_tables_folder(TABLES, tmp_path / "t")
    assert read_tables_folder(tmp_path / "t") == TABLES


def test_folder_that_holds_something_is_refused(tmp_path):
    (tmp_path / "x").touch()
    with raises(DataError, "folder-not-empty"):
        write_tables_folder(TABLES, tmp_path)
    with raises(DataError, "file-name-folder-not"):
        check_free(tmp_path / "x")
    with raises(DataError, "no-folder-make"):
        check_free(tmp_path / "deep" / "t")


def test_failure_leaves_nothing(tmp_path):
    odd = Tables([Table("count", [1.0, 2.0])], Domain({"count": 2}))  # cells.parquet can't show this attribute
    with raises(DataError, "attribute-named-like", "count"):
        write_tables_folder(odd, tmp_path / "t", cells=True)
    assert os.listdir(tmp_path) == []


def test_file_of_something_else_is_refused(tmp_path):
    (tmp_path / "t").mkdir()
    sumwise.save(TABLES.domain, tmp_path / "t" / "tables.sumwise")
    with raises(DataError, "holds-no-tables", "Domain"):
        read_tables_folder(tmp_path / "t")
