import numpy as np
import pytest

import brute_distribution as brute
from sumwise.distribution.kernels.ridge import gram_path, ridge_path


@pytest.mark.parametrize("shape", [(9, 3), (9, 9), (9, 30), (40, 1)])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("grouped", [False, True])
def test_path_agrees_with_refitting_without_each_unit(shape, weighted, grouped):
    groups = np.arange(shape[0]) ** 2 % 5 if grouped else None  # of one, two and more, and not in order
    rng = np.random.default_rng(0)
    features, y = rng.normal(2, 1, shape), rng.normal(size=(shape[0], 2))
    weights = rng.uniform(0.2, 3, shape[0]) if weighted else None
    path = ridge_path(features, y, weights, penalties=np.array([1e-2, 1.0, 30.0]), groups=groups)
    scaled = np.ones(shape[0]) if weights is None else weights * shape[0] / weights.sum()
    for p, penalty in enumerate(path.penalties):
        coef = path.coefficients(features, penalty)
        for k in range(2):
            expected, intercept = brute.ridge(features, y[:, k], penalty, weights)
            assert np.allclose(coef[:, k], expected)
            assert path.level[k] - path.mean @ coef[:, k] == pytest.approx(intercept)
            errors = brute.leave_one_out(features, y[:, k], penalty, weights, groups)
            assert np.allclose(path.leave_one_out(penalty)[:, k], errors)
            assert path.errors[p, k] == pytest.approx(np.mean(scaled * errors**2))


def test_features_without_spread_leave_the_mean():
    path = ridge_path(np.ones((5, 2)), np.arange(5.0)[:, None])
    assert np.allclose(path.coefficients(np.ones((5, 2)), path.penalties[0]), 0)
    assert path.level[0] == 2.0


def test_interpolating_fits_keep_their_leave_one_out_errors():
    rng = np.random.default_rng(1)
    features, y = rng.normal(size=(12, 200)), rng.normal(size=(12, 1))
    top = np.linalg.norm(features - features.mean(axis=0), 2) ** 2
    path = ridge_path(features, y, penalties=np.array([1e-10 * top]))
    errors = path.leave_one_out(path.penalties[0])[:, 0]
    assert np.allclose(errors, brute.leave_one_out(features, y[:, 0], 1e-6), atol=1e-5)


def test_gram_path_is_ridge_path_on_the_features():
    rng = np.random.default_rng(2)
    features, y = rng.normal(1, 1, (10, 4)), rng.normal(size=(10, 2))
    path, least = gram_path(features @ features.T, y, penalties=np.array([0.3]))
    other = ridge_path(features, y, penalties=np.array([0.3]))
    assert np.allclose(path.errors, other.errors)
    coef = other.coefficients(features, 0.3)
    new = rng.normal(size=(3, 4))
    assert np.allclose((new @ features.T - path.mean) @ path.dual(0.3), (new - features.mean(axis=0)) @ coef)
    assert abs(least) < 1e-12


def test_predictions_of_smooth_kernels_are_those_that_were_judged():
    x = np.random.default_rng(3).uniform(-1, 1, (300, 1))
    gram = np.exp(-1e-3 * (x - x.T) ** 2)  # nearly all eigenvalues are rounding errors
    y = np.sin(3 * x)
    path, _ = gram_path(gram, y)
    for penalty in path.penalties[path.penalties > 1e-9 * path.top]:
        residual = y - (gram - path.mean) @ path.dual(penalty) - path.level
        kept = penalty / (path.squares + penalty)
        expected = path.left @ (kept[:, None] * (path.left.T @ path.targets))
        assert np.allclose(residual, expected, atol=1e-4)


def test_weight_two_is_giving_a_unit_twice():
    rng = np.random.default_rng(0)
    features, y = rng.normal(size=(12, 3)), rng.normal(size=(12, 2))
    weights = rng.integers(1, 4, 12)
    twice = np.repeat(np.arange(12), weights)
    path, copies = ridge_path(features, y, weights), ridge_path(features[twice], y[twice])
    ratio = len(features) / len(twice)  # weights are scaled to a mean of 1
    np.testing.assert_allclose(
        path.coefficients(features, 0.3), copies.coefficients(features[twice], 0.3 / ratio), rtol=1e-9
    )
    gram = features @ features.T
    path, _ = gram_path(gram, y, weights)
    np.testing.assert_allclose(
        features.T @ (path.root[:, None] * path.dual(0.3)), copies.coefficients(features[twice], 0.3 / ratio), rtol=1e-7
    )


@pytest.mark.parametrize("weights", [None, np.array([0.5, 2.0, 1.0, 1.0, 3.0, 0.7])])
@pytest.mark.parametrize("d", [2, 9])  # fewer columns than units, and more
def test_leverages_are_those_of_fits_to_all_others(weights, d):
    rng = np.random.default_rng(0)
    features, penalty = rng.normal(size=(6, d)), 0.01
    found = ridge_path(features, rng.normal(size=(6, 1)), weights).leverages(penalty)
    scaled = np.ones(6) if weights is None else 6 * weights / weights.sum()
    for i in range(6):
        others = np.delete(np.arange(6), i)
        w, rest = scaled[others], features[others]
        mean = w @ rest / w.sum()
        inner = (rest - mean).T @ (w[:, None] * (rest - mean)) + penalty * np.eye(d)
        away = features[i] - mean
        assert found[i] == pytest.approx(away @ np.linalg.solve(inner, away), rel=1e-6)
