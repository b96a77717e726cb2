"""Generalised linear models from sums: the optimum, and the covariance of drawn errors, against plain algebra."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from sumwise.maxent.kernels.amount_glm import FAMILIES, Drawing, Targets, conjugate_gradients, drawn_errors, fit_glm


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_gradient_is_zero_at_the_fit(family):
    rng = np.random.default_rng(0)
    x = (rng.random((60, 5)) < 0.4).astype(float)
    y, weights = rng.poisson(2.0, 60).astype(float), rng.uniform(0.5, 2.0, 60)
    penalty, dispersion = rng.uniform(0.5, 2.0, 5), 1.7
    targets = Targets(x.T @ (weights * y), float(weights @ y), penalty)
    theta, offset, *_ = fit_glm(csr_matrix(x), weights, targets, family, dispersion)
    mean = FAMILIES[family].mean(x @ theta + offset)
    np.testing.assert_allclose(x.T @ (weights * (mean - y)) / dispersion + 2 * penalty * theta, 0.0, atol=1e-4)
    assert weights @ mean == pytest.approx(weights @ y, rel=1e-6)


def test_errors_have_the_covariance_of_sampling_noise_and_shrinkage():
    rng = np.random.default_rng(1)
    x = (rng.random((40, 3)) < 0.5).astype(float)
    penalty, prior, noise = np.array([2.0, 3.0, 4.0]), np.array([1.0, 1.5, 2.0]), np.array([5.0, 1.0, 0.0, 3.0])
    drawn = np.sqrt(noise)[:, None] * rng.standard_normal((4, 40_000))
    given = Drawing(rng.uniform(1, 3, 40), penalty, prior[:, None], drawn)
    found = drawn_errors(csr_matrix(x), given, rng)
    full = np.column_stack([x, np.ones(40)])
    info = full.T @ (given.outcome[:, None] * full)
    pull = np.append(2 * given.penalty**2 / prior, 0.0)
    middle = info + np.diag(noise) + np.diag(pull)
    bread = np.linalg.inv(info + np.diag(np.append(2 * given.penalty, 0.0)))
    np.testing.assert_allclose(np.cov(found.T), bread @ middle @ bread, atol=0.02 * np.abs(bread).max() * 10)


def test_conjugate_gradients_solve_many_at_once():
    rng = np.random.default_rng(2)
    a = rng.normal(size=(6, 6))
    a = a @ a.T + np.eye(6)
    right = rng.normal(size=(6, 4))
    found = conjugate_gradients(lambda v: a @ v, right, np.diag(a)[:, None])
    np.testing.assert_allclose(found, np.linalg.solve(a, right), atol=1e-4)
