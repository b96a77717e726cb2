"""The junction tree: large domains, and what it refuses. Its values are tested in test_loglinear.py."""

import numpy as np
import pytest

from messages import raises
from sumwise.errors import DataError
from sumwise.maxent.kernels.loglinear import layout
from sumwise.maxent.kernels.loglinear_tree import tree_cells, tree_size


def test_a_long_chain_is_exact_where_enumeration_is_hopeless():
    rng = np.random.default_rng(0)
    lay = layout([3] * 40, [(i, i + 1) for i in range(39)])
    weights = rng.normal(size=(2, lay.n_cells))
    found = tree_cells(lay, weights, np.zeros(2))
    step = np.ones(3)
    for c in range(39):  # transfer matrices
        step = step @ np.exp(weights[0, lay.starts[c] : lay.starts[c + 1]].reshape(3, 3))
    assert found.log_z[0] == pytest.approx(np.log(step.sum()))
    ends = [found.cells[:, lay.starts[c] : lay.starts[c + 1]].sum() for c in range(39)]
    np.testing.assert_allclose(ends, 1.0)


def test_a_dense_graph_is_refused_with_its_size():
    lay = layout([20] * 6, [(i, j) for i in range(6) for j in range(i)])
    assert tree_size(lay) == 20**6
    with raises(DataError, "junction-tree-tables", "1.28e+08"):
        tree_cells(lay, np.zeros((2, lay.n_cells)), np.zeros(2))
