"""Where a header stands in a grid of cells, and what columns of cells hold."""

from __future__ import annotations

import datetime

import pytest

from sumwise.errors import DataError
from sumwise.readers.grid import cell_text, column_names, column_values, header_position


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
    with pytest.raises(DataError, match=r"two columns called 'x' \(row 3, columns 1 and 2\)"):
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
