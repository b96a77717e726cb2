"""Files of Stata and SPSS: numbers, labels of values, and what can't be read."""

from __future__ import annotations

import datetime

import pandas as pd
import pytest

from messages import raises
from sumwise.cli import main
from sumwise.errors import DataError
from sumwise.io import sandbox
from sumwise.io.formats import read_margins
from sumwise.io.formats.statistical import open_statistical

pyreadstat = pytest.importorskip("pyreadstat")
VOTES = pd.DataFrame(
    {"p": ["a", "b"], "young": [60.0, 10.0], "old": [40.0, 90.0], "yes": [55.0, 30.0], "no": [45.0, 70.0]}
)


@pytest.mark.parametrize(("write", "name"), [("write_dta", "v.dta"), ("write_sav", "v.sav")])
def test_margins_are_read(tmp_path, write, name):
    getattr(pyreadstat, write)(VOTES, str(tmp_path / name))
    margins = read_margins(tmp_path / name, ["young", "old"], ["yes", "no"], "p")
    assert margins.rows.tolist() == [[60, 40], [10, 90]]
    assert margins.units.tolist() == ["a", "b"]


def test_labels_stand_for_codes_where_all_have_one(tmp_path):
    frame = pd.DataFrame({"sex": [1.0, 2.0, 1.0], "age": [30.0, 99.0, 41.0]})
    labels = {"sex": {1: "m", 2: "f"}, "age": {99: "unknown"}}
    pyreadstat.write_sav(frame, str(tmp_path / "a.sav"), variable_value_labels=labels)
    sheet = open_statistical(tmp_path / "a.sav")
    assert sheet.frame["sex"].tolist() == ["m", "f", "m"]
    assert sheet.frame["age"].tolist() == [30, 99, 41]
    assert sheet.row(1) == "row 2"


def test_what_is_none_is_refused(tmp_path):
    (tmp_path / "a.dta").write_text("a,b\n")
    with raises(DataError, "cant-read-file-complete"):
        open_statistical(tmp_path / "a.dta")


def test_cases_that_a_small_file_declares_are_refused(tmp_path):
    pyreadstat.write_sav(VOTES, str(tmp_path / "v.sav"))
    data = bytearray((tmp_path / "v.sav").read_bytes())
    data[80:84] = (2**28).to_bytes(4, "little")  # the number of cases
    (tmp_path / "v.sav").write_bytes(data)
    with raises(DataError, "declares-rows-columns", "268,435,456", 5):
        open_statistical(tmp_path / "v.sav")


@pytest.mark.parametrize("n_rows", [0xFFFFFF7F, 0xFFFFFFFF])
def test_a_file_that_the_library_never_finishes_is_an_error_of_the_input(tmp_path, monkeypatch, capsys, n_rows):
    monkeypatch.setattr(sandbox, "CPU_SECONDS", 1)
    path = tmp_path / "v.dta"
    path.write_bytes(b"r\2\1\0\0\0\0\0" + n_rows.to_bytes(4, "little") + bytes(120))  # 0 columns, below 0 rows
    assert main(["init", str(path), "--out", str(tmp_path / "problem.toml")]) == 2
    said = capsys.readouterr().err
    assert str(path) in said
    assert "more than 1 s of processor time" in said
    assert not (tmp_path / "problem.toml").exists()


def test_dates_texts_and_gaps_come_through(tmp_path):
    when = datetime.date(2020, 2, 29)
    frame = pd.DataFrame({"s": ["a", "é"], "d": [when, None], "x": [1.5, None]})
    pyreadstat.write_dta(frame, str(tmp_path / "t.dta"), column_labels=["a name", "", " "])
    sheet = open_statistical(tmp_path / "t.dta")
    assert sheet.frame["s"].tolist() == ["a", "é"]
    assert sheet.frame["d"].tolist()[0] == when
    assert sheet.frame["d"].isna().tolist() == sheet.frame["x"].isna().tolist() == [False, True]
    assert sheet.labels == {"s": "a name"}
