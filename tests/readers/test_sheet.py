"""Sheets: what is said when values can't be used."""

import numpy as np
import pytest

from sumwise.errors import DataError
from sumwise.readers.files import open_sheet


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
