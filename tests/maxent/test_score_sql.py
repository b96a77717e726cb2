"""The SELECT gives the probabilities of predict_proba, whatever names and levels hold."""

import duckdb
import numpy as np
import pandas as pd
import pytest

from messages import raises
from sumwise import DataError, Tables
from sumwise.aggregate import aggregate
from sumwise.encoding import Encoding
from sumwise.maxent import MaxEntClassifier
from sumwise.maxent.score_sql import DIALECTS

CITY = """ci'ty"; DROP TABLE people; --"""


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    cities = ["Bern", "R'ome", 'Å"; --', "back\\slash", ""]
    frame = pd.DataFrame({CITY: rng.choice(cities, 1500), "age": rng.integers(18, 80, 1500), "id": np.arange(1500)})
    frame["member"] = rng.random(1500) < 0.5
    frame["y"] = (rng.random(1500) < 0.2 + 0.4 * (frame[CITY] == "R'ome") * (frame["age"] > 40)).astype(int)
    frame["party"] = rng.choice(["red", "green", "blue"], 1500, p=[0.2, 0.5, 0.3])
    return frame


def scored(model, frame, table="people"):
    with duckdb.connect() as db:
        db.register(table, frame)
        return db.sql(model.to_sql(table, keep=["id"])).df().sort_values("id").iloc[:, 1:].to_numpy()


@pytest.mark.parametrize("label", ["y", "party"])
def test_duckdb_gives_the_same_probabilities(rows, label):
    encoding = Encoding.fit(rows, {CITY: {"kind": "levels", "missing": "none"}, "age": [30.5, 50]})
    tables = aggregate(rows, [CITY, "age", "member"], label=label, encoding=encoding)
    model = MaxEntClassifier().fit(tables)
    new = rows.head(200).copy()
    new.loc[3, CITY], new.loc[4, CITY] = None, "never seen"
    np.testing.assert_allclose(scored(model, new, 'peo"ple'), model.predict_proba(new), rtol=0, atol=1e-9)


@pytest.mark.filterwarnings("ignore::sumwise.errors.NotConverged")  # how far it got doesn't matter here
def test_sparse_tables_and_missing_levels():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"site": rng.integers(0, 200, 700), "page": rng.integers(0, 150, 700), "id": range(700)})
    frame["age"] = frame["site"] % 3
    frame["y"] = rng.integers(0, 2, 700)
    tables = Tables.from_frame(frame, ["site", "page", "age"], label="y")
    model = MaxEntClassifier(random_state=0, options={"max_iter": 20, "tol": 9.0, "n_chains": 64}).fit(tables)
    assert model.model_.layout.sparse
    new = frame.head(200).astype({"age": "Int64"})
    new.loc[5, "age"] = pd.NA
    np.testing.assert_allclose(scored(model, new), model.predict_proba(new), rtol=0, atol=1e-9)


def test_dialects_quote_names_and_text_and_refuse_what_they_cant_write():
    quoted = {name: (d.identifier('a`b"c'), d.literal("it's \\ so")) for name, d in DIALECTS.items()}
    assert quoted["duckdb"] == ('"a`b""c"', "'it''s \\ so'")
    assert quoted["spark"] == ('`a``b"c`', "'it\\'s \\\\ so'")
    assert quoted["bigquery"] == ('`a\\`b"c`', "'it\\'s \\\\ so'")
    assert DIALECTS["bigquery"].identifier("a\\`; DROP TABLE b; --") == "`a\\\\\\`; DROP TABLE b; --`"
    for dialect in DIALECTS.values():
        for write in (dialect.identifier, dialect.literal):
            with raises(DataError, "control-character-sql"):
                write("two\nlines")


def test_other_dialects_are_written_and_unknown_ones_refused(rows):
    model = MaxEntClassifier().fit(Tables.from_frame(rows, ["member", "party"], label="y"))
    assert "get(array(" in model.to_sql("people", "spark")
    assert "SAFE_ORDINAL" in model.to_sql(("project", "data", "people"), "bigquery")
    assert "`project`.`data`.`people`" in model.to_sql(("project", "data", "people"), "bigquery")
    with raises(DataError, "is-takes", "dialect"):
        model.to_sql("people", "cobol")


def test_hashed_columns_are_refused(rows):
    encoding = Encoding.fit(rows, {"age": {"kind": "hash", "cells": 5}, "party": "levels"})
    model = MaxEntClassifier().fit(aggregate(rows, ["age", "party"], label="y", encoding=encoding))
    with raises(DataError, "encoded-sql-all", "Hashed"):
        model.to_sql("people")
