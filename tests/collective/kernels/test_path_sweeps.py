"""Gauss-Seidel sweeps on chains, against dense linear algebra."""

from __future__ import annotations

import numpy as np
import pytest

from collective_cases import random_tree
from sumwise import Domain, Table, Tables
from sumwise.collective import TreeModel
from sumwise.collective.kernels.dual_counts import maximise_dual
from sumwise.collective.kernels.path_sweeps import PathSystem, paths
from sumwise.collective.observations import observe
from sumwise.noise import Gaussian


def chain(levels=4, length=5, seed=0, stay=0.0):
    rng = np.random.default_rng(seed)
    domain = Domain({f"t{i}": levels for i in range(length)})
    edges = [(f"t{i}", f"t{i + 1}") for i in range(length - 1)]
    edges[1] = edges[1][::-1]  # the direction of an edge doesn't matter
    return TreeModel(domain, edges, {e: rng.normal(size=(levels, levels)) + stay * np.eye(levels) for e in edges})


@pytest.mark.parametrize("wide", [False, True])
def test_solution_equals_dense_linear_algebra(wide):
    model = chain()
    problem = model.layout(model.edges[1:3] if wide else ()).problem(total=50)
    rng = np.random.default_rng(1)
    beliefs, cells, _ = problem.infer(rng.normal(size=problem.n_cells))
    free = rng.random(problem.n_cells) < 0.7
    curvature = rng.uniform(0.1, 2.0, size=problem.n_cells)
    dense = np.array([problem.covariance_product(beliefs, cells, e) for e in np.eye(problem.n_cells)])
    matrix = (dense + np.diag(curvature))[np.ix_(free, free)]
    rhs = np.where(free, rng.normal(size=problem.n_cells), 0.0)
    x = PathSystem(problem, beliefs, cells, curvature, free).solve(rhs, 1e-10, 500)
    np.testing.assert_allclose(x[free], np.linalg.solve(matrix, rhs[free]), rtol=1e-6)
    assert (x[~free] == 0).all()


def test_sweeps_need_fewer_products_where_evidence_is_strong():
    model = chain(levels=12, length=12, seed=3, stay=5.0)
    truth = model.sample_tables(5000, random_state=0)
    rng = np.random.default_rng(0)
    noise = Gaussian(1.0)
    tables = Tables([Table(a, noise.sample(truth.nodes[a], rng), noise=noise) for a in model.domain], model.domain)
    used = []
    for sweeping in (True, False):
        problem = observe(model, tables, 5000).problem
        problem.paths = problem.paths if sweeping else None
        result = maximise_dual(problem, 1e-6)
        assert result.converged
        used.append(result.history["products"][-1])
    assert used[0] < 0.7 * used[1]


def test_only_paths_are_paths():
    ((nodes, steps),) = paths(chain().layout().forest)
    assert sorted(nodes) == [0, 1, 2, 3, 4]
    assert len(steps) == 4
    star = TreeModel(Domain({"a": 2, "b": 2, "c": 2, "d": 2}), [("a", "b"), ("a", "c"), ("a", "d")])
    assert paths(star.layout().forest) is None
    apart = TreeModel(Domain({"a": 2, "b": 2, "c": 2}), [("a", "b")])
    assert sorted(len(nodes) for nodes, _ in paths(apart.layout().forest)) == [1, 2]
    several = random_tree(2)
    found = paths(several.layout().forest)
    assert found is None or sum(len(nodes) for nodes, _ in found) == len(several.domain)
