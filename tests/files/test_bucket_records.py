"""Records of reports: every format gives the same, and nothing is rounded."""

import gzip
import json

import pandas as pd
import pytest

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
        ("r.csv", "bucket\n1\n", "record 1 has no 'value'"),
        ("r.csv", "bucket,value\n1,2\n3\n", "record 2 has no 'value'"),
        ("r.json", "{", "can't be read"),
        ("r.json", '{"data": []}', "no list of records"),
        ("r.json", "3", "contains no list"),
        ("r.jsonl", "3\n", "record 1 is not an object: 3"),
        ("r.avro", "nonsense", "can't be read"),
        ("r.parquet", "nonsense", "can't be read"),
        ("r.csv.gz", "nonsense", "can't be read"),
        ("r.xml", "<a/>", "unknown ending"),
    ],
)
def test_broken_reports_are_refused(tmp_path, name, content, words):
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match=words):
        bucket_records(tmp_path / name, ["bucket", "value"])


def test_field_of_the_records_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DataError, match="has no field 'rows'"):
        bucket_records(json_object(tmp_path), ["bucket"], "rows")


def test_missing_values_in_a_frame_are_refused():
    frame = pd.DataFrame({"bucket": pd.array(["1", None], dtype="string")})
    with pytest.raises(DataError, match="no 'bucket' in 1 of 2 records"):
        bucket_records(frame, ["bucket"])


def test_absent_file_and_odd_source_are_refused():
    with pytest.raises(DataError, match=r"There is no file 'no.csv'"):
        bucket_records("no.csv", ["bucket"])
    with pytest.raises(DataError, match="The report is of type int"):
        bucket_records(3, ["bucket"])


def test_avro_without_its_package_names_the_extra(tmp_path, monkeypatch):
    def absent(package, extra=None):
        raise MissingExtra(package, hint=f"sumwise[{extra}]")

    (tmp_path / "r.avro").touch()
    monkeypatch.setattr(module, "require", absent)
    with pytest.raises(MissingExtra, match=r"sumwise\[avro\]"):
        bucket_records(tmp_path / "r.avro", ["bucket"])
