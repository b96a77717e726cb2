"""Opening sources: what is loaded, and in which form. Every kind of file is in test_margins."""

import gzip

import duckdb
import pandas as pd
import pyarrow as pa
import pytest

from messages import raises
from sumwise.errors import DataError, UnknownName
from sumwise.io.formats.files import open_sheet
from sumwise.io.parsers import arrow


def test_plain_columns_come_as_numbers_and_ids_as_text(tmp_path):
    (tmp_path / "x.csv").write_text("id,n,code\n1,5,007\n2,6.5,008\n")
    sheet = open_sheet(tmp_path / "x.csv", ids=["id"])
    assert sheet.frame["n"].dtype == float
    assert sheet.frame["id"].tolist() == ["1", "2"]
    assert sheet.frame["code"].tolist() == ["007", "008"]
    assert sheet.decimal == "."


def test_only_the_columns_asked_for_are_loaded(tmp_path):
    (tmp_path / "x.csv").write_text("a,b,c\n1,x,3\n")
    pd.DataFrame({"a": [1], "b": ["x"]}).to_parquet(tmp_path / "x.parquet")
    assert list(open_sheet(tmp_path / "x.csv", ["c", "a"]).frame.columns) == ["a", "c"]
    assert list(open_sheet(tmp_path / "x.parquet", ["b"]).frame.columns) == ["b"]
    with raises(UnknownName, "there-is-no", "column", "d"):
        open_sheet(tmp_path / "x.csv", ["d"])


@pytest.mark.parametrize("option", [{"query": "SELECT 1"}, {"table": "t"}, {"params": [1]}])
def test_what_only_a_database_has_is_refused_for_a_file(tmp_path, option):
    (tmp_path / "x.csv").write_text("a\n1\n")
    with raises(DataError, "databases-none-leave"):
        open_sheet(tmp_path / "x.csv", **option)


def test_tables_of_other_schemas_are_called_by_both_names(tmp_path):
    with duckdb.connect(tmp_path / "x.duckdb") as con:
        con.execute("CREATE SCHEMA more; CREATE TABLE more.t AS SELECT 7 AS a; CREATE TABLE t AS SELECT 8 AS a")
    assert open_sheet(tmp_path / "x.duckdb", table="more.t").frame["a"].tolist() == [7]
    assert open_sheet(tmp_path / "x.duckdb", table="t").frame["a"].tolist() == [8]
    with raises(DataError, "holds-tables-say", 2, "t, more.t"):
        open_sheet(tmp_path / "x.duckdb")


def test_twin_columns_of_a_query_are_refused():
    with raises(DataError, "two-columns-called", "query", "a"):
        open_sheet("SELECT 1 AS a, 2 AS a")


def test_header_can_be_absent_and_sheets_pass_through(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("1,x\n2,y\n")
    sheet = open_sheet(path, header=False)
    assert sheet.frame.to_numpy().tolist() == [[1.0, "x"], [2.0, "y"]]
    assert sheet.row(1) == "row 2"
    assert open_sheet(sheet, ["c2"]) is not None
    with raises(UnknownName, "there-is-no", "column", "c3"):
        open_sheet(sheet, ["c3"])


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("inside", ["\n", "\r\n"])
def test_a_name_may_hold_a_line_break_of_another_kind(tmp_path, end, inside):
    rows = ["unit", f'"o{inside}ld"'], ["a", "2"], ["b", "3"]
    (tmp_path / "x.csv").write_bytes("".join(",".join(row) + end for row in rows).encode())
    sheet = open_sheet(tmp_path / "x.csv")
    assert sheet.frame[f"o{inside}ld"].tolist() == [2, 3]


def test_a_folder_is_called_a_folder_and_its_saved_file_is_named(tmp_path):
    with raises(DataError, "folder-files") as refused:
        open_sheet(tmp_path)
    assert "one of the files" in str(refused.value)
    (tmp_path / "tables.sumwise").touch()
    with raises(DataError, "folder-load-sumwise"):
        open_sheet(tmp_path)


@pytest.mark.parametrize("packed", [False, True])
def test_two_kinds_of_line_endings_are_named_or_read(tmp_path, packed):
    """Old DuckDBs read both kinds in one file; new ones refuse, and say nothing of lines."""
    path = tmp_path / ("votes.csv.gz" if packed else "votes.csv")
    data = b"precinct;yes;no\n" + b"".join(f"p{i};{i};{9 * i}\r\n".encode() for i in range(40))
    path.write_bytes(gzip.compress(data) if packed else data)
    try:
        found = open_sheet(path).frame["no"].astype(int).tolist()
    except DataError as error:
        found = str(error)
    assert found == [9 * i for i in range(40)] or "some lines end as on Windows and some as on Unix" in found


@pytest.mark.parametrize(("size", "error"), [(1_852_376_640, pa.ArrowInvalid), (7, MemoryError)])
def test_a_schema_larger_than_its_file_is_damage_and_not_a_lack_of_memory(size, error, tmp_path, monkeypatch):
    """What a process without that much to spare sees of a stream of 666 bytes that declares it."""

    def scarce(_):
        raise pa.ArrowMemoryError(f"malloc of size {size} failed")

    (tmp_path / "a.arrow").write_bytes(b"damaged ")
    monkeypatch.setattr(pa.ipc, "open_stream", scarce)
    with pytest.raises(error, match="declares 1,852,376,640 bytes" if error is not MemoryError else "malloc"):
        arrow.parse(str(tmp_path / "a.arrow"))
