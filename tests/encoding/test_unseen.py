"""Values that are not a level: counted, warned of, refused."""

import warnings

import numpy as np
import pandas as pd
import pytest

from sumwise import Domain
from sumwise.encoding import Encoding
from sumwise.encoding.rules import Cuts, Levels
from sumwise.encoding.unseen import Unseen, count_unseen, report_unseen
from sumwise.errors import DataError
from sumwise.maxent.tables_classifier import codes_of


def test_missing_values_are_not_unseen():
    column = pd.Series(["a", None, "z", "y"])
    assert count_unseen(column, np.array([False, True, True, True]), ("a",)) == Unseen(2, 3, "z", ("a",))


def test_encodings_count_what_goes_to_other_too():
    encoding = Encoding({"x": Levels("x", ("a", "b"), other="other"), "n": Cuts("n", (0,))})
    found = encoding.unseen(pd.DataFrame({"x": ["a", "z", None], "n": [1, 2, 3]}))
    assert found == {"x": Unseen(1, 2, "z", ("a", "b"))}


def test_more_than_one_percent_is_a_warning_that_names_columns():
    frame = pd.DataFrame({"a": [0] * 196 + [9, 9, 9, 9], "b": [0] * 199 + [9]})
    with pytest.warns(UserWarning, match=r"no table has a level for: 'a' 2%\. First of 'a': 9"):
        codes_of(frame, Domain({"a": 2, "b": 2}))


def test_a_few_unseen_values_are_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report_unseen({"a": Unseen(1, 100, "z", ("x",)), "b": Unseen(2, 3, "z", ("x",))})


def test_nothing_but_unseen_values_is_an_error():
    frame = pd.DataFrame({"zip": [1234] * 30})
    with pytest.raises(DataError, match=r"No value of column 'zip' is a level .* 1234 \(int\), they have '01234'"):
        codes_of(frame, Domain({"zip": ["01234", "02345"]}))
