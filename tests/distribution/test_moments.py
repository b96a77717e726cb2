import warnings

import numpy as np

from brute_distribution import replicated
from messages import raises
from sumwise import Bags
from sumwise.distribution import BagRidge, MomentEmbedding
from sumwise.errors import DataError, ModelWarning


def test_moments_are_those_of_the_rows(weighted_bags):
    embedding = MomentEmbedding(3).fit(weighted_bags)
    raw = embedding.transform(weighted_bags) * embedding.spread_ + embedding.mean_
    for i, rows in enumerate(replicated(weighted_bags)):
        x = (rows - embedding.columns_.centre) / embedding.columns_.scale
        centred = x - x.mean(axis=0)
        pairs = [np.mean(centred[:, j] * centred[:, k]) for j, k in [(0, 1), (0, 2), (1, 2)]]
        expected = np.r_[x.mean(axis=0), (centred**2).mean(axis=0), (centred**3).mean(axis=0), pairs]
        assert np.allclose(raw[i], expected, atol=1e-10)


def test_order_one_is_the_mean_and_order_zero_is_refused(weighted_bags):
    assert MomentEmbedding(1, cross=False).fit_transform(weighted_bags).shape == (12, 3)
    with raises(DataError, "must-least", "order", 0):
        MomentEmbedding(0).fit(weighted_bags)


def test_groups_of_bags_give_the_same_moments(weighted_bags, monkeypatch):
    whole = MomentEmbedding().fit_transform(weighted_bags)
    monkeypatch.setattr("sumwise.distribution.moments.BLOCK", 7)
    assert np.allclose(MomentEmbedding().fit_transform(weighted_bags), whole)


def test_a_column_that_is_constant_within_training_bags_is_not_divided_by_rounding_error():
    rng = np.random.default_rng(0)
    seen = [np.column_stack([rng.normal(size=7), np.full(7, level)]) for level in rng.normal(size=30)]
    other = rng.normal(size=(7, 2))  # here the second column differs between rows
    embedding = MomentEmbedding().fit(Bags.from_arrays(seen))
    assert np.abs(embedding.transform(Bags.from_arrays([other]))).max() < 100


def test_a_heavy_tail_does_not_decide_a_prediction():
    rng = np.random.default_rng(3)
    place = rng.normal(size=130)
    bags = Bags.from_arrays([m + rng.standard_t(1.5, size=(30, 2)) for m in place])
    model = BagRidge(MomentEmbedding()).fit(bags[np.arange(30)], place[:30])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        predicted = model.predict(bags[np.arange(30, 130)])
    assert np.abs(predicted).max() < 100  # 1e6 and more with a fourth moment as it is
