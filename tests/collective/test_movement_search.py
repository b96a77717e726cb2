"""How movement is learned: likelihoods of tracks against products of matrices, mixtures against a grid."""

from __future__ import annotations

import numpy as np
import pytest

from sumwise.collective.movement_search import mixture_weights, track_probabilities


def test_track_probabilities_equal_products_of_steps():
    rng = np.random.default_rng(0)
    steps = [rng.dirichlet(np.ones(4), size=4) for _ in range(5)]
    tracks = tuple(np.array(v) for v in ([0, 1, 2, 3], [0, 3, 4, 1], [1, 1, 0, 3], [3, 4, 2, 0]))
    found = track_probabilities(steps, tracks)
    for k, (i, t, j, n) in enumerate(zip(*tracks)):
        product = np.eye(4)
        for s in range(n):
            product = product @ steps[(t + s) % 5]
        assert found[k] == pytest.approx(product[i, j])


def test_mixture_weights_are_the_best_of_a_grid():
    rng = np.random.default_rng(1)
    likelihood = rng.random((300, 2)) ** 2
    weights = mixture_weights(likelihood, prior=0.0, floor=1e-9)
    grid = np.linspace(0, 1, 1001)
    best = grid[np.argmax([np.log(likelihood @ [w, 1 - w] + 1e-12).sum() for w in grid])]
    assert weights[0] == pytest.approx(best, abs=2e-3)
