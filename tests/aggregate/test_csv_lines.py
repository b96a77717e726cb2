"""Each line of a declared CSV file is read by itself: no line decides how another one is read."""

import csv
import gzip
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from messages import raises
from sumwise import DataError
from sumwise.aggregate import aggregate
from sumwise.aggregate.csv_lines import LONGEST, header_of, write_plain
from sumwise.aggregate.declared import declared_rows
from sumwise.encoding import Declaration
from sumwise.encoding.rules import Levels

PARTS = ["a", '"', '""', ",", "é", "\r", "\0", " ", 'x"y', "7", "\t", ";", "\\", '"a"', '"a,b"', ' "b" ', ""]
HEADER = b"age,town,ill,note\n"
DECLARED = Declaration(
    {"age": {"kind": "cuts", "at": [40]}, "town": {"kind": "levels", "values": ["Bern", "Zürich"]}}, label="ill"
)


def rows_of(folder, lines):
    (folder / "rows.csv").write_bytes(b"p,q,r\n" + b"".join(lines))
    write_plain(str(folder / "rows.csv"), folder / "copy.csv", ",", 3)
    with open(folder / "copy.csv", encoding="utf-8", newline="") as copy:
        return Counter(tuple(row) for row in csv.reader(copy) if len(row) == 3)


def test_rows_of_a_file_are_the_rows_of_its_lines(tmp_path):
    rng = np.random.default_rng(0)
    for _ in range(200):
        n = int(rng.integers(1, 6))
        texts = [
            "".join(rng.choice(PARTS, rng.integers(0, 9))) if rng.random() < 0.5 else ",".join(rng.choice(PARTS, 3))
            for _ in range(n)
        ]
        lines = [t.encode("utf-8" if rng.random() < 0.8 else "cp1252") + rng.choice([b"\n", b"\r\n"]) for t in texts]
        alone = sum((rows_of(tmp_path, [line]) for line in lines), Counter())
        assert rows_of(tmp_path, lines) == alone, lines


def test_values_that_a_library_wrote_are_read_as_written(tmp_path):
    rows = [["a,b", 'say "x"', ""], ["é", " padded ", "#"], ['"', "''", "1;2"], ["a", "b", "c"]]
    with open(tmp_path / "rows.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["p", "q", "r"], *rows])
    write_plain(str(tmp_path / "rows.csv"), tmp_path / "copy.csv", ",", 3)
    with open(tmp_path / "copy.csv", encoding="utf-8", newline="") as copy:
        assert list(csv.reader(copy)) == rows


STRAY = {
    "quote that opens": b'33,"Bern,1,x\n',
    "quote inside": b'33,Be"rn,1,x\n',
    "only a quote": b'"\n',
    "line end of Windows": b"33,Bern,1,x\r\n",
    "line end inside": b"33,Bern\r,1,x\n",
    "another encoding": b"33,Z\xfcrich,1,x\n",
    "line that is too long": b"33,Bern,1," + b"x" * (LONGEST + 1) + b"\n",
    "long line": b"33,Bern,1," + b"x" * (LONGEST - 100) + b"\n",
}


@pytest.mark.parametrize("stray", STRAY.values(), ids=list(STRAY))
@pytest.mark.parametrize("where", [0, 20, 40])
def test_one_line_changes_each_table_by_one_row_at_most(tmp_path, stray, where):
    lines = [f"{20 + i},{'Zürich' if i % 2 else 'Bern'},{i % 2},n{i}\n".encode() for i in range(40)]
    counts = []
    for given in (lines, [*lines[:where], stray, *lines[where:]]):
        (tmp_path / "rows.csv").write_bytes(HEADER + b"".join(given))
        counts.append(aggregate(tmp_path / "rows.csv", DECLARED, order=1))
    for name in ("age", "town"):
        assert np.abs(counts[0][name].counts - counts[1][name].counts).sum() <= 1


@pytest.mark.parametrize("packed", [False, True])
def test_a_file_of_another_encoding_is_read_by_lines(tmp_path, packed):
    path = tmp_path / ("rows.csv.gz" if packed else "rows.csv")
    data = HEADER + "25,Zürich,1,x\n".encode("cp1252") * 3
    path.write_bytes(gzip.compress(data) if packed else data)
    assert aggregate(path, DECLARED, order=1)["town"].counts.tolist() == [0, 3, 0, 0]
    (tmp_path / "wide.csv").write_bytes((HEADER.decode() + "25,Zürich,1,x\n").encode("utf-16"))
    assert aggregate(tmp_path / "wide.csv", DECLARED, order=1)["town"].counts.tolist() == [0, 1, 0, 0]


def test_a_first_row_in_place_of_a_header_is_not_printed(tmp_path):
    (tmp_path / "rows.csv").write_text("25,Secret,1\n")
    with raises(DataError, "first-line-no", "town") as error:
        header_of(str(tmp_path / "rows.csv"), ["town"])
    assert "Secret" not in str(error.value)
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress(b"town\n" * 99)[:-9])
    with raises(DataError, "cant-read"):
        write_plain(str(tmp_path / "rows.csv.gz"), tmp_path / "copy.csv", ",", 1)


def test_a_weight_that_is_no_number_leaves_its_row_out():
    rows = {"age": [20, 30, 50], "w": ["1.5", "nan", "inf"]}
    declared = Declaration({"age": {"kind": "cuts", "at": [40]}}, weight="w", max_weight=2.0)
    assert aggregate(rows, declared, order=1)["age"].counts.tolist() == [1.5, 2.0, 0.0]


@pytest.mark.parametrize("ending", ["xlsx", "dta", "geojson"])
def test_formats_that_are_read_by_their_cells_are_refused_unread(tmp_path, ending):
    (tmp_path / f"rows.{ending}").write_text("Secret")
    with raises(DataError, "format-read-what") as error:
        aggregate(tmp_path / f"rows.{ending}", DECLARED, order=1)
    assert "Secret" not in str(error.value)


VALUES = [
    *(1, 0, 2**53 + 1, 1.0, -0.0, 2.5, 0.1, 1e16, 9.3e18, 1e22, 1e300, 5e-324, float("inf"), True, False),
    *(
        np.float32(0.1),
        np.int8(3),
        pd.Timestamp("2020-01-01"),
        pd.Timestamp("2020-01-01 12:30"),
        "1",
        " 1 ",
        "true",
        "x",
    ),
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_is_read_alike_whatever_the_type_of_its_column(value):
    """A frame's column is of objects as soon as one row has another type."""
    declared = Declaration(
        {
            "text": {"kind": "hash", "column": "a", "cells": 3},
            "number": {"kind": "cuts", "column": "b", "at": [0]},
            "bool": Levels("c", (True, False), "other", "missing"),
        },
        label="d",
    )
    read = []
    kind = value.dtype if isinstance(value, np.generic) else None
    for column in (pd.Series([value], dtype=kind), pd.Series([value, (1, 2)], dtype=object)):
        frame = pd.DataFrame(dict.fromkeys("abcd", column)).assign(d=1)
        with declared_rows(frame, declared) as engine:
            read.append(engine.table("SELECT * FROM sumwise_source").to_pylist()[0])
    assert read[0] == read[1]
