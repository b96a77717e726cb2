"""Closed forms of contextual effects, against regressions on simulated slopes."""

import numpy as np
import pytest

from sumwise.ecological.kernels.contextual_effects import moments, sampling_covariance, slope_covariance


def units(n=60, n_rows=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(rng.uniform(1, 3, n_rows), n) * rng.integers(300, 1500, (n, 1))


def test_slope_covariance_is_that_of_a_regression_on_simulated_slopes():
    rows, rng = units(), np.random.default_rng(1)
    size = rows.sum(axis=1)
    x, weight = rows / size[:, None], size / size.sum()
    mean = weight @ x
    errors = []
    for _ in range(4000):
        slopes = rng.normal(size=(3, 3)) + rng.normal(size=3)  # a group's own, and shared
        shares = (x - mean) @ slopes.T  # (n, groups): what each group deviates from 0
        y = (x * shares).sum(axis=1)
        fitted = np.linalg.lstsq(np.sqrt(weight)[:, None] * x, np.sqrt(weight) * y, rcond=None)[0]
        errors.append(fitted - (weight[:, None] * x * shares).sum(axis=0) / mean)
    expected = slope_covariance(moments(rows, rows, np.ones(len(rows))))
    np.testing.assert_allclose(np.cov(np.transpose(errors)), expected, rtol=0.15, atol=0.02 * expected.max())


def test_errors_leave_the_totals_of_outcomes_alone():
    rows = units(n_rows=4)
    m = moments(rows, rows, 1 / rows.sum(axis=1))
    for covariance in (sampling_covariance(m, 0.5), slope_covariance(m)):
        assert np.abs(covariance @ m.mean).max() < 1e-9 * np.abs(covariance).max()


def test_covariates_that_go_with_composition_leave_less_known():
    rows = units()
    z = (rows[:, 0] / rows.sum(axis=1))[:, None] + np.random.default_rng(0).normal(0, 0.05, (60, 1))
    plain, more = (sampling_covariance(moments(rows, rows, np.full(60, 0.01), c), 0.5) for c in (None, z - z.mean()))
    assert more[0, 0] > 1.5 * plain[0, 0]


@pytest.mark.parametrize("block", [1, 7, 4096])
def test_sums_over_blocks_of_units_are_the_same(monkeypatch, block):
    rows = units(40)
    whole = moments(rows, rows, np.ones(40))
    monkeypatch.setattr("sumwise.ecological.kernels.contextual_effects.BLOCK", block)
    for one, other in zip(whole, moments(rows, rows, np.ones(40))):
        np.testing.assert_allclose(one, other)
