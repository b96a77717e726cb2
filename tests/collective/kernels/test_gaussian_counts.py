"""The Gaussian approximation, against the normal posterior written out."""

from __future__ import annotations

import numpy as np
import pytest

from brute_collective import joint_probabilities, margin
from collective_cases import random_tree
from sumwise import Table, Tables
from sumwise.collective import map_counts
from sumwise.noise import Gaussian


@pytest.mark.parametrize("seed", [0, 3, 7])
def test_posterior_mean_equals_linear_algebra(seed):
    model = random_tree(seed, levels=3)
    names, n, sd = list(model.domain), 50, 2.0
    rng = np.random.default_rng(seed)
    y = {a: n * rng.dirichlet(np.ones(model.domain[a])) for a in names}
    tables = Tables([Table(a, y[a], noise=Gaussian(sd)) for a in names], model.domain)
    fit = map_counts(model, tables, n=n, method="gaussian", tol=1e-10)
    joint = joint_probabilities(model.domain, model.log_potentials)
    states = np.indices(model.domain.shape).reshape(len(names), -1)
    indicators = np.concatenate([np.eye(s)[states[i]] for i, s in enumerate(model.domain.shape)], axis=1)
    p = joint.ravel()
    mean = p @ indicators
    cov = n * (indicators.T @ (indicators * p[:, None]) - np.outer(mean, mean))
    seen = np.concatenate([y[a] for a in names])
    posterior = n * mean + cov @ np.linalg.solve(cov + sd**2 * np.eye(len(mean)), seen - n * mean)
    np.testing.assert_allclose(np.concatenate([fit.nodes[a] for a in names]), posterior, atol=1e-4)
    for e in model.edges:
        table = fit.edges[e]
        np.testing.assert_allclose(table.sum(axis=1), fit.nodes[e[0]], atol=1e-6)
        np.testing.assert_allclose(table.sum(axis=0), fit.nodes[e[1]], atol=1e-6)
        flat = np.array(
            [margin(np.eye(p.size)[k].reshape(joint.shape), model.domain, e).ravel() for k in range(p.size)]
        )
        cross = n * (flat.T @ (indicators * p[:, None]) - np.outer(p @ flat, mean))
        expected = n * (p @ flat) + cross @ np.linalg.solve(cov + sd**2 * np.eye(len(mean)), seen - n * mean)
        np.testing.assert_allclose(table.ravel(), expected, atol=1e-4)
