from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.pandas import column, data_frames

from messages import raises
from sumwise import Domain, Tables
from sumwise.errors import DataError, SumwiseError
from sumwise.maxent import MaxEntClassifier


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "a": rng.integers(0, 3, 200),
            "b": rng.choice(["x", "y'; DROP TABLE t", "ü"], 200),
            "c": rng.random(200) < 0.3,
            "y": rng.integers(0, 2, 200),
            "k": rng.choice(["p", "q", "r"], 200),
            "w": rng.random(200),
        }
    )


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_counts_agree_with_a_plain_group_by(rows, kind, order):
    tables = Tables.from_frame(kind(rows), ["a", "b", "c"], label="y", order=order)
    assert len(tables) == len(list(combinations("abc", order)))
    for table in tables:
        for cell in np.ndindex(table.shape):
            keep = np.ones(len(rows), bool)
            for attribute, code in zip(table.attributes, cell):
                keep &= (rows[attribute] == tables.domain.levels(attribute)[code]).to_numpy()
            assert table.counts[cell] == keep.sum()
            assert table.label_sums[cell] == rows["y"][keep].sum()


def test_classes_and_weights(rows):
    tables = Tables.from_frame(rows, ["a", "b"], label="k", weight="w")
    assert tables.classes == ("p", "q", "r")
    expected = rows.groupby(["a", "b", "k"])["w"].sum()
    assert tables["a", "b"].label_sums[1, 0, 2] == pytest.approx(expected[1, "x", "r"])
    assert tables.n == pytest.approx(rows["w"].sum())
    binary = Tables.from_frame(rows, ["a"], label="y", order=1, weight="w")
    assert binary["a"].label_sums.sum() == pytest.approx((rows["w"] * rows["y"]).sum())


def test_domain_may_be_wider_than_the_data(rows):
    domain = Domain({"a": 5, "c": [False, True]})
    tables = Tables.from_frame(rows, ["a", "c"], domain=domain)
    assert tables["a", "c"].shape == (5, 2)
    with raises(DataError, "column-holds-levels-outside"):
        Tables.from_frame(rows, ["a", "c"], domain=Domain({"a": 2, "c": 2}))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"attributes": "ab"}, ("attributes-list-columns|attributes-names-no",)),
        ({"attributes": []}, ("attributes-list-columns|attributes-names-no",)),
        ({"attributes": ["a", "a"]}, ("holds-duplicates-first",)),
        ({"attributes": ["a", "zz"]}, ("there-is-no", "column", "zz")),
        ({"order": 0}, ("must-least", 1)),
        ({"order": 4}, ("order-attributes", 4, 3)),
        ({"label": "a"}, ("column-plays-two",)),
        ({"label": "w"}, ("label-more-different",)),
        ({"weight": "k"}, ("holds-first-convert",)),
    ],
)
def test_bad_options_are_refused(rows, options, words):
    with raises(DataError, *words):
        Tables.from_frame(rows, **{"attributes": ["a", "b", "c"], **options})


def test_missing_constant_and_empty_are_refused(rows):
    with raises(DataError, "column-missing-rows-first", 1, 200):
        Tables.from_frame(rows.assign(b=rows["b"].where(rows.index != 5)), ["a", "b"])
    with raises(DataError, "label-single-value", "p"):
        Tables.from_frame(rows.assign(k="p"), ["a"], label="k", order=1)
    with raises(DataError, "frame-no-rows-nothing"):
        Tables.from_frame(rows.iloc[:0], ["a"], order=1)
    with raises(DataError, "negative-counts-start"):
        Tables.from_frame(rows.assign(w=-1.0), ["a"], order=1, weight="w")


def test_a_constant_column_is_one_level(rows):
    assert Tables.from_frame(rows.assign(a=7), ["a", "b"])["a", "b"].shape == (1, 3)


mess = data_frames(
    [
        column(
            "a",
            elements=st.one_of(st.text(max_size=2), st.none(), st.integers(), st.floats(), st.tuples()),
            dtype=object,
        ),
        column("b", elements=st.floats()),
        column("y", elements=st.one_of(st.integers(-1, 2), st.none()), dtype=object),
    ]
)


@given(mess)
def test_malformed_frames_give_only_our_errors(frame):
    try:
        tables = Tables.from_frame(frame, ["a", "b"], label="y")
    except SumwiseError:
        return
    assert tables.n == len(frame)


def test_table_beyond_all_memory_is_refused():
    wide = pd.DataFrame({f"c{i}": np.arange(300) for i in range(5)})
    with raises(DataError, "table-over-cells-most", "2,430,000,000,000"):
        Tables.from_frame(wide, list(wide), order=5)


def test_missing_values_may_be_a_level_of_their_own():
    rows = {"a": ["p", None, "q", None, "p", "p"], "b": [1.0, 2.0, np.nan, np.nan, 1.0, 2.0], "y": [1, 0, 0, 1, 1, 0]}
    found = Tables.from_frame(rows, ["a", "b"], label="y", missing="level")
    table = found["a", "b"]
    assert set(found.domain.levels("a")) == {"p", "q", None}
    assert set(found.domain.levels("b")) == {1, 2, None}
    at = {a: {v: i for i, v in enumerate(found.domain.levels(a))} for a in ("a", "b")}
    for a, b, count, labels in (("p", 1, 2, 2), ("p", 2, 1, 0), (None, 2, 1, 0), ("q", None, 1, 0), (None, None, 1, 1)):
        cell = at["a"][a], at["b"][b]
        assert table.counts[cell] == count
        assert table.label_sums[cell] == labels
    assert table.counts.sum() == 6
    model = MaxEntClassifier(random_state=0).fit(found)
    people = {"a": ["p", None, "p"], "b": [1.0, np.nan, np.nan]}
    assert np.array_equal(model.model_.schema.codes(people)[:, 0], [at["a"]["p"], at["a"][None], at["a"]["p"]])
    assert np.array_equal(model.model_.schema.codes(people)[:, 1], [at["b"][1], at["b"][None], at["b"][None]])
