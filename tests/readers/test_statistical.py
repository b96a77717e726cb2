"""Files of Stata and SPSS: numbers, labels of values, and what can't be read."""

from __future__ import annotations

import pandas as pd
import pytest

from sumwise.errors import DataError
from sumwise.readers import read_margins, statistical
from sumwise.readers.statistical import open_statistical

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
    with pytest.raises(DataError, match="can't be read"):
        open_statistical(tmp_path / "a.dta")


def test_a_file_that_crashes_the_library_is_refused(tmp_path, monkeypatch):
    pyreadstat.write_sav(VOTES, str(tmp_path / "v.sav"))
    monkeypatch.setattr(statistical, "TRIAL", "import os; os.kill(os.getpid(), 9)")
    with pytest.raises(DataError, match="ended the program that reads it"):
        open_statistical(tmp_path / "v.sav")


def test_cases_that_a_small_file_declares_are_refused(tmp_path):
    pyreadstat.write_sav(VOTES, str(tmp_path / "v.sav"))
    data = bytearray((tmp_path / "v.sav").read_bytes())
    data[80:84] = (2**28).to_bytes(4, "little")  # the number of cases
    (tmp_path / "v.sav").write_bytes(data)
    with pytest.raises(DataError, match="come to more than|more than fit in memory"):
        open_statistical(tmp_path / "v.sav")
