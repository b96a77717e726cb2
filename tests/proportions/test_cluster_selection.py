"""Clusters that get the classes under which bags have their shares."""

from itertools import product

import numpy as np
import pytest

from sumwise import Bags
from sumwise.errors import DataError
from sumwise.proportions import ClusterSelection
from sumwise.proportions.cluster_selection import cluster_labels


def test_greedy_classes_are_those_of_enumeration_where_clusters_are_clear():
    rng = np.random.default_rng(0)
    truth = np.array([0, 1, 2, 1, 0])
    occupancy = rng.dirichlet(np.ones(5), 30)
    shares = occupancy @ np.eye(3)[truth]
    found = cluster_labels(occupancy, shares, np.full(30, 1 / 30))

    def loss(labels):
        return ((occupancy @ np.eye(3)[list(labels)] - shares) ** 2).sum()

    assert found.tolist() == list(min(product(range(3), repeat=5), key=loss)) == truth.tolist()


def test_clusters_with_clear_classes_are_found():
    rng = np.random.default_rng(1)
    kind = rng.integers(0, 4, 800)
    values = np.array([[0, 0], [6, 0], [0, 6], [6, 6]])[kind] + rng.normal(size=(800, 2))
    labels = np.isin(kind, [1, 2]).astype(int)  # no line separates them
    bags = Bags(values, np.arange(0, 801, 10))
    clf = ClusterSelection().fit(bags, labels.reshape(80, 10).sum(axis=1))
    assert np.mean(clf.predict(values) == labels) > 0.97
    assert clf.n_clusters_ >= 4
    three = np.eye(3)[np.array([0, 1, 2, 1])[kind]].reshape(80, 10, 3).sum(axis=1)
    assert np.mean(ClusterSelection().fit(bags, three).predict(values) == np.array([0, 1, 2, 1])[kind]) > 0.97


def test_weights_of_bags_are_repetitions():
    rng = np.random.default_rng(2)
    kind = rng.integers(0, 2, 120)
    bags = Bags(8.0 * kind[:, None] + rng.normal(size=(120, 1)), np.arange(0, 121, 6))
    counts = (kind ^ (rng.random(120) < 0.2)).reshape(20, 6).sum(axis=1)
    weights = np.tile([2.0, 1.0, 0.0, 1.0], 5)
    index = np.repeat(np.arange(20), weights.astype(int))
    weighted = ClusterSelection(2).fit(bags, counts, sample_weight=weights).predict_proba(bags)
    np.testing.assert_allclose(weighted, ClusterSelection(2).fit(bags[index], counts[index]).predict_proba(bags))
    assert np.abs(weighted - ClusterSelection(2).fit(bags, counts).predict_proba(bags)).max() > 1e-3


def test_one_cluster_is_refused():
    with pytest.raises(DataError, match="n_clusters"):
        ClusterSelection(1).fit(Bags(np.ones((2, 1)), [0, 1, 2]), [0, 1])
