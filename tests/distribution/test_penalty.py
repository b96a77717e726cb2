import numpy as np
import pytest

import brute_distribution as brute
from messages import raises
from sumwise.distribution.kernels.ridge import ridge_path
from sumwise.distribution.penalty import choose_penalty, held_out_errors
from sumwise.errors import DataError


def test_the_largest_of_nearly_equal_penalties_is_taken():
    rng = np.random.default_rng(0)
    path = ridge_path(rng.normal(size=(30, 4)), rng.normal(size=(30, 2)))
    for k, penalty in enumerate(choose_penalty(path, "loo")):
        errors = path.errors[:, k]
        assert errors[path.penalties == penalty] <= 1.005 * errors.min()
        assert (errors[path.penalties > penalty] > 1.005 * errors.min()).all()


def test_left_out_takes_each_outputs_own_penalty():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(10, 3)), rng.normal(size=(10, 2))
    errors = ridge_path(x, y).leave_one_out(np.array([0.1, 5.0]))
    assert np.allclose(errors[:, 1], brute.leave_one_out(x, y[:, 1], 5.0))


def test_other_rules_are_refused():
    with raises(DataError, "is-takes", "penalty", "aic"):
        choose_penalty(ridge_path(np.eye(3), np.eye(3)), "aic")


@pytest.mark.parametrize("penalty", ["loo", 0.1])
@pytest.mark.parametrize("grouped", [False, True])
def test_each_error_has_the_settings_that_are_best_for_the_others(penalty, grouped):
    rng = np.random.default_rng(1)
    groups = np.arange(8) // 2 if grouped else None
    y, scale = rng.normal(size=(8, 2)), np.array([1.0, 2.0])
    paths = [ridge_path(rng.normal(size=(8, d)), y, groups=groups) for d in (2, 5)]
    errors = held_out_errors(paths, penalty, scale)
    for i in range(8):
        others = np.arange(8) != i if groups is None else groups != groups[i]
        left = [path._replace(each=path.each[others]) for path in paths]
        path = min(left, key=lambda p: np.mean(p.errors.min(axis=0) / scale))
        expected = path.leave_one_out(choose_penalty(path, penalty))[i]
        np.testing.assert_allclose(errors[i], expected)
