"""Margins from files: both shapes, every kind of file, every kind of mess."""

import gzip
from contextlib import suppress

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from messages import raises
from sumwise import Margins
from sumwise.errors import DataError, SumwiseError, UnknownName
from sumwise.io.formats import read_margins, write_margins

WIDE = "precinct,black,white,yes,no\n01,10,30,25,15\n02,5,5,4,6\n"
SIDES = {"rows": ["black", "white"], "cols": ["yes", "no"]}


def put(path, text, encoding="utf-8"):
    path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
    return path


def read(tmp_path, text, name="x.csv", **options):
    options = {**SIDES, "unit": "precinct", **options}
    return read_margins(put(tmp_path / name, text), **options)


def same(margins):
    assert margins.rows.tolist() == [[10, 30], [5, 5]]
    assert margins.cols.tolist() == [[25, 15], [4, 6]]
    return margins


def test_wide_csv_keeps_ids_as_written(tmp_path):
    margins = same(read(tmp_path, WIDE))
    assert margins.units.tolist() == ["01", "02"]
    assert margins.row_names == ("black", "white")


@pytest.mark.parametrize(
    "text",
    [
        b"\xef\xbb\xbf" + WIDE.encode(),
        WIDE.replace("\n", "\r\n").encode(),
        WIDE.replace(",", ";").encode(),
        WIDE.replace(",", "\t").encode(),
        WIDE.replace(",", "|").encode(),
        b"sep=;\n" + WIDE.replace(",", ";").encode(),
        (WIDE + "\n\n\n").encode(),
        ("\n\n" + WIDE).encode(),
        WIDE.rstrip("\n").encode(),
        WIDE.replace("10", '"10"').replace("30", " 30 ").encode(),
        WIDE.encode("utf-16"),
        gzip.compress(WIDE.encode(), mtime=0),
        WIDE.replace("precinct,black", " precinct , black ").encode(),
    ],
)
def test_wide_csv_reads_what_is_clear(tmp_path, text):
    same(read(tmp_path, text))


def test_gzip_file_by_its_ending(tmp_path):
    same(read(tmp_path, gzip.compress(WIDE.encode()), name="x.csv.gz"))


def test_a_path_with_pattern_characters_is_a_path(tmp_path):
    same(read(tmp_path, WIDE, name="a[1]*.csv"))
    frame = pd.DataFrame({"precinct": ["a"], "black": [1], "white": [2], "yes": [3], "no": [0]})
    frame.to_parquet(tmp_path / "a[1].parquet")
    assert read_margins(tmp_path / "a[1].parquet", **SIDES).rows.tolist() == [[1, 2]]


def test_latin_1_and_cp1252_are_read_and_other_bytes_asked_for(tmp_path):
    assert read(tmp_path, WIDE.replace("01", "Zürich").encode("latin-1")).units[0] == "Zürich"
    text = WIDE.replace("02", "O\u2019Brien").encode("cp1252")
    for encoding in (None, "cp1252"):
        assert read(tmp_path, text, encoding=encoding).units[1] == "O\u2019Brien"
    with raises(DataError, "neither-utf-nor", 3):
        read(tmp_path, WIDE.replace("02", "Café").encode("mac_roman"))


def test_hostile_names_and_values_survive(tmp_path):
    evil = "'; DROP TABLE x; --"
    frame = pd.DataFrame({evil: ['a"b', "é,ü"], '"': [1, 2], "b": [3, 4], "c": [1, 2], "$1": [3, 4]})
    frame.to_csv(tmp_path / "x.csv", index=False)
    frame.to_parquet(tmp_path / "x.parquet")
    for name in ("x.csv", "x.parquet"):
        margins = read_margins(tmp_path / name, rows=['"', "b"], cols=["c", "$1"], unit=evil)
        assert margins.units.tolist() == ['a"b', "é,ü"]
        assert margins.row_names == ('"', "b")


def test_numbers_as_people_write_them(tmp_path):
    text = 'p,a,b,y,n\nx,"1,234","2,000","3,000",234\n'
    margins = read_margins(put(tmp_path / "x.csv", text), rows=["a", "b"], cols=["y", "n"])
    assert margins.rows.tolist() == [[1234, 2000]]
    german = "p;a;b;n\nx;12,5%;87,5%;1.234,5\ny;50%;50%;10\n"
    rows, cols = {"a": "a", "rest": None}, {"b": "b", "rest": None}
    margins = read_margins(put(tmp_path / "y.csv", german), rows=rows, cols=cols, total="n")
    assert margins.totals.tolist() == [1234.5, 10]
    assert margins.row_shares[0].tolist() == [0.125, 0.875]


def test_a_number_with_two_readings_is_refused_until_told(tmp_path):
    text = "p;a;b\nx;1.234;1.234\n"
    path = put(tmp_path / "x.csv", text)
    with raises(DataError, "little-over-say", "1.234", 1, 1234):
        read_margins(path, rows=["a"], cols=["b"])
    assert read_margins(path, rows=["a"], cols=["b"], decimal=",").totals.tolist() == [1234]
    assert read_margins(path, rows=["a"], cols=["b"], decimal=".").totals.tolist() == [1.234]
    with raises(DataError, "decimal-leave-out", "x"):
        read_margins(path, rows=["a"], cols=["b"], decimal="x")


@pytest.mark.parametrize("separator", [",", "\t"])
def test_columns_of_one_file_share_a_style(tmp_path, separator):
    text = 'votes|share|n\n1.234|"12,5%"|1.234\n'.replace("|", separator)
    sides = {"rows": {"a": "share", "b": None}, "cols": ["votes"], "total": "n"}
    assert read_margins(put(tmp_path / "x.csv", text), **sides).rows.tolist() == [[154.25, 1079.75]]
    clear = 'votes|share|n\n1.234|"12,5%"|1.5\n'.replace("|", separator)
    with raises(DataError, "rows-first-correct-say", "is not a number"):
        read_margins(put(tmp_path / "x.csv", clear), **sides)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ("empty-file-header",)),
        ("\n \n", ("empty-file-header",)),
        ("precinct,black,white,yes,no\n", ("columns-no-rows",)),
        (WIDE.replace("5,5,4", "5,,4"), ("column-rows-first-fill", "white", "is missing", 1, 2, 3)),
        (WIDE.replace("5,5,4", "5, ,4"), ("column-rows-first-fill", "white", "is missing", 1, 2, 3)),
        (WIDE.replace("5,5,4", "5,x5,4"), ("rows-first-correct-say", "white", 1, 2, 3, "x5")),
        (WIDE.replace("5,5,4", "5,NA,4"), ("column-rows-first-fill", "white", "is missing", 1, 2, 3)),
        (WIDE.replace("5,5,4", "5,-5,4"), ("column-rows-first-counts", "white", "is negative", 1, 2, 3)),
        (WIDE.replace("5,5,4", "5,1e999,4"), ("column-rows-first-correct-such", "white", "is infinite", 1, 2, 3)),
        (WIDE.replace("5,5,4", "5%,5,4"), ("rows-first-correct-say", "black", "has")),
        (WIDE.replace("5,5,4", "5,4"), ("rows-too-few", 3, 4, 5)),
        (WIDE.replace("5,5,4", "5,5,5,4"), ("rows-too-few", 3, 6, 5)),
        (WIDE.replace("5,5,4", '5,"5,4'), ("row-cant-read", 3)),
        (WIDE.replace("5,5,4", "5,5,5"), ("units-first-unit",)),
        (WIDE.replace("02", "01"), ("rows-first-each-unit", "precinct", "01", 1, 2, "row 3")),
        (WIDE.replace("02", ""), ("rows-first-fill", "precinct", 1, 2, "row 3")),
        (WIDE.replace("white", "black"), ("two-columns-called-columns", "black", 2, 3)),
        (WIDE.replace("white", "wight"), ("no-did-you", "column", "white")),
        ("a,b;c,d\n", ("may-separated-say", "comma and semicolon")),
    ],
)
def test_wide_csv_refuses_with_file_column_and_row(tmp_path, text, message):
    with raises(DataError, *message) as caught:
        read(tmp_path, text)
    assert "x.csv" in str(caught.value)


def test_rows_are_counted_as_a_person_does(tmp_path):
    text = 'precinct,black,white,yes,no\n"two\nlines",10,30,25,15\n\n03,5,bad,4,6\n'
    with raises(DataError, "column-rows-first-correct", 5, "bad"):
        read(tmp_path, text)
    with raises(DataError, "column-rows-first-correct", 4, "bad"):
        read(tmp_path, "sep=,\n" + WIDE.replace("5,5,4", "5,bad,4"))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, dict])
def test_frames_go_in(make):
    source = make({"p": ["01", "02"], "a": ["1,234.0", "5"], "b": [1.0, 2.0], "y": [1235.0, 7.0]})
    margins = read_margins(source, rows=["a", "b"], cols=["y"], unit="p")
    assert margins.totals.tolist() == [1235, 7]
    assert margins.units.tolist() == ["01", "02"]


def test_a_frame_counts_rows_from_zero():
    with raises(DataError, "column-rows-first-fill", "frame", "a", "is missing", 1, 2, 0):
        read_margins({"a": [1.0, None], "b": [1.0, 2.0]}, rows=["a"], cols=["b"])


@pytest.mark.parametrize("ending", ["parquet", "feather", "arrow"])
def test_typed_files(tmp_path, ending):
    frame = pd.DataFrame({"p": ["01", "02"], "a": [1, 2], "b": ["1", "2"]})
    path = tmp_path / f"x.{ending}"
    frame.to_parquet(path) if ending == "parquet" else frame.to_feather(path)
    margins = read_margins(path, rows=["a"], cols=["b"], unit="p")
    assert margins.units.tolist() == ["01", "02"]
    assert margins.totals.tolist() == [1, 2]
    frame.assign(a=[1.0, None]).to_parquet(tmp_path / "y.parquet")
    with raises(DataError, "column-rows-first-fill", "a", "is missing", 1, 2):
        read_margins(tmp_path / "y.parquet", rows=["a"], cols=["b"])


@pytest.mark.parametrize("dates", [pd.to_datetime(["2020-01-01"]), [True], [[1]], [b"x"], [{"a": 1}]])
def test_columns_that_hold_no_numbers(tmp_path, dates):
    pd.DataFrame({"a": dates, "b": [1]}).to_parquet(tmp_path / "x.parquet")
    with raises(DataError, "column-holds-not|column-holds-true|rows-first-turn-into", "a"):
        read_margins(tmp_path / "x.parquet", rows=["a"], cols=["b"])


def test_arrow_stream_files(tmp_path):
    table = pa.table({"a": [1.0], "b": [1.0]})
    with pa.OSFile(str(tmp_path / "x.arrow"), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    assert read_margins(tmp_path / "x.arrow", rows=["a"], cols=["b"]).totals.tolist() == [1]


@pytest.mark.parametrize("ending", ["csv.gz", "parquet", "arrow", "duckdb", "feather"])
@pytest.mark.parametrize("body", [b"", b"\x1f\x8b\x08garbage", b"PAR1 not really", b"\x00" * 50])
def test_files_that_arent_what_they_say(tmp_path, ending, body):
    with raises(
        DataError,
        "cant-read|cant-read-2|cant-read-file|cant-read-file-complete|columns-no-rows|contains-zero-bytes|empty-file-header",
    ):
        read_margins(put(tmp_path / f"x.{ending}", body), rows=["a"], cols=["b"])


def test_twin_columns_of_typed_files(tmp_path):
    table = pa.Table.from_arrays([pa.array([1.0])] * 3, names=["a", "b", "a"])
    with pa.OSFile(str(tmp_path / "x.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    with raises(DataError, "two-columns-called", "a"):
        read_margins(tmp_path / "x.arrow", rows=["a"], cols=["b"])
    with raises(DataError, "two-columns-called", "a"):
        read_margins("select 1 a, 1 b, 2 a", rows=["a"], cols=["b"])


def test_names_that_differ_in_case_only(tmp_path):
    pd.DataFrame({"a": [1], "A": [2], "b": [3]}).to_parquet(tmp_path / "x.parquet")
    pd.DataFrame({"a": [1], "A": [2], "b": [3]}).to_csv(tmp_path / "x.csv", index=False)
    for name in ("x.parquet", "x.csv"):
        assert read_margins(tmp_path / name, rows=["a", "A"], cols=["b"]).rows.tolist() == [[1, 2]]


def test_database_files_and_queries(tmp_path):
    path = tmp_path / "x.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute("create table votes as select '01' p, 3 a, 3 b union all select '02', 4, 4")
    assert read_margins(path, rows=["a"], cols=["b"], unit="p").totals.tolist() == [3, 4]
    assert read_margins(path, rows=["a"], cols=["b"], table="votes").n_units == 2
    query = "select * from votes where p = ?"
    assert read_margins(path, rows=["a"], cols=["b"], query=query, params=["02"]).totals.tolist() == [4]
    with raises(UnknownName, "no-table", "nothing"):
        read_margins(path, rows=["a"], cols=["b"], table="nothing")
    with raises(DataError, "cant-read-not"):
        read_margins(path, rows=["a"], cols=["b"], query="drop table votes")
    with raises(DataError, "query-table-query"):
        read_margins(path, rows=["a"], cols=["b"], query=query, table="votes")
    with duckdb.connect(str(path)) as con:
        con.execute("create table more as select 1 a")
        assert read_margins(con, rows=["a"], cols=["b"], table="votes").n_units == 2
    with raises(DataError, "holds-tables-say", 2, "more, votes"):
        read_margins(path, rows=["a"], cols=["b"])


def test_sql_text(tmp_path):
    put(tmp_path / "x.csv", WIDE)
    query = f"select * from '{tmp_path / 'x.csv'}'"
    same(read_margins(query, **SIDES))
    with raises(DataError, "cant-read-2", "query", "Catalog"):
        read_margins("select * from nowhere", **SIDES)
    with raises(DataError, "two-queries-source"):
        read_margins(query, **SIDES, query=query)


@pytest.mark.parametrize("source", ["no.csv", "no\0.csv", "", 7, None, object(), ["a"]])
def test_sources_that_arent(source):
    with pytest.raises(DataError):
        read_margins(source, rows=["a"], cols=["b"])


def test_an_ending_that_says_nothing(tmp_path):
    with raises(DataError, "ending-sumwise-doesnt-read"):
        read_margins(put(tmp_path / "x.doc", WIDE), **SIDES)


def test_unknown_options_and_wrong_ones(tmp_path):
    path = put(tmp_path / "x.csv", WIDE)
    with raises(UnknownName, "no-option", "seperator"):
        read_margins(path, **SIDES, seperator=";")
    for options in ({"separator": ";;"}, {"encoding": "utf-99"}, {"encoding": "rot13"}):
        with pytest.raises(DataError):
            read_margins(path, **SIDES, **options)
    with raises(DataError, "rows-cols-go"):
        read_margins(path, rows=["black"])
    with raises(DataError, "list-columns-dict", "rows", "black"):
        read_margins(path, rows="black", cols=["yes"])
    with raises(DataError, "column-unit-number"):
        read_margins(path, **SIDES, unit="black")
    with raises(DataError, "long-names-columns"):
        read_margins(path, **SIDES, long={})
    with raises(DataError, "total-weight-covariates"):
        read_margins(path, total="n")


def test_wide_options_pass_through(tmp_path):
    text = "a,b,y,w,c\n6,4,8,2,-1.5\n1,1,2,1,0.5\n"
    path = put(tmp_path / "x.csv", text)
    margins = read_margins(path, rows=["a", "b"], cols=["y"], mismatch="no_vote", weight="w", covariates=["c"])
    assert margins.cols.tolist() == [[8, 2], [2, 0]]
    assert margins.weights.tolist() == [2, 1]
    assert margins.covariates[:, 0].tolist() == [-1.5, 0.5]


LONG = (
    "unit,side,option,votes\n1,row,a,3\n1,row,b,1\n1,col,a,2\n1,col,z,2\n2,row,a,0\n2,row,b,5\n2,col,a,4\n2,col,z,1\n"
)


def test_long_csv(tmp_path):
    margins = read_margins(put(tmp_path / "x.csv", LONG))
    assert margins.rows.tolist() == [[3, 1], [0, 5]]
    assert margins.cols.tolist() == [[2, 2], [4, 1]]
    assert margins.row_names == ("a", "b")
    assert margins.col_names == ("a", "z")
    assert margins.units.tolist() == ["1", "2"]


@pytest.mark.parametrize("convert", [lambda frame: frame, pl.from_pandas, pa.Table.from_pandas])
def test_long_options_that_are_whole_numbers_stay_so(convert):
    rows = {"unit": ["a"] * 4, "side": ["row", "row", "col", "col"], "option": [1, 2, 2, 7], "votes": [3, 1, 2, 2]}
    margins = read_margins(convert(pd.DataFrame(rows)))
    assert (margins.row_names, margins.col_names) == ((1, 2), (2, 7))
    with raises(DataError, "votes-no-row", 1, 4, 2, "b"):
        rows = {key: [*some, *some[:1], *some[2:]] for key, some in rows.items()}
        rows["unit"][4:] = ["b"] * 3
        read_margins(convert(pd.DataFrame(rows)))


def test_long_with_other_names(tmp_path):
    text = LONG.replace("unit,side,option,votes", "u,s,o,n").replace("row", "race").replace("col", "party")
    names = {"side": "s", "option": "o", "votes": "n", "row": "race", "col": "party"}
    assert read_margins(put(tmp_path / "x.csv", text), unit="u", long=names).rows.tolist() == [[3, 1], [0, 5]]
    with raises(UnknownName, "no-did-you", "key", "vote"):
        read_margins(tmp_path / "x.csv", long={"vote": "n"})
    with raises(DataError, "column-plays-two-parts"):
        read_margins(tmp_path / "x.csv", long={"votes": "unit"})
    with raises(DataError, "dict-such", "long", 3):
        read_margins(tmp_path / "x.csv", long=3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            LONG.replace("2,row,a,0\n", ""),
            ("votes-no-row", 1, 4, 6, "a", 2),
        ),
        (LONG + "2,col,z,1\n", ("rows-first-add", "a unit has two lines for one option", 1, 9, "row 10")),
        (
            LONG.replace("2,col,z", "2,side,z"),
            ("rows-first-say", "side", "row", "col", 1, 8, "row 9"),
        ),
        (LONG.replace("row", "col"), ("no-row-side-both", "row")),
        (LONG.replace("2,col,z,1", "2,col,z,9"), ("units-first-unit", 2)),
        (LONG.replace("2,col,z,1", "2,col,,1"), ("rows-first-fill", "option", 1, 8, "row 9")),
    ],
)
def test_long_csv_refuses(tmp_path, text, message):
    with raises(DataError, *message):
        read_margins(put(tmp_path / "x.csv", text))


def test_absent_lines_are_zero_when_told(tmp_path):
    margins = read_margins(put(tmp_path / "x.csv", LONG.replace("2,row,a,0\n", "")), absent="zero")
    assert margins.rows.tolist() == [[3, 1], [0, 5]]
    with raises(DataError, "is-takes", "absent", "none"):
        read_margins(tmp_path / "x.csv", absent="none")


@pytest.mark.parametrize("shape", ["long", "wide"])
@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv", "parquet", "arrow", "feather"])
def test_a_round_trip_keeps_every_bit(tmp_path, shape, ending):
    rng = np.random.default_rng(0)
    rows = rng.random((5, 3)) * 1000
    cols = rows.sum(axis=1, keepdims=True) * rng.dirichlet(np.ones(2), size=5)
    units = ["007", "é", "a,b", 'q"', "'; DROP TABLE x"]
    before = Margins(rows, cols, units=units, row_names=["x", "y", "z"], col_names=["yes", "no\nvote"])
    path = tmp_path / f"m.{ending}"
    write_margins(before, path, shape)
    sides = {} if shape == "long" else {"rows": before.row_names, "cols": before.col_names, "unit": "unit"}
    after = read_margins(path, **sides)
    assert np.array_equal(after.rows, before.rows)
    assert np.array_equal(after.cols, before.cols)
    assert after.units.tolist() == units
    assert after.col_names == before.col_names
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_writing_weights_and_covariates(tmp_path):
    before = Margins([[1.0]], [[1.0]], weights=[2.0], covariates=[[0.5]])
    with raises(DataError, "long-shape-no"):
        write_margins(before, tmp_path / "m.csv")
    write_margins(before, tmp_path / "m.csv", "wide")
    names = before.covariate_names
    after = read_margins(tmp_path / "m.csv", rows=["row0"], cols=["col0"], weight="weight", covariates=list(names))
    assert after.weights.tolist() == [2]
    assert after.covariates.tolist() == [[0.5]]


def test_writing_where_it_cant(tmp_path):
    margins = Margins([[1.0]], [[1.0]])
    with raises(DataError, "ending-cant-written"):
        write_margins(margins, tmp_path / "m.doc")
    with raises(DataError, "no-folder-make"):
        write_margins(margins, tmp_path / "none" / "m.csv")
    with raises(DataError, "holds-duplicates-first"):
        write_margins(Margins([[1.0]], [[1.0]], row_names=["a"], col_names=["a"]), tmp_path / "m.csv", "wide")


cell = st.one_of(
    st.sampled_from(
        ["", " ", "1", "2.5", "-1", "1,5", "1.234", "50%", "nan", "NA", "x", '"', "1e999", "é", "0x1", "\x00"]
    ),
    st.text(max_size=4),
    st.integers(-5, 10**6).map(str),
)
lines = st.lists(st.lists(cell, max_size=5).map(lambda fields: fields), max_size=5)


@settings(max_examples=settings.default.max_examples // 2)  # `make long` has more
@given(lines, st.sampled_from([",", ";", "\t"]), st.booleans(), st.sampled_from(["utf-8", "latin-1", "utf-16"]))
def test_any_text_gives_margins_or_a_sumwise_error(tmp_path, rows, separator, good_header, encoding):
    header = ["unit", "a", "b", "c"] if good_header else []
    text = "\n".join(separator.join(fields) for fields in [header, *rows])
    path = put(tmp_path / "x.csv", text.encode(encoding, errors="replace"))
    for options in ({}, {"rows": ["a"], "cols": ["b"], "unit": "unit"}):
        with suppress(SumwiseError):
            assert isinstance(read_margins(path, **options), Margins)


@settings(max_examples=settings.default.max_examples // 2)  # `make long` has more
@given(st.binary(max_size=80), st.sampled_from(["csv", "csv.gz", "parquet", "arrow", "duckdb"]))
def test_any_bytes_give_a_sumwise_error_or_margins(tmp_path, body, ending):
    path = put(tmp_path / f"x.{ending}", body)
    with suppress(SumwiseError):
        assert isinstance(read_margins(path, rows=["a"], cols=["b"]), Margins)


value = st.one_of(
    st.none(),
    st.floats(),
    st.integers(-(2**70), 2**70),
    st.text(max_size=3),
    st.booleans(),
    st.binary(max_size=2),
    st.just(pd.Timestamp("2020-01-01")),
    st.just([1]),
)


@given(st.lists(st.tuples(value, value, value, value), max_size=4))
def test_any_frame_gives_margins_or_a_sumwise_error(rows):
    frame = pd.DataFrame(rows, columns=["unit", "side", "option", "votes"], dtype=object)
    for options in ({}, {"rows": ["side"], "cols": ["votes"], "unit": "unit"}, {"rows": ["option"], "cols": ["side"]}):
        with suppress(SumwiseError):
            assert isinstance(read_margins(frame, **options), Margins)


def test_margins_that_could_not_be_read_back_are_not_written(tmp_path):
    margins = Margins([[1], [2]], [[1], [2]])
    for part, words in ((margins[[]], ("margins-no-units",)), (margins[[0, 0]], ("holds-duplicates-first",))):
        for shape in ("long", "wide"):
            with raises(DataError, *words):
                write_margins(part, tmp_path / "x.csv", shape=shape)
