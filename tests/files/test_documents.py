"""JSON and TOML files of other people: whole, or an error that says why."""

import os

import numpy as np
import pytest

from messages import raises
from sumwise.cli.study.contests import read_index
from sumwise.cli.study.families.base import Study
from sumwise.cli.study.fitting import read_result
from sumwise.errors import DataError
from sumwise.flows import Places
from sumwise.io.documents import file_digest, parse_json, parse_toml, read_json, read_toml
from sumwise.io.formats.bucket_key import BucketKey
from sumwise.schema.problem import Problem

DEEP = 100_000
HALF = "\\ud800"


def test_files_are_read_with_and_without_a_mark_of_order(tmp_path):
    for bom in ("", "\ufeff"):
        (tmp_path / "a.json").write_text(bom + '{"a": 1}', "utf-8")
        (tmp_path / "a.toml").write_text(bom + "a = 1", "utf-8")
        assert read_json(tmp_path / "a.json") == read_toml(tmp_path / "a.toml") == {"a": 1}


@pytest.mark.parametrize("text", ["[" * DEEP, '{"a":' * DEEP, f'"{HALF}"', f'{{"{HALF}": 1}}', "9" * 5000, "{", ""])
def test_what_is_no_json_is_a_value_error(text):
    with pytest.raises(ValueError, match=r"\w"):
        parse_json(text)


def test_whole_pairs_and_written_backslashes_are_read():
    assert parse_json('"\\ud83d\\ude00"') == "\U0001f600"
    assert parse_json(f'"\\{HALF}"') == HALF


@pytest.mark.parametrize("text", ["a = " + "[" * DEEP, "a = " + "9" * 5000, f'a = "{HALF}"', "a = "])
def test_what_is_no_toml_is_a_value_error(text):
    with pytest.raises(ValueError, match=r"\w"):
        parse_toml(text)
    with raises(DataError, "line-not-valid"):
        Problem.parse(text)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no such pipes")
@pytest.mark.parametrize("ending", ["json", "toml"])
def test_pipes_are_refused_without_waiting_for_a_writer(ending, tmp_path):
    pipe = tmp_path / f"p.{ending}"
    os.mkfifo(pipe)
    with raises(DataError, "pipe-device-copy"):
        BucketKey.read(pipe)
    with raises(DataError, "pipe-device-copy"):
        Places.from_geojson(pipe, "name")


@pytest.mark.parametrize("text", ["[" * DEEP, f'{{"features": "{HALF}"}}', "[1]", "{}", "no"])
def test_keys_and_places_of_damaged_files_are_refused(text, tmp_path):
    (tmp_path / "k.json").write_text(text)
    with pytest.raises(DataError):
        Places.from_geojson(tmp_path / "k.json", "name")
    with pytest.raises(DataError):
        BucketKey.read(tmp_path / "k.json")


@pytest.mark.parametrize("text", [f'{{"title": "{HALF}"}}', "[" * DEEP, "{"])
def test_results_with_a_forged_summary_are_damaged(text, tmp_path):
    (tmp_path / "summary.json").write_text(text)
    (tmp_path / "provenance.json").write_text("{}")
    with raises(DataError, "result-damaged-fit"):
        read_result(tmp_path)


@pytest.mark.parametrize("place", ['"../x"', '".."', '"/etc"', '"a\\\\b"', '"a\\u0000"', '""', "5", "null"])
def test_an_index_names_folders_inside_the_result_alone(place, tmp_path):
    (tmp_path / "contests.json").write_text(f'{{"a": {place}}}')
    with raises(DataError, "result-damaged-fit"):
        read_index(tmp_path)


def test_an_index_of_nothing_is_damaged_and_a_good_one_read(tmp_path):
    for text in ("{}", "[]", "{", "[" * DEEP):
        (tmp_path / "contests.json").write_text(text)
        with raises(DataError, "result-damaged-fit"):
            read_result(tmp_path)
    (tmp_path / "contests.json").write_text('{"a / b": "a_b"}')
    assert read_index(tmp_path) == {"a / b": "a_b"}


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"classes": 5}'])
def test_what_the_fit_kept_is_checked(text, tmp_path):
    study = Study.__new__(Study)
    study.folder = tmp_path
    (tmp_path / "features.json").write_text(text)
    with raises(DataError, "features-json-damaged"):
        study.kept_by_the_fit("classes")


def test_rows_are_known_by_their_content(tmp_path):
    for folder, values in (("a", "x=1"), ("b", "x=1"), ("c", "x=2")):
        (tmp_path / folder / values).mkdir(parents=True)
        (tmp_path / folder / values / "part.csv").write_text("y\n1\n")
    first, copy, other = (file_digest(str(tmp_path / f)) for f in "abc")
    assert first == copy != other
    one = file_digest(str(tmp_path / "a" / "x=1" / "part.csv"))
    assert one == file_digest(str(tmp_path / "c" / "*" / "*.csv"))
    assert file_digest("s3://bucket/rows.parquet") is None


def test_large_rows_are_known_by_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("sumwise.io.documents.MAX_BYTES_READ", 2**18)
    content = bytearray(np.random.default_rng(0).bytes(10 * 2**16))
    for name in ("rows.csv", "copy.csv"):
        (tmp_path / name).write_bytes(content)
    content[-1] ^= 1
    (tmp_path / "other.csv").write_bytes(content)
    (tmp_path / "longer.csv").write_bytes(content + b"\n")
    names = [file_digest(str(tmp_path / f"{n}.csv")) for n in ("rows", "copy", "other", "longer")]
    assert names[0] == names[1]
    assert len(set(names)) == 3
