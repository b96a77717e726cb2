"""The small linear algebra against NumPy's."""

import numpy as np
import pytest

from sumwise.proportions.kernels.poisson_multinomial_linear import cholesky, dot, inverse, log_det, solve


@pytest.mark.parametrize("d", [1, 3, 9])
def test_factor_solve_inverse_and_determinant(d):
    rng = np.random.default_rng(d)
    root = rng.normal(size=(d, d))
    matrix = root @ root.T + np.eye(d)
    lower = cholesky(matrix, 0.0)
    right = rng.normal(size=d)
    np.testing.assert_allclose(lower @ lower.T, matrix, rtol=1e-12)
    np.testing.assert_allclose(solve(lower, right), np.linalg.solve(matrix, right), rtol=1e-9)
    np.testing.assert_allclose(inverse(lower), np.linalg.inv(matrix), rtol=1e-9, atol=1e-12)
    assert log_det(lower) == pytest.approx(np.linalg.slogdet(matrix)[1])
    assert dot(right, right) == pytest.approx(right @ right)


def test_singular_matrix_takes_the_ridge():
    assert np.isfinite(solve(cholesky(np.ones((2, 2)), 1e-9), np.array([1.0, 1.0]))).all()
