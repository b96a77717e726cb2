"""The saddlepoint approximation: its order, and that it is a gradient."""

import numpy as np
import pytest
from scipy import special, stats

from sumwise.proportions.kernels.poisson_binomial import count_posterior, exact_counts
from sumwise.proportions.kernels.poisson_binomial_saddlepoint import log_normaliser, saddlepoint


@pytest.mark.parametrize("n", [50, 500, 5000])
def test_log_prob_of_a_binomial_is_right_to_third_order(n):
    posterior = np.empty(n)
    log_prob, _, _ = saddlepoint(np.full(n, -1.0), np.ones(n), n / 5, np.nan, posterior)
    exact = stats.binom.logpmf(n // 5, n, 1 / (1 + np.e))
    assert abs(log_prob - exact) < 2.0 / n**2
    np.testing.assert_allclose(posterior, 0.2, rtol=1e-10)


def test_posterior_is_the_gradient_of_log_prob():
    logits = np.random.default_rng(0).normal(size=30)
    sizes = np.random.default_rng(1).uniform(0.5, 2.0, size=30)
    posterior, scratch = np.empty(30), np.empty(30)
    saddlepoint(logits, sizes, 11.5, np.nan, posterior)
    for i in range(0, 30, 7):
        up, down = logits.copy(), logits.copy()
        up[i] += 1e-5
        down[i] -= 1e-5
        slope = (
            saddlepoint(up, sizes, 11.5, np.nan, scratch)[0] - saddlepoint(down, sizes, 11.5, np.nan, scratch)[0]
        ) / 2e-5
        assert slope == pytest.approx(sizes[i] * (posterior[i] - 1 / (1 + np.exp(-logits[i]))), abs=1e-7)


@pytest.mark.parametrize("apart", [8.0, 30.0, 300.0])
@pytest.mark.parametrize("extra", [-1, 0, 1])
def test_nearly_certain_labels(apart, extra):
    rng = np.random.default_rng(1)
    logits = rng.normal(size=50) + np.where(np.arange(50) < 20, apart, -apart) / 2
    count = exact_counts([20 + extra])
    exact = count_posterior(logits, [0, 50], count, method="direct")
    found = count_posterior(logits, [0, 50], count, method="saddlepoint")
    assert abs(found.log_prob[0] - exact.log_prob[0]) < 0.05
    assert np.abs(found.posterior - exact.posterior).max() < 0.02


@pytest.mark.parametrize("apart", [0.5, 3.0, 9.0, 11.0, 13.0])
def test_posterior_is_the_gradient_where_labels_are_nearly_certain(apart):
    logits = np.random.default_rng(0).normal(size=20) + np.where(np.arange(20) < 8, apart, -apart) / 2
    posterior, scratch = np.empty(20), np.empty(20)
    saddlepoint(logits, np.ones(20), 8.0, np.nan, posterior)
    for i in (0, 5, 9, 15):
        step = 1e-4 * (np.arange(20) == i)
        up, down = (saddlepoint(logits + s * step, np.ones(20), 8.0, np.nan, scratch)[0] for s in (1, -1))
        p = 1 / (1 + np.exp(-logits[i]))
        np.testing.assert_allclose(posterior[i] - p, (up - down) / 2e-4, atol=2e-6)


@pytest.mark.parametrize("var", [1e-9, 0.01, 0.3, 1.0, 3.0, 9.9, 20.0])
def test_normaliser_has_its_slope_and_both_ends(var):
    step = 1e-5
    slope = (log_normaliser(var * np.exp(step), 1.0)[0] - log_normaliser(var * np.exp(-step), 1.0)[0]) / step
    np.testing.assert_allclose(log_normaliser(var, 1.0)[1], slope, rtol=1e-5, atol=1e-9)
    if var < 0.1:
        np.testing.assert_allclose(log_normaliser(var, 1.0)[0], -np.log(special.ive(0, var)), rtol=1e-5)
    if var >= 9:
        np.testing.assert_allclose(log_normaliser(var, 1.0)[0], 0.5 * np.log(2 * np.pi * var), atol=1e-4)
