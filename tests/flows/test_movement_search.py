"""How movement is learned: mixtures against a grid."""

from __future__ import annotations

import numpy as np
import pytest

from sumwise.flows.movement_search import mixture_weights


def test_mixture_weights_are_the_best_of_a_grid():
    rng = np.random.default_rng(1)
    likelihood = rng.random((300, 2)) ** 2
    weights = mixture_weights(likelihood, prior=0.0, floor=1e-9)
    grid = np.linspace(0, 1, 1001)
    best = grid[np.argmax([np.log(likelihood @ [w, 1 - w] + 1e-12).sum() for w in grid])]
    assert weights[0] == pytest.approx(best, abs=2e-3)
