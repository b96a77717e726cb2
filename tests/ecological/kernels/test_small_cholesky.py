"""Small Cholesky factors against NumPy."""

import numpy as np

from sumwise.ecological.kernels.small_cholesky import factor, solve


def test_factor_and_solution_agree_with_numpy():
    rng = np.random.default_rng(0)
    a = rng.normal(size=(5, 8))
    a = a @ a.T
    lower, b = np.zeros((5, 5)), rng.normal(size=5)
    factor(a, lower)
    np.testing.assert_allclose(lower, np.linalg.cholesky(a))
    expected = np.linalg.solve(a, b)
    solve(lower, b)
    np.testing.assert_allclose(b, expected)


def test_vanishing_pivot_stays_finite():
    lower = np.zeros((2, 2))
    factor(np.ones((2, 2)), lower)
    assert np.isfinite(lower).all()
