"""Flows as numbers."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from sumwise.collective import Counts
from sumwise.plots import flow_numbers
from sumwise.plots.flows import mean_moves

PLACES = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
TABLE = np.array([[1.0, 0.0, 3.0], [0.0, 0.0, 0.0], [2.0, 2.0, 0.0]])


def test_mean_moves_are_weighted_by_counts_and_undefined_for_nobody():
    moves, counts = mean_moves(TABLE, PLACES)
    np.testing.assert_allclose(moves[0], [0.0, 1.5])
    np.testing.assert_allclose(moves[2], [0.5, -2.0])
    assert np.isnan(moves[1]).all()
    np.testing.assert_array_equal(counts, [4.0, 0.0, 4.0])


def test_sparse_tables_give_the_same():
    np.testing.assert_allclose(mean_moves(sparse.csr_array(TABLE), PLACES)[0], mean_moves(TABLE, PLACES)[0])


def test_cells_without_individuals_have_no_arrow():
    numbers = flow_numbers(Counts({}, {("a", "b"): TABLE}, 8), ("a", "b"), PLACES)
    np.testing.assert_array_equal(numbers["starts"], PLACES[[0, 2]])
    assert numbers["counts"].tolist() == [4.0, 4.0]
    assert numbers["title"] == "a to b"
