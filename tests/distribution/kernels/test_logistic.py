import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from sumwise.distribution.kernels.logistic import cross_entropy, fit_logistic


def test_classes_give_scikit_learns_solution():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(80, 3)), rng.integers(0, 3, 80)
    found = fit_logistic(x, np.eye(3)[y], 0.05, tol=1e-9)
    other = LogisticRegression(C=1 / (0.05 * 80), tol=1e-10, max_iter=2000).fit(x, y)
    assert np.allclose(found.coef, other.coef_.T, atol=1e-5)
    assert np.allclose(found.intercept, other.intercept_ - other.intercept_.mean(), atol=1e-5)


def test_shares_are_replicated_classes():
    rng = np.random.default_rng(1)
    x, counts = rng.normal(size=(20, 2)), rng.integers(0, 5, (20, 2)) + 1
    counts[:, 1] = 8 - counts[:, 0]  # every unit weighs the same
    labels = np.concatenate([np.repeat([0, 1], c) for c in counts])
    rows = np.repeat(x, 8, axis=0)
    one = fit_logistic(x, counts / 8, 0.1, tol=1e-9)
    other = fit_logistic(rows, np.eye(2)[labels], 0.1, tol=1e-9)
    assert np.allclose(one.coef, other.coef, atol=1e-6)


def test_a_warm_start_ends_where_a_cold_one_does():
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(50, 4)), np.eye(2)[rng.integers(0, 2, 50)]
    cold = fit_logistic(x, y, 0.01, tol=1e-9)
    warm = fit_logistic(x, y, 0.01, fit_logistic(x, y, 1.0), tol=1e-9)
    assert np.allclose(cold.coef, warm.coef, atol=1e-5)
    assert len(cold.history) == cold.n_iter
    assert cross_entropy(x @ cold.coef + cold.intercept, y) < np.log(2)


def test_huge_logits_stay_finite():
    assert cross_entropy(np.array([[1e5, -1e5]]), np.array([[1.0, 0.0]])) == 0
    found = fit_logistic(np.array([[1e3], [-1e3]]), np.eye(2), 1e-12)
    assert np.isfinite(found.coef).all()
    assert found.objective == pytest.approx(0, abs=1e-6)


def test_weight_two_is_giving_a_unit_twice():
    rng = np.random.default_rng(0)
    features, shares = rng.normal(size=(12, 3)), np.eye(2)[rng.integers(0, 2, 12)]
    weights = rng.integers(1, 4, 12)
    twice = np.repeat(np.arange(12), weights)
    found = fit_logistic(features, shares, 0.1, tol=1e-9, weights=weights)
    copies = fit_logistic(features[twice], shares[twice], 0.1, tol=1e-9)
    np.testing.assert_allclose(found.coef, copies.coef, atol=1e-6)
    logits = features @ found.coef + found.intercept
    assert cross_entropy(logits, shares, weights) == pytest.approx(cross_entropy(logits[twice], shares[twice]))
