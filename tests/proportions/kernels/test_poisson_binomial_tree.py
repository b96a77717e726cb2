"""The FFT tree against the direct programme."""

import numpy as np
import pytest

from sumwise.proportions.kernels.poisson_binomial_dp import direct
from sumwise.proportions.kernels.poisson_binomial_tree import tree


@pytest.mark.parametrize("n", [1, 2, 7, 64, 65, 300])
def test_tree_follows_direct(n):
    probs = np.random.default_rng(n).uniform(size=n)
    first = int(probs.sum())
    weights = np.array([1.0, 0.3])[: n - first + 1]
    exact = np.empty(n)
    total = direct(probs, first, weights, exact)
    by_tree, posterior = tree(probs, first, weights)
    assert by_tree == pytest.approx(total, rel=1e-12)
    np.testing.assert_allclose(posterior, exact, atol=1e-13)
