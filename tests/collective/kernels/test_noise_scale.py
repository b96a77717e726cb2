"""The scale of noise, by counts that go below 0 and by totals."""

from __future__ import annotations

import numpy as np
import pytest

from sumwise.collective.kernels.noise_scale import laplace_sd, robust_sd


@pytest.mark.parametrize("change", [0.0, 400.0])  # a population that stays, and one that comes and goes
def test_laplace_sd_is_that_of_the_noise(change):
    rng = np.random.default_rng(0)
    truth = np.zeros((60, 20))
    truth[:, 0] = change * np.arange(60) ** 2 % 1000
    counts = truth + rng.laplace(scale=5.0, size=truth.shape)
    assert laplace_sd(counts.ravel(), counts.sum(axis=1), 20) == pytest.approx(5 * np.sqrt(2), rel=0.1)
    assert laplace_sd(counts.ravel(), np.zeros(0), 20) == pytest.approx(5 * np.sqrt(2), rel=0.1)


def test_a_mistake_in_one_count_hardly_moves_robust_sd():
    counts = 50 + np.random.default_rng(0).normal(scale=3.0, size=(200, 10))
    counts[7, 3] = -5000
    assert robust_sd(counts.sum(axis=1), 10) == pytest.approx(3.0, rel=0.15)
