"""The two dynamic programmes against the binomial distribution and each other."""

import numpy as np
import pytest
from scipy import stats

from sumwise.proportions.kernels.poisson_binomial_dp import banded, direct


def test_direct_gives_the_binomial_for_equal_labels():
    posterior = np.empty(9)
    total = direct(np.full(9, 0.3), 4, np.ones(1), posterior)
    assert total == pytest.approx(stats.binom.pmf(4, 9, 0.3), rel=1e-13)
    np.testing.assert_allclose(posterior, 4 / 9)


@pytest.mark.parametrize("p", [0.2, 0.5, 0.9])
def test_banded_follows_direct_in_a_band(p):
    probs = np.clip(p + 0.1 * np.random.default_rng(0).normal(size=400), 0.01, 0.99)
    mean = int(probs.sum())
    weights = np.array([0.2, 1.0, 0.5])
    exact, near = np.empty(400), np.empty(400)
    total = direct(probs, mean - 1, weights, exact)
    assert banded(probs, 90.0, mean - 90, min(mean + 90, 400), mean - 1, weights, near) == pytest.approx(
        total, rel=1e-13
    )
    np.testing.assert_allclose(near, exact, atol=1e-13)


def test_banded_takes_labels_that_are_certain():
    posterior = np.empty(4)
    total = banded(np.array([0.0, 1.0, 0.5, 0.5]), 30.0, 0, 4, 2, np.ones(1), posterior)
    assert total == pytest.approx(0.5)
    np.testing.assert_allclose(posterior, [0, 1, 0.5, 0.5], atol=1e-15)
