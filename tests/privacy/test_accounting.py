"""Accounting: conversions against OpenDP, against integration of the densities, and against each other."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq

from messages import raises
from sumwise.errors import DataError
from sumwise.privacy import accounting
from sumwise.privacy.accounting import epsilon_of_mu, epsilon_of_rho, gaussian_delta, mu_of_epsilon

pytest.importorskip("opendp", reason="the extra 'privacy' isn't installed")
PROMISES = [(0.1, 1e-6), (1.0, 1e-6), (10.0, 1e-6), (3.0, 1e-9)]


def rho_of_epsilon(epsilon, delta):
    """The rho that epsilon_of_rho turns into an epsilon."""
    return brentq(lambda rho: epsilon_of_rho(rho, delta) - epsilon, 1e-9, 1e4, xtol=1e-12)


@pytest.mark.parametrize(("epsilon", "mu"), [(0.1, 0.5), (1.0, 0.3), (1.0, 2.0), (5.0, 1.0), (0.0, 0.2)])
def test_gaussian_delta_is_the_integral_of_the_excess(epsilon, mu):
    """The definition: the largest p(S) - exp(epsilon) q(S), where S is where p exceeds exp(epsilon) q."""
    x = np.linspace(-30, 30, 600_001)
    excess = np.maximum(stats.norm.pdf(x, mu) - math.exp(epsilon) * stats.norm.pdf(x), 0.0)
    assert gaussian_delta(epsilon, mu) == pytest.approx(excess.sum() * (x[1] - x[0]), rel=1e-6)


@pytest.mark.parametrize(("epsilon", "mu"), [(0.1, 0.02), (1.0, 0.2), (10.0, 1.5)])
def test_noise_on_the_grid_has_the_delta_of_the_gaussian_mechanism(epsilon, mu):
    """Discrete Gaussian noise in steps of 1 / 64, coarser than ours: the excess summed over its steps."""
    step, scale = 1 / 64, 1 / mu
    k = np.arange(-int(12 * scale / step), int(12 * scale / step) + 1) * step
    p = np.exp(-(k**2) / (2 * scale**2))
    p /= p.sum()
    shift = int(1 / step)
    excess = np.maximum(p[:-shift] - math.exp(epsilon) * p[shift:], 0.0).sum()
    assert excess == pytest.approx(gaussian_delta(epsilon, mu), rel=2 * (epsilon * step) ** 2 / 12 + 1e-8)


@pytest.mark.parametrize(("epsilon", "delta"), PROMISES)
def test_conversions_are_ordered_and_mu_has_an_inverse(epsilon, delta):
    mu, rho = mu_of_epsilon(epsilon, delta), rho_of_epsilon(epsilon, delta)
    assert epsilon_of_mu(mu, delta) == pytest.approx(epsilon, rel=1e-9)
    assert accounting.loose_rho(epsilon, delta) < rho < mu**2 / 2


def test_noise_saved_by_the_analytic_mechanism_is_what_was_measured():
    """33, 18 and 7 percent by the tight conversion, 45, 27 and 12 by the analytic mechanism, at delta 1e-6."""
    for epsilon, tight, analytic in ((0.1, 1.33, 1.45), (1.0, 1.18, 1.27), (10.0, 1.07, 1.12)):
        loose = accounting.loose_rho(epsilon, 1e-6)
        assert math.sqrt(rho_of_epsilon(epsilon, 1e-6) / loose) == pytest.approx(tight, abs=0.01)
        assert math.sqrt(mu_of_epsilon(epsilon, 1e-6) ** 2 / 2 / loose) == pytest.approx(analytic, abs=0.01)


def test_a_mechanism_without_loss_has_epsilon_zero():
    assert epsilon_of_mu(1e-9, 1e-6) == 0.0


@pytest.mark.parametrize(("epsilon", "delta"), [(101.0, 0.0), (1e300, 0.0), (1.0, 0.5), (1.0, 2e-3)])
def test_promises_that_promise_nothing_are_refused(epsilon, delta):
    with raises(DataError, "delta-above-promises|epsilon-above-promises"):
        accounting.check_promise(epsilon, delta)
