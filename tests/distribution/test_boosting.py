"""Gradient boosting on features of bags."""

import numpy as np
import pytest

from sumwise import Bags
from sumwise.distribution import BagBoosting, BagRidge, LinearEmbedding, MomentEmbedding
from sumwise.errors import DataError


def thresholded(n, seed):
    """The response is a step of one column's mean, unless the other's spread is large."""
    rng = np.random.default_rng(seed)
    mean, spread = rng.normal(size=n), rng.uniform(0.5, 2, n)
    bags = Bags.from_arrays(
        [np.column_stack([rng.normal(m, 1, 40), rng.normal(0, s, 40)]) for m, s in zip(mean, spread)]
    )
    return bags, np.where(spread < 1.25, (mean > 0).astype(float), 0.5)


def test_trees_find_what_a_line_misses():
    (bags, y), (more, truth) = thresholded(300, 0), thresholded(200, 1)
    trees = BagBoosting(max_iter=60, random_state=0).fit(bags, y).score(more, truth)
    line = BagRidge(LinearEmbedding()).fit(bags, y).score(more, truth)
    assert trees > line + 0.1
    assert trees > 0.6


def test_classes_with_names():
    bags, y = thresholded(150, 2)
    names = np.array(["low", "middle", "high"])[(2 * y).astype(int)]
    model = BagBoosting("classification", max_iter=20, random_state=0).fit(bags, names)
    assert model.predict_proba(bags).shape == (150, 3)
    assert set(model.predict(bags)) <= set(names)
    assert model.score(bags, names) > 0.8


def test_several_responses():
    bags, y = thresholded(80, 3)
    model = BagBoosting(max_iter=10, random_state=0).fit(bags, np.column_stack([y, -y]))
    assert model.predict(bags).shape == (80, 2)


def test_embeddings_can_be_given():
    bags, y = thresholded(60, 4)
    model = BagBoosting(embeddings=[MomentEmbedding(2)], max_iter=5).fit(bags, y)
    assert [type(e) for e in model.embeddings_] == [MomentEmbedding]


def test_bad_input_is_refused():
    bags, y = thresholded(20, 5)
    with pytest.raises(DataError, match="task is 'ranking'"):
        BagBoosting("ranking").fit(bags, y)
    with pytest.raises(DataError, match="All bags are of the class"):
        BagBoosting("classification").fit(bags, np.ones(20))
    assert not hasattr(BagBoosting(), "predict_proba")
