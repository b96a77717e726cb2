"""Records of reports: every format gives the same, and nothing is rounded."""

import gzip
import json

import pandas as pd
import pytest

from messages import raises
from sumwise.errors import DataError, MissingExtra
from sumwise.io.formats import bucket_records as module
from sumwise.io.formats.bucket_records import bucket_records

BIG = 2**100 + 1
RECORDS = [{"bucket": str(BIG), "value": 12, "x": 1}, {"bucket": "7", "value": -3, "x": 2}]
EXPECTED = [(str(BIG), "12"), ("7", "-3")]


def csv_file(path):
    (path / "r.csv").write_text(f"bucket,value,x\n{BIG},12,1\n7,-3,2\n")
    return path / "r.csv"


def tsv_file(path):
    with gzip.open(path / "r.tsv.gz", "wt") as out:
        out.write(f"bucket\tvalue\n{BIG}\t12\n7\t-3\n")
    return str(path / "r.tsv.gz")


def json_file(path):
    (path / "r.json").write_text(json.dumps(RECORDS))
    return path / "r.json"


def json_object(path):
    (path / "r.json").write_text(json.dumps({"data": RECORDS}))
    return path / "r.json"


def json_lines(path):
    (path / "r.jsonl").write_text("\n".join(map(json.dumps, RECORDS)) + "\n\n")
    return path / "r.jsonl"


def parquet_file(path):
    pd.DataFrame(RECORDS).to_parquet(path / "r.parquet")
    return path / "r.parquet"


def avro_file(path):
    fastavro = pytest.importorskip("fastavro", reason="the extra 'avro' isn't installed")
    schema = {
        "type": "record",
        "name": "fact",
        "fields": [{"name": "bucket", "type": "string"}, {"name": "value", "type": "long"}],
    }
    with open(path / "r.avro", "wb") as out:
        fastavro.writer(out, schema, [{k: r[k] for k in ("bucket", "value")} for r in RECORDS])
    return path / "r.avro"


@pytest.mark.parametrize(
    "make",
    [csv_file, tsv_file, json_file, json_object, json_lines, parquet_file, avro_file, lambda _: pd.DataFrame(RECORDS)],
)
def test_every_format_gives_the_same_records(tmp_path, make):
    records = "data" if make is json_object else None
    found = bucket_records(make(tmp_path), ["bucket", "value"], records)
    assert [tuple(map(str, r)) for r in found] == EXPECTED


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("r.csv", "bucket\n1\n", ("record-no", 1, "value")),
        ("r.csv", "bucket,value\n1,2\n3\n", ("record-no", 2, "value")),
        ("r.json", "{", ("cant-read-complete|cant-read-file-complete",)),
        ("r.json", '{"data": []}', ("name-records",)),
        ("r.json", "3", ("holds-no-list",)),
        ("r.jsonl", "3\n", ("record-not-object", 1, 3)),
        ("r.avro", "nonsense", ("cant-read-complete|cant-read-file-complete",)),
        ("r.parquet", "nonsense", ("cant-read-complete|cant-read-file-complete",)),
        ("r.csv.gz", "nonsense", ("cant-read-complete|cant-read-file-complete",)),
        ("r.xml", "<a/>", ("unknown-ending-known",)),
    ],
)
def test_broken_reports_are_refused(tmp_path, name, content, words):
    (tmp_path / name).write_text(content)
    with raises(DataError, *words):
        bucket_records(tmp_path / name, ["bucket", "value"])


def test_field_of_the_records_that_is_not_there_is_named(tmp_path):
    with raises(DataError, "name-records", "rows"):
        bucket_records(json_object(tmp_path), ["bucket"], "rows")


def test_missing_values_in_a_frame_are_refused():
    frame = pd.DataFrame({"bucket": pd.array(["1", None], dtype="string")})
    with raises(DataError, "report-no-records", "bucket", 1, 2):
        bucket_records(frame, ["bucket"])


def test_absent_file_and_odd_source_are_refused():
    with raises(DataError, "no-file", "no.csv"):
        bucket_records("no.csv", ["bucket"])
    with raises(DataError, "report-type-path", "int"):
        bucket_records(3, ["bucket"])


def test_avro_without_its_package_names_the_extra(tmp_path, monkeypatch):
    def absent(package, extra=None):
        raise MissingExtra(package, hint=f"sumwise[{extra}]")

    (tmp_path / "r.avro").touch()
    monkeypatch.setattr(module, "require", absent)
    with pytest.raises(MissingExtra, match=r"sumwise\[avro\]"):
        bucket_records(tmp_path / "r.avro", ["bucket"])
