"""The proportion loss for linear models: gradient, minimum, and what it can't tell apart."""

import numpy as np
import pytest

from sumwise import Bags
from sumwise.proportions import ProportionLossClassifier
from sumwise.proportions.proportion_loss import ProportionLikelihood
from sumwise.proportions.shares import bag_shares, share_loss


@pytest.mark.parametrize("n_classes", [2, 3])
def test_gradient_matches_differences(n_classes):
    rng = np.random.default_rng(0)
    bags = Bags(rng.normal(size=(12, 1)), np.array([0, 5, 12]), rng.uniform(0.5, 2.0, 12))
    sums = np.add.reduceat(bags.weights, [0, 5])
    data = bag_shares(bags, rng.dirichlet(np.ones(n_classes), size=2) * sums[:, None])
    likelihood = ProportionLikelihood(data)
    logits = rng.normal(size=12) if n_classes == 2 else rng.normal(size=(12, 3))
    _, slope = likelihood.total_and_residual(likelihood.evaluate(logits))
    for place in np.ndindex(logits.shape):
        step = np.zeros(logits.shape)
        step[place] = 1e-6
        up, down = (likelihood.evaluate(logits + s * step).log_prob.sum() for s in (1, -1))
        assert (up - down) / 2e-6 == pytest.approx(slope[place], abs=1e-6)


def test_loss_is_smaller_than_that_of_other_fits():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(600, 2)) + np.repeat(rng.normal(size=(60, 2)), 10, axis=0)
    labels = rng.random(600) < 1 / (1 + np.exp(-2 * values[:, 0]))
    bags, counts = Bags(values, np.arange(0, 601, 10)), labels.reshape(60, 10).sum(axis=1)
    data = bag_shares(bags, counts)
    clf = ProportionLossClassifier(penalty=1e-4).fit(bags, counts)
    best = share_loss(clf._logits(bags), data)
    for _ in range(20):
        other = values @ (clf.coef_[0] + 0.1 * rng.normal(size=2)) + clf.intercept_[0]
        assert best < share_loss(other, data) + 1e-6
    assert np.mean(clf.predict(values) == labels) > 0.8
