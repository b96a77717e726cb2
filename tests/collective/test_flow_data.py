"""Counts by time and place: how frames, arrays and relative abundance are read."""

from __future__ import annotations

import numpy as np
import pytest

from sumwise.collective.flow_data import population_of, read_counts
from sumwise.errors import DataError
from sumwise.noise import Gaussian, Poisson

FRAME = {"t": [2, 1, 1], "p": ["a", "a", "b"], "n": [5, 3, 4]}


def test_absent_pairs_are_unobserved_or_zero():
    times, places, counts, noise = read_counts(FRAME, None, ("t", "p", "n"), None, "unobserved")
    assert (times, places.names, noise) == ([1, 2], ("a", "b"), None)
    np.testing.assert_array_equal(counts, [[3, 4], [5, np.nan]])
    assert read_counts(FRAME, None, ("t", "p", "n"), None, "zero")[2][1, 1] == 0
    with pytest.raises(DataError, match="is not among the given times"):
        read_counts(FRAME, None, ("t", "p", "n"), [1], "zero")


def test_whole_numbers_are_poisson_and_the_rest_is_relative_abundance():
    counts, noise, n = population_of(np.array([[3.0, 4.0], [5.0, 1.0]]), None, None)
    assert (noise, n) == (Poisson(), 7.0)
    scaled, noise, n = population_of(np.array([[0.3, 0.7], [0.25, 0.25]]), None, None)
    assert n == 1e5
    np.testing.assert_allclose(scaled, [[3e4, 7e4], [2.5e4, 2.5e4]])
    assert noise == Gaussian(500.0)
    assert population_of(counts, Poisson(0.5), None)[2] == 14.0
