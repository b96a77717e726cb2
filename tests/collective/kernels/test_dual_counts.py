"""The dual solver: weak duality everywhere, strong duality at the end, box constraints."""

from __future__ import annotations

import numpy as np
import pytest

from collective_cases import random_evidence, random_tree
from sumwise.collective.kernels.dual_counts import maximise_dual
from sumwise.collective.observations import observe


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
    assert (result.g >= problem.observations.lower).all()
    assert (result.g <= problem.observations.upper).all()


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
