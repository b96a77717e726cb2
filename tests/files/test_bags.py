"""Bags from files with one row per individual."""

from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from messages import raises
from sumwise import Bags
from sumwise.aggregate import aggregate_bags
from sumwise.errors import DataError, SumwiseError, UnknownName
from sumwise.io.formats import read_bags

PEOPLE = "area,age,sex,w\n02,31,f,1.5\n01,40,m,2\n02,25,m,1\n"


def put(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_the_index_of_a_pandas_frame_is_no_feature_unless_it_is_named(tmp_path):
    frame = pd.DataFrame({"area": ["x", "y", "x"], "age": [31.0, 40.0, 25.0]}, index=[0, 2, 5])
    frame.to_parquet(tmp_path / "x.parquet")
    assert read_bags(tmp_path / "x.parquet", bag="area").features == ("age",)
    named = read_bags(tmp_path / "x.parquet", bag="area", features=["age", "__index_level_0__"])
    assert named[0].tolist() == [[31, 0], [25, 5]]


def test_csv_to_bags(tmp_path):
    bags = read_bags(put(tmp_path / "x.csv", PEOPLE), bag="area", weight="w")
    assert bags.ids.tolist() == ["02", "01"]
    assert bags.features == ("age", "sex")
    assert bags.levels == {"sex": ("f", "m")}
    assert bags[0].tolist() == [[31, 0], [25, 1]]
    assert bags.weights.tolist() == [1.5, 1, 2]


def test_parquet_and_query_give_the_same(tmp_path):
    put(tmp_path / "x.csv", PEOPLE)
    frame = pd.read_csv(tmp_path / "x.csv", dtype={"area": str})
    frame.to_parquet(tmp_path / "x.parquet")
    expected = read_bags(tmp_path / "x.csv", bag="area", weight="w")
    assert read_bags(tmp_path / "x.parquet", bag="area", weight="w") == expected
    assert read_bags(f"from '{tmp_path / 'x.parquet'}'", bag="area", weight="w") == expected


def test_a_number_column_in_another_style_is_numbers(tmp_path):
    bags = read_bags(put(tmp_path / "x.csv", "b;x;y\n1;1,5;0,25\n1;2.000,5;3\n"), bag="b")
    assert bags.values.tolist() == [[1.5, 0.25], [2000.5, 3]]


def test_codes_with_leading_zeros_are_levels(tmp_path):
    bags = read_bags(put(tmp_path / "x.csv", "b,code\n1,007\n1,12\n2,007\n"), bag="b")
    assert bags.levels == {"code": ("007", "12")}


def test_categorical_makes_levels_of_numbers(tmp_path):
    path = put(tmp_path / "x.csv", "b,k\n1,3\n1,5\n2,3\n")
    assert read_bags(path, bag="b", categorical=["k"]).levels == {"k": ("3", "5")}
    with raises(UnknownName, "there-is-no", "feature", "z"):
        read_bags(path, bag="b", categorical=["z"])


def test_booleans_and_categories_of_a_frame():
    frame = pd.DataFrame({"b": [1, 1], "t": [True, False], "c": pd.Categorical(["x", "y"], ["y", "x"])})
    bags = read_bags(frame, bag="b")
    assert bags.values.tolist() == [[1, 1], [0, 0]]
    assert bags.levels == {"t": (False, True), "c": ("y", "x")}


@pytest.mark.parametrize("shown", [str, str.upper, str.lower])
def test_booleans_are_the_same_two_levels_through_every_door(tmp_path, shown):
    frame = pd.DataFrame({"b": [1, 1, 2], "x": [1, 2, 3], "t": [False, True, True]})
    frame.to_parquet(tmp_path / "a.parquet")
    text = frame.assign(t=[shown(str(t)) for t in frame["t"]])
    text.to_csv(tmp_path / "a.csv", index=False)
    expected = Bags.from_frame(frame, "b")
    assert expected.levels == {"t": (False, True)}
    for source in (frame, text, tmp_path / "a.parquet", tmp_path / "a.csv"):
        bags = read_bags(source, bag="b")
        assert bags.levels == expected.levels
        assert np.array_equal(bags.values, expected.values)
    for source in (frame, tmp_path / "a.parquet", tmp_path / "a.csv"):
        assert aggregate_bags(source, "b", ["x", "t"]) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            PEOPLE.replace("25,m", "old,m"),
            ("column-mixes-numbers", "age", "old"),
        ),
        (PEOPLE.replace("01,40", ",40"), ("rows-first-drop", "area", 1, 3, "row 3")),
        (PEOPLE.replace("m,2", "m,-2"), ("column-rows-first-counts", "w", "is negative", 1, 3)),
        (PEOPLE.replace("m,2", "m,two"), ("column-rows-first-correct", "w", "is not a number", 1, 3, "two")),
        ("area,w\n1,1\n", ("no-feature-columns",)),
        ("age,w\n1,1\n", ("there-is-no", "column", "area")),
    ],
)
def test_csv_refuses_with_column_and_row(tmp_path, text, message):
    with raises(DataError, *message) as caught:
        read_bags(put(tmp_path / "x.csv", text), bag="area", weight="w")
    assert "x.csv" in str(caught.value)


def test_missing_features_are_missing(tmp_path):
    bags = read_bags(put(tmp_path / "x.csv", PEOPLE.replace("25,m", ",")), bag="area", weight="w")
    assert np.isnan(bags.values).tolist() == [[False, False], [True, True], [False, False]]


def test_names_with_braces_are_shown_as_they_are():
    frame = pd.DataFrame({"b": [1, 1, 2], "{}": ["1", " ? ", "?"]})
    with raises(DataError, "column-mixes-numbers", "{}"):
        read_bags(frame, bag="b")


def test_parts_that_clash(tmp_path):
    path = put(tmp_path / "x.csv", PEOPLE)
    for options in ({"features": ["area"]}, {"features": ["age"], "weight": "age"}, {"weight": "area"}):
        with raises(DataError, "column-bag-feature|column-weight-plays"):
            read_bags(path, bag="area", **options)
    with raises(DataError, "features-list-columns"):
        read_bags(path, bag="area", features="age")
    with raises(DataError, "holds-duplicates-first"):
        read_bags(path, bag="area", features=["age", "age"])


def test_many_rows_come_in_order(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"b": rng.integers(0, 50, 50_000), "x": rng.random(50_000), "y": rng.integers(0, 9, 50_000)})
    frame.to_csv(tmp_path / "x.csv", index=False)
    expected = Bags.from_frame(frame.astype({"b": str}), bag="b", features=["x", "y"])
    assert read_bags(tmp_path / "x.csv", bag="b") == expected


cell = st.one_of(
    st.sampled_from(["", "1", "2.5", "-1", "1,5", "50%", "nan", "007", "x", '"', "1e999"]), st.text(max_size=3)
)


@settings(max_examples=settings.default.max_examples // 2)  # `make long` has more
@given(st.lists(st.lists(cell, min_size=3, max_size=3), max_size=4), st.sampled_from([",", ";"]))
def test_any_text_gives_bags_or_a_sumwise_error(tmp_path, rows, separator):
    text = "\n".join(separator.join(fields) for fields in [["b", "x", "w"], *rows])
    path = put(tmp_path / "x.csv", text.encode("utf-8", errors="replace"))
    with suppress(SumwiseError):
        assert isinstance(read_bags(path, bag="b", weight="w"), Bags)


value = st.one_of(
    st.none(),
    st.floats(),
    st.integers(-(2**70), 2**70),
    st.text(max_size=3),
    st.booleans(),
    st.binary(max_size=2),
    st.just(pd.Timestamp("2020-01-01")),
    st.just([1]),
)


@given(st.lists(st.tuples(value, value, value), max_size=4), st.booleans())
def test_any_frame_gives_bags_or_a_sumwise_error(rows, weighted):
    frame = pd.DataFrame(rows, columns=["b", "x", "w"], dtype=object)
    with suppress(SumwiseError):
        assert isinstance(read_bags(frame, bag="b", weight="w" if weighted else None), Bags)
