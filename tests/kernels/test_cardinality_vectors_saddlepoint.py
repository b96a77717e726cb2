"""The multivariate saddlepoint for equal members: Stirling's error, and an estimate that covers it."""

import numpy as np
import pytest
from scipy import stats

from sumwise.kernels.cardinality_vectors_saddlepoint import saddlepoint


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
