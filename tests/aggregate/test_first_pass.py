"""Survey: what is asked of the rows first; errors are tested through aggregate in test_rows_to_tables."""

import numpy as np
import pytest

from messages import raises
from sumwise.aggregate import CountPlan, first_pass
from sumwise.aggregate.on_duckdb import DuckDBEngine
from sumwise.encoding import Encoding
from sumwise.encoding.rules import Cross, Cuts, Levels
from sumwise.errors import DataError

ROWS = {"a": ["x", "y", "x"], "n": [3.0, 1.0, np.nan], "k": ["p", "q", "q"], "y": [True, False, True]}


@pytest.fixture
def engine():
    with DuckDBEngine(ROWS, tuple(ROWS)) as opened:
        yield opened


def test_rows_are_counted(engine):
    assert first_pass.check_rows(CountPlan(ROWS, ["a"], order=1), engine) == 3
    assert first_pass.check_rows(CountPlan(ROWS, ["a"], order=1, where=[("a", "==", "x")]), engine) == 2


def test_distinct_values_are_sorted(engine):
    assert first_pass.distinct_values(engine, ["k", "a"], "") == {"k": ("p", "q"), "a": ("x", "y")}
    assert first_pass.distinct_values(engine, [], "") == {}


def test_nan_is_missing(engine):
    with raises(DataError, "column-missing-rows", "n", 1, 3):
        first_pass.check_present(engine, ["n"], "")


def test_range_of_whole_numbers_is_noted():
    with DuckDBEngine({"i": [3, -1, 7]}, ("i",)) as opened:
        first_pass.check_present(opened, ["i"], "")
        assert opened.columns["i"].range == (-1, 7)


def test_levels_that_no_row_has_are_dropped():
    encoding = Encoding({"a": Levels("a", (5, 6, 7)), "b": Levels("b", ("x", "y"))})
    counts = np.array([[1.0, 2.0], [0.0, 0.0], [0.0, 4.0]])
    sums = np.array([[[1.0], [2.0]], [[0.0], [0.0]], [[0.0], [4.0]]])
    found, tables = first_pass.without_empty_levels(
        encoding, ("a",), [("a", "b"), ("b", "a")], [(counts, sums), (counts.T, counts.T)]
    )
    assert found["a"] == Levels("a", (5, 7))
    assert tables[0][0].tolist() == [[1, 2], [0, 4]]
    assert tables[0][1].shape == (2, 2, 1)
    assert tables[1][0].tolist() == [[1, 0], [2, 4]]


def test_boolean_label_is_zero_and_one(engine):
    assert first_pass.classes_of(CountPlan(ROWS, ["a"], "y", 1), engine) is None
    assert first_pass.classes_of(CountPlan(ROWS, ["a"], "k", 1), engine) == ("p", "q")


def test_label_of_too_many_values_is_refused():
    rows = {"a": [0] * 1500, "y": [f"v{i}" for i in range(1500)]}
    with DuckDBEngine(rows, ("a", "y")) as opened, raises(DataError, "label-more-values", 1000):
        first_pass.classes_of(CountPlan(rows, ["a"], "y", 1), opened)


def test_full_encoding_adds_plain_columns_and_parts_of_crosses(engine):
    given = Encoding({"n": Cuts("n", (2,), "missing"), "m": Cuts("n", (5,), "missing"), "nm": Cross(("n", "m"), 4)})
    full, _ = first_pass.full_encoding(CountPlan(ROWS, ["a", "nm"], encoding=given), engine)
    assert full.attributes == ("a", "nm", "n", "m")
    assert full["a"] == Levels("a", ("x", "y"))


def test_summary_answers_like_that_of_a_frame(engine):
    summary = first_pass.EngineSummary(engine, "n", "")
    assert summary.n_missing == 1
    assert summary.range() == (1, 3)
    assert summary.range(above=1) == (3, 3)
    assert summary.quantiles(np.array([0.5, 0.25])).tolist() == [2, 1.5]
    values, counts, sums = first_pass.EngineSummary(engine, "a", "", "y").value_counts(label=True)
    assert values == ["x", "y"]
    assert counts.tolist() == [2, 1]
    assert sums.tolist() == [2, 0]


def test_summary_refuses_cuts_of_text_and_labels_of_text(engine):
    with raises(DataError, "column-holds-cut"):
        first_pass.EngineSummary(engine, "a", "").range()
    with raises(DataError, "label-must", "text"):
        first_pass.EngineSummary(engine, "a", "", "k").value_counts(label=True)


def test_summary_of_no_rows_has_no_range(engine):
    assert np.isnan(first_pass.EngineSummary(engine, "n", " WHERE FALSE").range()).all()


def test_matching_rows_meet_all_conditions(engine):
    assert first_pass.matching_rows(engine, [("a", "==", "x"), ("y", "==", True)]) == 2
    assert first_pass.matching_rows(engine, [("a", "==", "x"), ("k", "==", "q")]) == 1
