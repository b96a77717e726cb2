"""The programme over vectors gives the multinomial for equal members."""

import numpy as np
import pytest
from scipy import stats

from sumwise.proportions.kernels.poisson_multinomial_dp import direct


def test_equal_members_give_the_multinomial():
    p = np.array([0.5, 0.2, 0.3])
    outcomes = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    log_total, posterior = direct(np.tile(p, (10, 1)), outcomes, np.array([4.0, 3.0]))
    assert log_total == pytest.approx(stats.multinomial.logpmf([4, 3, 3], 10, p))
    np.testing.assert_allclose(posterior, np.tile([0.4, 0.3, 0.3], (10, 1)))
