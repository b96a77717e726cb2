"""Junction trees of small graphs."""

from __future__ import annotations

import numpy as np
import pytest

from sumwise.inference.kernels.junction_tree import junction_tree


def test_junction_tree_of_a_cycle_has_its_chords():
    cliques, links = junction_tree([(i, (i + 1) % 6) for i in range(6)], [2] * 6)
    assert len(cliques) == 4
    assert all(len(c) == 3 for c in cliques)
    assert len(links) == 3
    covered = {v for c in cliques for v in c}
    assert covered == set(range(6))


@pytest.mark.parametrize("seed", range(10))
def test_every_set_has_a_clique_and_separators_run_through(seed):
    rng = np.random.default_rng(seed)
    sets = [tuple(rng.choice(8, size=int(rng.integers(1, 4)), replace=False).tolist()) for _ in range(7)]
    cliques, links = junction_tree(sets, rng.integers(2, 5, size=8))
    assert all(any(set(s) <= set(c) for c in cliques) for s in sets)
    assert all(set(shared) == set(cliques[i]) & set(cliques[j]) for i, j, shared in links)
    for vertex in range(8):  # running intersection: the cliques of a vertex form a subtree
        holders = {i for i, c in enumerate(cliques) if vertex in c}
        inner = [1 for i, j, shared in links if vertex in shared]
        assert len(inner) == len(holders) - 1
