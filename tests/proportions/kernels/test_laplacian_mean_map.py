"""Class means from bag means and shares: exact mixtures are taken apart, and the objective is at its minimum."""

import numpy as np
import pytest
from scipy.optimize import minimize

from sumwise.proportions.kernels import laplacian_mean_map as kernel
from sumwise.proportions.kernels.laplacian_mean_map import (
    bag_similarity,
    class_means,
    laplacian_class_means,
    laplacian_class_sums,
)


def mixtures(n_bags=12, n_classes=3, n_features=2, seed=0):
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(n_classes), size=n_bags)
    truth = rng.normal(size=(n_classes, n_features))
    return shares @ truth, shares, rng.uniform(1, 9, n_bags), truth


def test_exact_mixtures_are_taken_apart():
    means, shares, weights, truth = mixtures()
    found, rank = class_means(means, shares, weights)
    np.testing.assert_allclose(found, truth)
    assert rank == 3
    per_bag = laplacian_class_means(means, shares, weights, bag_similarity(means), 10.0)
    np.testing.assert_allclose(per_bag, np.broadcast_to(truth, (12, 3, 2)), atol=1e-6)


def test_equal_shares_have_rank_one():
    assert class_means(np.arange(6.0).reshape(3, 2), np.full((3, 2), 0.5), np.ones(3))[1] == 1


def test_laplacian_means_minimise_what_they_say():
    means, shares, weights, _ = mixtures(5, 2, 1)
    means = means + np.random.default_rng(1).normal(size=means.shape)
    graph = bag_similarity(means)
    v = graph.toarray()
    v = v / v.sum(axis=1).mean()

    def cost(flat):
        mu = flat.reshape(5, 2)
        misfit = weights / weights.mean() * (means[:, 0] - (shares * mu).sum(axis=1)) ** 2
        return misfit.sum() + 0.5 * 0.7 * (v * ((mu[:, None] - mu[None]) ** 2).sum(axis=2)).sum()

    best = minimize(cost, np.zeros(10), tol=1e-12)
    found = laplacian_class_means(means, shares, weights, graph, 0.7)
    assert cost(found.ravel()) <= best.fun + 1e-6


def test_sparse_and_dense_systems_agree(monkeypatch):
    rng = np.random.default_rng(2)
    means, shares = rng.normal(size=(40, 3)), rng.dirichlet(np.ones(2), size=40)
    graph = bag_similarity(means)
    dense = laplacian_class_means(means, shares, np.ones(40), graph)
    monkeypatch.setattr(kernel, "DENSE", 5)
    np.testing.assert_allclose(laplacian_class_means(means, shares, np.ones(40), graph), dense, atol=1e-8)
    few = bag_similarity(means, n_neighbors=4)
    assert 40 * 4 <= few.nnz <= 40 * 8
    assert abs(few - few.T).max() == pytest.approx(0.0)


def test_bags_at_one_point_and_single_bags_have_a_graph():
    assert bag_similarity(np.zeros((3, 2))).toarray().sum() == pytest.approx(6.0)
    assert bag_similarity(np.zeros((1, 2))).nnz == 0


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("dense", [1000, 5])
def test_class_sums_are_those_of_the_class_means(monkeypatch, n_classes, dense):
    rng = np.random.default_rng(3)
    means, shares, sizes = rng.normal(size=(40, 3)), rng.dirichlet(np.ones(n_classes), size=40), rng.integers(2, 9, 40)
    graph = bag_similarity(means)
    per_bag = laplacian_class_means(means, shares, sizes, graph, 0.7)
    monkeypatch.setattr(kernel, "DENSE", dense)
    found = laplacian_class_sums(means, shares, sizes, graph, 0.7)
    np.testing.assert_allclose(found, np.einsum("b,bc,bcd->cd", sizes, shares, per_bag), rtol=1e-7, atol=1e-7)


def test_class_sums_of_equal_shares_are_those_of_the_bags(monkeypatch):
    """Nothing tells the classes apart: conjugate gradients stay at the centre, as the ridge does."""
    monkeypatch.setattr(kernel, "DENSE", 5)
    means, shares = np.random.default_rng(4).normal(size=(30, 2)), np.full((30, 2), 0.5)
    found = laplacian_class_sums(means, shares, np.full(30, 4), bag_similarity(means))
    np.testing.assert_allclose(found.sum(axis=0), 4 * means.sum(axis=0), atol=1e-6)
    np.testing.assert_allclose(found[0], found[1], atol=1e-6)
