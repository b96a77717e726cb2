"""Non-linear belief propagation: feasible at every step, or in the end."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest

from collective_cases import random_tree
from sumwise import Domain, Table, Tables
from sumwise.collective import TreeModel, map_counts
from sumwise.collective.kernels.dual_counts import maximise_dual
from sumwise.collective.kernels.nonlinear_bp import feasible_nlbp, naive_nlbp
from sumwise.collective.kernels.proximal_counts import Run
from sumwise.collective.observations import observe
from sumwise.noise import Gaussian, Poisson


def problem_of(seed, rate=1.0):
    model = random_tree(seed, levels=3)
    truth = model.sample_tables(80, random_state=seed)
    rng = np.random.default_rng(seed)
    noise = Poisson(rate)
    tables = Tables([Table(a, noise.sample(truth.nodes[a], rng), noise=noise) for a in model.domain], model.domain)
    return observe(model, tables, 80)


@pytest.mark.parametrize("seed", [0, 3, 7])
def test_feasible_nlbp_falls_and_stays_feasible(seed):
    seen = problem_of(seed)
    found = feasible_nlbp(Run(seen.problem, seen.loss, 1e-6, 500))
    objective = np.array(found.history["objective"])
    assert found.converged
    assert (np.diff(objective) <= 1e-9 * np.abs(objective[1:])).all()
    assert seen.problem.violation(found.cells, found.tables) < 1e-8


@pytest.mark.parametrize("seed", [0, 3, 7])
def test_naive_nlbp_becomes_feasible_and_reaches_the_optimum(seed):
    seen = problem_of(seed)
    found = naive_nlbp(Run(seen.problem, seen.loss, 1e-6, 500))
    best = maximise_dual(seen.problem, 1e-9)
    violation = found.history["violation"]
    assert found.converged
    assert violation[-1] <= 1e-6 * 80
    assert violation[0] > violation[-1] or violation[0] < 1e-8
    assert found.objective == pytest.approx(best.objective, rel=1e-4)


def test_strong_evidence_does_not_make_it_diverge():
    seen = problem_of(7, rate=50.0)
    found = feasible_nlbp(Run(seen.problem, seen.loss, 1e-4, 2000))
    best = maximise_dual(seen.problem, 1e-9)
    assert found.objective == pytest.approx(best.objective, rel=1e-3)


@pytest.mark.parametrize("sd", [0.5, 3.0, 40.0])
def test_line_searched_steps_converge_linearly_as_proved(sd):
    """A generalised conditional gradient: the excess falls by 1 - min(1/2, sd^2 / (4 n T)) a step, at least."""
    rng = np.random.default_rng(0)
    n, times, cells = 50.0, 4, 3
    names = [f"t{k}" for k in range(times)]
    domain = Domain(dict.fromkeys(names, cells))
    model = TreeModel(domain, list(pairwise(names)), dict.fromkeys(pairwise(names), rng.normal(size=(cells, cells))))
    seen = [Table(a, n * rng.dirichlet(np.ones(cells)) + rng.normal(0, sd, cells), noise=Gaussian(sd)) for a in names]
    tables = Tables(seen, domain, n=n)
    best = map_counts(model, tables, tol=1e-12).objective
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        excess = map_counts(model, tables, method="nlbp", tol=1e-9, max_iter=200).history["objective"] - best
    factor = 1.0 - min(0.5, sd**2 / (4.0 * n * times))
    assert (excess[1:] <= factor * excess[:-1] + 1e-6).all()
    assert excess[-1] < 1e-3 * excess[0]
