"""The flattened problem: two ways to the same objective, and products with the covariance."""

from __future__ import annotations

import numpy as np
import pytest

from collective_cases import random_evidence, random_tree
from sumwise import Table, Tables
from sumwise.collective.observations import observe
from sumwise.noise import Poisson


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("wide", [False, True])
def test_objective_from_messages_equals_objective_from_tables(seed, wide):
    model = random_tree(seed)
    problem = model.layout(model.edges if wide else ()).problem(total=30)
    tilt = np.random.default_rng(seed).normal(size=problem.n_cells)
    beliefs, cells, log_z = problem.infer(tilt)
    tables = problem.edge_tables(beliefs)
    by_tables = problem.regulariser(cells, tables)
    assert problem.entropy_term(tilt, cells, log_z) == pytest.approx(by_tables, abs=1e-9)
    assert problem.violation(cells, tables) < 1e-10


@pytest.mark.parametrize("seed", range(4))
def test_covariance_product_is_the_derivative_of_the_counts(seed):
    model = random_tree(seed)
    problem = model.layout().problem(total=30)
    rng = np.random.default_rng(seed)
    tilt, direction = rng.normal(size=(2, problem.n_cells))
    beliefs, cells, _ = problem.infer(tilt)
    product = problem.covariance_product(beliefs, cells, direction)
    up, down = problem.infer(tilt + 1e-5 * direction)[1], problem.infer(tilt - 1e-5 * direction)[1]
    np.testing.assert_allclose(product, (up - down) / 2e-5, atol=1e-6)


def test_violation_finds_a_moved_individual():
    model = random_tree(3)
    problem = model.layout().problem(total=30)
    beliefs, cells, _ = problem.infer(np.zeros(problem.n_cells))
    tables = problem.edge_tables(beliefs)
    tables[0] = tables[0].copy()
    tables[0].flat[0] += 1.0
    assert problem.violation(cells, tables) == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(5))
def test_no_feasible_point_is_above_the_highest_objective(seed):
    model = random_tree(seed)
    tables = random_evidence(model, seed)
    soft = [t for t in tables if not isinstance(t.noise, Poisson)]
    zeros = [Table(a, np.zeros(model.domain[a]), noise=Poisson(3.0)) for a in model.domain]
    seen = observe(model, Tables([*soft, *zeros], model.domain, n=tables.n), None)
    top = seen.problem.highest()
    rng = np.random.default_rng(seed)
    for _ in range(20):
        beliefs, cells, _ = seen.problem.infer(20.0 * rng.normal(size=seen.problem.n_cells))
        tables_ = seen.problem.edge_tables(beliefs)
        assert seen.problem.regulariser(cells, tables_) + seen.loss(cells)[0] <= top
