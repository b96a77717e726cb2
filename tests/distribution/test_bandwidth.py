import numpy as np
import pytest

from brute_distribution import replicated
from messages import warns
from sumwise import Bags
from sumwise.distribution.bandwidth import median_distance, sample_rows
from sumwise.distribution.columns import Columns
from sumwise.errors import ModelWarning


def test_rows_are_drawn_by_bag_then_by_weight():
    bags = Bags.from_arrays([np.zeros((98, 1)), [1.0, 2.0]], weights=[np.ones(98), [1.0, 3.0]])
    rows = sample_rows(bags, 40_000, rng=np.random.default_rng(0))
    assert np.mean(rows < 98) == pytest.approx(0.5, abs=0.01)
    assert np.mean(rows == 99) == pytest.approx(0.375, abs=0.01)


def test_rows_of_weight_zero_are_not_drawn():
    bags = Bags.from_arrays([[1.0, 2.0, 3.0], [4.0]], weights=[[0.0, 1e-12, 0.0], [1e12]])
    assert set(sample_rows(bags, 1000, rng=np.random.default_rng(0)).tolist()) == {1, 3}


def test_a_median_of_zero_is_said_and_replaced():
    bags = Bags.from_arrays([np.zeros(99), np.r_[np.zeros(60), np.full(39, 4.0)]])
    columns = Columns.learn(bags, standardize=False)
    with warns(ModelWarning, "median-distance-between-pairs", "rows"):
        assert median_distance(bags, columns, rng=np.random.default_rng(0)) == pytest.approx(4.0)


def test_weights_count_like_repeated_rows(weighted_bags):
    found = [
        median_distance(bags, Columns.learn(bags), rng=np.random.default_rng(0))
        for bags in (weighted_bags, replicated(weighted_bags))
    ]
    assert found[0] == pytest.approx(found[1], rel=1e-9)
