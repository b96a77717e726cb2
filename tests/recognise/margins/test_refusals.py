"""Files that can't be read as margins are refused, by what and where."""

from __future__ import annotations

import pandas as pd
import pytest

from study_cases import votes
from sumwise.errors import DataError
from wide_cases import suggested


def test_a_column_of_mostly_withheld_counts_is_named(tmp_path):
    frame = votes(30).rename(columns={"young": "white", "old": "black"})
    frame = frame.assign(total=frame["white"] + frame["black"], black=["*"] * 20 + frame["black"].tolist()[20:])
    frame = frame.assign(hispanic=0)[["precinct", "total", "white", "hispanic", "black", "yes", "no"]]
    with pytest.raises(DataError, match="is withheld"):
        suggested(tmp_path, frame)


def test_copies_of_rows_without_names_are_refused(tmp_path):
    frame = votes(30).drop(columns="precinct")
    with pytest.raises(DataError, match="row 7 and row 32 are the same in every column"):
        suggested(tmp_path, pd.concat([frame, frame.iloc[[5]]]))


def test_running_sums_of_units_are_refused(tmp_path):
    frame = votes(30)
    with pytest.raises(DataError, match="grow from each row to the next, in all 30 rows"):
        suggested(tmp_path, frame.assign(**frame.drop(columns="precinct").cumsum()))
