"""The field in few features against the Gaussian process in full."""

import numpy as np
import pytest

from sumwise.collective.kernels import smooth_field as sf

RNG = np.random.default_rng(0)
WHEN, PLACE = np.arange(8.0), RNG.random((9, 2)) * 3


def full(y, a, b, scale, noise):
    """Posterior mean and covariance of f at all times and places, by the matrix over all values."""
    kt, ks = (
        np.exp(-((p[:, None] - p[None]) ** 2).sum(axis=-1) / (2 * s**2)) for p, s in ((WHEN[:, None], a), (PLACE, b))
    )
    kernel = scale**2 * np.kron(kt, ks)
    seen = np.isfinite(y.ravel())
    inner = kernel[np.ix_(seen, seen)] + noise * np.eye(seen.sum())
    n = np.isfinite(y).sum(axis=0)
    mean = np.tile((np.nansum(y, axis=0) + np.nanmean(y)) / (n + 1), len(y))
    gain = np.linalg.solve(inner, kernel[seen]).T
    return mean + gain @ (y.ravel() - mean)[seen], kernel - gain @ kernel[seen]


def example():
    y = np.random.default_rng(1).normal(3.0, 1.0, (8, 9))
    y[2], y[4, 3] = np.nan, np.nan
    return y


def test_field_equals_the_process_in_full(monkeypatch):
    monkeypatch.setattr(sf, "TRACE_KEPT", 1 - 1e-12)
    y = example()
    field = sf.fit_field(y, sf.factor(WHEN, 2.0, rng=RNG), sf.factor(PLACE, 1.5, rng=RNG), 1.3, 0.4)
    mean, covariance = full(y, 2.0, 1.5, 1.3, 0.4)
    np.testing.assert_allclose(field.values().ravel(), mean, atol=1e-4)
    rng = np.random.default_rng(2)
    drawn = np.array(list(sf.posterior_draws(field, np.isfinite(y), np.nan_to_num(y), 3000, rng=rng))).reshape(3000, -1)
    np.testing.assert_allclose(drawn.mean(axis=0), mean, atol=0.1)
    np.testing.assert_allclose(drawn.std(axis=0), np.sqrt(np.diag(covariance)), rtol=0.08)


def test_inducing_points_come_near_the_kernel(monkeypatch):
    points = np.random.default_rng(3).random((60, 2)) * 2
    exact = np.exp(-((points[:, None] - points[None]) ** 2).sum(axis=-1) / 2)
    monkeypatch.setattr(sf, "MAX_POINTS", 30)
    features = sf.factor(points, 1.0, rng=np.random.default_rng(4))
    np.testing.assert_allclose(features @ features.T, exact, atol=0.05)
    assert features.shape[1] < 30


@pytest.mark.parametrize("length", [1e-3, 1e3])
def test_extreme_lengths_give_white_noise_and_a_constant(length):
    features = sf.factor(WHEN, length, rng=RNG)
    assert features.shape[1] == (8 if length < 1 else 1)


def test_roughness_follows_what_was_seen_and_stays_open_elsewhere():
    f, y = np.array([4.0, 4.0]), np.array([6.0, np.nan])
    assert np.array_equal(sf.with_roughness(f, y, 0.0, 0.25), f)
    assert np.allclose(sf.with_roughness(f, y, 0.75, 0.25), [5.5, 4.0])  # three quarters of the way
    rng = np.random.default_rng(0)
    draws = np.array([sf.with_roughness(f, y, 0.75, 0.25, rng=rng) for _ in range(4000)])
    assert np.allclose(draws.mean(axis=0), [5.5, 4.0], atol=0.06)
    assert np.allclose(draws.var(axis=0), [0.75 * 0.25, 0.75], rtol=0.08)


def test_widening_finds_how_much_wider_errors_are():
    rng = np.random.default_rng(1)
    size = np.sort(rng.uniform(0, 8, 8000))
    times = np.where(size > 4, 3.0, 1.0)
    off = times * np.sqrt(0.5) * rng.standard_normal(8000) + 0.5 * rng.standard_normal(8000)
    knots, factors = sf.widening(size, off, np.full(8000, 0.5), 0.25)
    assert np.allclose(factors, [1, 1, 3, 3], rtol=0.1)
    assert np.allclose(knots, [1, 3, 5, 7], atol=0.2)
    inside = np.abs(off) <= 2 * np.sqrt(np.interp(size, knots, factors) ** 2 * 0.5 + 0.25)
    assert 0.93 < inside[size > 5].mean() < 0.98
    assert sf.widening(size[:9], off[:9], np.full(9, 0.5), 0.25)[1].shape == (1,)  # too few for groups
