"""Counter: chunks of any size add up, and nothing overflows."""

import numpy as np
import pandas as pd
import pytest

from brute_aggregate import count_by_loop
from messages import raises
from sumwise import Domain, Tables
from sumwise.aggregate import aggregate, counters, first_pass
from sumwise.aggregate.counters import Counter, FilledCounter
from sumwise.aggregate.kernels import counting
from sumwise.errors import DataError
from sumwise.sparse_table import SparseTable

SIZES = [3, 4, 2]
SUBSETS = [(0, 1), (2,), (0, 1, 2)]


def rows(n=200):
    rng = np.random.default_rng(0)
    codes = np.array([rng.integers(0, s, n) for s in SIZES])
    return codes, rng.integers(0, 2, n), rng.random(n)


@pytest.mark.parametrize("weighted", [False, True])
def test_chunks_add_up_to_a_plain_count(weighted):
    codes, label, weights = rows()
    counter = Counter(SUBSETS, SIZES, weighted=weighted)
    for part in (slice(0, 50), slice(50, 50), slice(50, 57), slice(57, 200)):
        counter.add(list(codes[:, part]), label[part], weights[part] if weighted else None)
    expected = count_by_loop(codes, SIZES, SUBSETS, label, weights if weighted else None)
    assert counter.rows == 200
    for (counts, sums), (c, s) in zip(counter.tables(), expected):
        assert np.allclose(counts, c, rtol=1e-12)
        assert np.allclose(sums, s, rtol=1e-12)


def test_classes_get_an_axis():
    codes, label, _ = rows()
    counter = Counter(SUBSETS, SIZES, n_classes=2)
    counter.add(list(codes), label)
    for (counts, by_class), (c, s) in zip(counter.tables(), count_by_loop(codes, SIZES, SUBSETS, label)):
        assert np.array_equal(counts, c)
        assert np.array_equal(by_class[..., 1], s)
        assert np.array_equal(by_class[..., 0], c - s)


def test_full_counters_are_emptied_in_time(monkeypatch):
    monkeypatch.setattr(counting, "FLUSH_ROWS", 90)
    codes, label, _ = rows()
    counter = Counter(SUBSETS, SIZES)
    for i in range(0, 200, 40):
        counter.add(list(codes[:, i : i + 40]), label[i : i + 40])
    assert counter.totals is not None
    assert counter.tables()[0][0].sum() == 200
    assert counter.tables()[0][1].sum() == label.sum()


def test_wide_attributes_take_wide_codes():
    counter = Counter([(0,)], [70_000])
    counter.add([np.array([69_999, 69_999])])
    assert counter.tables()[0][0][69_999] == 2


def test_cells_from_elsewhere_are_taken_over():
    counter = Counter([(0,)], [3])
    counter.set_cells(np.array([2, 0]), np.array([5, 1]), np.array([2, 0]))
    counts, sums = counter.tables()[0]
    assert counts.tolist() == [1, 0, 5]
    assert sums.tolist() == [0, 0, 2]


@pytest.mark.parametrize("weighted", [False, True])
def test_filled_cells_add_up_over_chunks(weighted, monkeypatch):
    monkeypatch.setattr(FilledCounter, "LOOSE", 20)  # so that chunks are merged between
    rng = np.random.default_rng(0)
    codes, labels, weights = rng.integers(0, 12, (3, 600)), rng.integers(0, 3, 600), rng.integers(1, 9, 600)
    counter = FilledCounter([(0, 2), (1,)], [12, 12, 12], n_labels=3, weighted=weighted)
    for begin in range(0, 600, 37):
        part = slice(begin, begin + 37)
        counter.add(codes[:, part], labels[part], weights[part])
    expected = np.zeros((144, 3))
    np.add.at(expected, (12 * codes[0] + codes[2], labels), weights if weighted else 1)
    cells, found, n = counter.filled(0)
    assert np.array_equal(np.flatnonzero(expected), 3 * cells + found)
    assert np.array_equal(expected[cells, found], n)


def test_cells_beyond_whole_numbers_are_not_counted_here():
    assert FilledCounter([(0, 1)], [2**30, 2**30]).holds()
    assert not FilledCounter([(0, 1, 2)], [2**30, 2**30, 2**10]).holds()


def test_large_tables_of_few_rows_are_counted_by_their_filled_cells():
    assert counters.filled_only([(0, 1)], [3000, 3000], 300_000) == [False]  # a small plan
    assert counters.filled_only([(0, 1)] * 28, [3000, 3000], 300_000) == [True] * 28
    assert counters.filled_only([(0, 1)] * 28, [3000, 3000], 20_000_000) == [False] * 28


def test_what_does_not_fit_is_refused_with_its_size(monkeypatch):
    monkeypatch.setattr("sumwise.checks.free_memory", lambda: 2**30)
    counters.check_memory([(0, 1)], [200_000, 100_000], ["site", "user"], 400_000)
    with raises(DataError, "needs-memory-free-rare", "14.9 GiB", "1.0 GiB", "1,000,000,000"):
        counters.check_memory([(0, 1)], [100_000, 10_000], ["site", "user"], 400_000_000)
    rows = {"a": np.arange(9), "b": np.arange(9)}
    monkeypatch.setattr("sumwise.checks.free_memory", lambda: 1000)
    with raises(DataError, "needs-memory-free-rare"):
        aggregate(rows, ["a", "b"])


@pytest.fixture
def lower(monkeypatch):
    monkeypatch.setattr(counters, "FEWEST_CELLS", 10)
    monkeypatch.setattr(counters, "SPARSE_FROM", 0.001)
    monkeypatch.setattr(first_pass, "MAX_RANGE", 0)  # whose tables are small, and counted in full


@pytest.mark.parametrize("label", [None, "y", "k"])
@pytest.mark.parametrize("weight", [None, "w"])
def test_tables_by_filled_cells_equal_a_plain_count(engine, lower, label, weight):
    rng = np.random.default_rng(0)
    most = {"a": 9, "b": 7, "c": 200, "y": 2, "w": 4}
    rows = pd.DataFrame({name: rng.integers(0, k, 500) for name, k in most.items()})
    rows = rows.assign(k=rng.choice(list("pqr"), 500), w=rows["w"] + 1)
    tables = aggregate(rows, ["a", "b", "c"], label, engine=engine, weight=weight)
    assert tables == Tables.from_frame(rows, ["a", "b", "c"], label, weight=weight)


def test_unseen_levels_are_refused_there_too(lower):
    with raises(DataError, "attribute-no-level", 1):
        aggregate({"a": [0, 1, 9], "b": [0, 1, 1]}, ["a", "b"], domain=Domain({"a": 5, "b": 5}))


def test_withholding_needs_tables_in_full(lower):
    with raises(DataError, "small-counts-cant"):
        aggregate({"a": [0, 1, 1, 2], "b": [0, 1, 1, 3], "c": [0, 1, 2, 3]}, ["a", "b", "c"], suppress_below=2)


@pytest.mark.check
def test_two_hundred_thousand_by_one_hundred_thousand_levels():
    """400,000 rows fill at most as many cells of twenty billion."""
    rng = np.random.default_rng(0)
    sizes = {"site": 200_000, "user": 100_000}
    rows = {name: np.append(rng.integers(0, k, 399_999), k - 1) for name, k in sizes.items()}
    rows["y"] = rng.integers(0, 2, 400_000)
    table = aggregate(rows, ["site", "user"], "y")["site", "user"]
    assert isinstance(table, SparseTable)
    assert table.total == 400_000
    assert table.label_totals.sum() == rows["y"].sum()
