"""Counts of levels from noisy ones."""

import numpy as np
import pytest

from sumwise.maxent.kernels.level_counts import level_counts


def variation(found, true):
    return np.abs(found / found.sum() - true / true.sum()).sum() / 2


@pytest.mark.parametrize("seed", range(5))
def test_noise_of_rare_levels_does_not_pass_for_people(seed):
    rng = np.random.default_rng(seed)
    true = np.append(np.full(40, 50.0), 28_000.0)
    noisy = true + rng.normal(0, 300, 41)
    means, spread = level_counts(noisy, np.full(41, 300.0**2), true.sum())
    assert variation(means, true) < 0.6 * variation(noisy.clip(0), true)
    assert means.sum() == pytest.approx(true.sum(), rel=1e-3)
    assert np.median(spread[:40]) < 150.0**2


def test_counts_far_above_their_noise_stay():
    true = np.linspace(1000, 5000, 30)
    noisy = true + np.random.default_rng(0).normal(0, 10, 30)
    means, spread = level_counts(noisy, np.full(30, 100.0), noisy.sum())
    np.testing.assert_allclose(means, noisy)
    np.testing.assert_allclose(spread, 100.0)


def test_negative_counts_become_small_and_positive():
    noisy = np.append(np.full(25, -500.0), 20_000.0)
    means, _ = level_counts(noisy, np.full(26, 200.0**2), 20_000.0)
    assert (means > 0).all()
    assert means[:25].sum() < 1000
