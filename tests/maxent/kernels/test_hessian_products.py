"""Hessian products against the covariance of features, formed cell by cell."""

import numpy as np
import pytest

from sumwise.maxent.kernels.hessian_products import Moves, hessian_products


@pytest.mark.parametrize("n_scores", [1, 3])
def test_products_are_those_of_the_covariance_of_features(n_scores):
    rng = np.random.default_rng(n_scores)
    m, n_params, n_vectors = 7, 5, 2
    cells = np.column_stack([rng.integers(0, 2, m), 2 + rng.integers(0, 3, m)])
    weights, n_classes = rng.uniform(1, 5, m), n_scores + (n_scores == 1)
    p = rng.dirichlet(np.ones(n_classes), m)
    shares = np.ascontiguousarray(p[:, 1:] if n_scores == 1 else p)
    size = n_params + n_scores * n_params + n_scores
    features, mass = [], []
    for i in range(m):
        for y in range(n_classes):
            phi = np.zeros(n_params)
            phi[cells[i]] = 1.0
            hit = np.array([float(y == (k + 1 if n_scores == 1 else k)) for k in range(n_scores)])
            features.append(np.concatenate([phi, *(hit[k] * phi for k in range(n_scores)), hit]))
            mass.append(weights[i] * p[i, y])
    features, mass = np.array(features), np.array(mass)
    mean = mass @ features / mass.sum()
    hessian = (features - mean).T @ (mass[:, None] * (features - mean))
    vectors = rng.normal(size=(size, n_vectors))
    parts = np.split(vectors, [n_params, size - n_scores])
    given = (parts[0], parts[1].reshape(n_scores, n_params, n_vectors), parts[2])
    out = tuple(np.zeros_like(v) for v in given)
    hessian_products(cells, weights, shares, mean @ vectors, Moves(*given), Moves(*out))
    found = np.concatenate([out[0], out[1].reshape(-1, n_vectors), out[2]])
    wanted = hessian @ vectors
    np.testing.assert_allclose(found, wanted, atol=1e-10)
