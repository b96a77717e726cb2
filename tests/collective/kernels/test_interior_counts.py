"""Interior points: the certified optimum of the dual, and of problems whose multipliers drown in rounding."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import sparse

from collective_cases import random_tree
from hard_counts import other_instance
from sumwise import Domain, Table, Tables
from sumwise.collective import GraphModel, TreeModel, map_counts
from sumwise.collective.kernels import interior_counts as module
from sumwise.collective.kernels.dual_counts import maximise_dual
from sumwise.collective.kernels.interior_counts import agreeing, interior_counts, rescue
from sumwise.collective.observations import observe
from sumwise.noise import Exact, Gaussian, Laplace, Poisson

NOISES = [Poisson(0.7), Gaussian(3.0), Laplace(2.0), Exact()]


def _near(gap, objective, violation):
    return gap <= 1e-6 * abs(objective) and violation <= 1e-6


def _solved(model, groups, noise, n=60):
    truth, rng = model.sample_tables(n, random_state=0), np.random.default_rng(0)
    seen = [Table(g, noise.sample(np.asarray(truth.table(*g)), rng), noise=noise) for g in groups]
    problem = observe(model, Tables(seen, model.domain), n).problem
    return problem, interior_counts(problem, _near), maximise_dual(problem, 1e-9)


@pytest.mark.parametrize("noise", NOISES, ids=lambda n: type(n).__name__)
def test_trees_have_the_optimum_of_the_dual(noise):
    model = random_tree(4, levels=3)
    problem, found, best = _solved(model, [("v0",), ("v2",), model.edges[0]], noise)
    assert found.converged
    assert found.objective == pytest.approx(best.objective, rel=1e-5)
    assert found.cells == pytest.approx(best.cells, abs=0.5)
    assert problem.violation(found.cells, found.tables) < 1e-9


def test_cliques_and_sparse_moves_have_it_too():
    rng = np.random.default_rng(1)
    domain = Domain({"a": 2, "b": 3, "c": 2})
    triangle = [("a", "b"), ("b", "c"), ("a", "c")]
    graph = GraphModel(domain, {e: rng.normal(size=[domain.sizes[x] for x in e]) for e in triangle})
    far = sparse.csr_array(np.where(rng.random((4, 4)) < 0.5, -rng.random((4, 4)) - 0.1, 0.0) - np.eye(4))
    names = ["t0", "t1", "t2"]
    edges = list(itertools.pairwise(names))
    chain = TreeModel(Domain(dict.fromkeys(names, 4)), edges, dict.fromkeys(edges, far))
    for model, groups in ((graph, [("a", "b"), ("c",)]), (chain, [("t0",), ("t2",)])):
        problem, found, best = _solved(model, groups, Gaussian(2.0))
        assert found.converged
        assert found.objective == pytest.approx(best.objective, rel=1e-5)
        assert problem.violation(found.cells, found.tables) < 1e-9


@pytest.mark.parametrize("seed", [18, 30, 43])
def test_contradictions_under_tight_noise_are_certified(seed):
    """The dual alone ends with gaps near one on these."""
    model, tables, n = other_instance(seed)
    fit = map_counts(model, tables, n)
    assert fit.converged
    assert 0 <= fit.gap <= 1e-6 * fit.objective
    first, second = list(model.domain)[:2]
    assert fit.edges[first, second].sum(axis=1) == pytest.approx(fit.nodes[first], rel=1e-12, abs=1e-12 * n)


def test_a_large_problem_is_left_to_the_dual(monkeypatch):
    model, tables, n = other_instance(18)
    problem = observe(model, tables, n).problem
    monkeypatch.setattr(module, "MAX_SPARSE_CELLS", 100)
    assert rescue(problem, _near) is None


def test_what_cannot_be_met_is_not_certified():
    domain = Domain({"t0": 3, "t1": 3})
    turn = np.where(np.eye(3) + np.roll(np.eye(3), 1, axis=1) > 0, 0.0, -np.inf)
    model = TreeModel(domain, [("t0", "t1")], {("t0", "t1"): turn})
    seen = [Table("t0", [8.0, 1.0, 1.0], noise=Exact()), Table("t1", [1.0, 1.0, 8.0], noise=Exact())]
    problem = observe(model, Tables(seen, domain), 10).problem
    assert rescue(problem, _near) is None


def test_tables_are_made_to_agree():
    model, tables, n = other_instance(0)
    problem = observe(model, tables, n).problem
    beliefs, cells, _ = problem.infer(np.zeros(problem.n_cells))
    rng = np.random.default_rng(0)
    off = [t * rng.uniform(0.9, 1.1, t.shape) for t in problem.edge_tables(beliefs)]
    assert problem.violation(cells, off) > 1e-3 * n
    assert problem.violation(*agreeing(problem, cells, off)) < 1e-12 * n
