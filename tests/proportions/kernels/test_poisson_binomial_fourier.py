"""The Fourier sum: few frequencies, no zero divisor, the binomial where it must."""

import numpy as np
import pytest
from scipy import stats

from sumwise.proportions.kernels.poisson_binomial_fourier import fourier, fourier_parallel, period_and_frequencies
from sumwise.proportions.kernels.poisson_binomial_tilt import half_width


def test_frequencies_stay_few_as_bags_grow():
    counts = []
    for n in (10**4, 10**6, 10**8):
        var = n / 4
        period, count = period_and_frequencies(n, var, half_width(var), 1)
        assert period % 2 == 1
        counts.append(count)
    assert max(counts) < 20


@pytest.mark.parametrize("n", [1, 2, 30, 5000])
def test_halves_give_the_binomial_without_dividing_by_zero(n):
    posterior = np.empty(n)
    var = n / 4
    z = (n + 1) // 2
    total = fourier(np.full(n, 0.5), var, half_width(var), z, np.ones(1), posterior)
    assert total == pytest.approx(stats.binom.pmf(z, n, 0.5), rel=1e-12)
    np.testing.assert_allclose(posterior, z / n, rtol=1e-12)


def test_parallel_version_is_the_same():
    probs = np.random.default_rng(0).uniform(0.1, 0.6, size=3000)
    var = (probs * (1 - probs)).sum()
    one, two = np.empty(3000), np.empty(3000)
    z = int(probs.sum())
    a = fourier(probs, var, half_width(var), z, np.ones(1), one)
    b = fourier_parallel(probs, var, half_width(var), z, np.ones(1), two)
    assert a == pytest.approx(b, rel=1e-13)
    np.testing.assert_allclose(one, two, atol=1e-14)
