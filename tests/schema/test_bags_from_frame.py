import datetime
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.pandas import column, data_frames

from messages import raises
from sumwise import Bags
from sumwise.errors import DataError, SumwiseError


@pytest.fixture
def people():
    return pd.DataFrame(
        {"puma": ["s", "r", "s", "r"], "age": [31, 40, 25, 7], "sex": ["f", "m", "m", "f"], "w": [2.0, 1.0, 1.0, 3.0]}
    )


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_rows_are_grouped_in_order_of_first_appearance(people, kind):
    bags = Bags.from_frame(kind(people), bag="puma", features=["sex", "age"], weight="w")
    assert bags.ids.tolist() == ["s", "r"]
    assert bags.features == ("sex", "age")
    assert bags.levels == {"sex": ("f", "m")}
    assert bags[0].tolist() == [[0, 31], [1, 25]]
    assert bags.weights.tolist() == [2, 1, 1, 3]


def test_features_default_to_all_other_columns(people):
    assert Bags.from_frame(people, bag="puma", weight="w").features == ("age", "sex")


def test_category_order_survives(people):
    people["sex"] = pd.Categorical(people["sex"], categories=["m", "x", "f"])
    assert Bags.from_frame(people, "puma", ["sex"]).levels == {"sex": ("m", "x", "f")}


def test_missing_values_stay_missing(people):
    people["sex"] = ["f", None, "m", "f"]
    people["age"] = [31.0, np.nan, 25.0, 7.0]
    bags = Bags.from_frame(people, "puma", ["age", "sex"])
    assert bags.levels == {"sex": ("f", "m")}
    np.testing.assert_array_equal(bags.values, [[31, 0], [25, 1], [np.nan, np.nan], [7, 0]])


def test_numbers_named_as_categorical_are_levels(people):
    people["age"] = [31, 40, 31, 40]
    assert Bags.from_frame(people, "puma", ["age"], categorical=["age"]).levels == {"age": (31, 40)}
    with raises(DataError, "no-did-you", "feature", "agee"):
        Bags.from_frame(people, "puma", ["age"], categorical=["agee"])


def test_float32_columns_stay(people):
    people["age"] = people["age"].astype("float32")
    assert Bags.from_frame(people, "puma", ["age"]).values.dtype == np.float32


def test_numeric_ids_stay_numeric(people):
    people["puma"] = [7, 3, 7, 3]
    assert Bags.from_frame(people, "puma", ["age"]).ids.tolist() == [7, 3]


@pytest.mark.parametrize(
    ("change", "options", "words"),
    [
        ({"puma": ["s", None, "s", "r"]}, {}, ("rows-first-drop", "puma", 1, 4)),
        ({"age": [1.0, np.inf, 2.0, 3.0]}, {}, ("use-nan-cell",)),
        ({"sex": [None, None, None, None]}, {}, ("column-missing-every", "sex")),
        ({"age": pd.to_datetime(["2020-01-01"] * 4)}, {}, ("column-holds-dates-turn",)),
        ({"w": [1, 1, -1, 1]}, {"weight": "w"}, ("column-rows-first-counts", "negative")),
        ({}, {"features": "age"}, ("features-list-columns",)),
        ({}, {"features": []}, ("no-feature-columns",)),
        ({}, {"features": ["puma"]}, ("column-bag-feature",)),
        ({}, {"features": ["agee"]}, ("no-did-you", "age")),
        ({}, {"bag": "PUMA"}, ("there-is-no", "column", "PUMA")),
    ],
)
def test_bad_frames_are_refused(people, change, options, words):
    given = {"bag": "puma", "features": ["age", "sex"], **options}
    with raises(DataError, *words):
        Bags.from_frame(people.assign(**change), **given)


def test_empty_frame_is_refused(people):
    with raises(DataError, "columns-no-rows"):
        Bags.from_frame(people.iloc[:0], "puma", ["age"])


mess = data_frames(
    [
        column("bag", elements=st.one_of(st.text(max_size=2), st.none(), st.integers(0, 2), st.floats()), dtype=object),
        column("x", elements=st.floats()),
        column("s", elements=st.one_of(st.text(max_size=2), st.none(), st.booleans()), dtype=object),
    ]
)


@given(mess)
def test_malformed_frames_give_only_our_errors(frame):
    try:
        bags = Bags.from_frame(frame, "bag", ["x", "s"])
    except SumwiseError:
        return
    assert bags.n_rows == len(frame)


def test_weight_has_no_other_part(people):
    for features, weight in ((["age"], "age"), (["age"], "puma")):
        with raises(DataError, "column-weight-plays"):
            Bags.from_frame(pd.DataFrame({"puma": [1, 2], "age": [3, 4]}), "puma", features, weight)


def test_decimals_are_numbers_and_no_levels():
    income = pa.array([decimal.Decimal("1.50"), decimal.Decimal("20.25")])
    bags = Bags.from_frame(pa.table({"g": ["a", "b"], "income": income}), "g")
    assert bags.values.tolist() == [[1.5], [20.25]]
    assert bags.levels == {}


@pytest.mark.parametrize("entries", [[1, 2.5, 3, 4], [decimal.Decimal("1"), 2.5, None, np.int16(4)], [1, 2, pd.NA, 4]])
def test_numbers_in_a_column_of_objects_are_numbers_and_no_levels(entries):
    """Each number was a level of its own, and a fit took them for that without a word."""
    frame = pd.DataFrame({"bag": list("aabb"), "x": pd.Series(entries, dtype=object)})
    found = Bags.from_frame(frame, "bag", ["x"])
    assert not found.levels
    np.testing.assert_array_equal(found.values[:, 0], [np.nan if pd.isna(x) else float(x) for x in entries])


def test_infinity_among_objects_is_refused():
    frame = pd.DataFrame({"bag": list("ab"), "x": pd.Series([1.0, decimal.Decimal("1e400")], dtype=object)})
    with raises(DataError, "holds-whole-numbers"):
        Bags.from_frame(frame, "bag", ["x"])


def test_values_that_have_no_common_order_are_refused():
    frame = pd.DataFrame({"bag": list("ab"), "x": pd.Series([1.0, pd.Timestamp("2020-01-01")], dtype=object)})
    with raises(DataError, "column-holds-values-kinds", "x", "Timestamp, float"):
        Bags.from_frame(frame, "bag", ["x"])


def test_ids_keep_their_kind():
    mixed = Bags.from_frame(pd.DataFrame({"g": [1, "a", 1], "x": [1, 2, 3]}), "g")
    assert mixed.ids.tolist() == [1, "a"]
    assert Bags.from_frame({"g": [1.5, 2.0], "x": [1, 2]}, "g").ids.dtype == float
    days = pa.array([datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)])
    assert Bags.from_frame(pa.table({"g": days, "x": [1, 2]}), "g").ids.dtype == "datetime64[D]"


def test_a_boolean_is_two_levels_by_every_door():
    frame = pd.DataFrame({"b": [1, 1, 2], "member": [True, False, True]})
    for kind in (frame["member"], frame["member"].astype(object), frame["member"].astype("boolean")):
        bags = Bags.from_frame(frame.assign(member=kind), bag="b")
        as_text = Bags.from_frame(frame.assign(member=frame["member"].astype(str)), bag="b")
        assert bags.levels == as_text.levels == {"member": (False, True)}
        np.testing.assert_array_equal(bags.values, as_text.values)


def test_numbers_in_a_column_of_text_are_numbers_as_in_a_file(people):
    texts = people.assign(age=people["age"].astype(str), code=["007", "1", "2", "3"])
    bags = Bags.from_frame(texts, "puma", ["age", "code"])
    np.testing.assert_array_equal(bags.values[:, 0], Bags.from_frame(people, "puma", ["age"]).values[:, 0])
    assert list(bags.levels) == ["code"]
    with raises(DataError, "column-mixes-numbers", "age"):
        Bags.from_frame(texts.assign(age=["31", "40", "old", "7"]), "puma", ["age"])
