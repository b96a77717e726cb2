import numpy as np
import pytest
from scipy.stats import multivariate_normal

from messages import raises
from sumwise.errors import DataError
from sumwise.flows.kernels.flow_filter import Filter, Functions


def stacked(filtering, moves, phi):
    """Mean and covariance of the first counts and of all flows, and the matrix that turns them into counts."""
    n, t = len(filtering.mean), len(filtering.seen)
    size = n + (t - 1) * n * n
    made, noise = np.zeros((size, size)), np.zeros((size, size))  # every flow by what came before it, and its own noise
    noise[:n, :n] = filtering.covariance
    counts = np.zeros((t, n, size))
    counts[0, :, :n] = np.eye(n)
    for k, p in enumerate(moves):
        for i in range(n):
            at = n + k * n * n + i * n + np.arange(n)
            made[at] += np.outer(p[i], counts[k, i])
            noise[np.ix_(at, at)] = phi * filtering.around[k, i] * (np.diag(p[i]) - np.outer(p[i], p[i]))
            counts[k + 1][np.arange(n), at] = 1.0
    solved = np.linalg.inv(np.eye(size) - made)
    mean = solved @ np.append(filtering.mean, np.zeros(size - n))
    return mean, solved @ noise @ solved.T, counts


def test_means_variances_and_likelihood_are_those_of_one_large_normal_distribution():
    rng = np.random.default_rng(0)
    n, t, phi = 3, 4, 2.5
    moves = [rng.dirichlet(np.ones(n), n) for _ in range(t - 1)]
    root = rng.normal(size=(n, n))
    seen = rng.normal(50, 20, (t, n))
    seen[1, 2], seen[2] = np.nan, np.nan
    filtering = Filter(
        seen, rng.uniform(5, 20, (t, n)), rng.uniform(30, 60, (t, n)), np.full(n, 50.0), 99 * root @ root.T
    )
    mean, covariance, counts = stacked(filtering, moves, phi)
    a, b, c = rng.normal(size=(n, n)), rng.normal(size=n), rng.normal(size=(n, n))
    functions = Functions(2, {1: [(0, b)]}, {0: [(0, a)], 2: [(1, c)]})
    weights = np.zeros((2, len(mean)))
    weights[0, n : n + n * n] = a.ravel()
    weights[0] += b @ counts[1]
    weights[1, n + 2 * n * n :] = c.ravel()
    kept = ~np.isnan(seen)
    h = counts[kept]
    total = h @ covariance @ h.T + np.diag(filtering.variance[kept])
    gain = np.linalg.solve(total, h @ covariance).T
    after = mean + gain @ (seen[kept] - h @ mean)
    s, own = filtering.moments(moves, phi, functions)
    np.testing.assert_allclose(s, weights @ after)
    np.testing.assert_allclose(own, weights @ (covariance - gain @ h @ covariance) @ weights.T)
    passed = filtering.smooth(moves, phi, flows=True)
    np.testing.assert_allclose(np.stack(passed.flows).ravel(), after[n:])
    np.testing.assert_allclose(passed.counts, counts @ after)
    value = filtering.log_likelihood(moves, phi)
    assert passed.log_likelihood == pytest.approx(value)
    exact = multivariate_normal(h @ mean, total).logpdf(seen[kept])
    assert value - 0.5 * kept.sum() * np.log(2 * np.pi) == pytest.approx(exact)


def test_a_covariance_that_is_none_is_refused():
    one = Filter(np.ones((2, 2)), np.zeros((2, 2)), np.ones((2, 2)), np.ones(2), -np.eye(2))
    with raises(DataError, "covariance-counts-not"):
        one.log_likelihood([np.eye(2)], 1.0)
