"""The Laplace approximation against dense linear algebra."""

import numpy as np
import pytest

from collective_cases import random_evidence, random_tree
from sumwise.collective.kernels.count_laplace import at_kink, function_variances
from sumwise.collective.kernels.dual_counts import maximise_dual
from sumwise.collective.observations import observe
from sumwise.noise import Exact, Gaussian, Poisson
from sumwise.tables import Tables


@pytest.mark.parametrize("seed", range(6))
def test_variances_are_those_of_the_dense_formula(seed):
    model = random_tree(seed, nodes=4, levels=3)
    tables = random_evidence(model, seed, n=60)
    smooth = [t for t in tables if isinstance(t.noise, (Gaussian, Poisson))]
    problem = observe(model, Tables(smooth, model.domain) if smooth else None, 60).problem
    found = maximise_dual(problem, 1e-10, 500)
    eye = np.eye(problem.n_cells)
    cov = np.stack([problem.covariance_product(found.beliefs, found.cells, v) for v in eye])
    observations = problem.observations
    curvature = np.zeros(problem.n_cells)
    n = found.cells[observations.index]
    s, p, _ = observations.slices()
    second = np.zeros(observations.size)
    second[s] = 1 / observations.var
    second[p] = observations.y[p] / np.maximum(n[p], 1e-300) ** 2
    np.add.at(curvature, observations.index, second)
    root = np.sqrt(curvature)
    middle = np.linalg.inv(np.eye(len(root)) + root[:, None] * cov * root)
    dense = cov - (cov * root) @ middle @ (root[:, None] * cov)
    weights = np.random.default_rng(seed).normal(size=(3, problem.n_cells))
    ours = function_variances(problem, found.beliefs, found.cells, weights)
    assert np.allclose(ours, np.einsum("ki,ij,kj->k", weights, dense, weights), rtol=1e-5, atol=1e-6)


def test_kinks_are_found_for_two_sided_noise_only():
    model = random_tree(1)
    tables = random_evidence(model, 3, n=50)
    problem = observe(model, tables, None).problem
    found = maximise_dual(problem, 1e-9, 500)
    kink = at_kink(problem, found.multipliers)
    off = np.abs(found.cells[problem.observations.index] - problem.observations.y)
    first = problem.observations.n_gaussian + problem.observations.n_poisson
    assert not kink[:first].any()
    assert (off[kink] < 1e-3 * 50).all()
    assert not any(isinstance(t.noise, Exact) for t in tables)
