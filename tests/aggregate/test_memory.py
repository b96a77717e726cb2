"""Memory of counting: foreseen, kept small by filled cells, and refused with its size."""

import numpy as np
import pandas as pd
import pytest

from sumwise import Domain, Tables
from sumwise.aggregate import aggregate, memory, survey
from sumwise.errors import DataError
from sumwise.sparse_table import SparseTable


def test_large_tables_of_few_rows_are_counted_by_their_filled_cells():
    assert memory.filled_only([(0, 1)], [3000, 3000], 300_000) == [False]  # a small plan
    assert memory.filled_only([(0, 1)] * 28, [3000, 3000], 300_000) == [True] * 28
    assert memory.filled_only([(0, 1)] * 28, [3000, 3000], 20_000_000) == [False] * 28


def test_what_does_not_fit_is_refused_with_its_size(monkeypatch):
    monkeypatch.setattr("sumwise.memory.available_bytes", lambda: 2**30)
    memory.check_memory([(0, 1)], [200_000, 100_000], ["site", "user"], 400_000)
    with pytest.raises(
        DataError, match=r"37.4 GiB of memory, and 1.0 GiB are free. .*'site' x 'user': 1,000,000,000 cells"
    ):
        memory.check_memory([(0, 1)], [100_000, 10_000], ["site", "user"], 400_000_000)
    rows = {"a": np.arange(9), "b": np.arange(9)}
    monkeypatch.setattr("sumwise.memory.available_bytes", lambda: 1000)
    with pytest.raises(DataError, match="Counting the 1 tables would take about 0 MiB"):
        aggregate(rows, ["a", "b"])


@pytest.fixture
def lower(monkeypatch):
    monkeypatch.setattr(memory, "FEWEST_CELLS", 10)
    monkeypatch.setattr(memory, "SPARSE_FROM", 0.001)
    monkeypatch.setattr(survey, "MAX_RANGE", 0)  # whose tables are small, and counted in full


@pytest.mark.parametrize("label", [None, "y", "k"])
@pytest.mark.parametrize("weight", [None, "w"])
def test_tables_by_filled_cells_equal_a_plain_count(engine, lower, label, weight):
    rng = np.random.default_rng(0)
    most = {"a": 9, "b": 7, "c": 200, "y": 2, "w": 4}
    rows = pd.DataFrame({name: rng.integers(0, k, 200) for name, k in most.items()})
    rows = rows.assign(k=rng.choice(list("pqr"), 200), w=rows["w"] + 1)
    tables = aggregate(rows, ["a", "b", "c"], label, engine=engine, weight=weight)
    assert tables == Tables.from_frame(rows, ["a", "b", "c"], label, weight=weight)


def test_unseen_levels_are_refused_there_too(lower):
    with pytest.raises(DataError, match="has no level for 1 rows"):
        aggregate({"a": [0, 1, 9], "b": [0, 1, 1]}, ["a", "b"], domain=Domain({"a": 5, "b": 5}))


def test_withholding_needs_tables_in_full(lower):
    with pytest.raises(DataError, match="can't be withheld"):
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
