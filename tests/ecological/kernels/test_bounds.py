"""Bounds of cells against the enumeration of all tables with given margins."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brute_ecological import tables
from sumwise.ecological.kernels.bounds import aggregate_bounds, cell_bounds

MARGINS = [([3, 2], [1, 4]), ([2, 1, 2], [3, 2]), ([1, 2, 2], [2, 0, 3]), ([4], [1, 3])]


@pytest.mark.parametrize(("rows", "cols"), MARGINS)
def test_cell_bounds_are_the_extremes_of_all_tables(rows, cols):
    every = np.array(list(tables(rows, cols)))
    low, high = cell_bounds(np.array([rows], float), np.array([cols], float))
    np.testing.assert_array_equal(low[0], every.min(axis=0))
    np.testing.assert_array_equal(high[0], every.max(axis=0))


def test_aggregate_bounds_are_the_extremes_over_units():
    rows, cols = np.array([[3.0, 2.0], [1.0, 3.0]]), np.array([[1.0, 4.0], [2.0, 2.0]])
    sums = np.array([a + b for a in tables(rows[0], cols[0]) for b in tables(rows[1], cols[1])])
    low, high = aggregate_bounds(rows, cols)
    size = rows.sum(axis=0)[:, None]
    np.testing.assert_allclose(low, sums.min(axis=0) / size)
    np.testing.assert_allclose(high, sums.max(axis=0) / size)


def test_group_without_members_has_bounds_zero_and_one():
    low, high = aggregate_bounds(np.array([[5.0, 0.0]]), np.array([[2.0, 3.0]]))
    np.testing.assert_array_equal(low[1], 0)
    np.testing.assert_array_equal(high[1], 1)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.integers(0, 50), min_size=6, max_size=6), min_size=1, max_size=5))
def test_true_cells_lie_between_the_bounds(cells):
    truth = np.array(cells, float).reshape(-1, 2, 3)
    low, high = cell_bounds(truth.sum(axis=2), truth.sum(axis=1))
    assert (low <= truth).all()
    assert (truth <= high).all()
