"""King's posterior: recovery, covariates, importance sampling and simulation on the lines."""

import numpy as np
import pytest

from sumwise.ecological.kernels.king import (
    DISTANCE,
    KingData,
    KingPriors,
    distance_to_mode,
    log_posterior,
    maximise,
    resample,
    simulate,
)

NONE = np.zeros((300, 0))


def units(n=300, seed=0, move=0.0):
    rng = np.random.default_rng(seed)
    x, z = rng.uniform(0.05, 0.95, n), rng.normal(size=n)
    z -= z.mean()
    b, w = 0.4 + 0.1 * rng.normal(size=n) + move * z, 0.7 + 0.08 * rng.normal(size=n)
    b, w = b.clip(0, 1), w.clip(0, 1)
    return x, x * b + (1 - x) * w, b, w, z


def test_posterior_mode_recovers_means_and_is_a_mode():
    x, t, _, _, _ = units()
    data = KingData(x, t, np.ones(300), NONE, NONE)
    phi, covariance, record, course = maximise(data, KingPriors())
    mean_b = phi[0] * (0.25 + np.exp(2 * phi[2])) + 0.5
    mean_w = phi[1] * (0.25 + np.exp(2 * phi[3])) + 0.5
    assert abs(mean_b - 0.4) < 0.03
    assert abs(mean_w - 0.7) < 0.03
    best = log_posterior(phi, data, KingPriors())
    assert best == pytest.approx(max(course), rel=1e-12)  # the last bits are the processor's
    for step in 0.05 * np.eye(5):
        assert log_posterior(phi + step, data, KingPriors()) < best
        assert log_posterior(phi - step, data, KingPriors()) < best
    assert np.linalg.eigvalsh(covariance).min() > 0
    assert record.nit > 0


@pytest.mark.check
def test_covariate_of_the_first_mean_is_found():
    x, t, _, _, z = units(move=0.1)
    data = KingData(x, t, np.ones(300), z[:, None], NONE)
    phi = maximise(data, KingPriors(), starts=1)[0]
    assert 0.06 < phi[5] < 0.14


def test_priors_pull_as_they_say():
    x, t, _, _, _ = units()
    data = KingData(x, t, np.ones(300), NONE, NONE)
    none = KingPriors(0, 0, 0, 0)
    phi = np.array([3.0, 0.1, -1.0, -1.0, 0.7])
    free = log_posterior(phi, data, none)
    np.testing.assert_allclose(free - log_posterior(phi, data, KingPriors(0.5, 0, 0, 0)), 0.49 / 0.5)
    np.testing.assert_allclose(free - log_posterior(phi, data, KingPriors(0, 0.5, 0, 0)), 2 * np.exp(-2.0) / 0.5)
    outside = 3 * (0.25 + np.exp(-2.0)) + 0.5 - 1
    np.testing.assert_allclose(free - log_posterior(phi, data, KingPriors(0, 0, 0.5, 0)), outside**2 / 1.0)


def test_weight_two_is_a_unit_twice():
    x, t, _, _, _ = units()
    phi = np.array([0.1, 0.2, -1.2, -1.3, 0.2])
    twice = KingData(x, t, np.full(300, 2.0), NONE, NONE)
    double = KingData(np.r_[x, x], np.r_[t, t], np.ones(600), np.zeros((600, 0)), np.zeros((600, 0)))
    flat = KingPriors(0, 0, 0, 0)
    np.testing.assert_allclose(log_posterior(phi, twice, flat), log_posterior(phi, double, flat))


def test_simulated_units_lie_on_their_lines_and_near_the_truth():
    x, t, b, w, _ = units()
    x, t = np.r_[x, 0.0, 1.0], np.r_[t, 0.3, 0.6]
    none = np.zeros((302, 0))
    data = KingData(x, t, np.ones(302), none, none)
    phi, covariance, _, _ = maximise(data, KingPriors())
    rng = np.random.default_rng(0)
    draws, effective = resample(phi, covariance, data, KingPriors(), 200, rng=rng)
    first, second = simulate(draws, data, rng=rng)
    assert effective > 20
    np.testing.assert_allclose(x * first + (1 - x) * second, np.tile(t, (200, 1)), atol=1e-9)
    assert first.min() >= 0
    assert second.max() <= 1
    assert abs(first[:, :300].mean() - b.mean()) < 0.03
    np.testing.assert_allclose(second[:, 300], 0.3)
    np.testing.assert_allclose(first[:, 301], 0.6)
    assert first[:, 300].std() > 0.01  # nobody of that group is there: drawn from the model
    assert second[:, 301].std() > 0.01
    assert w.mean() > 0


def test_mode_is_found_where_a_line_search_fails_on_the_way():
    rng = np.random.default_rng(4)
    x = np.concatenate([np.zeros(28), rng.beta(0.3, 0.3, 320)])
    t = np.clip(rng.gamma(1.5, 0.012, 348), 0, 1)  # an outcome that hardly anybody chose
    none = np.zeros((348, 0))
    data = KingData(x, t, np.ones(348), none, none)
    phi, covariance, record, _ = maximise(data, KingPriors(), starts=1)
    assert distance_to_mode(record.jac, covariance) < DISTANCE
    steps = 0.05 * np.vstack([np.eye(5), -np.eye(5)])
    assert min(-log_posterior(phi + step, data, KingPriors()) for step in steps) > record.fun - 1e-3
