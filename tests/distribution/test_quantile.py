import numpy as np
import pytest

from messages import raises
from sumwise import Bags
from sumwise.distribution import QuantileEmbedding
from sumwise.distribution.quantile import draw_slices
from sumwise.errors import DataError


def test_distances_of_vectors_are_mean_w2_over_columns():
    rng = np.random.default_rng(0)
    parts = [rng.normal(m, 1, (30, 2)) for m in (0, 1, 3)]
    embedding = QuantileEmbedding(30)
    vectors = embedding.fit_transform(Bags.from_arrays(parts))
    scaled = [np.sort((p - embedding.columns_.centre) / embedding.columns_.scale, axis=0) for p in parts]
    for i, j in ((0, 1), (0, 2)):
        assert np.sum((vectors[i] - vectors[j]) ** 2) == pytest.approx(np.mean((scaled[i] - scaled[j]) ** 2))


def test_slices_are_directions_and_see_correlation():
    directions = draw_slices(3, 7, 0)
    assert directions.shape == (3, 7)
    assert np.allclose(np.linalg.norm(directions, axis=0), 1)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4000, 2))
    one, other = x @ [[1, 0.9], [0, 0.4359]], x @ [[1, -0.9], [0, 0.4359]]
    bags = Bags.from_arrays([one, other])
    plain, sliced = (QuantileEmbedding(50, s, random_state=0).fit_transform(bags) for s in (0, 10))
    assert np.linalg.norm(sliced[0] - sliced[1]) > 3 * np.linalg.norm(plain[0] - plain[1])


def test_bad_settings_are_refused(weighted_bags):
    with raises(DataError, "must-least", "n_quantiles", 0):
        QuantileEmbedding(0).fit(weighted_bags)
    with raises(DataError, "must-least", "slices", -1):
        QuantileEmbedding(slices=-1).fit(weighted_bags)
