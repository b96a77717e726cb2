"""The central-limit likelihood: its gradient, and its nearness to the exact one in large bags only."""

import numpy as np
import pytest

from sumwise import Bags
from sumwise.proportions import CardinalityClassifier, CentralLimitClassifier
from sumwise.proportions.central_limit import CentralLimitLikelihood
from sumwise.proportions.shares import bag_shares


def test_gradient_matches_differences():
    rng = np.random.default_rng(0)
    bags = Bags(rng.normal(size=(12, 1)), np.array([0, 5, 12]), rng.uniform(0.5, 2.0, 12))
    likelihood = CentralLimitLikelihood(bag_shares(bags, [2.0, 3.0]))
    logits = rng.normal(size=12)
    _, slope = likelihood.total_and_residual(likelihood.evaluate(logits))
    for i in range(12):
        step = np.zeros(12)
        step[i] = 1e-6
        up, down = (likelihood.evaluate(logits + s * step).log_prob.sum() for s in (1, -1))
        assert (up - down) / 2e-6 == pytest.approx(slope[i], abs=1e-6)


def sample(n_bags, size, seed=1):
    rng = np.random.default_rng(seed)
    n = n_bags * size
    values = rng.normal(size=(n, 2)) + np.repeat(rng.normal(size=(n_bags, 2)), size, axis=0)
    labels = rng.random(n) < 1 / (1 + np.exp(-values @ [1.0, -0.5]))
    return Bags(values, np.arange(0, n + 1, size)), labels.reshape(n_bags, size).sum(axis=1)


def test_large_bags_agree_with_the_exact_likelihood():
    bags, counts = sample(40, 200)
    exact, normal = (kind(penalty=1.0).fit(bags, counts) for kind in (CardinalityClassifier, CentralLimitClassifier))
    np.testing.assert_allclose(normal.coef_, exact.coef_, rtol=0.05)
    assert normal.fit_.objective == pytest.approx(exact.fit_.objective, rel=0.02)


def test_certain_bags_have_a_finite_likelihood():
    bags = Bags(np.array([[-9.0], [-9.0], [9.0], [9.0]]), np.array([0, 2, 4]))
    clf = CentralLimitClassifier(penalty=1e-3).fit(bags, [0, 2])
    assert np.isfinite(clf.fit_.objective)
    np.testing.assert_array_equal(clf.predict(bags), [0, 0, 1, 1])
