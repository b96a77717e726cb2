"""Calibrated deviations and beta intervals."""

import numpy as np
import pytest

from sumwise import Margins, synthetic
from sumwise.ecological import EcologicalEM
from sumwise.ecological.calibration import (
    CHOSEN_ON,
    FEW_MOST,
    REPORTED_ON,
    beta_interval,
    beta_sample,
    calibrated_sd,
    few_units_factor,
    regression_sd,
    zero_sum_correlation,
)

SHARES = np.array([[0.9, 0.08, 0.02], [0.3, 0.3, 0.4]])
ZERO, ONE, SIZES = np.zeros((2, 3)), np.ones((2, 3)), np.array([400, 600])


def generator():
    return np.random.default_rng(0)


def test_choosing_and_reporting_elections_are_apart():
    assert not set(CHOSEN_ON) & set(REPORTED_ON)
    assert len(CHOSEN_ON) == len(REPORTED_ON) == 3


def test_deviation_grows_with_each_of_its_sources():
    base = calibrated_sd(SHARES, ZERO, np.array([0.5, 0.5]))
    assert (calibrated_sd(SHARES, 0.05 * ONE, np.array([0.5, 0.5])) > base).all()
    smaller = calibrated_sd(SHARES, ZERO, np.array([0.05, 0.95]))
    assert (smaller[0] > base[0]).all()
    np.testing.assert_array_equal(calibrated_sd(SHARES, ZERO, np.array([0.5, 0.5]), 0.01), base)
    assert (calibrated_sd(SHARES, ZERO, np.array([0.5, 0.5]), 0.05) > 1.3 * base).all()


def test_few_units_of_like_composition_have_wider_intervals():
    many = synthetic.precincts(120, 2, 2, random_state=0).margins
    assert few_units_factor(many.rows) == 1.0
    alike = np.array([[510, 490], [500, 500], [480, 520], [505, 495]])
    assert 2 < few_units_factor(alike) <= FEW_MOST == few_units_factor(np.tile([5, 5], (9, 1)))
    empty = np.vstack([alike, np.zeros((50, 2), int)])
    assert few_units_factor(empty) == few_units_factor(alike)  # empty units identify nothing
    group = np.array([0.5, 0.5])
    wide = calibrated_sd(SHARES, ZERO, group, rows=alike)
    np.testing.assert_allclose(wide, few_units_factor(alike) * calibrated_sd(SHARES, ZERO, group))
    few = many[:4]
    est = EcologicalEM().fit(few)
    parts = (est.error_parts_["chance"], few.rows.sum(axis=0) / few.rows.sum())
    expected = calibrated_sd(est.shares_, *parts, est.overdispersion_, rows=few.rows)
    np.testing.assert_allclose(est.standard_errors_, np.hypot(expected, regression_sd(few.rows, few.cols)))


def test_interval_has_its_level_and_keeps_to_the_bounds():
    low, high = beta_interval(SHARES, 0.03 * ONE, 0.9, ZERO, ONE)
    draws = beta_sample(SHARES, 0.03 * ONE, ZERO, ONE, 4000, sizes=SIZES, rng=np.random.default_rng(0))
    inside = ((draws >= low) & (draws <= high)).mean(axis=0)
    assert np.abs(inside[SHARES > 0.05] - 0.9).max() < 0.02
    assert inside.min() > 0.88
    low, high = beta_interval(SHARES, 0.3 * ONE, 0.99, SHARES - 0.01, SHARES + 0.01)
    assert (low >= SHARES - 0.01 - 1e-12).all()
    assert (high <= SHARES + 0.01 + 1e-12).all()


def test_interval_holds_estimates_at_the_edge():
    edge = np.array([[1.0, 0.0]])
    low, high = beta_interval(edge, 0.02 + 0 * edge, 0.95, 0 * edge, 1 + 0 * edge)
    assert low[0, 1] == 0
    assert high[0, 0] == 1
    assert 0 < high[0, 1] < 0.2


def test_draws_sum_to_one():
    draws = beta_sample(SHARES, 0.05 * ONE, ZERO, ONE, 10, sizes=SIZES, rng=np.random.default_rng(0))
    np.testing.assert_allclose(draws.sum(axis=2), 1)


@pytest.mark.parametrize("sd", [0.01, 0.05, 0.2])
def test_draws_near_zero_are_as_wide_as_intervals(sd):
    shares = np.array([[0.004, 0.096, 0.9], [0.02, 0.38, 0.6]])
    _, high = beta_interval(shares, sd + 0 * shares, 0.95, 0 * shares, 1 + 0 * shares)
    sizes = np.array([3000, 1000])
    draws = beta_sample(shares, sd + 0 * shares, 0 * shares, 1 + 0 * shares, 4000, sizes=sizes, rng=generator())
    drawn = np.quantile(draws, 0.975, axis=0)[:, 0]
    assert (drawn > 0.75 * high[:, 0]).all()  # a beta distribution of that mean and deviation gathers at 0
    assert (np.quantile(draws, 0.025, axis=0) >= 0).all()


def test_what_one_group_has_too_much_of_the_other_lacks():
    shares, sd = np.array([[0.8, 0.2], [0.3, 0.7]]), np.full((2, 2), 0.04)
    draws = beta_sample(shares, sd, 0 * sd, 1 + 0 * sd, 4000, sizes=np.array([500, 500]), rng=generator())
    gap = draws[:, 0, 0] - draws[:, 1, 0]
    np.testing.assert_allclose(draws.std(axis=0), sd, rtol=0.05)  # independent outcomes would give 0.03
    np.testing.assert_allclose(gap.std(), 0.08, rtol=0.05)  # independent groups would give 0.057


@pytest.mark.parametrize("variances", [[1, 1], [1, 1, 1], [4, 1, 1, 2], [9, 1, 1]])
def test_errors_of_these_correlations_sum_to_zero(variances):
    variances = np.array(variances, float)
    correlation, sd = zero_sum_correlation(variances), np.sqrt(variances)
    np.testing.assert_allclose(np.diag(correlation), 1)
    assert np.linalg.eigvalsh(correlation).min() > -1e-9
    possible = 2 * sd.max() <= sd.sum()
    assert (sd @ correlation @ sd < 0.03 * sd.sum() ** 2) == possible


def test_quantiles_of_many_cells_are_those_of_a_few():
    rng = np.random.default_rng(0)
    shares, sd = rng.beta(0.4, 1.2, 100_000), rng.uniform(0, 0.5, 100_000) ** 2
    low, high = beta_interval(shares, sd, 0.95, 0.0, 1.0)
    some = slice(0, 2000)
    few = beta_interval(shares[some], sd[some], 0.95, 0.0, 1.0)
    np.testing.assert_allclose([low[some], high[some]], few, atol=1e-3)


def test_units_composed_alike_leave_the_error_of_a_regression():
    rng = np.random.default_rng(0)
    share = rng.dirichlet([400.0, 400.0], 60)
    rows = np.round(900 * share)
    cols = np.round(
        rows.sum(axis=1)[:, None] * (share @ [[0.7, 0.3], [0.2, 0.8]] + rng.normal(0, 0.02, (60, 1)) * [1, -1])
    )
    found = regression_sd(rows, cols)
    x, y = rows / rows.sum(axis=1, keepdims=True), cols / cols.sum(axis=1, keepdims=True)
    weight = rows.sum(axis=1)
    least = np.linalg.lstsq(np.sqrt(weight)[:, None] * x, np.sqrt(weight)[:, None] * y, rcond=None)
    scale = weight @ (y - x @ least[0]) ** 2 / 58
    np.testing.assert_allclose(found, np.sqrt(np.outer(np.diag(np.linalg.inv(x.T * weight @ x)), scale)), rtol=1e-6)
    est = EcologicalEM().fit(Margins(rows, rows.sum(axis=1)[:, None] * y))
    assert (est.standard_errors_ > found).all()
    assert (regression_sd(np.hstack([rows, rows]) / 2, cols) == 0).all()  # four groups


@pytest.mark.parametrize("share", [0.001, 0.01, 0.02, 0.03, 0.5, 0.99])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_intervals_grow_with_the_standard_deviation(share, level):
    sd = np.array([0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4])
    low, high = beta_interval(np.full(len(sd), share), sd, level, np.zeros(len(sd)), np.ones(len(sd)))
    assert (np.diff(high) > -0.01).all()
    assert (np.diff(low) < 0.01).all()
    assert high[-1] - low[-1] > 0.4  # of a share that may be anything, near 0, too


@pytest.mark.parametrize("sizes", [[500.0, 0.0], [7e9, 1.0], [1.0, 7e9]])
def test_draws_of_a_group_beside_a_far_larger_one_vary(sizes):
    shares = np.array([[0.7, 0.3], [0.2, 0.8]])
    draws = beta_sample(shares, 0.05 + 0 * shares, 0 * shares, 1 + 0 * shares, 1000, sizes=sizes, rng=generator())
    np.testing.assert_allclose(draws.std(axis=0), 0.05, rtol=0.1)
