"""Movement: rows are probabilities, and sparse and dense agree."""

from __future__ import annotations

import numpy as np
import pytest

from sumwise.errors import DataError
from sumwise.flows import Movement, Places


def test_sparse_moves_equal_dense_ones_within_reach():
    rng = np.random.default_rng(1)
    x, y, area = rng.uniform(0, 5, (3, 30))
    movement = Movement(stay=1.5, scale=0.7, attraction=0.5)
    dense = Places(x=x, y=y, area=area + 0.1)
    near = dense.moves() <= 2.0
    logs = np.where(near, movement.log_moves(dense), -np.inf)
    logs = logs - np.logaddexp.reduce(logs, axis=1, keepdims=True)
    made = movement.log_moves(Places(x=x, y=y, area=area + 0.1, reach=2.0)).tocoo()
    np.testing.assert_allclose(made.data, logs[made.row, made.col], atol=1e-12)


@pytest.mark.parametrize("given", [{"scale": 0.0}, {"scale": -1.0}, {"stay": np.nan}, {"attraction": np.inf}])
def test_bad_parameters_are_refused(given):
    with pytest.raises(DataError):
        Movement(**given)
