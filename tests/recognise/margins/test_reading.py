"""Reading: what is kept of a file, and what is left out."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from study_cases import votes
from sumwise.errors import DataError
from sumwise.recognise.margins.reading import Reading
from wide_cases import guessed, public, real, suggested


def test_rows_that_are_left_out_are_not_kept():
    profile: Any = SimpleNamespace(n_rows=3)
    reading = Reading(profile, profile)
    assert reading.keep.tolist() == [True, True, True]
    reading.out[1] = "a line of totals"
    assert reading.keep.tolist() == [True, False, True]


def test_a_unit_that_repeats_is_named(tmp_path):
    frame = votes(20)
    found = guessed(tmp_path, frame.assign(precinct=[f"P{i // 2}" for i in range(20)]))
    assert "unit" not in found.columns
    assert found.ask[-1].startswith("precinct has 10 values in 20 rows")


@real
def test_a_line_of_totals_is_left_out_of_a_real_file(tmp_path):
    frame = public("senc").iloc[:, :9]
    total = {"county": "", "precinct": "TOTAL", **frame.iloc[:, 2:].sum()}
    found = suggested(tmp_path, pd.concat([frame, pd.DataFrame([total])]))
    assert found.read[0]["people"] == frame["total"].sum()
    assert found.guess.data["without"] == [{"county": "", "precinct": "TOTAL"}]


@real
def test_a_precinct_in_two_rows_is_named(tmp_path):
    found = suggested(tmp_path, public("gwinnett_2018_turnout_by_race_notruth"))
    assert found.guess.data["without"] == {"precinct": "035"}
    assert any("row 36 repeats '035' with the same groups" in line for line in found.guess.ask)
    assert found.read[0]["units"] == 155


def test_a_unit_without_a_name_is_named_by_its_row(tmp_path):
    frame = votes(30).astype({"precinct": object})
    frame.loc[4, "precinct"] = None
    with pytest.raises(DataError, match=r"column 'precinct' is missing in 1 of 30 rows\. First: row 6"):
        suggested(tmp_path, frame)
