"""The multidimensional tree against the programme over vectors."""

import numpy as np
import pytest

from sumwise.proportions.kernels.poisson_multinomial_dp import direct
from sumwise.proportions.kernels.poisson_multinomial_tree import tree


@pytest.mark.parametrize("n", [1, 5, 16, 33])
def test_tree_follows_direct(n):
    rng = np.random.default_rng(n)
    probs = rng.dirichlet(np.ones(3), size=n)
    outcomes = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    target = np.bincount(rng.integers(0, 3, size=n), minlength=3)[:2].astype(float)
    log_total, posterior = direct(probs, outcomes, target)
    by_tree, q = tree(probs, outcomes, target)
    assert by_tree == pytest.approx(log_total, abs=1e-10)
    np.testing.assert_allclose(q, posterior, atol=1e-11)
