"""Sizes are found out before anything is read."""

import gzip
import zlib

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from messages import raises
from sumwise.errors import DataError
from sumwise.io import sizes
from sumwise.io.formats.files import open_sheet
from sumwise.io.parsers import arrow
from sumwise.io.sizes import check_packed, check_rows


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(sizes, "FREE_SIZE", 2**20)


def test_bomb_is_refused_after_little_was_unpacked(tmp_path, small, monkeypatch):
    path = tmp_path / "x.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 2**22))
    asked = []
    make = zlib.decompressobj

    class Counting:
        def __init__(self, *options):
            self.inner = make(*options)

        def __getattr__(self, name):
            return getattr(self.inner, name)

        def decompress(self, *given):
            out = self.inner.decompress(*given)
            asked.append(len(out))
            return out

    monkeypatch.setattr("zlib.decompressobj", Counting)
    with raises(DataError, "bytes-unpacks-more"):
        check_packed(path)
    assert sum(asked) < 6 * 2**20  # of 16
    monkeypatch.undo()


def test_bomb_in_a_later_part_is_refused(tmp_path, small):
    path = tmp_path / "x.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n1,2\n") + gzip.compress(b"1,2\n" * 2**22))
    with raises(DataError, "bytes-unpacks-more"):
        open_sheet(path)


def test_ordinary_and_damaged_files_pass(tmp_path, small):
    frame = pd.DataFrame({"a": range(20_000)})
    frame.to_csv(tmp_path / "x.csv.gz", index=False)
    check_packed(tmp_path / "x.csv.gz")
    assert len(open_sheet(tmp_path / "x.csv.gz").frame) == 20_000
    (tmp_path / "y.csv.gz").write_bytes((tmp_path / "x.csv.gz").read_bytes()[:3000] + bytes(9000))
    check_packed(tmp_path / "y.csv.gz")
    with raises(DataError, "cant-read-file"):
        open_sheet(tmp_path / "y.csv.gz")


def test_rows_that_no_memory_holds_are_refused(tmp_path, monkeypatch):
    check_rows("x", 10**6, 10)
    monkeypatch.setattr(sizes, "machine_memory", lambda: 1e6)
    pq.write_table(pa.table({"a": pa.array([1.0] * 200_000)}), tmp_path / "x.parquet")
    with pa.OSFile(str(tmp_path / "x.arrow"), "wb") as sink, pa.ipc.new_file(sink, pa.schema({"a": pa.null()})) as out:
        out.write_batch(pa.record_batch({"a": pa.nulls(10**6)}))
    monkeypatch.setattr(arrow, "machine_memory", lambda: 1e6)
    for name, read in (("x.parquet", open_sheet), ("x.arrow", lambda path: arrow.parse(str(path)))):
        with raises(DataError, "says-rows-columns"):
            read(tmp_path / name)


LONG = "x" * 10_000


def text_views():
    """Five hundred views of one text, as Arrow's newer type of text allows."""
    pytest.importorskip("pyarrow", "18", reason="older ones build no view of a text by hand")
    heads = np.tile(np.array([len(LONG), int.from_bytes(b"xxxx", "little"), 0, 0], dtype=np.int32), (500, 1))
    return pa.Array.from_buffers(pa.string_view(), 500, [None, pa.py_buffer(heads), pa.py_buffer(LONG.encode())])


def union():
    return pa.UnionArray.from_dense(pa.array([0] * 9, pa.int8()), pa.array([0] * 9, pa.int32()), [pa.array([1])])


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("one text for every row", lambda: pa.array([LONG] * 500)),
        ("one list for every row", lambda: pa.array([[7] * 1000] * 400)),
        ("bytes", lambda: pa.array([LONG.encode()] * 500)),
        ("struct", lambda: pa.array([{"a": LONG}] * 500)),
    ],
)
def test_parquet_whose_values_come_to_far_more_is_refused(tmp_path, monkeypatch, name, make):
    pq.write_table(pa.table({"it's": [1] * len(make()), "b": make()}), tmp_path / "x.parquet", compression="zstd")
    assert len(open_sheet(tmp_path / "x.parquet")) == len(make())
    monkeypatch.setattr(sizes, "FREE_SIZE", 2**20)
    with raises(DataError, "bytes-values-come"):
        open_sheet(tmp_path / "x.parquet")
    assert len(open_sheet(tmp_path / "x.parquet", columns=["it's"])) == len(make())


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (text_views, ("bytes-values-come",)),
        (lambda: pa.nulls(10**6), ("bytes-values-come",)),
        (lambda: pa.FixedSizeListArray.from_arrays(pa.nulls(10**6), 10**4), ("bytes-values-come",)),
        (lambda: pa.Array.from_buffers(pa.binary(0), 10**6, [None, pa.py_buffer(b"")]), ("bytes-values-come",)),
        (lambda: pa.RunEndEncodedArray.from_arrays([10**6], ["x"]), ("bytes-values-come",)),
        (lambda: pa.ListViewArray.from_arrays([0] * 99, [5] * 99, pa.array(range(5))), ("column-type-isnt",)),
        (union, ("column-type-isnt",)),
    ],
)
def test_arrow_whose_values_come_to_far_more_is_refused(tmp_path, small, make, words):
    batch = pa.record_batch({"a": make()})
    with pa.OSFile(str(tmp_path / "x.arrow"), "wb") as sink, pa.ipc.new_file(sink, batch.schema) as out:
        out.write_batch(batch)
    with raises(DataError, *words):
        arrow.parse(str(tmp_path / "x.arrow"))


def test_the_same_text_in_a_dictionary_stays_one(tmp_path, small):
    batch = pa.record_batch({"a": pa.array([LONG] * 500).dictionary_encode(), "b": range(500)})
    with pa.OSFile(str(tmp_path / "x.arrow"), "wb") as sink, pa.ipc.new_file(sink, batch.schema) as out:
        out.write_batch(batch)
    assert len(arrow.parse(str(tmp_path / "x.arrow"))) == 500
