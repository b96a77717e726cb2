"""pandas frames keep dtypes, names, indexes and missing values."""

import numpy as np
import pandas as pd
import pytest

from messages import raises
from sumwise.errors import DataError
from sumwise.io.persistence import load, save
from sumwise.io.saved.json_tree import Decoder, Encoder

COLUMNS = {
    "float": np.array([1.5, np.nan, 3]),
    "float32": np.array([1, 2, 3], dtype="f4"),
    "int": [1, 2, 3],
    "bool": [True, False, True],
    "object": pd.Series(["a", None, 3], dtype=object),
    "str": pd.Series(["a", None, "é"], dtype="str"),
    "string": pd.array(["a", None, "b"], dtype="string"),
    "category": pd.Categorical(["u", "v", None], categories=["v", "u", "w"], ordered=True),
    "numbers as categories": pd.Categorical([3, 1, 3]),
    "Int64": pd.array([1, None, 3], dtype="Int64"),
    "UInt8": pd.array([1, None, 3], dtype="UInt8"),
    "Float32": pd.array([1.5, None, 3], dtype="Float32"),
    "boolean": pd.array([True, None, False], dtype="boolean"),
    "date": pd.to_datetime(["2020-01-01", None, "2021-05-05"]),
    "day": np.array(["2020-01-01", "NaT", "2021-05-05"], dtype="M8[s]"),
    "zoned": pd.to_datetime(["2020-07-01", None, "2021-01-05"]).tz_localize("Europe/Zurich"),
    "utc": pd.to_datetime(["2020-07-01", None, "2021-01-05"]).tz_localize("UTC"),
    "span": pd.to_timedelta(["1D", None, "3h"]),
}
INDEXES = {
    "range": pd.RangeIndex(1, 7, 2, name="n"),
    "int": pd.Index([5, 3, 9]),
    "text": pd.Index(["a", "b", "a"], name="key"),
    "object": pd.Index(["a", 1, None], dtype=object, name=("t", 1)),
    "float32": pd.Index(np.array([1, 2, 3], dtype="f4")),
    "dates": pd.date_range("2020-01-01", periods=3, freq="D", name="day"),
    "zoned": pd.date_range("2020-01-01", periods=3, freq="h", tz="UTC"),
    "spans": pd.to_timedelta([1, 2, 5], unit="h"),
    "categories": pd.CategoricalIndex(["x", "y", "x"], name="c"),
    "several": pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)], names=["k", None]),
    "several with gaps": pd.MultiIndex.from_tuples([("a", 1.5), (None, 2), ("b", np.nan)]),
}


@pytest.mark.parametrize("values", COLUMNS.values(), ids=COLUMNS.keys())
def test_series_and_frame_keep_the_dtype(tmp_path, values):
    series = pd.Series(values, name="x")
    save([series, series.to_frame(), series.head(0)], tmp_path / "x")
    after = load(tmp_path / "x")
    pd.testing.assert_series_equal(after[0], series)
    pd.testing.assert_frame_equal(after[1], series.to_frame())
    pd.testing.assert_series_equal(after[2], series.head(0))


@pytest.mark.parametrize("index", INDEXES.values(), ids=INDEXES.keys())
def test_index_comes_back_alone_and_on_both_sides_of_a_frame(tmp_path, index):
    frame = pd.DataFrame(np.arange(9.0).reshape(3, 3), index=index, columns=index)
    save([index, frame], tmp_path / "x")
    after = load(tmp_path / "x")
    pd.testing.assert_index_equal(after[0], index, exact=True)
    assert getattr(after[0], "freq", None) == getattr(index, "freq", None)
    pd.testing.assert_frame_equal(after[1], frame)


def test_mixed_frame_with_equal_column_names_and_attrs(tmp_path):
    frame = pd.concat([pd.Series(v) for v in COLUMNS.values()], axis=1)
    frame.columns = ["same"] * len(COLUMNS)
    frame.attrs = {"source": "census"}
    save(frame, tmp_path / "x")
    after = load(tmp_path / "x")
    pd.testing.assert_frame_equal(after, frame)
    assert after.attrs == frame.attrs


@pytest.mark.parametrize("frame", [pd.DataFrame(), pd.DataFrame(index=[1, 2]), pd.DataFrame(columns=["a", "b"])])
def test_empty_frame_comes_back(tmp_path, frame):
    save(frame, tmp_path / "x")
    pd.testing.assert_frame_equal(load(tmp_path / "x"), frame)


def test_missing_values_and_arrays_come_back(tmp_path):
    save([pd.NA, pd.NaT, COLUMNS["category"], COLUMNS["Int64"]], tmp_path / "x")
    na, nat, category, integers = load(tmp_path / "x")
    assert na is pd.NA
    assert nat is pd.NaT
    pd.testing.assert_extension_array_equal(category, COLUMNS["category"])
    pd.testing.assert_extension_array_equal(integers, COLUMNS["Int64"])


@pytest.mark.parametrize(
    "values",
    [
        pd.period_range("2020", periods=2, freq="M").array,
        pd.interval_range(0, 2).array,
        pd.arrays.SparseArray([0, 1]),
        pd.array([1, 2], dtype="int64[pyarrow]"),
    ],
    ids=lambda v: str(v.dtype),
)
def test_other_dtypes_are_refused_by_column(values):
    with raises(DataError, "pandas-column-dtype"):
        Encoder().encode(pd.DataFrame({"c": values}), "x")


def test_other_pandas_objects_are_refused():
    class Mine(pd.DataFrame):
        pass

    with raises(DataError, "cant-saved-use"):
        Encoder().encode(pd.period_range("2020", periods=2, freq="M"), "x")
    with raises(DataError, "cant-saved", "Mine"):
        Encoder().encode(Mine(), "x")
    with raises(DataError, "cant-saved"):
        Encoder().encode(pd.Timestamp("2020"), "x")
    with raises(DataError, "cant-saved", "a function"):
        Encoder().encode(pd.DataFrame({"c": [len]}), "x")


def damaged(value, change):
    encoder = Encoder()
    tree = encoder.encode(value, "x")
    arrays = {f"array-{i}.npy": a for i, a in enumerate(encoder.arrays)}
    change(tree)
    with pytest.raises(DataError):
        Decoder(arrays.__getitem__).decode(tree, "x")


def test_damaged_frames_are_refused():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", None]})
    damaged(frame, lambda t: t["frame"]["values"].pop())
    damaged(frame, lambda t: t["frame"]["values"].append(3))
    damaged(frame, lambda t: t["frame"].update(index={"index": {"range": [0, 5, 1], "name": None}}))
    damaged(frame, lambda t: t["frame"].update(index={"index": {"range": [0, 5, 0], "name": None}}))
    damaged(frame, lambda t: t["frame"].pop("columns"))
    damaged(frame, lambda t: t["frame"].update(values=None))
    damaged(frame.index, lambda t: t.update(index=None))
    damaged(pd.Series(COLUMNS["string"]), lambda t: t["series"]["values"]["values"].update(storage="disk"))
    damaged(pd.Series(COLUMNS["string"]), lambda t: t["series"]["values"]["values"].update(text=[1, 2, 3]))
    damaged(pd.Series(COLUMNS["category"]), lambda t: t["series"]["values"]["values"].update(codes=[7, 8, 9]))
    damaged(pd.Series(COLUMNS["Int64"]), lambda t: t["series"]["values"]["values"].update({"class": "eval"}))
    damaged(pd.Series(COLUMNS["Int64"]), lambda t: t["series"]["values"]["values"].update(missing=[True]))
    damaged(pd.Series(COLUMNS["zoned"]), lambda t: t["series"]["values"]["values"].update(zone="Nowhere/At all"))
    zone = "dateutil//etc/localtime"
    damaged(pd.Series(COLUMNS["zoned"]), lambda t: t["series"]["values"]["values"].update(zone=zone))
    damaged(pd.Series([1]), lambda t: t.update({"missing": "x"}) or t.pop("series"))
    several = INDEXES["several"]
    damaged(several, lambda t: t["index"].update(codes=[[0, 0, 9], [0, 0, 0]]))
    damaged(several, lambda t: t["index"].update(names=["only one"]))
    damaged(INDEXES["dates"], lambda t: t["index"].update(freq="W"))
