"""The proportion SVM: labels by enumeration, and bags that a line separates."""

from itertools import product

import numpy as np
import pytest

from sumwise import Bags
from sumwise.errors import DataError
from sumwise.proportions import ProportionSVM
from sumwise.proportions.proportion_svm import proportion_labels
from sumwise.proportions.shares import bag_shares


@pytest.mark.parametrize("cost", [0.1, 1.0, 10.0])
def test_labels_are_those_of_enumeration(cost):
    rng = np.random.default_rng(0)
    bags, counts = Bags(rng.normal(size=(9, 1)), [0, 4, 9]), [1, 3]
    data, scores = bag_shares(bags, counts), rng.normal(size=9)

    def loss(labels):
        signs = 2.0 * np.array(labels) - 1.0
        off = abs(sum(labels[:4]) - 1) + abs(sum(labels[4:]) - 3)
        return np.maximum(1 - signs * scores, 0).sum() + cost * off

    best = min(product((0, 1), repeat=9), key=loss)
    assert loss(proportion_labels(scores, data, cost).astype(int).tolist()) == pytest.approx(loss(best))


def test_separable_people_are_separated():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(400, 2)) * 2
    labels = (values @ [1.0, -1.0] > 0).astype(int)
    bags = Bags(values, np.arange(0, 401, 10))
    clf = ProportionSVM(penalty=0.1).fit(bags, labels.reshape(40, 10).sum(axis=1))
    assert np.mean(clf.predict(values) == labels) > 0.95
    assert clf.fit_.converged


def test_costs_are_positive():
    with pytest.raises(DataError, match="share_cost"):
        ProportionSVM(share_cost=0.0).fit(Bags(np.ones((2, 1)), [0, 1, 2]), [0, 1])
