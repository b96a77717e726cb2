"""Masses, lines and draws of the truncated bivariate normal against SciPy and fine grids."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import log_ndtr

from sumwise.ecological.kernels import truncated_normal as tn

CASES = [
    (0.5, 0.5, 0.3, 0.2, 0.3),
    (0.95, 1.12, 0.33, 0.27, 0.92),
    (-0.3, 0.2, 0.1, 0.2, -0.5),
    (0.5, 0.5, 0.01, 0.02, 0.99),
    (0.5, 0.5, 5.0, 8.0, 0.2),
]


def mass(case):
    return tn.log_square_mass(*case, tn.NODES, tn.WEIGHTS)


@pytest.mark.parametrize("case", CASES)
def test_square_mass_agrees_with_the_bivariate_distribution_function(case):
    mb, mw, sb, sw, rho = case
    law = stats.multivariate_normal([mb, mw], [[sb**2, rho * sb * sw], [rho * sb * sw, sw**2]])
    expected = law.cdf([1, 1]) - law.cdf([0, 1]) - law.cdf([1, 0]) + law.cdf([0, 0])
    np.testing.assert_allclose(np.exp(mass(case)), expected, rtol=1e-4, atol=1e-12)


def test_square_mass_of_independent_normals_is_right_far_outside():
    case = (-6.7, 0.3, 0.0227, 0.2, 0.0)
    first = tn.log_interval(np.array([6.7 / 0.0227]), np.array([7.7 / 0.0227]))[0]
    second = tn.log_interval(np.array([-0.3 / 0.2]), np.array([0.7 / 0.2]))[0]
    np.testing.assert_allclose(mass(case), first + second, rtol=1e-6)


def test_log_interval_in_both_tails():
    np.testing.assert_allclose(tn.log_interval(np.array([20.0]), np.array([np.inf])), log_ndtr(-20.0))
    np.testing.assert_allclose(tn.log_interval(np.array([-np.inf]), np.array([-20.0])), log_ndtr(-20.0))
    np.testing.assert_allclose(tn.log_interval(np.array([-1.0]), np.array([1.0])), np.log(0.6826894921370859))


@pytest.mark.parametrize(("mean", "low", "high"), [(0.5, 0.0, 1.0), (-3.0, 0.0, 1.0), (4.0, 0.2, 0.3)])
def test_draws_are_quantiles_of_the_truncated_normal(mean, low, high):
    u = np.array([0.1, 0.5, 0.9])
    law = stats.truncnorm((low - mean) / 0.4, (high - mean) / 0.4, loc=mean, scale=0.4)
    np.testing.assert_allclose(tn.draw_between(mean, 0.4, low, high, u), law.ppf(u), atol=1e-7)


def test_line_moments_are_those_of_the_conditional_normal():
    x, t = np.array([0.3]), np.array([0.6])
    case = (0.5, 0.4, 0.3, 0.2, 0.5)
    line = tn.line_moments(x, t, *case)
    sigma = np.array([[0.09, 0.03], [0.03, 0.04]])
    a = np.array([0.3, 0.7])
    gain = sigma @ a / (a @ sigma @ a)
    np.testing.assert_allclose(line.mean, 0.5 + gain[0] * (0.6 - a @ [0.5, 0.4]))
    np.testing.assert_allclose(line.sd**2, sigma[0, 0] - gain[0] ** 2 * (a @ sigma @ a))


def test_likelihood_integrates_to_one_over_t():
    grid = (np.arange(400) + 0.5) / 400
    case = (0.6, 0.3, 0.3, 0.25, 0.4)
    for x in (0.2, 0.5, 0.9):
        means = np.array([0.6]), np.array([0.3])
        rule = *case[2:], tn.NODES, tn.WEIGHTS
        one = [tn.units_log_likelihood(np.array([x]), np.array([t]), np.ones(1), *means, *rule) for t in grid]
        np.testing.assert_allclose(np.exp(one).sum() / 400 / np.sqrt(2 * np.pi), 1, atol=2e-3)


def test_bounds_of_lines():
    low, high = tn.line_bounds(np.array([0.5, 0.0, 1.0, 0.4]), np.array([0.75, 0.3, 0.2, 0.0]))
    np.testing.assert_allclose(low, [0.5, 0, 0.2, 0])
    np.testing.assert_allclose(high, [1, 1, 0.2, 0])


def test_natural_inverts_the_published_scale():
    mean_b, _, sd_b, _, rho = tn.natural(np.array([1.0, 0.0, np.log(0.5), 0.0, 0.5]))
    assert (mean_b, sd_b) == (1.0, 0.5)
    np.testing.assert_allclose(rho, np.tanh(0.5))
