"""Populations: sampled tables have the right expectation; individuals fit their tables."""

from __future__ import annotations

import numpy as np
import pytest

from collective_cases import random_tree
from sumwise.collective.kernels.cgm_distribution import assign_individuals, sample_tables


@pytest.mark.parametrize("wide", [False, True])
def test_means_of_sampled_tables_are_the_marginals(wide):
    model = random_tree(5, keep=1.0)
    problem = model.layout(model.edges if wide else ()).problem(total=20_000)
    beliefs, expected, _ = problem.infer(np.zeros(problem.n_cells))
    rng = np.random.default_rng(0)
    cells, tables = sample_tables(problem, beliefs, rng)
    np.testing.assert_allclose(cells, expected, atol=5 * np.sqrt(20_000 / 4) + 5)
    assert problem.violation(cells, tables) == 0.0


def test_individuals_fit_their_tables():
    model = random_tree(3)
    problem = model.layout().problem(total=40)
    rng = np.random.default_rng(0)
    cells, tables = sample_tables(problem, problem.infer(np.zeros(problem.n_cells))[0], rng)
    people = assign_individuals(problem, cells, tables, rng)
    for e, (first, second, _) in enumerate(problem.forest.edges):
        found = np.zeros_like(tables[e])
        np.add.at(found, (people[:, first], people[:, second]), 1)
        np.testing.assert_array_equal(found, tables[e])
