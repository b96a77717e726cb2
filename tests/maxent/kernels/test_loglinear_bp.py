"""Belief propagation: what it returns whatever the graph. Its values are tested in test_loglinear.py."""

import numpy as np
import pytest

from sumwise.maxent.kernels import loglinear_bp
from sumwise.maxent.kernels.loglinear import enumerate_cells, layout
from sumwise.maxent.kernels.loglinear_bp import bp_cells, trw_cells


@pytest.mark.parametrize("engine", [bp_cells, trw_cells])
def test_beliefs_of_overlapping_tables_agree(engine, monkeypatch):
    monkeypatch.setattr(loglinear_bp, "MAX_ITER", 2000)
    rng = np.random.default_rng(0)
    lay = layout([3, 2, 4], [(0, 1), (1, 2), (0, 2)])
    found = engine(lay, rng.normal(0, 0.5, (2, lay.n_cells)), np.zeros(2)).cells
    ab, bc = (found[:, lay.starts[c] : lay.starts[c + 1]] for c in (0, 2))
    assert lay.cliques[0], lay.cliques[2] == ((0, 1), (1, 2))
    np.testing.assert_allclose(ab.reshape(2, 3, 2).sum(axis=1), bc.reshape(2, 2, 4).sum(axis=2), atol=1e-6)


def test_loopy_beats_trw_on_a_weak_loop_and_both_know_the_classes():
    rng = np.random.default_rng(3)
    lay = layout([2] * 5, [(i, j) for i in range(5) for j in range(i)])
    weights = rng.normal(0, 0.4, (3, lay.n_cells))
    exact = enumerate_cells(lay, weights, np.zeros(3)).cells
    loopy, trw = (np.abs(f(lay, weights, np.zeros(3)).cells - exact).max() for f in (bp_cells, trw_cells))
    assert loopy < trw < 0.08
