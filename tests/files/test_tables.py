"""Tables from files with one row per cell, and back."""

from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from messages import raises
from sumwise import Domain, Table, Tables
from sumwise.errors import DataError, SumwiseError, UnknownName
from sumwise.io.formats import read_tables, write_tables
from sumwise.noise import Exact, Gaussian, Geometric, Laplace, Poisson

CELLS = "sex,age,count,label_sum\nf,0,3,1\nf,1,5,2\nm,0,4,0\nm,1,6,3\n,0,7,1\n,1,11,5\n"


def put(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_csv_with_two_tables_told_apart_by_empty_cells(tmp_path):
    tables = read_tables(put(tmp_path / "x.csv", CELLS), label="click")
    assert len(tables) == 2
    assert tables.domain == Domain({"sex": ["f", "m"], "age": [0, 1]})
    assert tables["sex", "age"].counts.tolist() == [[3, 5], [4, 6]]
    assert tables["sex", "age"].label_sums.tolist() == [[1, 2], [0, 3]]
    assert tables["age"].counts.tolist() == [7, 11]
    assert tables.n == 18


def test_a_column_tells_tables_over_the_same_attributes_apart(tmp_path):
    text = "table,a,count,noise,scale\none,0,3,gaussian,2\none,1,5,gaussian,2\ntwo,0,4,laplace,1\ntwo,1,6,laplace,3\n"
    tables = read_tables(put(tmp_path / "x.csv", text))
    first, second = tables.on("a")
    assert first.noise == Gaussian(2.0)
    assert second.noise == Laplace(np.array([1.0, 3.0]))
    assert second.counts.tolist() == [4, 6]


def test_classes_have_a_column_each(tmp_path):
    text = "a,count,label_sum:red,label_sum:blue\n0,3,1,2\n1,5,5,0\n"
    tables = read_tables(put(tmp_path / "x.csv", text))
    assert tables.classes == ("red", "blue")
    assert tables["a"].label_sums.tolist() == [[1, 2], [5, 0]]


def test_an_empty_count_is_unobserved_with_its_bounds(tmp_path):
    text = "a,count,low,high\n0,,1,9\n1,5,,\n2,,2,\n"
    table = read_tables(put(tmp_path / "x.csv", text))["a"]
    assert np.isnan(table.counts[[0, 2]]).all()
    assert table.bounds[0].tolist() == [1, 5, 2]
    assert table.bounds[1].tolist() == [9, 5, np.inf]


def test_absent_cells_mean_what_is_told(tmp_path):
    path = put(tmp_path / "x.csv", "a,b,count\n0,x,3\n1,y,5\n")
    with raises(DataError, "table-over-rows", "a, b", 2, 4):
        read_tables(path)
    assert read_tables(path, absent="zero")["a", "b"].counts.tolist() == [[3, 0], [0, 5]]
    assert np.isnan(read_tables(path, absent="unobserved")["a", "b"].counts[0, 1])


def test_other_names_attributes_domain_and_noise(tmp_path):
    path = put(tmp_path / "x.csv", "a,junk,shown,clicks\ny,1,3,1\nx,2,5,2\n")
    domain = Domain({"a": ["x", "y"], "b": 3})
    tables = read_tables(
        path, ["a"], domain=domain, noise=Poisson(0.5), names={"count": "shown", "label_sum": "clicks"}, n=20
    )
    assert tables["a"].counts.tolist() == [5, 3]
    assert tables["a"].noise == Poisson(0.5)
    assert tables.domain["b"] == 3
    with raises(UnknownName, "no-did-you", "key", "counts"):
        read_tables(path, names={"counts": "shown"})


def test_a_domain_of_numbers_fits_text_as_written(tmp_path):
    path = put(tmp_path / "x.csv", "a,count\n1.5,3\nTrue,5\n")
    tables = read_tables(path, domain=Domain({"a": [True, 1.5]}))
    assert tables["a"].counts.tolist() == [5, 3]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (CELLS.replace("m,1,6", "m,0,6"), ("rows-first-add-them", "a cell of a table has two rows", 1, 6, "row 5")),
        (CELLS.replace("m,1,6", "m,1,six"), ("column-rows-first-correct", "count", "is not a number", 1, 6, 5, "six")),
        (CELLS.replace("m,1,6", "m,1,-6"), ("negative-counts-start",)),
        (CELLS.replace(",1,11,", ",,11,"), ("rows-first-populations", "a cell has no attribute at all", 1, 6, "row 7")),
        (CELLS.replace("count", "n"), ("there-is-no", "column", "count")),
        ("table,a,b,count\n1,0,0,2\n1,1,,3\n", ("rows-first-table", "other attributes than the first cell", "row 3")),
        ("a,count,noise\n0,1,loud\n", ("rows-first-models", "noise", 1, "row 2")),
        ("a,count,noise\n0,1,exact\n1,1,laplace\n", ("rows-first-table-noise", "noise", "row 3")),
        ("a,count,noise\n0,1,laplace\n", ("noise-without-column", "scale")),
        ("a,count,noise,scale\n0,1,laplace,0\n", ("rows-first-scale", "scale", "row 2")),
        ("a,count,label_sum,label_sum:x\n0,1,1,1\n", ("sums-label-classes",)),
        ("a,b,count\n0,,1\n", ("column-empty-leave", "b")),
        ("count\n1\n", ("name-attribute-columns",)),
        (CELLS.replace("m,1,6,3", "m,1,6,7"), ("cells-first-correct",)),
        (CELLS.replace(",1,11,", ",1,12,"), ("exact-tables-disagree",)),
    ],
)
def test_csv_refuses_with_file_and_row(tmp_path, text, message):
    with raises(DataError, *message) as caught:
        read_tables(put(tmp_path / "x.csv", text))
    assert "x.csv" in str(caught.value)


def test_a_level_outside_the_domain_is_named(tmp_path):
    path = put(tmp_path / "x.csv", CELLS)
    with raises(DataError, "column-holds-level", "sex"):
        read_tables(path, domain=Domain({"sex": ["f"], "age": 2}))
    with raises(UnknownName, "there-is-no", "attribute", "sex"):
        read_tables(path, domain=Domain({"age": 2}))


def test_parameters_that_are_wrong(tmp_path):
    path = put(tmp_path / "x.csv", CELLS)
    for options in (
        {"absent": "maybe"},
        {"noise": 3},
        {"domain": {"a": 2}},
        {"names": 3},
        {"attributes": "sex"},
        {"attributes": ["count"]},
        {"attributes": ["sex", "sex"]},
    ):
        with pytest.raises(DataError):
            read_tables(path, **options)


def toy_tables():
    domain = Domain({"a": 3, "b": ["x", "'; DROP TABLE y", 'q"é,'], "c": ["007", "8"]})
    rng = np.random.default_rng(1)
    counts = rng.random((3, 3)) * 100
    withheld = np.array([np.nan, 4.0])
    return Tables(
        [
            Table(("a", "b"), counts, counts * 0.3, Gaussian(2.5)),
            Table(("a", "b"), counts, counts * 0.3, Geometric(rng.random((3, 3)) + 0.5)),
            Table("c", withheld, None, Exact(), (np.array([1.0, 0.0]), np.array([np.inf, 9.0]))),
        ],
        domain,
        n=450,
        label="click",
    )


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv", "parquet", "arrow", "feather"])
def test_a_round_trip_keeps_every_bit(tmp_path, ending):
    before = toy_tables()
    path = tmp_path / f"t.{ending}"
    write_tables(before, path)
    assert read_tables(path, n=450, label="click") == before
    assert read_tables(path, n=450, label="click", domain=before.domain) == before


def test_a_round_trip_of_classes(tmp_path):
    frame = pd.DataFrame({"a": [0, 1, 1, 2], "b": ["u", "v", "u", "u"], "y": ["p", "q", "r", "p"]})
    before = Tables.from_frame(frame, ["a", "b"], label="y", order=1)
    write_tables(before, tmp_path / "t.csv")
    assert read_tables(tmp_path / "t.csv", label="y") == before


@pytest.mark.parametrize(
    "domain", [Domain({"count": 2}), Domain({"label_sum:x": 2}), Domain({"a": ["x", None]}), Domain({"a": ["x", " "]})]
)
def test_what_a_file_cant_show_is_refused(tmp_path, domain):
    tables = Tables([Table(domain.attributes, np.ones(2))], domain)
    with pytest.raises(DataError):
        write_tables(tables, tmp_path / "t.csv")
    assert not list(tmp_path.iterdir())


cell = st.one_of(
    st.sampled_from(["", "0", "1", "2.5", "-1", "x", "y", "exact", "laplace", "nan", '"']), st.text(max_size=2)
)


@settings(max_examples=settings.default.max_examples // 2)  # `make long` has more
@given(st.lists(st.lists(cell, min_size=6, max_size=6), max_size=4), st.sampled_from(["raise", "zero", "unobserved"]))
def test_any_text_gives_tables_or_a_sumwise_error(tmp_path, rows, absent):
    text = "\n".join(",".join(fields) for fields in [["a", "b", "count", "label_sum", "noise", "scale"], *rows])
    path = put(tmp_path / "x.csv", text.encode("utf-8", errors="replace"))
    with suppress(SumwiseError):
        assert isinstance(read_tables(path, absent=absent), Tables)


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


@given(st.lists(st.tuples(value, value, value, value), max_size=4), st.sampled_from(["raise", "zero", "unobserved"]))
def test_any_frame_gives_tables_or_a_sumwise_error(rows, absent):
    frame = pd.DataFrame(rows, columns=["a", "table", "count", "label_sum"], dtype=object)
    with suppress(SumwiseError):
        assert isinstance(read_tables(frame, absent=absent), Tables)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", [Gaussian, Geometric, Laplace])
def test_noise_of_counts_and_label_sums_comes_back(tmp_path, kind, classes):
    """A release by class: the counts are sums of as many draws as there are classes."""
    from sumwise.noise import Summed

    rng = np.random.default_rng(0)
    sums = np.round(rng.normal(50, 5, (4, classes)))
    of_counts = Gaussian(3.0 * np.sqrt(classes)) if kind is Gaussian else Summed(kind(3.0), classes)
    table = Table("a", sums.sum(axis=1), sums[:, 1] if classes == 2 else sums, of_counts, label_noise=kind(3.0))
    tables = Tables([table], Domain({"a": 4}), label="y")
    write_tables(tables, tmp_path / "cells.parquet")
    back = read_tables(tmp_path / "cells.parquet")
    assert back["a"] == table
    assert back["a"].label_noise == kind(3.0)
    assert back.provenance.weighted is None
