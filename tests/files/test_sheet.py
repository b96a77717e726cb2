"""Sheets: what is said when values can't be used."""

from __future__ import annotations

import datetime
import decimal

import numpy as np
import pyarrow as pa
import pytest

from messages import raises
from sumwise.errors import DataError
from sumwise.io.formats.files import open_sheet
from sumwise.io.formats.sheet import column_names, column_values, header_position
from sumwise.io.parsers.workbook import cell_text


def test_numbers_may_be_missing_where_told():
    sheet = open_sheet({"a": [1.0, None], "b": ["2", " "]})
    assert np.isnan(sheet.numbers(["a", "b"], missing=True)[1]).all()
    with raises(DataError, "column-rows-first-fill", "b", "is missing", 1, 2):
        sheet.numbers(["b"])


def test_objects_that_mix_numbers_and_text_are_read():
    assert open_sheet({"a": [1, "2.5", 3.5]}).numbers(["a"])[:, 0].tolist() == [1, 2.5, 3.5]


def test_refuse_names_the_first_row():
    sheet = open_sheet({"a": [1.0, 2.0, 3.0]})
    with raises(DataError, "rows-first", "frame", "trouble", 2, 3, 1, 0):
        sheet.refuse(np.array([False, True, True]), "trouble", "mend.")


def test_foreign_errors_are_blamed_on_the_source():
    sheet = open_sheet({"a": [1.0]})
    with raises(DataError, "cant-used", "frame", "odd"), sheet.blamed():
        raise ValueError("odd")


@pytest.mark.parametrize("written", ["9007199254740993", "-9007199254740993", "9,007,199,254,740,993"])
def test_whole_numbers_that_would_be_rounded_are_refused(tmp_path, written):
    (tmp_path / "x.csv").write_text(f'a,b\n1,2\n2,"{written}"\n')
    with raises(DataError, "rows-first-cant", "b", 2, 53, 1, 3):
        open_sheet(tmp_path / "x.csv").numbers(["b"], negative=True)


def test_typed_whole_numbers_that_would_be_rounded_are_refused():
    with raises(DataError, "rows-first-cant", 2, 53):
        open_sheet({"a": np.array([2**53 + 1])}).numbers(["a"])


@pytest.mark.parametrize("written", ["9007199254740992", "1e20", "9007199254740993.0"])
def test_large_numbers_that_are_exact_or_no_whole_numbers_are_read(tmp_path, written):
    (tmp_path / "x.csv").write_text(f"a\n{written}\n")
    assert open_sheet(tmp_path / "x.csv").numbers(["a"]).item() == float(written)


def test_decimals_and_dates_of_arrow_are_read():
    table = pa.table({"a": [decimal.Decimal("1.25")], "day": [datetime.date(2020, 1, 2)]})
    sheet = open_sheet(table)
    assert sheet.numbers(["a"]).item() == 1.25
    assert sheet.ids("day").tolist() == [datetime.date(2020, 1, 2)]


@pytest.mark.parametrize(
    ("records", "position"),
    [
        ([["a", "b", "c"], ["1", "2", "3"], ["4", "5", "6"]], 0),
        ([["Results"], ["a", "b", "c"], ["1", "2", "3"], ["4", "5", "6"]], 1),
        ([["Results", "", ""], ["", "", ""], ["a", "b", "c"], ["1", "2", "3"]], 2),
        ([["", "a", ""], ["0", "1", ""], ["2", "3", ""]], None),  # the next one reads like data
        ([["a"], ["b"]], None),
        ([], None),
        ([["a", "b"], ["1"], ["1", "2", "3"], ["4", "5", "6"], ["7", "8", "9"]], None),
    ],
)
def test_header_is_found_below_titles(records, position):
    assert header_position(records) == position


def test_names_are_made_and_doubles_refused():
    assert column_names("'a'", ["x", None, 2016.0], 1) == ("x", "(unnamed 2)", "2016")
    with raises(DataError, "two-columns-called-row-columns", "x", 3, 1, 2):
        column_names("'a'", ["x", " x"], 3)


def test_cells_keep_their_type():
    assert cell_text(datetime.datetime(2020, 11, 3)) == "2020-11-03"
    assert column_values([1, 2]).dtype == "int64"
    assert column_values([1, None]).dtype == "float64"
    assert column_values([True, False]).dtype == bool
    assert column_values([7, "x", " "]).tolist() == ["7", "x", None]


def test_cell_merged_over_two_rows_of_the_header_names_its_column():
    above = ["Precinct", "Registered", None, "Votes"]
    assert column_names("'a'", [None, "White", "Black", "Smith"], 2, above)[0] == "Precinct"
    assert column_names("'a'", [None, "White", "Black", "Smith"], 2, ["A title"])[0] == "(unnamed 1)"
