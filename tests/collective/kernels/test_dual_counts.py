"""The dual solver: weak duality everywhere, strong duality at the end, box constraints."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from collective_cases import random_evidence, random_tree
from hard_counts import hard_instance
from messages import raises
from sumwise import DataError, Domain, Table, Tables
from sumwise.collective import TreeModel, map_counts
from sumwise.collective.kernels.dual_counts import _simplex_shift, maximise_dual
from sumwise.collective.observations import observe
from sumwise.noise import Gaussian, Poisson


@pytest.mark.parametrize("seed", range(8))
def test_every_iterate_is_between_its_own_bounds(seed):
    model = random_tree(seed)
    problem = observe(model, random_evidence(model, seed), None).problem
    result = maximise_dual(problem, tol=1e-8)
    history = result.history
    assert result.converged
    assert (np.array(history["objective"]) >= result.dual - 1e-7 * abs(result.dual)).all()
    assert (np.array(history["dual"]) <= result.objective + 1e-7 * abs(result.objective)).all()
    assert (np.array(history["gap"]) >= 0).all()
    assert (result.multipliers >= problem.observations.lower).all()
    assert (result.multipliers <= problem.observations.upper).all()


def test_passes_and_products_are_counted():
    model = random_tree(1)
    problem = observe(model, random_evidence(model, 1), None).problem
    result = maximise_dual(problem)
    assert result.history["passes"][-1] > 1
    assert result.history["products"][-1] > 1
    assert problem.n_passes == problem.n_tangents == 0  # the caller's problem is left as it was


def test_no_step_leaves_the_start():
    model = random_tree(1)
    problem = observe(model, random_evidence(model, 1), None).problem
    result = maximise_dual(problem, max_iter=0)
    assert result.n_iter == 0
    assert not result.converged


@pytest.mark.parametrize("seed", range(0, 200, 7))
def test_hard_instances_are_certified_or_refused(seed):
    model, tables, n = hard_instance(seed)
    try:
        problem = observe(model, tables, n).problem
    except DataError:
        return  # a count in a state that the model rules out
    result = maximise_dual(problem)
    if result.converged:
        assert result.gap <= 1e-6 * abs(result.objective)
        assert result.violation <= 1e-6 * n
    else:
        assert result.infeasible
    # The dual value is a lower bound, evaluated here from its definition.
    loss = problem.observations.conjugate(result.multipliers)[0]
    log_z = problem.infer(-problem.observations.spread(result.multipliers, problem.n_cells))[2]
    dual = problem.constant + problem.observations.constant - loss - n * log_z
    assert result.dual == pytest.approx(dual, rel=1e-9, abs=1e-6)


def test_tight_gaussian_counts_whose_totals_contradict_n_are_certified():
    rng = np.random.default_rng(0)
    names = [f"t{k}" for k in range(20)]
    domain = Domain(dict.fromkeys(names, 20))
    edges = list(itertools.pairwise(names))
    where = 5 * rng.random((20, 2))
    far = np.sqrt(((where[:, None] - where[None]) ** 2).sum(axis=2))
    counts = [rng.dirichlet(np.ones(20)) * 1000 * rng.choice([0.8, 1.2]) for _ in names]
    tables = Tables([Table(a, y, noise=Gaussian(0.01)) for a, y in zip(names, counts)], domain)
    result = maximise_dual(observe(TreeModel(domain, edges, dict.fromkeys(edges, -far)), tables, 1000).problem)
    assert result.converged
    assert result.gap <= 1e-6 * result.objective


def test_exact_counts_that_no_moves_reach_are_proved_infeasible_beside_poisson_counts():
    domain = Domain({"a": 3, "b": 3})
    move = np.array([[0.0, 0.0, -np.inf], [0.0, 0.0, 0.0], [-np.inf, 0.0, 0.0]])
    model = TreeModel(domain, [("a", "b")], {("a", "b"): move})
    tables = [Table("a", [60.0, 20.0, 20.0]), Table("b", [5.0, 15.0, 80.0]), Table("a", [1, 2, 3], noise=Poisson())]
    result = maximise_dual(observe(model, Tables(tables, domain), 100).problem)
    assert result.infeasible
    assert result.n_iter < 100
    with raises(DataError, "no-tables-model"):
        map_counts(model, Tables(tables, domain), n=100)


@pytest.mark.parametrize("seed", [13, 73, 172])
def test_totals_that_contradict_a_population_under_tight_noise_are_no_matter_of_rounding(seed):
    """Multipliers of 1e13 leave no digits for those that move counts, unless observations agree with the total."""
    model, tables, n = hard_instance(seed)
    found = maximise_dual(observe(model, tables, n).problem, 1e-6, 300)
    assert found.converged
    assert found.gap <= 1e-6 * abs(found.objective)


def test_centring_moves_multipliers_and_nothing_else():
    domain = Domain({"a": 3, "b": 3})
    model = TreeModel(domain, [("a", "b")], {("a", "b"): np.random.default_rng(0).normal(size=(3, 3))})
    given = [Table("a", [90.0, 40, 2], noise=Gaussian(3.0)), Table("b", [5.0, 9, 1], noise=Gaussian(0.5))]
    problem = observe(model, Tables(given, domain), 50).problem
    found = maximise_dual(problem, 1e-10, 200)
    slope = (found.cells[problem.observations.index] - problem.observations.y) / problem.observations.var
    np.testing.assert_allclose(found.multipliers, slope, rtol=1e-4)
    value = (
        problem.regulariser(found.cells, problem.edge_tables(found.beliefs)) + problem.observations.loss(found.cells)[0]
    )
    np.testing.assert_allclose(found.objective, value, rtol=1e-8)


def test_a_shift_makes_positive_parts_sum_to_the_total():
    rng = np.random.default_rng(0)
    for _ in range(20):
        y, var, total = 10 * rng.normal(size=6), rng.uniform(0.1, 3, 6), 10 ** rng.uniform(-1, 3)
        np.testing.assert_allclose(np.maximum(y + _simplex_shift(y, var, total) * var, 0).sum(), total)
