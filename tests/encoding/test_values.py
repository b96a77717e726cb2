"""Raw values: one plain scalar for one value, however it is stored."""

import datetime
import warnings

import numpy as np
import pandas as pd
import pytest

from messages import raises, warns
from sumwise import Domain
from sumwise.encoding import Encoding
from sumwise.encoding.rules import Cuts, Levels
from sumwise.encoding.values import (
    Unseen,
    canonical,
    count_unseen,
    factorized,
    kind_of,
    looked_up,
    numbers_of,
    report_unseen,
)
from sumwise.errors import DataError
from sumwise.maxent.tables_classifier import codes_of


@pytest.mark.parametrize(
    ("raw", "plain"),
    [
        (np.int8(3), 3),
        (3.0, 3),
        (np.float32(0.5), 0.5),
        (np.True_, True),
        ("x", "x"),
        (float("nan"), None),
        (None, None),
        (pd.Timestamp("2020-01-02"), "2020-01-02 00:00:00"),
        (pd.Timestamp("2020-01-02 00:00:00.5"), "2020-01-02 00:00:00.5"),
        (np.datetime64("2020-01-02T10:00"), "2020-01-02 10:00:00"),
    ],
)
def test_canonical_gives_plain_scalars(raw, plain):
    got = canonical(raw)
    assert got == plain
    assert type(got) is type(plain)


def test_canonical_refuses_objects():
    with raises(DataError, "value-type-cant", "dict"):
        canonical({})


def test_factorized_takes_nan_inside_objects_as_missing():
    codes, values = factorized(pd.Series([np.nan, "b", None, "a"], dtype=object))
    assert codes.tolist() == [-1, 0, -1, 1]
    assert values == ["b", "a"]


def test_kind_of_refuses_mixtures():
    with raises(DataError, "column-mixes-levels", "c", "bool and number"):
        kind_of((True, 2), "c")
    assert kind_of((), "c") == "text"


def test_looked_up_never_lets_true_meet_one():
    assert looked_up(pd.Series([1, 0]), {True: 0, False: 1}, missing=-1, unseen=-1).tolist() == [-1, -1]


def test_numbers_of_keeps_missing_values_of_every_kind():
    for raw in (pd.Series([1, None], dtype="Int64"), pd.Series([1.0, np.nan]), pd.Series(["1", None])):
        assert np.array_equal(numbers_of(raw, "x"), [1.0, np.nan], equal_nan=True)


def test_times_with_a_zone_are_read_in_utc():
    assert canonical(pd.Timestamp("2020-01-01 00:00:00.50", tz="Europe/Zurich")) == "2019-12-31 23:00:00.5+00"
    zone = datetime.timezone(datetime.timedelta(hours=-2))
    assert canonical(datetime.datetime(2020, 1, 1, 5, tzinfo=zone)) == "2020-01-01 07:00:00+00"


def test_durations_are_no_numbers():
    with raises(DataError, "column-holds-durations"):
        numbers_of(pd.Series(pd.to_timedelta([1, 2], unit="h")), "x")


@pytest.mark.parametrize(
    ("values", "levels", "codes"),
    [
        (["7", " 8", "9.0", "x"], [7, 8, 9], [0, 1, 2, -1]),
        ([7, 8.0, 9.5], ["7", "8", "9.5"], [0, 1, 2]),
        ([True, False], ["false", "true"], [1, 0]),
        (["TRUE", "false", "yes"], [False, True], [1, 0, -1]),
        ([True, False], [0, 1], [-1, -1]),
        ([1, 0], [False, True], [-1, -1]),
        (["yes", "no"], [False, True], [-1, -1]),
        ([1234], ["01234"], [-1]),
        (["01234"], [1234], [-1]),
        (["05/01/2024"], ["05/01/2024"], [0]),
        (["Yes", "yes"], ["yes"], [-1, 0]),
    ],
)
def test_values_of_another_type_are_compared_by_what_they_say(values, levels, codes):
    index = {level: i for i, level in enumerate(levels)}
    assert looked_up(pd.Series(values, dtype=object), index, missing=-3, unseen=-1).tolist() == codes


def test_missing_values_are_not_unseen():
    column = pd.Series(["a", None, "z", "y"])
    assert count_unseen(column, np.array([False, True, True, True]), ("a",)) == Unseen(2, 3, "z", ("a",))


def test_encodings_count_what_goes_to_other_too():
    encoding = Encoding({"x": Levels("x", ("a", "b"), other="other"), "n": Cuts("n", (0,))})
    found = encoding.unseen(pd.DataFrame({"x": ["a", "z", None], "n": [1, 2, 3]}))
    assert found == {"x": Unseen(1, 2, "z", ("a", "b"))}


def test_more_than_one_percent_is_a_warning_that_names_columns():
    frame = pd.DataFrame({"a": [0] * 196 + [9, 9, 9, 9], "b": [0] * 199 + [9]})
    with warns(UserWarning, "values-no-table", "a", "2%", 9):
        codes_of(frame, Domain({"a": 2, "b": 2}))


def test_a_few_unseen_values_are_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report_unseen({"a": Unseen(1, 100, "z", ("x",)), "b": Unseen(2, 3, "z", ("x",))})


def test_nothing_but_unseen_values_is_an_error():
    frame = pd.DataFrame({"zip": [1234] * 30})
    with raises(DataError, "no-value-column", "zip", 1234, "int", "01234"):
        codes_of(frame, Domain({"zip": ["01234", "02345"]}))
