"""Shares of bags: exact, weighted, and what is refused."""

import numpy as np
import pytest

from messages import raises
from sumwise import Bags
from sumwise.errors import DataError
from sumwise.proportions import intervals
from sumwise.proportions.shares import bag_shares


@pytest.fixture
def bags():
    return Bags(np.arange(10.0).reshape(5, 2), np.array([0, 2, 5]))


def test_shares_means_and_overall(bags):
    data = bag_shares(bags, [1, 3])
    np.testing.assert_allclose(data.shares, [[0.5, 0.5], [0.0, 1.0]])
    np.testing.assert_allclose(data.means, [[1.0, 2.0], [6.0, 7.0]])
    np.testing.assert_allclose(data.overall, [0.2, 0.8])
    np.testing.assert_allclose(data.counts, [[1, 1], [0, 3]])


def test_weights_shift_means_and_shares():
    bags = Bags(np.array([[0.0], [1.0]]), np.array([0, 2]), np.array([1.0, 3.0]))
    data = bag_shares(bags, [3.0])
    np.testing.assert_allclose(data.means, [[0.75]])
    np.testing.assert_allclose(data.shares, [[0.25, 0.75]])


def test_part_and_one_class_against_the_rest(bags):
    data = bag_shares(bags, [[1, 1, 0], [0, 1, 2]])
    part = data.take(np.array([1]))
    np.testing.assert_array_equal(part.values, bags.values[2:])
    np.testing.assert_allclose(part.shares, [[0.0, 1 / 3, 2 / 3]])
    np.testing.assert_allclose(data.against(1).shares, [[0.5, 0.5], [2 / 3, 1 / 3]])


def test_ranges_and_absent_classes_are_refused(bags):
    with raises(DataError, "method-takes-exact"):
        bag_shares(bags, intervals([0, 0], [1, 1]))
    with raises(DataError, "class-no-member", 1):
        bag_shares(bags, [0, 0])
