import numpy as np
import pytest

import brute_distribution as brute
from sumwise.distribution.kernels.ridge import ridge_path
from sumwise.distribution.penalty import choose_penalty
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
    with pytest.raises(DataError, match="penalty is 'aic'"):
        choose_penalty(ridge_path(np.eye(3), np.eye(3)), "aic")
