import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sumwise import frames
from sumwise.errors import DataError, UnknownName

DATA = {"a": [1, 2, 3], "b": ["x", "y", "x"]}
KINDS = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "lazy": lambda d: pl.DataFrame(d).lazy(),
    "pyarrow": pa.table,
    "dict": dict,
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_frame_goes_in(kind):
    out = frames.to_pandas(KINDS[kind](DATA), ["b", "a"])
    assert out.columns.tolist() == ["b", "a"]
    assert out["a"].tolist() == [1, 2, 3]
    assert out["b"].tolist() == ["x", "y", "x"]


def test_whole_frame_keeps_column_order():
    assert frames.to_pandas(pl.DataFrame(DATA)).columns.tolist() == ["a", "b"]


@pytest.mark.parametrize("bad", [None, 3, "file.csv", [[1, 2]], np.ones((2, 2))])
def test_no_frame_is_refused(bad):
    with pytest.raises(DataError, match="give a pandas"):
        frames.to_pandas(bad)


def test_unknown_and_duplicate_columns_are_refused():
    with pytest.raises(UnknownName, match="no column 'A'"):
        frames.to_pandas(pd.DataFrame(DATA), ["A"])
    with pytest.raises(DataError, match="duplicates"):
        frames.to_pandas(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(DataError, match="makes no frame"):
        frames.to_pandas({"a": [1], "b": [1, 2]})


def test_numeric_names_column_and_row():
    with pytest.raises(DataError, match="votes, column 'b'"):
        frames.numeric(pd.DataFrame(DATA), ["a", "b"], "votes")
    with pytest.raises(DataError, match="position 1 has nan"):
        frames.numeric(pd.DataFrame({"a": [1.0, np.nan]}), ["a"], "votes")
    with pytest.raises(DataError, match="position 1 has nan"):
        frames.numeric(pd.DataFrame({"a": pd.array([1, None], dtype="Int64")}), ["a"], "votes")
    with pytest.raises(DataError, match="no rows"):
        frames.numeric(pd.DataFrame({"a": []}), ["a"], "votes")


def test_numeric_reads_nullable_and_categorical_numbers():
    df = pd.DataFrame({"a": pd.array([1, 2], dtype="Int64"), "b": pd.Categorical([3, 4])})
    assert frames.numeric(df, ["a", "b"], "votes").tolist() == [[1, 3], [2, 4]]


def test_levels_follow_categories_else_sorted_values():
    column = pd.Series(pd.Categorical(["lo", "hi"], categories=["lo", "mid", "hi"]))
    codes, levels = frames.codes_and_levels(column, "c")
    assert levels == ("lo", "mid", "hi")
    assert codes.tolist() == [0, 2]
    assert frames.codes_and_levels(pd.Series([3, 1]), "c")[1] == (1, 3)
    assert frames.codes_and_levels(pl.Series(["b", "a"]).to_pandas(), "c")[1] == ("a", "b")


def test_missing_and_mixed_and_unknown_levels_are_refused():
    with pytest.raises(DataError, match=r"missing in 1 of 2 rows. First: row 1"):
        frames.codes_and_levels(pd.Series(["a", None]), "c")
    with pytest.raises(DataError, match="can't be levels"):
        frames.codes_and_levels(pd.Series([["a"], ["b"]]), "c")
    with pytest.raises(UnknownName, match="row 1 has 'z'"):
        frames.codes_and_levels(pd.Series(["a", "z"]), "c", ("a", "b"))


def test_none_is_a_level_where_the_domain_has_it():
    codes, _ = frames.codes_and_levels(pd.Series(["a", None]), "c", ("a", None))
    assert codes.tolist() == [0, 1]
