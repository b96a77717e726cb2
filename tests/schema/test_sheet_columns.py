"""Columns of a sheet as numbers and levels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from messages import raises
from sumwise.errors import DataError
from sumwise.features import OTHER, Features
from sumwise.io.formats.files import open_sheet
from sumwise.schema.sheet_columns import (
    MOST_LEVELS,
    bags_of,
    column_kind,
    column_notes,
    level_texts,
    other_bags,
    typed_frame,
)


def sheet(**columns):
    n = len(next(iter(columns.values())))
    return open_sheet(pd.DataFrame({"bag": ["p", "q"] * (n // 2) + ["q"] * (n % 2), **columns}))


def rows_of(columns, categorical=(), **given):
    return bags_of(sheet(**given), "bag", columns, categorical)


def test_bags_keep_the_order_in_which_they_appear_and_what_is_missing():
    made = rows_of(["a", "b"], a=[1.0, 3.0, None], b=["x", "y", None])
    assert made.bags.ids.tolist() == ["p", "q"]
    assert made.order.tolist() == [0, 1, 2]
    assert made.bags.levels == {"b": ("x", "y")}
    np.testing.assert_array_equal(made.bags.values, [[1, 0], [3, 1], [np.nan, np.nan]])
    assert column_notes(made) == ["Missing values of a are set to the mean, with an indicator each."]


def test_rare_levels_share_one_that_takes_new_ones_too():
    texts = [f"v{i:03d}" for i in range(MOST_LEVELS)] * 2 + ["rare1", "rare2"]
    made = rows_of(["b"], b=texts)
    assert made.bags.levels["b"][0] == OTHER
    assert made.merged == ["b"]
    features = Features.learn(made.bags)
    others = other_bags(sheet(b=["rare2", "v000", "new"]), "bag", features.columns, features.levels, None)
    assert features.matrix(others)[:, 0].tolist() == [1, 0, 1]


def test_constant_columns_are_left_out_by_name():
    made = rows_of(["a", "b"], a=[1, 1], b=[1, 2])
    assert made.bags.features == ("b",)
    assert column_notes(made) == ["The same in every row, so left out: a."]
    with raises(DataError, "all-features-same"):
        rows_of(["a"], a=[1, 1])


def test_codes_can_be_called_categorical():
    assert rows_of(["a"], ["a"], a=[1, 2, 10]).bags.levels == {"a": ("1", "10", "2")}
    assert column_kind(sheet(a=["007", "010"]), "a") == "levels"
    assert column_kind(sheet(a=[True, False]), "a") == "levels"


def test_a_mixture_is_refused_with_the_two_remedies():
    with raises(DataError, "rows-first-add-categorical", "N", 1):
        rows_of(["a"], a=["1", "N", "2"])


def test_typed_frames_keep_what_is_missing():
    frame = typed_frame(sheet(a=["1,5", "2,5"], b=["x", None], c=[1, 2]), ["a", "b", "c"], ["c"])
    assert frame["c"].tolist() == ["1", "2"]
    assert frame["b"].tolist() == ["x", None]


def test_levels_that_are_numbers_keep_every_digit():
    made = rows_of(["zip"], ["zip"], zip=[1234567, 1234568, 0.5])
    assert made.bags.levels["zip"] == ("0.5", "1234567", "1234568")


@pytest.mark.parametrize("column", [[True, False, True], [True, None, False]])
def test_true_and_false_are_levels_as_in_frames(column):
    found = level_texts(sheet(a=column), "a")
    assert found.tolist() == ["(missing)" if x is None else str(x) for x in column]


def test_the_same_file_predicts_alike_through_pandas(tmp_path):
    rows = pd.DataFrame({"bag": ["p", "q"] * 20, "zip": ["01234", "05678"] * 20, "flag": ["yes", "no"] * 20})
    rows.to_csv(tmp_path / "a.csv", index=False)
    from_file = open_sheet(tmp_path / "a.csv")
    bags = bags_of(from_file, "bag", ["zip", "flag"]).bags
    features = Features.learn(bags)

    def matrix(source):
        return features.matrix(other_bags(open_sheet(source), "bag", features.columns, features.levels, None))

    np.testing.assert_array_equal(matrix(tmp_path / "a.csv"), features.matrix(bags))
    np.testing.assert_array_equal(matrix(pd.read_csv(tmp_path / "a.csv", dtype={"zip": str})), features.matrix(bags))
    with raises(DataError, "feature-level-training-didnt", "zip", "100.0%", 40):
        matrix(pd.read_csv(tmp_path / "a.csv"))  # 01234 has become 1234
    with raises(DataError, "feature-level-training-didnt", "flag"):
        matrix(rows.assign(flag=rows["flag"] == "yes"))


@pytest.mark.parametrize("form", ["{} cm", "${}", "{}°C"])
def test_numbers_with_a_unit_are_no_levels(form):
    written = [form.format(k / 8) for k in range(MOST_LEVELS + 2)]
    with raises(DataError, "column-numbers-unit", "size"):
        rows_of(["size"], size=written)
    assert rows_of(["size"], ["size"], size=written).merged == ["size"]


@pytest.mark.parametrize("form", ["{:05d}", "P{}", "{} of 40"])
def test_codes_are_levels(form):
    assert rows_of(["code"], code=[form.format(k) for k in range(MOST_LEVELS + 2)]).merged == ["code"]
