"""The saddlepoint approximation: its order, and that it is a gradient."""

import numpy as np
import pytest
from scipy import stats

from sumwise.kernels.cardinality_saddlepoint import saddlepoint


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
