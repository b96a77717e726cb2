"""The general solver on the primal: feasible, and close to the dual's certified optimum."""

from __future__ import annotations

import numpy as np
import pytest

from collective_cases import random_tree
from sumwise import Table, Tables
from sumwise.collective.kernels.dual_counts import maximise_dual
from sumwise.collective.kernels.generic_counts import generic_counts
from sumwise.collective.observations import observe
from sumwise.noise import Exact, Gaussian, Laplace, Poisson


@pytest.mark.parametrize("noise", [Poisson(0.7), Gaussian(3.0), Laplace(2.0), Exact()], ids=lambda n: type(n).__name__)
def test_it_finds_the_certified_optimum(noise):
    model = random_tree(3, levels=3)
    truth = model.sample_tables(60, random_state=0)
    rng = np.random.default_rng(0)
    groups = [("v0",), model.edges[0]]
    seen = [Table(g, noise.sample(np.asarray(truth.table(*g)), rng), noise=noise) for g in groups]
    problem = observe(model, Tables(seen, model.domain), 60).problem
    found = generic_counts(problem)
    best = maximise_dual(problem, 1e-9)
    assert found.converged
    assert found.objective == pytest.approx(best.objective, rel=1e-4)
    assert found.violation < 1e-6
