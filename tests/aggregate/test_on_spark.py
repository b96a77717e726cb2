"""Spark: its sources, its session, what it says when it can't start; test_rows_to_tables tests the counting."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from messages import raises
from sumwise import Tables
from sumwise.aggregate import aggregate, on_spark
from sumwise.errors import DataError, MissingExtra
from sumwise.spark import spark_session

FRAME = pd.DataFrame({"a": ["x", "it's", "x"], "b": [1, 2, 2], "y": [0, 1, 1]})
EXPECTED = Tables.from_frame(FRAME, ["a", "b"], label="y")


def test_spark_that_is_not_installed_says_so(monkeypatch):
    def absent(module, extra=None):
        raise MissingExtra(f"This needs the package {module!r}, which isn't installed.", hint=f"sumwise[{extra}]")

    monkeypatch.setattr(on_spark, "require", absent)
    with pytest.raises(MissingExtra, match=r"pyspark.*sumwise\[spark\]"):
        aggregate(FRAME, ["a", "b"], engine="spark")


def test_spark_reads_no_database():
    with raises(DataError, "spark-reads-no"):
        aggregate(FRAME, ["a", "b"], engine="spark", table="t")


@pytest.mark.spark
def test_spark_frame_csv_and_session(spark, tmp_path):
    given = spark.createDataFrame(FRAME.to_dict("records"))
    assert aggregate(given, ["a", "b"], label="y", engine="spark", counting="sql") == EXPECTED
    FRAME.to_csv(tmp_path / "rows.csv", index=False)
    path = tmp_path / "rows.csv"
    assert aggregate(path, ["a", "b"], label="y", engine="spark", counting="sql", session=spark) == EXPECTED
    assert spark.catalog.listTables() == []
    with raises(DataError, "spark-session-active", "local"):
        spark_session("local[2]")
    (tmp_path / "rows.feather").touch()
    with raises(DataError, "format-spark-doesnt"):
        aggregate(tmp_path / "rows.feather", ["a"], order=1, engine="spark")


@pytest.mark.spark
def test_command_line_counts_on_spark(spark, tmp_path, monkeypatch, capsys):
    from sumwise.cli import main
    from sumwise.io.formats.tables_folder import read_tables_folder

    monkeypatch.chdir(tmp_path)
    FRAME.to_parquet("rows.parquet")
    arguments = ["--label", "y", "--out", "tables", "--engine", "spark", "--master", "local[1]"]
    assert main(["aggregate", "rows.parquet", *arguments]) == 0
    assert read_tables_folder("tables") == EXPECTED
    assert "Counting rows: 3/3" in capsys.readouterr().err


def test_condition_that_reads_like_our_own_sql_is_only_text():
    value = "x FROM sumwise_source AS s LEFT JOIN sumwise_k0 ON TRUE"
    frame = pd.DataFrame({"a": [value, "y"], "b": [1, 2]})
    assert aggregate(frame, ["b"], order=1, where=[("a", "==", value)])["b"].counts.tolist() == [1]


@pytest.mark.parametrize(
    ("sizes", "expected"), [([3, 0, 4], [7]), ([6, 6, 1], [6, 6, 1]), ([], []), ([2, 2, 2], [4, 2])]
)
def test_small_batches_are_gathered(sizes, expected):
    batches = [pa.record_batch({"a0": pa.array(np.full(n, i, dtype=np.int16))}) for i, n in enumerate(sizes)]
    found = list(on_spark._gathered(iter(batches), rows=4))
    assert [len(f["a0"]) for f in found] == expected
    together = np.concatenate([f["a0"] for f in found]) if found else np.array([])
    assert together.tolist() == np.repeat(np.arange(len(sizes)), sizes).tolist()


def test_part_counts_and_tells_of_codes_without_a_level():
    part = on_spark._Part([(0,)], [3], None, False)
    fine = pa.record_batch({"a0": pa.array([0, 2, 2], pa.int16()), "y": pa.array([1, 0, 1], pa.int32())})
    (out,) = part(iter([fine]))
    assert out.to_pydict() == {"cell": [0, 2], "n": [1, 2], "s": [1, 1]}
    (bad,) = part(iter([pa.record_batch({"a0": pa.array([0, -1], pa.int16())})]))
    assert bad.to_pydict()["cell"] == [-1]
    assert list(part(iter([]))) == []


def test_failure_of_a_worker_names_the_missing_package():
    engine = on_spark.SparkEngine.__new__(on_spark.SparkEngine)
    engine.what = "the frame"
    error = engine._failure("[PYTHON_EXCEPTION] An exception\nModuleNotFoundError: No module named 'numba'\n at")
    assert "No module named 'numba'" in str(error)
    assert "counting='sql'" in str(error)


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        ('org.apache.hadoop.fs.UnsupportedFileSystemException: No FileSystem for scheme "s3"', "hadoop-aws"),
        ("java.lang.ClassNotFoundException: Class org.apache.hadoop.fs.s3a.S3AFileSystem not found", "engine='duckdb'"),
        ("java.net.ConnectException: Call From a to b:8020 failed: Connection refused", "the network and the rights"),
        ("[PATH_NOT_FOUND] Path does not exist: hdfs://b/x.parquet", "every worker must see it"),
        ("org.apache.spark.SparkException: Job aborted due to stage failure: ExecutorLostFailure", "own logs say more"),
        ("java.io.IOException: not a Parquet file", "is it whole"),
    ],
)
def test_failures_of_an_address_have_their_own_hint(said, hint):
    engine = on_spark.SparkEngine.__new__(on_spark.SparkEngine)
    engine.what = "the file 's3a://b/x.parquet'"
    error = engine._failure(f"An error occurred while calling o44.parquet.\n: {said}\n\tat x")
    assert said in str(error)
    assert hint in error.hint


@pytest.mark.spark
def test_spark_reads_a_latin_1_file_as_duckdb_does(spark, tmp_path):
    (tmp_path / "rows.csv").write_bytes("town,y\nZürich,1\nBern,0\n".encode("latin-1"))
    with pytest.warns(UserWarning, match="not UTF-8 and was read as Latin-1"):
        found = aggregate(tmp_path / "rows.csv", ["town"], "y", order=1, engine="spark", counting="sql", session=spark)
    assert found.domain.levels("town") == ("Bern", "Zürich")


def test_files_of_a_pattern_are_not_taken_for_utf_8(tmp_path):
    for name, town, encoding in (("a1", "Zürich", "latin-1"), ("a2", "Genève", "latin-1"), ("b1", "Zürich", "utf-8")):
        (tmp_path / f"{name}.csv").write_bytes(f"town,y\n{town},1\n".encode(encoding))
    assert on_spark._csv_encoding(str(tmp_path / "b*.csv")) == "UTF-8"
    with pytest.warns(UserWarning, match="a[12].csv is not UTF-8"):
        assert on_spark._csv_encoding(str(tmp_path / "a*.csv")) == "ISO-8859-1"
    with (
        pytest.warns(UserWarning, match="not UTF-8"),
        raises(DataError, "files-not-utf", 2, 3),
    ):
        on_spark._csv_encoding(str(tmp_path / "*.csv"))
