"""DuckDB: every kind of source is read in place, and nothing is left behind."""

import gzip
import os

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather
import pytest

from messages import raises
from sumwise import Domain, Tables
from sumwise.aggregate import aggregate, fit_encoding
from sumwise.aggregate.on_duckdb import DuckDBEngine
from sumwise.encoding import Encoding
from sumwise.errors import DataError, UnknownName
from sumwise.io.formats.files import open_sheet

FRAME = pd.DataFrame(
    {"Größe": ["s", "m", "it's", "s"] * 5, "n": [1, 2, 3, 4] * 5, "x": np.arange(20) % 3 == 0, "y": [0, 1] * 10}
)
ATTRIBUTES = ["Größe", "n", "x"]
EXPECTED = Tables.from_frame(FRAME, ATTRIBUTES, label="y")


def written_csv(path):
    FRAME.to_csv(path / "rows.csv", index=False)
    return path / "rows.csv"


def written_gzip(path):
    with gzip.open(path / "rows.csv.gz", "wt") as out:
        FRAME.to_csv(out, index=False)
    return str(path / "rows.csv.gz")


def written_tsv(path):
    FRAME.to_csv(path / "rows.tsv", index=False, sep="\t")
    return path / "rows.tsv"


def written_parquet(path):
    FRAME.to_parquet(path / "ro'ws.parquet")
    return path / "ro'ws.parquet"


def written_folder(path):
    FRAME[:7].to_parquet(path / "1.parquet")
    FRAME[7:].to_parquet(path / "2.parquet")
    return path


def written_glob(path):
    written_folder(path)
    return str(path / "*.parquet")


def written_arrow(path):
    pa.feather.write_feather(pa.Table.from_pandas(FRAME), path / "rows.feather")
    return path / "rows.feather"


def written_database(path):
    with duckdb.connect(str(path / "all.duckdb")) as con:
        con.register("f", FRAME)
        con.execute("CREATE TABLE only_one AS FROM f")
    return path / "all.duckdb"


def query(path):
    written_parquet(path)
    return f"SELECT * FROM '{path}/ro''ws.parquet';"


@pytest.mark.parametrize(
    "make",
    [
        written_csv,
        written_gzip,
        written_tsv,
        written_parquet,
        written_folder,
        written_glob,
        written_arrow,
        written_database,
        query,
        lambda _: FRAME,
        lambda _: FRAME.to_dict("list"),
        lambda _: pl.from_pandas(FRAME),
        lambda _: pl.from_pandas(FRAME).lazy(),
        lambda _: pa.Table.from_pandas(FRAME),
        lambda _: pa.dataset.dataset(pa.Table.from_pandas(FRAME)),
        lambda _: duckdb.from_df(FRAME),
    ],
)
def test_every_source_gives_the_same_tables(tmp_path, make):
    assert aggregate(make(tmp_path), ATTRIBUTES, label="y") == EXPECTED


def test_database_with_several_tables_needs_a_name(tmp_path):
    path = tmp_path / "two.db"
    with duckdb.connect(str(path)) as con:
        con.execute('CREATE TABLE "it\'s; DROP TABLE b; --" AS SELECT 1 AS a')
        con.execute("CREATE TABLE b AS SELECT 2 AS a")
    with raises(DataError, "holds-tables-say", 2):
        aggregate(path, ["a"], order=1)
    with raises(UnknownName, "no-table", "c"):
        aggregate(path, ["a"], order=1, table="c")
    assert aggregate(path, ["a"], order=1, table="it's; DROP TABLE b; --").domain.levels("a") == (1,)
    assert aggregate(path, ["a"], order=1, table="b").domain.levels("a") == (2,)


def test_database_is_not_written_to(tmp_path):
    path = written_database(tmp_path)
    before = path.read_bytes()
    aggregate(path, ATTRIBUTES)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("bad.parquet", b"PAR1 not really", ("cant-read-file-complete|cant-read-whole",)),
        ("bad.duckdb", b"nonsense" * 2000, ("cant-read-file-complete|cant-read-whole",)),
        ("bad.feather", b"nonsense", ("cant-read-file-complete|cant-read-whole",)),
        ("empty.csv", b"", ("there-is-no", "column", "a")),
    ],
)
def test_broken_files_are_refused(tmp_path, name, content, words):
    path = tmp_path / name
    path.write_bytes(content)
    with raises(DataError, *words):
        aggregate(path, ["a"], order=1)


def test_broken_query_is_refused():
    with raises(DataError, "cant-read-whole", "query"):
        aggregate("SELECT a FROM nowhere", ["a"], order=1)


def test_parquet_truncated_in_the_middle_is_refused_and_nothing_is_left(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "t"))
    (tmp_path / "t").mkdir()
    monkeypatch.setattr("tempfile.tempdir", None)
    path = tmp_path / "rows.parquet"
    pd.DataFrame({"a": np.random.default_rng(0).integers(0, 1000, 100_000)}).to_parquet(path)
    whole = bytearray(path.read_bytes())
    whole[2000:60_000] = bytes(58_000)  # the footer is whole, the pages aren't
    path.write_bytes(whole)
    with raises(DataError, "cant-read-whole"):
        aggregate(path, ["a"], order=1)
    assert os.listdir(tmp_path / "t") == []


def test_column_of_lists_is_refused():
    with raises(DataError, "column-holds-neither"):
        aggregate(pa.table({"a": [[1], [2]]}), ["a"], order=1)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (pa.table({"a": pa.array([2**63], pa.uint64())}), ("column-cant-turn", "a", "int64")),
        ("SELECT 170141183460469231731687303715884105727::HUGEINT AS a", ("level-no-engine",)),
        ("SELECT 1 AS a; DROP TABLE b", ("cant-read-not",)),
    ],
)
def test_odd_numbers_and_queries_are_refused(source, words):
    with raises(DataError, *words):
        aggregate(source, ["a"], order=1)


def test_options_that_duckdb_refuses_are_named():
    with raises(DataError, "duckdb-doesnt-start"):
        aggregate(FRAME, ["n"], order=1, memory_limit="lots")


def test_table_called_like_ours_is_read(tmp_path):
    with duckdb.connect(str(tmp_path / "x.duckdb")) as con:
        for name in ("sumwise_source", "sumwise_k0", "source"):
            con.execute(f"CREATE TABLE {name} AS SELECT '{name}' AS a")
    for name in ("sumwise_source", "source"):
        assert aggregate(tmp_path / "x.duckdb", ["a"], order=1, table=name).domain.levels("a") == (name,)


def test_dates_are_levels_as_text():
    frame = pd.DataFrame({"d": pd.to_datetime(["2020-01-02", "2020-01-01"])})
    assert aggregate(frame, ["d"], order=1).domain.levels("d") == ("2020-01-01 00:00:00", "2020-01-02 00:00:00")


def test_threads_and_memory_limit_are_passed_on():
    with DuckDBEngine(FRAME, ("n",), threads=1, memory_limit="300MB") as engine:
        found = engine.table("SELECT current_setting('threads') AS t, current_setting('memory_limit') AS m").to_pylist()
    assert found[0]["t"] == 1
    assert found[0]["m"].startswith("286")


def test_engine_takes_columns_that_differ_in_case_only(tmp_path):
    frame = pd.DataFrame({"a": [1, 2], "A": [3, 4], "á": [5, 6]})
    frame.to_parquet(tmp_path / "case.parquet")
    for source in (frame, tmp_path / "case.parquet"):
        assert aggregate(source, ["A", "a", "á"], order=1).domain.levels("A") == (3, 4)


def _odd_columns() -> dict:
    zoned = pd.to_datetime(["2020-01-01 00:00:00", "2021-05-05 12:30:01"]).tz_localize("Europe/Zurich")
    return {
        "times with a zone": pd.Series(zoned.repeat([2, 4])),
        "large doubles": pd.Series([1e17, 0.5, 1e300, 1e300, np.inf, -np.inf]),
        "unused categories": pd.Series(pd.Categorical(["hi", "lo", "lo", "hi", "lo", "lo"], ["lo", "mid", "hi"])),
        "booleans": pd.Series([True, False, True, True, False, False]),
        "nothing": pd.Series([None] * 6, dtype=object),
    }


ANY = ["levels", {"kind": "levels", "min_count": 2}]
TARGET, HASH, CUTS = {"kind": "target", "count_bins": 2}, {"kind": "hash"}, [0.5]
RULES = {
    "times with a zone": [*ANY, TARGET, HASH],
    "large doubles": [*ANY, TARGET, CUTS],
    "unused categories": [*ANY, TARGET, HASH],
    "booleans": [*ANY, TARGET, CUTS],
    "nothing": [*ANY, HASH],
}


@pytest.mark.parametrize(("name", "spec"), [(name, spec) for name, specs in RULES.items() for spec in specs])
def test_odd_columns_are_encoded_as_a_frame_is(name, spec, tmp_path):
    frame = pd.DataFrame({"x": _odd_columns()[name], "y": [0, 1, 1, 0, 1, 0], "part": [0, 0, 0, 1, 1, 1]})
    target = spec is TARGET
    told = {"label": "y"} if target else {}
    held = frame["part"] == 0
    rules = Encoding.fit(frame, {"x": spec}, **told, held_out=held.to_numpy() if target else None)
    frame.to_parquet(tmp_path / "rows.parquet")
    codes = rules.codes(frame[["x"]])["x"]
    for source in (frame, str(tmp_path / "rows.parquet")):
        counted = aggregate(source, ["x"], order=1, encoding=rules)["x"].counts
        assert np.array_equal(counted, np.bincount(codes, minlength=len(rules["x"].levels)))
    assert fit_encoding(frame, {"x": spec}, **told, held_out=[("part", "==", 0)] if target else None) == rules


def test_levels_that_no_type_holds_together_are_refused():
    with raises(DataError, "level-no-engine", 9007199254740993):
        aggregate({"x": [0.5]}, ["x"], order=1, domain=Domain({"x": [0.5, 2**53 + 1]}))


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "feather", "parquet"])
def test_names_that_differ_by_case_alone_stay_apart(ending, tmp_path):
    frame = pd.DataFrame(
        {"Group": ["x", "y", "y"], "group": [1, 2, 2], 'GROUP, "one"': ["p", "p", "q"], "n_1": [0, 1, 0]}
    )
    path = tmp_path / f"rows.{ending}"
    if ending == "feather":
        pyarrow.feather.write_feather(frame, path)
    elif ending == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if ending == "tsv" else ",")
    assert aggregate(path, list(frame), order=2) == Tables.from_frame(frame, list(frame), order=2)


@pytest.mark.parametrize(
    ("text", "names", "level"),
    [("'a','b c'\n1,x\n2,'y'\n1,'y'\n", ("a", "b c"), "y"), ("'a',b\n1,x\n2,'y'\n", ("'a'", "b"), "'y'")],
)
def test_single_quotes_are_read_as_in_sheets(tmp_path, text, names, level):
    """They quote where the whole header stands in them, and are signs like any other elsewhere."""
    path = tmp_path / "a.csv"
    path.write_text(text)
    counted = aggregate(str(path), list(names))
    assert tuple(counted.domain) == open_sheet(path).columns == names
    assert level in counted.domain.levels(names[1])


def test_latin_1_file_is_counted_as_init_reads_it(tmp_path):
    rows = "Gemeinde;Grösse;y\nZürich;1,5;1\nBern;2,5;0\nGenève;1,5;0\n"
    (tmp_path / "a.csv").write_bytes(rows.encode("latin-1"))
    (tmp_path / "b.csv").write_text(rows, encoding="utf-8")
    with pytest.warns(UserWarning, match="a.csv is not UTF-8 and was read as Latin-1: row 1 has 'Grösse'"):
        found = aggregate(tmp_path / "a.csv", ["Gemeinde", "Grösse"], label="y")
    assert found.domain.levels("Gemeinde") == ("Bern", "Genève", "Zürich")
    wanted = aggregate(tmp_path / "b.csv", ["Gemeinde", "Grösse"], label="y")
    assert found.domain == wanted.domain
    assert np.array_equal(found["Gemeinde", "Grösse"].label_sums, wanted["Gemeinde", "Grösse"].label_sums)
    packed = gzip.compress(rows.encode("cp1252"))
    (tmp_path / "c.csv.gz").write_bytes(packed)
    with pytest.warns(UserWarning, match="not UTF-8"):
        assert aggregate(tmp_path / "c.csv.gz", ["Gemeinde"], label="y", order=1).n == 3


def test_broken_utf_8_file_still_says_so(tmp_path):
    (tmp_path / "a.csv").write_text('a,y\n"x,1\nz,0\n', encoding="utf-8")
    with pytest.raises(DataError):
        aggregate(tmp_path / "a.csv", ["a", "b"], label="y")


def test_an_unknown_column_of_a_packed_file_is_still_named(tmp_path):
    path = tmp_path / "a.csv.gz"
    with duckdb.connect() as connection:
        connection.sql(f"COPY (SELECT 'Zürich' AS town, 1 AS y) TO '{path}' (FORMAT csv, COMPRESSION gzip)")
    with raises(DataError, "no-did-you", "column", "towm"):
        aggregate(path, ["towm"], label="y", order=1)


def test_packed_file_that_was_cut_is_refused(tmp_path):
    rows = "a,b,y\n" + "".join(f"{i % 7},{i % 5},{i % 2}\n" for i in range(4000))
    whole = gzip.compress(rows.encode())
    (tmp_path / "rows.csv.gz").write_bytes(whole[: len(whole) // 2])
    with raises(DataError, "cant-read-file"):
        aggregate(tmp_path / "rows.csv.gz", ["a", "b"], label="y")
