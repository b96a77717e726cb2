"""The command datasets: the catalogue on the screen and as JSON."""

from __future__ import annotations

import json

import pytest

from sumwise.cli import main
from sumwise.datasets import catalogue

RECORDS = catalogue().to_dict("records")


def test_datasets_lists_every_set(capsys):
    assert main(["datasets"]) == 0
    out = capsys.readouterr().out
    assert all(record["name"] in out for record in RECORDS)
    assert f"of {len(RECORDS)} sets are here" in out


def test_datasets_speaks_json(capsys):
    assert main(["datasets", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [record["name"] for record in listed] == [record["name"] for record in RECORDS]
    assert set(listed[0]) >= {"name", "family", "shape", "licence", "source", "files", "present"}


def test_datasets_of_one_family(capsys):
    assert main(["datasets", "--family", "ecological", "--json"]) == 0
    assert {record["family"] for record in json.loads(capsys.readouterr().out)} == {"ecological"}


def test_datasets_shows_one_set(capsys):
    assert main(["datasets", "senc"]) == 0
    out = capsys.readouterr().out
    record = next(record for record in RECORDS if record["name"] == "senc")
    for words in (record["shape"], record["licence"], record["source"], *record["files"]):
        assert words in out


def test_datasets_says_where_nothing_is_here(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("sumwise.datasets.store.folders", lambda: [tmp_path])
    assert main(["datasets", "senc"]) == 0
    assert "no: get the original" in capsys.readouterr().out
    assert main(["datasets"]) == 0
    assert f"0 of {len(RECORDS)} sets are here" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["sencc"], "There is no data set 'sencc'. Hint: did you mean 'senc'?\n"),
        (["--family", "ecologic"], "There is no family 'ecologic'. Hint: did you mean 'ecological'?\n"),
    ],
)
def test_datasets_names_the_nearest(capsys, arguments, line):
    assert main(["datasets", *arguments]) == 2
    assert capsys.readouterr().err == line


def test_datasets_lists_all_where_none_is_near(capsys):
    assert main(["datasets", "zzz"]) == 2
    assert "Hint: there are 'adult', " in capsys.readouterr().err
