"""Hard EM: equal to the alternating mean map for two classes, joint labels for more, any classifier."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import sumwise
from sumwise import Bags
from sumwise.errors import DataError
from sumwise.proportions import AlternatingMeanMap, HardEM


def sample(n_classes=2, n_bags=40, size=8, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n_bags * size, 2)) + np.repeat(rng.normal(size=(n_bags, 2)), size, axis=0)
    angles = 2 * np.pi * np.arange(n_classes) / n_classes
    scores = 3 * values @ np.array([np.cos(angles), np.sin(angles)])
    labels = np.argmax(scores + rng.gumbel(size=scores.shape), axis=1)
    counts = np.array([np.bincount(p, minlength=n_classes) for p in labels.reshape(n_bags, size)])
    return Bags(values, np.arange(0, n_bags * size + 1, size)), counts, labels


def test_two_classes_are_the_alternating_mean_map():
    bags, counts, _ = sample()
    one, two = (kind(penalty=1.0, tol=1e-9).fit(bags, counts) for kind in (HardEM, AlternatingMeanMap))
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-2)


def test_three_classes_are_learned_jointly():
    bags, counts, labels = sample(3)
    clf = HardEM(penalty=1.0).fit(bags, counts)
    assert np.mean(clf.predict(bags) == labels) > 0.75
    assert clf.coef_.shape == (3, 2)


def test_a_tree_learns_and_is_saved(tmp_path):
    bags, counts, labels = sample()
    clf = HardEM(DecisionTreeClassifier(min_samples_leaf=20, random_state=0)).fit(bags, counts)
    assert np.mean(clf.predict(bags) == labels) > 0.75
    sumwise.save(clf, tmp_path / "m.sumwise")
    np.testing.assert_array_equal(sumwise.load(tmp_path / "m.sumwise").predict(bags), clf.predict(bags))


def test_weighted_rows_of_three_classes_are_refused():
    bags = Bags(np.zeros((4, 1)), np.array([0, 2, 4]), np.array([1.0, 2.0, 1.0, 2.0]))
    with pytest.raises(DataError, match="two classes only"):
        HardEM(penalty=1.0).fit(bags, [[1, 1, 1], [0, 1, 2]])
