"""Sheets: where values came from, and what is said when they can't be used."""

import numpy as np
import pandas as pd
import pytest

from sumwise.errors import DataError, UnknownName
from sumwise.readers.files import open_sheet


def test_plain_columns_come_as_numbers_and_ids_as_text(tmp_path):
    (tmp_path / "x.csv").write_text("id,n,code\n1,5,007\n2,6.5,008\n")
    sheet = open_sheet(tmp_path / "x.csv", ids=["id"])
    assert sheet.frame["n"].dtype == float
    assert sheet.frame["id"].tolist() == ["1", "2"]
    assert sheet.frame["code"].tolist() == ["007", "008"]
    assert sheet.decimal == "."


def test_only_the_columns_asked_for_are_loaded(tmp_path):
    (tmp_path / "x.csv").write_text("a,b,c\n1,x,3\n")
    pd.DataFrame({"a": [1], "b": ["x"]}).to_parquet(tmp_path / "x.parquet")
    assert list(open_sheet(tmp_path / "x.csv", ["c", "a"]).frame.columns) == ["a", "c"]
    assert list(open_sheet(tmp_path / "x.parquet", ["b"]).frame.columns) == ["b"]
    with pytest.raises(UnknownName, match=r"x\.csv': There is no column 'd'"):
        open_sheet(tmp_path / "x.csv", ["d"])


def test_numbers_may_be_missing_where_told():
    sheet = open_sheet({"a": [1.0, None], "b": ["2", " "]})
    assert np.isnan(sheet.numbers(["a", "b"], missing=True)[1]).all()
    with pytest.raises(DataError, match="column 'b' is missing in 1 of 2 rows"):
        sheet.numbers(["b"])


def test_objects_that_mix_numbers_and_text_are_read():
    assert open_sheet({"a": [1, "2.5", 3.5]}).numbers(["a"])[:, 0].tolist() == [1, 2.5, 3.5]


def test_refuse_names_the_first_row():
    sheet = open_sheet({"a": [1.0, 2.0, 3.0]})
    with pytest.raises(
        DataError, match=r"the frame: trouble in 2 of 3 rows\. First: row 1, counted from 0\. Hint: mend\."
    ):
        sheet.refuse(np.array([False, True, True]), "trouble", "mend.")


def test_foreign_errors_are_blamed_on_the_source():
    sheet = open_sheet({"a": [1.0]})
    with pytest.raises(DataError, match="the frame can't be used: odd"), sheet.blamed():
        raise ValueError("odd")
