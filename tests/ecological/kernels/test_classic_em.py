"""The classic algorithms share a signature and this test."""

import numpy as np
import pytest

from sumwise.ecological.kernels.classic_em import ALGORITHMS

TRUE = np.array([[0.7, 0.2, 0.1], [0.15, 0.25, 0.6]])


@pytest.mark.parametrize("name", ALGORITHMS)
def test_exact_margins_give_the_true_shares(name):
    rng = np.random.default_rng(0)
    rows = rng.dirichlet([0.5, 0.5], 60) * 400
    start = np.tile((rows @ TRUE).sum(axis=0) / rows.sum(), (2, 1))
    shares, steps, change = ALGORITHMS[name](rows, rows @ TRUE, np.ones(60), start, 5000, 1e-9)
    np.testing.assert_allclose(shares, TRUE, atol=1e-3)
    assert change < 1e-9
    assert steps < 5000


@pytest.mark.parametrize("name", ALGORITHMS)
def test_weights_and_early_stops(name):
    rng = np.random.default_rng(1)
    rows = rng.dirichlet([1, 1], 20) * 100
    cols = rng.dirichlet([2, 2, 2], 20) * rows.sum(axis=1, keepdims=True)
    start = np.full((2, 3), 1 / 3)
    part, _, _ = ALGORITHMS[name](rows[:10], cols[:10], np.ones(10), start, 50, 0.0)
    whole, steps, change = ALGORITHMS[name](rows, cols, np.repeat([1.0, 0.0], 10), start, 50, 0.0)
    np.testing.assert_allclose(part, whole, atol=1e-8)
    assert steps == 50
    assert change > 0
