"""Transport between normal distributions, against the formula and against samples."""

import numpy as np
import pytest
from scipy.linalg import sqrtm

from sumwise.distribution.kernels.gaussian_transport import covariance_roots, gaussian_w2


def normals(n, d, seed):
    rng = np.random.default_rng(seed)
    full = np.array([np.cov(rng.normal(size=(d, d + 3))).reshape(d, d) for _ in range(n)])
    one, other = np.triu_indices(d, 1)
    roots = covariance_roots(full[:, np.arange(d), np.arange(d)], full[:, one, other])
    return rng.normal(size=(n, d)), full, roots


@pytest.mark.parametrize("d", [1, 2, 4])
def test_distance_is_the_formula(d):
    means, covers, roots = normals(3, d, 0)
    others, other_covers, other_roots = normals(4, d, 1)
    found = gaussian_w2(means, roots, others, other_roots)
    for i in range(3):
        for j in range(4):
            root = sqrtm(covers[i]).real
            cross = np.trace(sqrtm(root @ other_covers[j] @ root).real)
            expected = ((means[i] - others[j]) ** 2).sum() + np.trace(covers[i] + other_covers[j]) - 2 * cross
            assert found[i, j] == pytest.approx(expected, abs=1e-7)


def test_blocks_change_nothing(monkeypatch):
    means, _, roots = normals(5, 2, 2)
    whole = gaussian_w2(means, roots, means, roots)
    monkeypatch.setattr("sumwise.distribution.kernels.gaussian_transport.BLOCK", 1)
    assert np.array_equal(whole, gaussian_w2(means, roots, means, roots))
    assert np.allclose(np.diag(whole), 0, atol=1e-9)


def test_singular_covariances_have_roots():
    roots = covariance_roots(np.array([[1.0, 1.0], [0.0, 0.0]]), np.array([[1.0], [0.0]]))
    assert np.allclose(roots[0] @ roots[0], [[1, 1], [1, 1]])
    assert np.array_equal(roots[1], np.zeros((2, 2)))
