"""Sizes are found out before anything is read."""

import gzip
import zlib

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sumwise.errors import DataError
from sumwise.readers import sizes
from sumwise.readers.files import open_sheet
from sumwise.readers.sizes import check_packed, check_rows


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
    with pytest.raises(DataError, match="unpacks to more than"):
        check_packed(path)
    assert sum(asked) < 6 * 2**20  # of 16
    monkeypatch.undo()


def test_bomb_in_a_later_part_is_refused(tmp_path, small):
    path = tmp_path / "x.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n1,2\n") + gzip.compress(b"1,2\n" * 2**22))
    with pytest.raises(DataError, match="unpacks to more than"):
        open_sheet(path)


def test_ordinary_and_damaged_files_pass(tmp_path, small):
    frame = pd.DataFrame({"a": range(20_000)})
    frame.to_csv(tmp_path / "x.csv.gz", index=False)
    check_packed(tmp_path / "x.csv.gz")
    assert len(open_sheet(tmp_path / "x.csv.gz").frame) == 20_000
    (tmp_path / "y.csv.gz").write_bytes((tmp_path / "x.csv.gz").read_bytes()[:3000] + bytes(9000))
    check_packed(tmp_path / "y.csv.gz")
    with pytest.raises(DataError, match="can't be read"):
        open_sheet(tmp_path / "y.csv.gz")


def test_rows_that_no_memory_holds_are_refused(tmp_path, monkeypatch):
    check_rows("x", 10**6, 10)
    monkeypatch.setattr(sizes, "_memory", lambda: 1e6)
    pq.write_table(pa.table({"a": pa.array([1.0] * 200_000)}), tmp_path / "x.parquet")
    with pa.OSFile(str(tmp_path / "x.arrow"), "wb") as sink, pa.ipc.new_file(sink, pa.schema({"a": pa.null()})) as out:
        out.write_batch(pa.record_batch({"a": pa.nulls(10**6)}))
    for name in ("x.parquet", "x.arrow"):
        with pytest.raises(DataError, match="more than fit in memory"):
            open_sheet(tmp_path / name)
