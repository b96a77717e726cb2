"""NumPy arrays keep dtype, shape and order; nothing that would need a pickle gets through."""

import numpy as np
import pytest

from messages import raises
from sumwise.errors import DataError
from sumwise.io.persistence import load, save
from sumwise.io.saved.json_tree import Decoder, Encoder

ARRAYS = [
    np.arange(6).reshape(2, 3),
    np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    np.arange(24.0).reshape(2, 3, 4).transpose(2, 0, 1),
    np.arange(10)[::3],
    np.array(3.5),
    np.zeros((0, 4)),
    np.array([True, False]),
    np.array(["é", "longer"]),
    np.array([b"ab", b"c"]),
    np.array(["2020-01-01", "NaT"], dtype="M8[D]"),
    np.array([1, 2], dtype="m8[us]"),
    np.array([1.5, np.nan], dtype=">f4"),
    np.array([1 + 2j]),
    np.array([1.5], dtype=np.longdouble),
    np.array([1], dtype=np.uint8),
    np.array([None, "a", 1, 2.5, np.nan, True, 10**30], dtype=object),
    np.asfortranarray(np.array([["a", None, "b"], [1, 2, 3]], dtype=object)),
    np.array(None, dtype=object),
]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda a: f"{a.dtype}-{a.shape}")
def test_array_keeps_dtype_shape_order_and_bits(tmp_path, array):
    save(array, tmp_path / "x")
    after = load(tmp_path / "x")
    assert type(after) is np.ndarray
    assert (after.dtype, after.shape) == (array.dtype, array.shape)
    assert after.flags.fnc == array.flags.fnc
    if array.dtype == object:
        assert repr(after.tolist()) == repr(array.tolist())
    else:
        assert after.tobytes() == array.tobytes()


def test_view_of_one_number_is_kept_as_one(tmp_path):
    save(np.broadcast_to(np.float32(2.5), (1000, 1000)), tmp_path / "x")
    after = load(tmp_path / "x")
    assert (tmp_path / "x").stat().st_size < 2000
    assert (after.dtype, after.shape, after.strides) == (np.float32, (1000, 1000), (0, 0))
    assert after[5, 7] == 2.5


SCALARS = [
    np.float64(0.1),
    np.float32(0.1),
    np.float16(np.inf),
    np.longdouble("0.1"),
    np.int8(-3),
    np.uint64(2**64 - 1),
    np.bool_(True),
    np.str_("é"),
    np.bytes_(b"x"),
    np.complex64(1 + 2j),
    np.datetime64("2020-01-01T01:02", "m"),
    np.timedelta64(3, "D"),
    np.float64(-0.0),
]


@pytest.mark.parametrize("value", SCALARS, ids=lambda v: f"{type(v).__name__}-{v}")
def test_scalar_keeps_its_type(value):
    after = Decoder({}.get).decode(Encoder().encode(value, "x"), "x")
    assert type(after) is type(value)
    assert after.dtype == value.dtype
    assert after.tobytes() == value.tobytes()


@pytest.mark.parametrize("dtype", ["<f8", "|b1", "<M8[ns]", "<U3", "|O", ">i2"])
def test_dtype_comes_back(dtype):
    assert Decoder({}.get).decode(Encoder().encode(np.dtype(dtype), "x"), "x") == np.dtype(dtype)


@pytest.mark.parametrize(
    "value",
    [
        np.zeros(2, dtype=[("a", "f8"), ("b", "i4")]),
        np.array([object()], dtype=object),
        np.array([len], dtype=object),
        np.ma.masked_array([1, 2], mask=[True, False]),
        np.rec.array([(1, 2)]),
        np.array(["a"], dtype=np.dtypes.StringDType()),
        np.dtype([("a", "f8")]),
        np.sum,
        np.poly1d([1, 2]),
    ],
    ids=lambda v: type(v).__name__,
)
def test_what_would_need_a_pickle_is_refused(value):
    with raises(DataError, "cant-saved|cant-saved-keep|cant-saved-keep-plain"):
        Encoder().encode(value, "x")


@pytest.mark.parametrize(
    "node",
    [
        {"objects": {"shape": [2], "order": "C", "items": [1]}},
        {"objects": {"shape": [-1], "order": "C", "items": [1]}},
        {"objects": {"shape": [10**12, 0, 3.5], "order": "C", "items": []}},
        {"objects": {"shape": [1], "order": "K", "items": [1]}},
        {"objects": {"items": []}},
        {"objects": 3},
        {"scalar": ["<f8", "1.5"]},
        {"scalar": ["|u1", 256]},
        {"scalar": ["|u1", True]},
        {"scalar": ["|O", 1]},
        {"scalar": ["<f8", {"bytes": "00"}]},
        {"scalar": ["<f8", {"bytes": "zz"}]},
        {"scalar": ["<c8", 1.5]},
        {"scalar": [3, 1]},
        {"scalar": 3},
        {"dtype": "V8"},
        {"dtype": "no"},
        {"dtype": None},
        {"constant": {"shape": [10**15], "value": "array-0.npy"}},
        {"constant": {"shape": [-1], "value": "array-0.npy"}},
        {"constant": {"shape": "x", "value": "array-0.npy"}},
        {"constant": {"shape": [3], "value": "array-1.npy"}},
    ],
    ids=repr,
)
def test_damaged_nodes_are_refused(node):
    arrays = {"array-0.npy": np.array([1.0]), "array-1.npy": np.array([1.0, 2.0])}
    with pytest.raises(DataError):
        Decoder(arrays.__getitem__).decode(node, "x")
