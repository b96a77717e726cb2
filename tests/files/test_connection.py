"""Nothing that stands in a file, or in its name, is ever run; a connection opens what the user named, and no more."""

import ast
import os
import re
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

from architecture import SOURCE
from messages import raises
from sumwise.aggregate import aggregate
from sumwise.errors import DataError
from sumwise.io.formats.connection import connect, expand_pattern, one_statement, reason
from sumwise.io.formats.files import open_sheet
from sumwise.io.formats.write import write_frame

HEADERS = ["it's", 'a"b', "a;b", "}", "new\nline", "a'': 'BIGINT'}) --", "c0", "sumwise_0", "-- x", "$1", "{}"]
NAMES = ["it's", 'a"b', "a;b", "x[1]", "a*b", "q?", "{a}", "$HOME", "c0=1"]


def payloads(path):
    """Texts that end the literal, the list or the call they might be pasted into, and write a file."""
    run = f"COPY (SELECT 42) TO '{path}'"
    for close in ("'", "a': 'BIGINT', 'n': 'BIGINT'}))", "a': 'BIGINT'})", "'})", '")', "\\'", "$$"):
        yield f"{close}; {run}; --"
    yield f"': 'BIGINT'}}); {run}; SELECT * FROM read_csv('x', columns={{'a"
    yield f"a') UNION ALL SELECT 1; {run}; --"


def csv_file(path, header, rows=((1, 2), (2, 2), (3, 5))):
    pd.DataFrame(rows, columns=[header, "n"]).to_csv(path, index=False)
    return path


def read_both(path, name):
    """Levels of a column by both ways in: aggregation, and the readers' sheets."""
    counted = aggregate(str(path), [name], order=1).domain.levels(name)
    sheet = open_sheet(path).frame[name]
    assert sorted(map(float, counted)) == sorted(sheet.astype(float).unique())
    return counted


@pytest.mark.parametrize("number", range(9))
def test_a_payload_in_a_header_or_a_column_name_is_a_name(tmp_path, number):
    """The attack of the audit: a header that closes the literal and copies a query's result to a file."""
    target = tmp_path / "written.csv"
    payload = list(payloads(target))[number]
    assert read_both(csv_file(tmp_path / "rows.csv", payload), payload) == (1, 2, 3)
    pd.DataFrame({payload: [1, 2, 3]}).to_parquet(tmp_path / "rows.parquet")
    assert read_both(tmp_path / "rows.parquet", payload) == (1, 2, 3)
    assert not target.exists()


@pytest.mark.slow
@pytest.mark.parametrize("number", range(9))
def test_a_payload_in_a_file_name_is_a_name(tmp_path, monkeypatch, number):
    monkeypatch.chdir(tmp_path)
    payload = list(payloads("written.csv"))[number]  # no folder in it: a file name has no slash
    for ending in ("csv", "parquet"):
        path = Path(f"{payload}.{ending}")
        frame = pd.DataFrame({"a": [1, 2, 3]})
        frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
        assert read_both(path, "a") == (1, 2, 3)
    write_frame(pd.DataFrame({payload: [1.5], "b": [2]}), Path(f"{payload}.tsv"))
    assert open_sheet(Path(f"{payload}.tsv")).columns == (payload, "b")
    assert not Path("written.csv").exists()


def more_payloads(path):
    """Nested and other alphabets' quotes, dollar quotes, comments, escapes, templates, and a very long name."""
    run = f"COPY (SELECT 42) TO '{path}'"
    closes = [
        "''''",
        "\u2019",
        "\u02bc'\u2018",
        "$x$'",
        "a'/*'",
        "*/'",
        "--'",
        "\\\\'",
        "\\u0027",
        "E'\\x27'",
        "`",
        "%27",
    ]
    yield from (f"{close}; {run}; -- /* $$ {close}" for close in closes)
    yield from ("'||chr(39)||'", "COLUMNS(*)", "rowid", "filename", "{{7*7}}", "<script>alert(1)</script>", "\u202eb")
    yield "x" * 70_000 + f"'; {run}; --"


def test_many_payloads_as_columns_of_one_file(tmp_path):
    target = tmp_path / "written.csv"
    frame = pd.DataFrame({name: [1, 2, 3] for name in more_payloads(target)})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_parquet(tmp_path / "rows.parquet")
    frame.to_feather(tmp_path / "rows.arrow")
    for path in (tmp_path / "rows.csv", tmp_path / "rows.parquet", tmp_path / "rows.arrow"):
        assert open_sheet(path).columns == tuple(frame)
        tables = aggregate(str(path), list(frame)[:12], order=1)
        assert [tables.domain.levels(name) for name in list(frame)[:12]] == [(1, 2, 3)] * 12
    assert not target.exists()


@pytest.mark.parametrize("header", HEADERS)
def test_odd_headers_just_work(tmp_path, header):
    assert aggregate(str(csv_file(tmp_path / "rows.csv", header)), [header], order=1).domain.levels(header) == (1, 2, 3)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_odd_file_names_just_work(tmp_path, name):
    folder = tmp_path / name
    folder.mkdir()
    decoy = tmp_path / re.sub(r"[\[\]*?]", "", name)  # what a pattern would find instead
    if not decoy.exists():
        csv_file(decoy.with_suffix(".csv"), "a", [(9, 9)])
    for place in (tmp_path / f"{name}.csv", folder / "rows.csv", folder / f"{name}.csv"):
        assert read_both(csv_file(place, "a"), "a") == (1, 2, 3)
    for place in (tmp_path / f"{name}.parquet", folder / "rows.parquet"):
        pd.DataFrame({"a": [1, 2, 3]}).to_parquet(place)
        assert set(aggregate(str(place), ["a"], order=1).domain.levels("a")) == {1, 2, 3}
        assert open_sheet(place).frame["a"].tolist() == [1, 2, 3]


def test_payloads_in_names_of_tables_are_names(tmp_path):
    target, path = tmp_path / "written.csv", tmp_path / "all.duckdb"
    names = list(payloads(target))
    with duckdb.connect(str(path)) as con:
        for i, name in enumerate(names):
            quoted = name.replace('"', '""')
            con.execute(f'CREATE TABLE "{quoted}" AS SELECT {i} AS "{quoted}"')
    for i, name in enumerate(names):
        assert aggregate(path, [name], order=1, table=name).domain.levels(name) == (i,)
        assert open_sheet(path, table=name).frame[name].tolist() == [i]
    assert not target.exists()


@pytest.mark.parametrize(
    "view",
    [
        "CREATE VIEW v AS FROM read_csv('{secret}')",
        "CREATE VIEW v AS FROM '{secret}'",
        "CREATE VIEW v AS FROM read_text('{secret}')",
        "CREATE VIEW v AS SELECT file AS a FROM glob('{folder}/*')",
        "CREATE MACRO m() AS TABLE FROM read_csv('{secret}'); CREATE VIEW v AS FROM m()",
        "CREATE VIEW v AS FROM query('FROM read_csv(''{secret}'')')",
    ],
)
def test_a_view_reads_no_other_file(tmp_path, view):
    secret, path = tmp_path / "secret.csv", tmp_path / "all.duckdb"
    secret.write_text("a,b\n7,7\n")
    with duckdb.connect(str(path)) as con:
        con.execute(view.format(secret=secret, folder=tmp_path))
    for read in (lambda: aggregate(path, ["a"], order=1, table="v"), lambda: open_sheet(path, table="v")):
        with raises(DataError, "cant-read|cant-read-6", "only files that you name") as caught:
            read()
        assert "7" not in str(caught.value).replace(str(tmp_path), "")
    with pytest.raises(DataError):
        open_sheet(path, query="SELECT * FROM v")


def test_a_view_of_its_own_tables_is_read(tmp_path):
    path = tmp_path / "all.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute("CREATE TABLE t AS SELECT 3 AS a")
        con.execute("CREATE VIEW v AS SELECT a + 1 AS a FROM t")
    assert aggregate(path, ["a"], order=1, table="v").domain.levels("a") == (4,)
    assert open_sheet(path, table="v").frame["a"].tolist() == [4]


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT 1 AS a; COPY (SELECT 42) TO '{target}'",
        "FROM (SELECT 1 AS a); ATTACH '{target}'",
        "SELECT 1 AS a; SELECT 2 AS a",
        "WITH q AS (SELECT 1 AS a) SELECT * FROM q; INSTALL httpfs",
        "SELECT 1 AS a) LIMIT 0; COPY (SELECT 42) TO '{target}'; SELECT * FROM (SELECT 1 AS a",
    ],
)
def test_a_query_is_one_select(tmp_path, statement):
    target = tmp_path / "written.csv"
    for read in (lambda q: aggregate(q, ["a"], order=1), open_sheet):
        with raises(DataError, "cant-read-2|cant-read-not"):
            read(statement.format(target=target))
    assert not target.exists()


def test_a_query_opens_the_files_it_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    csv_file("one.csv", "a")
    (tmp_path / "many").mkdir()
    for i in range(3):
        pd.DataFrame({"a": [i + 1]}).to_parquet(tmp_path / "many" / f"{i}.parquet")
    queries = [
        "SELECT * FROM 'one.csv'",
        f"FROM read_csv('{tmp_path}/one.csv', header = true) -- with a comment",
        "SELECT * FROM 'many/*.parquet'",
        "FROM read_parquet(['many/0.parquet', 'many/1.parquet', 'many/2.parquet'])",
        "WITH q AS (FROM 'many/**/*.parquet') SELECT * FROM q WHERE EXISTS (FROM 'one.csv');",
    ]
    for query in queries:
        assert aggregate(query, ["a"], order=1).domain.levels("a") == (1, 2, 3)
        assert sorted(open_sheet(query).frame["a"]) == [1, 2, 3]
    read = open_sheet("SELECT * FROM read_csv($path)", params={"path": str(tmp_path / "one.csv")})
    assert read.frame["a"].tolist() == [1, 2, 3]


def test_what_a_file_holds_opens_no_other_file(tmp_path):
    (tmp_path / "secret.csv").write_text("a\n7\n")
    (tmp_path / "list.csv").write_text(f"a\n{tmp_path}/secret.csv\n")
    query = f"SELECT * FROM read_text((SELECT a FROM '{tmp_path}/list.csv'))"
    for read in (lambda q: aggregate(q, ["content"], order=1), open_sheet):
        with raises(DataError, "cant-read-2|cant-read-whole"):
            read(query)


@pytest.mark.parametrize("url", ["https://127.0.0.1:9/x.csv", "s3://bucket/x.parquet", "hf://datasets/x.csv"])
def test_a_query_opens_no_url(url):
    """An address that the user gives as the source is reached by fsspec, where it can be; DuckDB reaches none."""
    for read in (lambda q: aggregate(q, ["a"], order=1), open_sheet):
        with raises(DataError, "query-reads-url"):
            read(f"SELECT * FROM '{url}'")
        with connect() as con, pytest.raises(duckdb.Error):
            con.execute("SELECT * FROM read_text(?)", [url])


def test_a_connection_of_the_users_own_keeps_its_powers(tmp_path):
    csv_file(tmp_path / "rows.csv", "a")
    with duckdb.connect() as con:
        con.execute(f"CREATE VIEW v AS FROM '{tmp_path}/rows.csv'")
        assert open_sheet(con, table="v").frame["a"].tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    "statement",
    [
        "SET lock_configuration = false",
        "SET enable_external_access = true",
        "RESET allowed_paths",
        "INSTALL httpfs",
        "LOAD httpfs",
        "ATTACH 'other.duckdb'",
        "FROM read_text('/etc/hostname')",
        "FROM read_blob('/proc/self/environ')",
        "FROM glob('/*')",
        "COPY (SELECT 1) TO 'written.csv'",
        "EXPORT DATABASE 'written'",
        "FROM frame",
    ],
)
def test_a_connection_is_closed_to_all_else(tmp_path, monkeypatch, statement):
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({"a": [1]})
    named = csv_file(tmp_path / "rows.csv", "a")
    with connect([named]) as con:
        assert len(con.execute("FROM read_csv(?)", [str(named)]).fetchall()) == len(frame) + 2
        with pytest.raises(duckdb.Error):
            con.execute(statement)
    assert os.listdir(tmp_path) == ["rows.csv"]


def test_large_work_still_spills_to_its_folder(tmp_path):
    with connect(temp_directory=str(tmp_path), memory_limit="40MB", threads=1) as con:
        con.execute("CREATE TEMP TABLE big AS SELECT hash(range) AS h FROM range(4_000_000) ORDER BY h")
        assert any(p.name.startswith("duckdb_temp") for p in tmp_path.iterdir())


def test_only_one_statement_runs():
    with connect() as con, raises(DataError, "statements-run-time", 2):
        one_statement(con, "SELECT 1; SELECT 2")


def test_a_pattern_is_the_files_it_finds(tmp_path):
    for name in ("a[1].csv", "a1.csv", "b.csv"):
        (tmp_path / name).touch()
    assert [Path(p).name for p in expand_pattern(str(tmp_path / "*.csv"))] == ["a1.csv", "a[1].csv", "b.csv"]
    assert [Path(p).name for p in expand_pattern(str(tmp_path / "a[1].csv"))] == ["a[1].csv"]
    assert [Path(p).name for p in expand_pattern(str(tmp_path / "a[0-9].csv"))] == ["a1.csv"]


def test_reason_of_nothing_is_the_kind_of_error():
    assert reason(ValueError()) == "ValueError"


def test_csv_files_read_together_have_the_same_columns(tmp_path):
    (tmp_path / "1.csv").write_text("a,b\n1,x\n2,y\n")
    (tmp_path / "2.csv").write_text("b,a\nx,1\ny,2\n")
    with raises(DataError, "columns-files-read", "a', 'b", "b', 'a"):
        aggregate(str(tmp_path / "*.csv"), ["a"], order=1)
    (tmp_path / "2.csv").write_text("a,b\n3,x\n")
    counts = aggregate(str(tmp_path / "*.csv"), ["a"], order=1)["a"].counts
    assert np.array_equal(counts, [1, 1, 1])


def test_a_folder_called_like_a_column_of_ours_changes_nothing(tmp_path):
    for key in ("c0=9", "sumwise_0=9"):
        (tmp_path / key).mkdir()
        assert open_sheet(csv_file(tmp_path / key / "rows.csv", "a")).frame["a"].tolist() == [1, 2, 3]
        assert aggregate(tmp_path / key / "rows.csv", ["a"], order=1).domain.levels("a") == (1, 2, 3)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of Unix")
@pytest.mark.parametrize("pattern", ["p.csv", "*.csv", "p.parquet", "p.arrow", "p.duckdb", "link.csv"])
def test_a_pipe_or_a_device_is_refused_rather_than_waited_for(tmp_path, pattern):
    for name in ("p.csv", "p.parquet", "p.arrow", "p.duckdb"):
        os.mkfifo(tmp_path / name)
    (tmp_path / "link.csv").symlink_to("/dev/zero")
    for read in (lambda path: aggregate(str(path), ["a"], order=1), open_sheet):
        with raises(DataError, "no-file|no-file-check-path|pipe-device-copy"):
            read(tmp_path / pattern)


@pytest.mark.parametrize("name", ["a" * 5000 + ".csv", "a\0b.csv", "\ud800.csv"])
def test_a_name_that_no_file_can_have_is_no_file(name):
    for read in (lambda path: aggregate(path, ["a"], order=1), open_sheet):
        with raises(DataError, "no-file|no-file-check-path"):
            read(name)


def test_tables_of_any_schema_are_found_by_both_ways_in(tmp_path):
    with duckdb.connect(str(tmp_path / "all.duckdb")) as con:
        con.execute(
            """CREATE SCHEMA "it's"; CREATE TABLE "it's"."a""b" AS SELECT 7 AS a; CREATE TABLE t AS SELECT 1 AS a"""
        )
    name = """it's.a"b"""
    assert aggregate(tmp_path / "all.duckdb", ["a"], order=1, table=name).domain.levels("a") == (7,)
    assert open_sheet(tmp_path / "all.duckdb", table=name).frame["a"].tolist() == [7]


def test_duckdb_is_opened_in_one_place_only():
    """Every other module asks `connect`; `duckdb.sql` and friends would use a connection that nobody closed."""
    calls = []
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text()
        for node in ast.walk(ast.parse(text if "duckdb" in text else "")):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "duckdb":
                calls += [(path.relative_to(SOURCE).as_posix(), node.attr)]
    assert {c for c in calls if c[1] not in ("Error", "IOException")} == {("io/formats/connection.py", "connect")}
    assert ("aggregate/on_duckdb.py", "Error") in calls
