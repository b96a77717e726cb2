"""Tilting: the mean lands on its target, tails are bounded, potentials are the noise models' densities."""

import numpy as np
import pytest
from scipy import stats

from sumwise.noise import Gaussian, Geometric, Laplace, Poisson
from sumwise.proportions.kernels import poisson_binomial_tilt as tilting


@pytest.mark.parametrize("spread", [0.0, 1.0, 50.0, 2000.0])
@pytest.mark.parametrize("target", [0.001, 1.0, 7.0, 29.999])
def test_tilt_puts_the_mean_on_its_target(spread, target):
    logits = spread * np.random.default_rng(0).normal(size=30)
    t, var = tilting.tilt_to(logits, target, np.nan, 1e-3)
    p = np.array([tilting.sigmoid(x + t) for x in logits])
    assert abs(p.sum() - target) <= 1e-3 * np.sqrt(var) + 1e-9
    assert var == pytest.approx((p * (1 - p)).sum(), rel=1e-6, abs=1e-12)


@pytest.mark.parametrize(
    ("kind", "noise"),
    [
        (tilting.GAUSSIAN, Gaussian(1.7)),
        (tilting.POISSON, Poisson(1.7)),
        (tilting.GEOMETRIC, Geometric(1.7)),
        (tilting.LAPLACE, Laplace(1.7)),
    ],
)
def test_log_potential_is_the_noise_models_density(kind, noise):
    true = np.arange(8.0)
    ours = [tilting.log_potential(kind, 3.0, 1.7, s) for s in true]
    np.testing.assert_allclose(ours, noise.log_density(3.0, true), rtol=1e-12)


def test_half_width_bounds_binomial_tails():
    for n, p in ((20, 0.01), (50, 0.5), (1000, 0.2), (100_000, 0.5)):
        reach = tilting.half_width(n * p * (1 - p))
        outside = stats.binom.sf(np.ceil(n * p + reach) - 1, n, p) + stats.binom.cdf(np.floor(n * p - reach), n, p)
        assert outside < 1e-17


def test_centre_of_a_noisy_count_is_the_mode_of_both():
    logits = np.zeros(100)
    t, mean, var = tilting.centre(logits, tilting.GAUSSIAN, 80.0, 5.0, 0, 100, np.nan)
    assert var == pytest.approx(mean * (100 - mean) / 100)
    assert t == pytest.approx((80.0 - mean) / 25.0, abs=1e-5)
    t, mean, _ = tilting.centre(logits, tilting.LAPLACE, 50.0, 5.0, 0, 100, np.nan)
    assert (t, mean) == (pytest.approx(0.0, abs=1e-3), pytest.approx(50.0, abs=0.01))
    t, mean, _ = tilting.centre(logits, tilting.SUPPORT, 0.0, 1.0, 70, 90, np.nan)
    assert (t, mean) == (pytest.approx(np.log(7 / 3), abs=1e-3), 70.0)


def test_log_tilt_factor_is_the_normalisers_ratio():
    logits = np.random.default_rng(1).normal(size=1000)
    expected = (np.logaddexp(0, logits + 0.7) - np.logaddexp(0, logits)).sum()
    assert tilting.log_tilt_factor(logits, 0.7) == pytest.approx(expected, rel=1e-14)
