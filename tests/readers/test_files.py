"""Opening sources: what is loaded, and in which form. Every kind of file is in test_margins."""

import pandas as pd
import pytest

from sumwise.errors import UnknownName
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
