"""Path moves keep individuals, tables and margins together."""

import numpy as np
import pytest

from collective_cases import random_evidence, random_tree
from sumwise.collective.kernels.path_sampler import draw_population, sweep_paths
from sumwise.collective.observations import observe
from sumwise.collective.trellis import walk_of


@pytest.mark.parametrize("seed", range(6))
def test_counts_are_those_of_the_individuals_after_any_moves(seed):
    model = random_tree(seed, levels=3)
    seen = observe(model, random_evidence(model, seed, n=40), None)
    walk = walk_of(seen, model, np.zeros(seen.problem.observations.size))
    t = walk.trellis._replace(log=np.log(np.arange(100) + 0.01))
    rng = np.random.default_rng(seed)
    people = draw_population(t, 40, rng)
    states, entries, counts = people
    mix = np.array([0.5, 0.5, 1.0, 1.0])
    done, tried = sweep_paths(t, people, mix, 30, rng)
    n_cells = len(t.base)
    again = np.zeros_like(counts)
    np.add.at(again, (t.node_start[:-1] + states).ravel(), 1)
    np.add.at(again, (n_cells + entries).ravel(), 1)
    assert np.array_equal(again, counts)
    assert np.array_equal(t.col[entries], states[:, t.child])
    model.check_counts(walk.counts(counts, 40))
    assert (done <= tried).all()
    assert tried[:3].sum() == 2 * 30 * 40
