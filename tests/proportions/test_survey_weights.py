"""Drawing by weight and effective sizes."""

import numpy as np
import pytest

from sumwise import Bags
from sumwise.errors import DataError
from sumwise.proportions import CardinalityClassifier, draw, effective_sizes


def test_effective_size_is_the_size_for_equal_weights():
    bags = Bags.from_arrays([np.zeros((4, 1)), np.zeros((0, 1)), np.zeros((2, 1))], empty="keep")
    np.testing.assert_allclose(effective_sizes(bags), [4, 0, 2])


def test_draw_keeps_bags_and_follows_weights():
    bags = Bags.from_arrays([[[0.0], [1.0]], [[2.0], [3.0]]], weights=[[1, 3], [1, 0]], ids=["a", "b"])
    drawn = draw(bags, 4000, random_state=1)
    assert drawn.ids.tolist() == ["a", "b"]
    assert not drawn.weighted
    assert drawn[0].mean() == pytest.approx(0.75, abs=0.03)
    assert (drawn[1] == 2.0).all()
    assert draw(bags, 10, random_state=1) == draw(bags, 10, random_state=1)


def test_empty_bag_is_refused():
    with pytest.raises(DataError, match="1 of 1 bags are empty"):
        draw(Bags.from_arrays([np.zeros((0, 1))], empty="keep"), 3)


def test_weighted_fit_converges_where_a_feature_all_but_names_a_class():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    X[:, 1] = rng.random(600) < np.repeat(rng.uniform(0.02, 0.2, 12), 50)
    y = np.where(X[:, 1] > 0, 2, (rng.random(600) < 1 / (1 + np.exp(-2 * X[:, 0]))).astype(int))
    weights = rng.integers(1, 9, 600).astype(float)
    bags = Bags(X, np.arange(0, 601, 50), weights=weights)
    counts = np.add.reduceat(weights[:, None] * (y[:, None] == np.arange(3)), bags.offsets[:-1])
    clf = CardinalityClassifier(penalty=0.1).fit(bags, counts)  # a warning would be an error here
    assert clf.fit_.converged
    assert np.mean(clf.predict(X)[y == 2] == 2) > 0.8
