"""Sums of responses: the fits are those of dense formulas and of enumeration."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.stats import multivariate_normal, poisson

from sumwise.proportions.kernels.aggregate_likelihood import gaussian_sums, poisson_sums, shared_members


def drawn(overlap, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(12, 2))
    matrix = np.kron(np.eye(6), np.ones((1, 2)))
    if overlap:
        matrix[0, 2] = matrix[3, 0] = matrix[5, 4] = 1.0
    return values, sparse.csr_array(matrix), rng


@pytest.mark.parametrize("overlap", [False, True])
def test_covariance_of_sums_is_that_of_shared_people(overlap):
    _, members, rng = drawn(overlap)
    variances = rng.uniform(0.5, 2.0, 12)
    dense = members.toarray() @ np.diag(variances) @ members.toarray().T
    found = shared_members(members, variances)
    assert found.ndim == 1 + overlap
    np.testing.assert_allclose(found if overlap else np.diag(found), dense)


@pytest.mark.parametrize("overlap", [False, True])
def test_normal_responses_have_the_posterior_of_the_dense_formula(overlap):
    values, members, rng = drawn(overlap)
    noise, relative = rng.uniform(0.1, 1.0, 6), rng.uniform(0.5, 1.5, 12)
    totals, prior = rng.normal(size=6) * 3, np.array([2.0, 0.5])
    found = gaussian_sums(values, totals, members, noise, prior, relative, fixed=True)
    m = members.toarray()
    cov = found.variance * m @ np.diag(relative) @ m.T + np.diag(noise)
    design = np.column_stack([m @ values, m.sum(axis=1)])
    precision = design.T @ np.linalg.solve(cov, design) + np.diag([*prior, 0.0])
    mean = np.linalg.solve(precision, design.T @ np.linalg.solve(cov, totals))
    np.testing.assert_allclose(found.theta, mean, rtol=1e-6)
    np.testing.assert_allclose(found.covariance, np.linalg.inv(precision), rtol=1e-6)


def test_the_variance_maximises_the_restricted_marginal_likelihood():
    values, members, rng = drawn(False)
    totals, prior = rng.normal(size=6) * 3, np.array([2.0, 0.5])
    found = gaussian_sums(values, totals, members, np.zeros(6), prior, np.ones(12), fixed=True)
    m = members.toarray()
    sizes = m.sum(axis=1)

    def cost(log_variance):  # the intercept integrated out over a flat prior of variance 1e6
        cov = np.exp(log_variance[0]) * m @ m.T + (m @ values) @ np.diag(1 / prior) @ (m @ values).T
        return -multivariate_normal(np.zeros(6), cov + 1e6 * np.outer(sizes, sizes)).logpdf(totals)

    best = minimize(cost, [0.0], method="Nelder-Mead", options={"xatol": 1e-6}).x[0]
    assert np.log(found.variance) == pytest.approx(best, abs=2e-3)


def test_poisson_sums_of_separate_bags_are_the_posterior_mode():
    values, members, rng = drawn(False)
    totals, prior = rng.poisson(6, 6).astype(float), np.array([1.0, 3.0])
    found = poisson_sums(values, totals, members, np.zeros(6), prior, np.ones(12))

    def cost(theta):
        means = members @ np.exp(values @ theta[:2] + theta[2])
        return -poisson(means).logpmf(totals).sum() + 0.5 * prior @ theta[:2] ** 2

    best = minimize(cost, np.zeros(3), tol=1e-10).x
    assert found.converged
    np.testing.assert_allclose(found.theta, best, atol=1e-5)


def test_poisson_sums_of_shared_people_solve_the_estimating_equations():
    values, members, rng = drawn(True)
    totals, prior, noise = rng.poisson(6, 6).astype(float), np.array([1.0, 3.0]), np.full(6, 0.5)
    found = poisson_sums(values, totals, members, noise, prior, np.ones(12))
    m, design = members.toarray(), np.column_stack([values, np.ones(12)])
    rates = np.exp(design @ found.theta)
    slopes = m @ (rates[:, None] * design)
    cov = m @ np.diag(rates) @ m.T + np.diag(noise)
    equations = slopes.T @ np.linalg.solve(cov, totals - m @ rates) - np.append(prior, 0.0) * found.theta
    np.testing.assert_allclose(equations, 0.0, atol=1e-5)
