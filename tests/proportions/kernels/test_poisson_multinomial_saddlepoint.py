"""The multivariate saddlepoint for equal members: Stirling's error, and an estimate that covers it."""

import numpy as np
import pytest
from scipy import stats

from sumwise.proportions.kernels.poisson_multinomial import class_posterior
from sumwise.proportions.kernels.poisson_multinomial_saddlepoint import saddlepoint


@pytest.mark.parametrize("n", [30, 300])
def test_equal_members(n):
    p = np.array([0.5, 0.2, 0.3])
    outcomes = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    cov = n * (np.diag(p) - np.outer(p, p))[:2, :2]
    log_total, posterior, error = saddlepoint(np.tile(p, (n, 1)), outcomes, cov, np.ones(n))
    exact = stats.multinomial.logpmf(np.rint(n * p), n, p)
    assert abs(log_total - exact) < 1.5 / n
    np.testing.assert_allclose(posterior, np.tile(p, (n, 1)), rtol=1e-12)
    assert 0 < error < 3.0 / n


@pytest.mark.parametrize("apart", [6.0, 20.0, 80.0, 700.0])
@pytest.mark.parametrize("extra", [-2, 0, 1])
def test_nearly_certain_class(apart, extra):
    """A feature that all but names the third class: its count is nearly certain, the others' are not."""
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(60, 3))
    logits[:, 2] += np.where(np.arange(60) < 25, apart, -apart)
    counts = [[15, 20 - extra, 25 + extra]]
    exact = class_posterior(logits, [0, 60], counts, method="direct")
    found = class_posterior(logits, [0, 60], counts, method="saddlepoint")
    np.testing.assert_allclose(found.posterior.sum(axis=0), counts[0], atol=0.01)
    assert np.abs(found.posterior - exact.posterior).max() < 0.05
    assert abs(found.log_prob[0] - exact.log_prob[0]) < 0.3


@pytest.mark.parametrize("n", [233, 2000])
def test_certain_class_of_large_bag_is_reached(n):
    """A deviation below the rounding of the mean must not be taken for a sum out of reach."""
    logits = np.random.default_rng(0).normal(size=(n, 3))
    logits[:, 2] += np.where(np.arange(n) < 108, 13.0, -148.0)
    counts = [[52, n - 160, 108]]
    found = class_posterior(logits, [0, n], counts, method="saddlepoint")
    np.testing.assert_allclose(found.posterior.sum(axis=0), counts[0], atol=1e-3)
    np.testing.assert_allclose(found.posterior[:108, 2], 1.0, atol=1e-3)
