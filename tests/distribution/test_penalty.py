import numpy as np
import pytest

import brute_distribution as brute
from messages import raises
from sumwise.distribution.kernels.ridge import ridge_path
from sumwise.distribution.penalty import held_out_errors, middle_penalty, penalties_and_weights
from sumwise.errors import DataError


def test_weights_are_the_likelihood_times_a_half_cauchy_prior():
    rng = np.random.default_rng(0)
    path = ridge_path(rng.normal(size=(30, 4)), rng.normal(size=(30, 2)))
    penalties, weights = penalties_and_weights(path, "loo")
    signal = np.sqrt(path.top / penalties)[:, None]  # over noise, in standard deviations
    expected = path.errors ** (-30 / 2) * signal / (1 + signal**2)
    np.testing.assert_allclose(weights, expected / expected.sum(axis=0))
    assert (path.penalties.min() < middle_penalty(path, penalties, weights) * path.top).all()


def test_averages_are_of_predictions_and_of_errors():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(10, 3)), rng.normal(size=(10, 2))
    path, penalties = ridge_path(x, y), np.array([0.1, 5.0])
    weights = np.array([[0.3, 1.0], [0.7, 0.0]])
    for k in range(2):
        errors = sum(w * brute.leave_one_out(x, y[:, k], p) for w, p in zip(weights[:, k], penalties))
        assert np.allclose(path.leave_one_out(penalties, weights)[:, k], errors)
        coef = sum(w * path.coefficients(x, p)[:, k] for w, p in zip(weights[:, k], penalties))
        assert np.allclose(path.coefficients(x, penalties, weights)[:, k], coef)


def test_other_rules_are_refused():
    with raises(DataError, "is-takes", "penalty", "aic"):
        penalties_and_weights(ridge_path(np.eye(3), np.eye(3)), "aic")


@pytest.mark.parametrize("penalty", ["loo", 0.1])
@pytest.mark.parametrize("grouped", [False, True])
def test_each_error_has_the_settings_of_the_others(penalty, grouped):
    rng = np.random.default_rng(1)
    groups = np.arange(8) // 2 if grouped else None
    y, scale = rng.normal(size=(8, 2)), np.array([1.0, 2.0])
    paths = [ridge_path(rng.normal(size=(8, d)), y, groups=groups) for d in (2, 5)]
    errors = held_out_errors(paths, penalty, scale)
    for i in range(8):
        others = np.arange(8) != i if groups is None else groups != groups[i]
        path = min(paths, key=lambda p: np.mean((p.each[others] ** 2).mean(axis=0).min(axis=0) / scale))
        of_others = path._replace(each=path.each[others])
        penalties, weights = penalties_and_weights(of_others, penalty)
        if penalty == "loo":  # the likelihood of all units, or groups, but its own
            weights = (path.each[others] ** 2).mean(axis=0) ** (-(3 if grouped else 7) / 2)
            signal = np.sqrt(path.top / penalties)[:, None]
            weights = weights * signal / (1 + signal**2)
            weights /= weights.sum(axis=0)
        np.testing.assert_allclose(errors[i], path.leave_one_out(penalties, weights)[i])
