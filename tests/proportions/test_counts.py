"""Counts are checked against their bags once; every refusal says what, where and what to do."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from messages import raises, warns
from sumwise import Bags
from sumwise.errors import DataError
from sumwise.noise import Gaussian, Geometric, Poisson
from sumwise.proportions import at_least_one, intervals
from sumwise.proportions.counts import apportion, drop_empty, observe


def bags(*sizes, weights=None):
    return Bags.from_arrays([np.zeros((n, 1)) for n in sizes], weights=weights, empty="keep")


def test_counts_of_class_one_and_of_two_classes_are_the_same():
    one = observe(bags(3, 2), [1, 2]).observations
    two = observe(bags(3, 2), [[2, 1], [0, 2]]).observations
    np.testing.assert_array_equal(one.low, two.low)
    assert observe(bags(3, 2), [1, 2]).exact


def test_rest_becomes_a_last_class():
    observed = observe(bags(10, 8), [[3, 4], [1, 2]], totals="rest")
    np.testing.assert_array_equal(observed.counts, [[3, 4, 3], [1, 2, 5]])


def test_scale_keeps_shares_of_a_larger_population():
    observed = observe(bags(10, 100), [[600, 300, 100], [600, 300, 100]], totals="scale")
    np.testing.assert_array_equal(observed.counts, [[6, 3, 1], [60, 30, 10]])


def test_weighted_counts_are_scaled_to_rows():
    observed = observe(bags(2, 2, weights=[[10, 30], [5, 5]]), [20, 5])
    np.testing.assert_allclose(observed.observations.low, [1.0, 1.0])
    np.testing.assert_allclose(observed.multiplicity, [0.5, 1.5, 1.0, 1.0])
    several = observe(bags(2, weights=[[10, 30]]), [[10, 10, 20]])
    np.testing.assert_allclose(several.counts, [[0.5, 0.5, 1.0]])


def test_at_least_one_is_a_range():
    observations = observe(bags(3, 2), at_least_one([1, 0], [3, 2])).observations
    np.testing.assert_array_equal(observations.low, [1, 0])
    np.testing.assert_array_equal(observations.high, [3, 0])


def test_shares_are_strictly_inside():
    for observed in (
        observe(bags(3, 2), [0, 2]),
        observe(bags(3, 2), [[0, 0, 3], [1, 1, 0]]),
        observe(bags(3, 2), [-4.0, 9.0], noise=Gaussian(2.0)),
    ):
        shares = observed.shares(np.array([3, 2]))
        assert ((shares > 0) & (shares < 1)).all()
        np.testing.assert_allclose(shares.sum(axis=1), 1.0)


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=6).filter(lambda x: sum(x) > 0), st.integers(0, 5000))
def test_apportion_sums_to_the_total_and_is_within_one(counts, total):
    out = apportion([counts], [total])[0]
    assert out.sum() == total
    assert (np.abs(out - np.array(counts) / sum(counts) * total) < 1 + 1e-6).all()


@pytest.mark.parametrize(
    ("counts", "options", "words"),
    [
        ([4, 1], {}, ("count-above-bags", "rows", 1, 2, 0, 4, 3)),
        ([-1, 1], {}, ("negative-counts-start", "counts", 1, 2)),
        ([0.5, 1], {}, ("counts-not-whole",)),
        ([1.5, 1], {}, ("not-whole-number",)),
        ([np.nan, 1], {}, ("drop-fill-such",)),
        ([1, 1, 1], {}, ("bags-counts-shape", 2, "(3,)")),
        ([[1, 1, 1], [1, 1, 1]], {}, ("class-counts-dont", 1, 2)),
        ([[3], [2]], {}, ("counts-shape-n", "(2, 1)")),
        ([1, 1], {"totals": "scale"}, ("totals-scale-needs",)),
        ([[0, 0], [1, 1]], {"totals": "scale"}, ("all-counts-zero-bags", 1, 2)),
        ([[2, 2], [1, 1]], {"totals": "rest"}, ("count-above-bags", "rows")),
        ([1, 1], {"totals": "guess"}, ("is-takes", "totals", "guess")),
        ([[1, 2], [1, 1]], {"noise": Gaussian(1.0)}, ("noisy-counts-supported",)),
        ([0.5, 1], {"noise": Poisson(1.0)}, ("noise-gives-whole", "Poisson")),
        ([0.5, 1], {"noise": Geometric(1.0)}, ("noise-gives-whole", "Geometric")),
        ([1, 1], {"noise": "loud"}, ("noise-none", "loud")),
        (intervals([0, 1], [2, 2]), {"noise": Gaussian(1.0)}, ("counts-both-ranges",)),
        (intervals([0, 1], [2, 3]), {}, ("count-above-bags", "rows")),
        (intervals([0, 1], [2, 2]), {"totals": "scale"}, ("about-rows-themselves",)),
    ],
)
def test_bad_counts_are_refused(counts, options, words):
    with raises(DataError, *words):
        observe(bags(3, 2), counts, **options)


def test_bad_ranges_and_labels_are_refused():
    with raises(DataError, "low-above-high", "1 of 2", "bag 1 from 2 to 1"):
        intervals([0, 2], [1, 1])
    with raises(DataError, "labels-holds-bag", 2):
        at_least_one([2], [3])
    with raises(DataError, "bags-type-build", "list"):
        observe([1], [1])
    with raises(DataError, "count-above-bags"):
        observe(bags(2, weights=[[1, 3]]), [5])


def test_empty_bags_are_left_out_with_a_warning():
    with warns(UserWarning, "bags-empty-left", 1, 3):
        kept, counts = drop_empty(bags(2, 0, 1), [1, 0, 1])
    assert len(kept) == 2
    np.testing.assert_array_equal(counts, [1, 1])
    with raises(DataError, "all-bags-empty", 1):
        drop_empty(bags(0), [0])
