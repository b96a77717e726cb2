"""Ecological regression against NumPy's least squares, a general solver and the conditions of an optimum."""

import numpy as np
import pytest
from scipy.optimize import minimize

from sumwise.ecological.kernels import least_squares as ls


def regression(seed, n=30, n_rows=3, n_cols=4):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(n_rows), n), rng.dirichlet(np.ones(n_cols), n), rng.uniform(0.5, 2, n)


def test_free_shares_equal_weighted_least_squares_and_sum_to_one():
    x, t, w = regression(0)
    root = np.sqrt(w)[:, None]
    expected = np.linalg.lstsq(root * x, root * t, rcond=None)[0]
    shares = ls.free_shares(*ls.gram(x, t, w), 0.0, t.mean(axis=0))
    np.testing.assert_allclose(shares, expected, atol=1e-10)
    np.testing.assert_allclose(shares.sum(axis=1), 1)


def test_strong_ridge_gives_the_centre():
    x, t, w = regression(1)
    centre = t.mean(axis=0)
    shares = ls.free_shares(*ls.gram(x, t, w), 1e9, centre)
    np.testing.assert_allclose(shares, np.tile(centre, (3, 1)), atol=1e-6)


def test_standard_errors_equal_the_textbook():
    x, t, w = regression(2)
    shares = ls.free_shares(*ls.gram(x, t, w), 0.0, t.mean(axis=0))
    errors, _ = ls.residual_covariance(x, t, w, shares, 0.0)
    residual = np.sqrt(w) * (t - x @ shares)[:, 1]
    variance = residual @ residual / (30 - 3) * np.linalg.inv((x * w[:, None]).T @ x)
    np.testing.assert_allclose(errors[:, 1], np.sqrt(np.diag(variance)))


@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_robust_errors_are_those_of_hc3(alpha):
    """The sandwich with every squared residual over (1 - leverage)^2, written out unit by unit."""
    x, t, w = regression(4, n=12)
    shares = ls.free_shares(*ls.gram(x, t, w), alpha, t.mean(axis=0))
    bread = np.linalg.inv((x * w[:, None]).T @ x + alpha * np.eye(3))
    meat = np.zeros((4, 3, 3))
    for x_i, t_i, w_i in zip(x, t, w):
        leverage = w_i * x_i @ bread @ x_i
        residual = (t_i - x_i @ shares) / (1 - leverage)
        meat += np.multiply.outer((w_i * residual) ** 2, np.outer(x_i, x_i))
    expected = np.sqrt([np.diag(bread @ part @ bread) for part in meat]).T
    np.testing.assert_allclose(ls.robust_errors(x, t, w, shares, alpha), expected)


@pytest.mark.parametrize("seed", range(5))
def test_projection_is_the_nearest_point_of_the_simplex(seed):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(1, 4))
    near = ls.project_rows(z)
    assert near.min() >= 0
    np.testing.assert_allclose(near.sum(axis=1), 1)
    others = rng.dirichlet(np.ones(4), 2000)
    assert np.sum((z - near) ** 2) <= np.sum((z - others) ** 2, axis=1).min() + 1e-12


@pytest.mark.parametrize("alpha", [0.0, 2.0])
def test_simplex_shares_agree_with_a_general_solver(alpha):
    rng = np.random.default_rng(3)
    x = rng.dirichlet(np.ones(2), 20)
    t = np.clip(x @ np.array([[1.2, -0.2], [0.1, 0.9]]) + 0.05 * rng.normal(size=(20, 2)), 0, 1)
    t = t / t.sum(axis=1, keepdims=True)
    w, centre = np.ones(20), t.mean(axis=0)
    ours = ls.simplex_shares(*ls.gram(x, t, w), alpha, centre)

    def loss(p):
        b = np.stack([p, 1 - p], axis=1)
        return np.sum((t - x @ b) ** 2) + alpha * np.sum((b - centre) ** 2)

    other = minimize(loss, [0.5, 0.5], bounds=[(0, 1)] * 2, options={"ftol": 1e-14})
    np.testing.assert_allclose(ours.shares[:, 0], other.x, atol=1e-5)
    assert ours.change < 1e-9
    assert ours.objectives[-1] <= ours.objectives.min() + 1e-12


def test_simplex_shares_tell_when_they_stop_early():
    x, t, w = regression(4, n_rows=3)
    x = 0.999 * x.mean(axis=0) + 0.001 * x  # hardly any difference between units
    assert ls.simplex_shares(*ls.gram(x, t, w), 0.0, t.mean(axis=0), max_iter=3).change > 1e-9
