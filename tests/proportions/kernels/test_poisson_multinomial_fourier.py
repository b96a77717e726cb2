"""The Fourier sum over vectors: the multinomial, also where a factor of the characteristic function vanishes."""

import numpy as np
import pytest
from scipy import stats

from sumwise.proportions.kernels.poisson_multinomial_fourier import fourier, frequencies_needed

OUTCOMES = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])


@pytest.mark.parametrize("n", [6, 8, 90])
def test_equal_thirds_give_the_multinomial(n):
    p = np.full(3, 1 / 3)
    cov = n * (np.diag(p) - np.outer(p, p))[:2, :2]
    counts = np.array([n // 2, n // 4, n - n // 2 - n // 4])
    log_total, posterior = fourier(np.tile(p, (n, 1)), OUTCOMES, counts[:2].astype(float), cov)
    assert log_total == pytest.approx(stats.multinomial.logpmf(counts, n, p), rel=1e-10)
    np.testing.assert_allclose(posterior, np.tile(counts / n, (n, 1)), rtol=1e-9)


def test_frequencies_needed_stay_level_as_bags_grow():
    p = np.full(3, 1 / 3)
    unit = (np.diag(p) - np.outer(p, p))[:2, :2]
    needed = [frequencies_needed(n * unit, n) for n in (10**4, 10**6)]
    assert needed[1] == pytest.approx(needed[0], rel=0.2)
