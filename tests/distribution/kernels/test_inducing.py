"""Inducing points and the sparse process, against the formulas written out."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from sumwise.distribution.kernels.inducing import pick_inducing, sparse_process
from sumwise.distribution.kernels.marginal_likelihood import marginal_likelihood_path


def problem(seed, n=30):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0, 3, n))
    gram = np.exp(-((x[:, None] - x) ** 2))
    return gram, rng.normal(size=(n, 2)) + np.sin(2 * x)[:, None], rng.uniform(1, 3, n)


def conditional_variances(gram, picked):
    if not len(picked):
        return np.diag(gram)
    part = gram[:, picked]
    return np.diag(gram - part @ np.linalg.pinv(gram[np.ix_(picked, picked)]) @ part.T)


@pytest.mark.parametrize("seed", range(3))
def test_each_pick_has_the_largest_variance_given_those_before(seed):
    gram, _, _ = problem(seed)
    picked = pick_inducing(gram, 5)
    for j, index in enumerate(picked):
        left = conditional_variances(gram, picked[:j])
        assert left[index] == pytest.approx(left.max(), abs=1e-8)


def test_picking_stops_where_nothing_is_left():
    features = np.random.default_rng(0).normal(size=(20, 3))
    assert len(pick_inducing(features @ features.T, 10)) == 3


@pytest.mark.parametrize("seed", range(3))
def test_bound_and_predictions_are_those_written_out(seed):
    gram, y, inflation = problem(seed)
    picked = pick_inducing(gram, 6)
    cross, inner = gram[:, picked], gram[np.ix_(picked, picked)]
    found = sparse_process(cross, inner, np.diag(gram), y, inflation)
    approximate = cross @ np.linalg.solve(inner, cross.T)
    cover = approximate + found.noise * np.diag(inflation)
    trace = ((np.diag(gram) - np.diag(approximate)) / inflation).sum()
    logs = [multivariate_normal.logpdf(t, cov=s * cover) for t, s in zip(y.T, found.scale)]
    assert found.bound == pytest.approx(sum(logs) - len(logs) * 0.5 * trace / found.noise, rel=1e-5)
    assert np.allclose(found.scale, [t @ np.linalg.solve(cover, t) / len(t) for t in y.T], rtol=1e-5)
    mean = approximate @ np.linalg.solve(cover, y)
    assert np.allclose(cross @ found.dual, mean, atol=1e-5)
    explained = np.diag(approximate @ np.linalg.solve(cover, approximate))
    assert np.allclose(((cross @ found.axes) ** 2).sum(axis=1), explained, atol=1e-5)


def test_with_every_point_inducing_the_bound_is_the_marginal_likelihood():
    gram, y, inflation = problem(4, n=12)
    found = sparse_process(gram, gram, np.diag(gram), y, inflation)
    exact, noise = marginal_likelihood_path(gram, y, inflation)
    assert found.bound == pytest.approx(exact, rel=1e-4)
    assert found.noise == noise


def test_fewer_points_never_raise_the_bound():
    gram, y, inflation = problem(5)
    picked = pick_inducing(gram, 12)
    bounds = [
        sparse_process(gram[:, p], gram[np.ix_(p, p)], np.diag(gram), y, inflation).bound
        for p in (picked[:2], picked[:4], picked[:8])
    ]
    assert bounds == sorted(bounds)
    assert bounds[-1] <= marginal_likelihood_path(gram, y, inflation)[0] + 1e-6
