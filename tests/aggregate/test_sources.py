"""Sources: what is a query, what is a file, and plain columns out of any frame."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from messages import raises
from sumwise.aggregate.sources import arrow_table, categories, file_format, is_query
from sumwise.errors import DataError, UnknownName


@pytest.mark.parametrize("text", ["SELECT 1", "select a from b", "with t as (select 1) from t", "  FROM t"])
def test_query_is_recognised(text):
    assert is_query(text)


@pytest.mark.parametrize("source", ["rows.csv", "selection.parquet", "select", 3, None])
def test_other_text_is_no_query(source):
    assert not is_query(source)


def test_file_that_is_called_like_a_query_is_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "select * from x.csv").write_text("a\n1\n")
    assert not is_query("select * from x.csv")


@pytest.mark.parametrize(
    ("name", "form"),
    [("a.parquet", "parquet"), ("a.csv.gz", "csv"), ("a.TSV", "csv"), ("a.feather", "arrow"), ("a.duckdb", "database")],
)
def test_format_is_told_by_the_ending(tmp_path, name, form):
    (tmp_path / name).touch()
    assert file_format(tmp_path / name) == form


def test_folder_holds_parquet(tmp_path):
    assert file_format(tmp_path) == "parquet"


def test_file_that_is_not_there_is_named():
    with raises(DataError, "no-file", "nowhere.parquet"):
        file_format("nowhere.parquet")


def test_unknown_ending_is_refused(tmp_path):
    (tmp_path / "a.xlsx").touch()
    with raises(DataError, "file-no-ending"):
        file_format(tmp_path / "a.xlsx")


def test_source_of_an_odd_type_is_refused():
    with raises(DataError, "source-type-path", "list"):
        file_format([1, 2])


FRAME = pd.DataFrame({"t": ["x", None], "c": pd.Categorical(["lo", "hi"], ["lo", "mid", "hi"]), "u": [1, 2]})


@pytest.mark.parametrize("convert", [lambda f: f, pl.from_pandas, pa.Table.from_pandas])
def test_columns_of_any_frame_become_plain(convert):
    table = arrow_table(convert(FRAME), ("c", "t"))
    assert table.column_names == ["c", "t"]
    assert [str(c.type) for c in table.columns] == ["string", "string"]
    assert table.column("t").null_count == 1
    unused = () if convert is pl.from_pandas else ("mid",)  # polars forgets categories that no row has
    assert categories(convert(FRAME), ("t", "c")) == {"c": ("lo", *unused, "hi")}


def test_unsigned_and_empty_columns_become_plain():
    table = arrow_table(pa.table({"u": pa.array([1], pa.uint16()), "n": pa.nulls(1)}), ("u", "n"))
    assert [str(c.type) for c in table.columns] == ["int64", "string"]


@pytest.mark.parametrize("convert", [lambda f: f, pl.from_pandas, pa.Table.from_pandas])
def test_column_that_is_not_there_is_named(convert):
    with raises(UnknownName, "there-is-no", "z"):
        arrow_table(convert(FRAME), ("z",))


def test_half_precision_becomes_single():
    assert str(arrow_table(pd.DataFrame({"h": np.array([0.5], np.float16)}), ("h",)).column("h").type) == "float"


@pytest.mark.parametrize("values", [[10**30, 1], pd.cut([1, 2], 2)])
def test_columns_that_no_engine_can_hold_are_refused(values):
    with raises(DataError, "column-cant-turn|column-holds-values", "x"):
        arrow_table(pd.DataFrame({"x": values}), ("x",))


def test_mixed_column_is_refused():
    with raises(DataError, "column-holds-values", "m"):
        arrow_table(pd.DataFrame({"m": [1, "a"]}), ("m",))


def test_every_kind_of_file_is_counted(tmp_path):
    """`aggregate` takes what `init` and `fit` take."""
    import pandas as pd

    from sumwise.aggregate import aggregate

    frame = pd.DataFrame({"a": ["x", "y", "x"], "b": [1, 2, 2]})
    frame.to_excel(tmp_path / "x.xlsx", index=False)
    frame.to_stata(tmp_path / "x.dta", write_index=False)
    for name in ("x.xlsx", "x.dta"):
        tables = aggregate(tmp_path / name, ["a"], order=1)
        assert (tables.n, tables["a"].counts.tolist()) == (3, [2, 1])
