"""SQL: literals that can't be broken out of, and codes that equal those of Python."""

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from messages import raises
from nasty_names import NASTY_LEVELS
from sumwise.aggregate import sql
from sumwise.encoding.rules import Cross, Cuts, Hashed, Levels, cross_cell, text_cell
from sumwise.errors import DataError

NUMBER = sql.Column("n", "c0", "number", floating=True)
TEXT = sql.Column("t", "c0", "text")
CONNECTION = duckdb.connect()  # of its own: an unfinished result on the common one would stop other tests


@settings(deadline=None)
@given(st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",))))
def test_duckdb_reads_back_every_text_literal(text):
    assert CONNECTION.execute(f"SELECT {sql.DUCKDB.literal(text)}").fetchone()[0] == text


def test_spark_escapes_quotes_and_backslashes():
    assert sql.SPARK.literal("it's \\ here") == r"'it\'s \\ here'"


def test_zero_character_is_refused():
    with raises(DataError, "value-holds-zero"):
        sql.DUCKDB.literal("a\0b")


@pytest.mark.parametrize("value", [True, False, 3, -(2**62), 0.1, 1e300, -np.inf, np.inf, 2**70])
def test_duckdb_reads_back_every_number_literal(value):
    found = CONNECTION.execute(f"SELECT {sql.DUCKDB.literal(value)}").fetchone()[0]
    assert found == value
    assert isinstance(found, bool) == isinstance(value, bool)


@pytest.mark.parametrize(
    ("operation", "value", "kept"),
    [
        ("==", 1.0, [1.0]),
        ("!=", 1.0, [2.0, 3.0]),
        ("<", 2, [1.0]),
        ("<=", 2, [1.0, 2.0]),
        (">", 2, [3.0]),
        (">=", 2, [2.0, 3.0]),
        ("in", (1, 3), [1.0, 3.0]),
        ("in", (), []),
        ("not in", (1, 3), [2.0]),
        ("not in", (), [1.0, 2.0, 3.0]),
        ("not missing", None, [1.0, 2.0, 3.0]),
    ],
)
def test_missing_values_meet_no_condition_but_missing(operation, value, kept):
    clause = sql.condition({"n": NUMBER}, [("n", operation, value)], sql.DUCKDB)
    values = "(VALUES (1.0::DOUBLE), (2.0), (3.0), (NULL), ('NaN'::DOUBLE)) t(c0)"
    assert [r[0] for r in CONNECTION.execute(f"SELECT c0 FROM {values}{clause} ORDER BY 1").fetchall()] == kept


def test_missing_finds_null_and_nan():
    clause = sql.condition({"n": NUMBER}, [("n", "missing", None)], sql.DUCKDB)
    assert (
        len(
            CONNECTION.execute(
                f"SELECT * FROM (VALUES (1.0::DOUBLE), (NULL), ('NaN'::DOUBLE)) t(c0){clause}"
            ).fetchall()
        )
        == 2
    )


def test_conditions_are_joined_by_and():
    clause = sql.condition({"n": NUMBER, "t": TEXT}, [("n", ">", 1), ("t", "==", "x")], sql.DUCKDB)
    assert clause.count(" AND ") >= 3
    assert sql.condition({}, [], sql.DUCKDB) == ""


@pytest.mark.parametrize("value", NASTY_LEVELS)
def test_condition_on_nasty_text_keeps_that_text(value):
    clause = sql.condition({"t": TEXT}, [("t", "==", value)], sql.DUCKDB)
    con = duckdb.connect()
    con.execute("CREATE TABLE rows (c0 VARCHAR)")
    con.executemany("INSERT INTO rows VALUES (?)", [[v] for v in NASTY_LEVELS])
    assert con.execute(f"SELECT c0 FROM rows{clause}").fetchall() == [(value,)]
    assert con.execute("SELECT count(*) FROM rows").fetchone() == (len(NASTY_LEVELS),)


def evaluated(rule, column, values):
    """The codes of one rule in DuckDB, without lookups."""
    statement = sql.Statement(sql.DUCKDB)
    code = sql._code(rule, {rule.column: column}, statement)
    con = duckdb.connect()
    kind = "DOUBLE" if column.kind == "number" else "VARCHAR"
    con.execute(f"CREATE TABLE source (i INTEGER, c0 {kind})")
    con.executemany("INSERT INTO source VALUES (?, ?)", list(enumerate(values)))
    return [r[0] for r in con.execute(f"SELECT {code} FROM source ORDER BY i").fetchall()]


def test_hash_of_text_equals_python():
    got = evaluated(Hashed("t", 97, salt=3, missing="m"), TEXT, [*NASTY_LEVELS, None])
    assert got == [text_cell(v, 97, 3) for v in NASTY_LEVELS] + [97]


def test_hash_of_fractions_is_null():
    assert evaluated(Hashed("n", 97), NUMBER, [2.0, 2.5]) == [text_cell("2", 97), None]


def test_cuts_put_edges_into_the_upper_interval():
    assert evaluated(Cuts("n", (0.1, 5)), NUMBER, [0.0, 0.1, 5.0, None, np.nan]) == [0, 1, 2, None, None]


def test_consecutive_numbers_need_no_lookup():
    assert evaluated(Levels("n", (3, 4, 5)), NUMBER, [3.0, 5.0, 6.0, 4.5, None]) == [0, 2, None, None, None]


def test_rule_without_values_sends_all_to_the_extra_levels():
    assert evaluated(Levels("t", (), other="o", missing="m"), TEXT, ["x", None]) == [0, 1]


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**31 - 2), st.integers(0, 2**31 - 2), st.integers(1, 10**6), st.integers(0, 10**6))
def test_cross_in_sql_equals_python(a, b, cells, salt):
    expression = sql._cross([str(a), str(b)], Cross(("x", "y"), cells, salt))
    assert CONNECTION.execute(f"SELECT {expression}").fetchone()[0] == cross_cell([[a], [b]], cells, salt)[0]


@pytest.mark.parametrize(
    ("rule", "column", "words"),
    [
        (Cuts("t", (1,)), TEXT, ("column-holds-cut-points",)),
        (Levels("t", (1, 3)), TEXT, ("column-holds-levels", "text", "number")),
        (Levels("n", ("a",)), NUMBER, ("column-holds-levels", "number", "text")),
        (Hashed("o", 3), sql.Column("o", "c0", "other"), ("column-holds-neither",)),
    ],
)
def test_rule_and_column_of_different_kinds_are_refused(rule, column, words):
    with raises(DataError, *words):
        sql._code(rule, {rule.column: column}, sql.Statement(sql.DUCKDB))


def test_spark_statement_sends_lookups_to_all_workers():
    statement = sql.Statement(sql.SPARK)
    statement.add(sql._code(Levels("t", ("a", "b")), {"t": TEXT}, statement), "a0")
    assert "/*+ BROADCAST(sumwise_k0) */" in statement.text("source")
