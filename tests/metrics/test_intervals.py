"""Intervals of scores by formula, at their ends and by coverage."""

import numpy as np
import pytest

from sumwise.metrics import auc
from sumwise.metrics.intervals import (
    auc_interval,
    difference_interval,
    mean_error_interval,
    r_squared_interval,
    wilson_interval,
)


@pytest.mark.parametrize("k", [0, 5, 10])
def test_wilson_solves_its_equation(k):
    low, high = wilson_interval(k, 10, 0.95)
    assert 0 <= low <= k / 10 <= high <= 1
    for end in (low, high):
        if 0 < end < 1:
            assert (k / 10 - end) ** 2 == pytest.approx(1.959964**2 * end * (1 - end) / 10, rel=1e-5)


def delong_variance(ones, zeros):
    """The slow obvious version: variances of how often each positive, and each negative, is ranked rightly."""
    wins = (ones[:, None] > zeros) + 0.5 * (ones[:, None] == zeros)
    return wins.mean(axis=1).var(ddof=1) / len(ones) + wins.mean(axis=0).var(ddof=1) / len(zeros)


@pytest.mark.parametrize("seed", range(4))
def test_auc_interval_solves_its_equation_with_the_larger_variance(seed):
    rng = np.random.default_rng(seed)
    labels, scores = np.repeat([1, 0], [12, 30]), np.round(rng.uniform(size=42), 1)
    scores[:12] = np.clip(scores[:12] + 0.1 * seed, 0, 1)
    area, k = auc(labels, scores), 20.0
    own = delong_variance(scores[:12], scores[12:]) / (area * (1 - area))
    for end in auc_interval(labels, np.column_stack([1 - scores, scores])):
        by_area = (1 + k * (1 - end) / (2 - end) + k * end / (1 + end)) / (12 * 30)
        assert (area - end) ** 2 == pytest.approx(1.959964**2 * end * (1 - end) * max(own, by_area), rel=1e-4)


def test_auc_interval_of_perfect_and_reversed_ranks_is_not_a_point():
    labels, scores = np.repeat([0, 1], 10), np.linspace(0, 1, 20)
    low, high = auc_interval(labels, scores)
    assert 0.7 < low < 0.9
    assert high == 1.0
    assert auc_interval(labels, scores[::-1]) == pytest.approx((0.0, 1 - low), abs=1e-6)
    assert auc_interval([0, 1], [0.2, 0.7])[0] < 0.25


def test_auc_interval_covers_where_spreads_differ():
    rng, held = np.random.default_rng(0), 0
    for _ in range(60):
        scores = np.concatenate([rng.normal(1.882, 2.0, 20), rng.normal(size=80)])  # area 0.8
        low, high = auc_interval(np.repeat([1, 0], [20, 80]), 1 / (1 + np.exp(-scores / 4)))
        held += low <= 0.8 <= high
    assert held >= 52


def test_intervals_of_errors_and_r_squared_cover():
    rng, held = np.random.default_rng(0), np.zeros(2)
    for _ in range(200):
        y = rng.normal(size=60)
        found = y + 0.5 * rng.normal(size=60)
        low, high = r_squared_interval(y, found)
        held[0] += low <= 0.75 <= high
        low, high = mean_error_interval(found - y)
        held[1] += low <= 0.5 * np.sqrt(2 / np.pi) <= high
    assert (held >= 180).all()


def test_error_interval_of_few_units_covers_as_often_as_promised():
    rng, covered = np.random.default_rng(1), 0
    for _ in range(600):
        low, high = mean_error_interval(rng.normal(size=12))
        covered += low <= np.sqrt(2 / np.pi) <= high
    assert covered / 600 == pytest.approx(0.95, abs=0.025)  # 2.8 standard errors


def test_intervals_of_perfect_predictions_are_points_and_of_one_unit_unbounded():
    assert r_squared_interval([1.0, 2.0], [1.0, 2.0]) == (1.0, 1.0)
    assert mean_error_interval([0.0, 0.0]) == (0.0, 0.0)
    assert mean_error_interval([2.0]) == (0.0, np.inf)
    assert r_squared_interval([3.0, 3.0], [1.0, 2.0]) == (-np.inf, -np.inf)


def test_difference_interval_is_the_normal_one_for_symmetric_intervals_and_covers():
    rng, held = np.random.default_rng(0), 0
    truth, spread = np.array([0.3, 0.5]), np.array([0.02, 0.05])
    for _ in range(400):
        found = truth + spread * rng.normal(size=2)
        parts = [(m, m - 1.96 * s, m + 1.96 * s) for m, s in zip(found, spread)]
        low, high = difference_interval(*parts)
        assert high - low == pytest.approx(2 * 1.96 * np.hypot(*spread))
        held += low <= 0.2 <= high
    assert 366 <= held <= 394


def test_difference_interval_of_bounds_adds_up_and_is_open_where_one_is():
    low, high = difference_interval(([0.5, 0.5], [0.4, np.nan], [0.7, 0.7]), ([0.6, 0.6], [0.6, 0.5], [1.0, 1.0]), True)
    assert (low[0], high[0]) == pytest.approx((-0.1, 0.6))
    assert np.isnan(high[1])
    assert low[1] == pytest.approx(-0.2)
