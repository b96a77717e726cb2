import numpy as np
import pytest

from sumwise import Bags, synthetic
from sumwise.distribution import BagGaussianProcess, EmbeddingKernel, LinearEmbedding
from sumwise.errors import DataError


def test_predictions_and_spread_are_those_of_conditioning(weighted_bags):
    y = np.random.default_rng(0).normal(size=12)
    model = BagGaussianProcess().fit(weighted_bags[:9], y[:9])
    gram = model.kernel_.gram(weighted_bags)
    inside = gram[:9, :9] + model.noise_ * np.eye(9)
    mean = y[:9].mean() + gram[9:, :9] @ np.linalg.solve(inside, y[:9] - y[:9].mean())
    cover = gram[9:, 9:] - gram[9:, :9] @ np.linalg.solve(inside, gram[:9, 9:])
    scale = (y[:9] - y[:9].mean()) @ np.linalg.solve(inside, y[:9] - y[:9].mean()) / 9
    assert np.allclose(model.predict(weighted_bags[9:]), mean)
    assert np.allclose(model.predict_std(weighted_bags[9:]) ** 2, scale * (np.diag(cover) + model.noise_))


def test_intervals_cover_as_they_say():
    train, test = (synthetic.gamma(n, 200, random_state=s) for n, s in ((250, 7), (500, 8)))
    model = BagGaussianProcess().fit(train.bags, train.response)
    for level in (0.5, 0.9):
        low, high = model.predict_interval(test.bags, level)
        assert np.mean((low <= test.response) & (test.response <= high)) == pytest.approx(level, abs=0.07)


def test_places_help_where_neighbours_are_alike():
    rng = np.random.default_rng(0)
    places = rng.uniform(0, 1, (160, 2))
    centre = rng.normal(size=160)
    bags = Bags.from_arrays([rng.normal(m, 1, (40, 1)) for m in centre])
    y = centre + 2 * np.sin(6 * places[:, 0])
    kernel = EmbeddingKernel(LinearEmbedding())
    plain = BagGaussianProcess(kernel).fit(bags[:100], y[:100])
    spatial = BagGaussianProcess(kernel).fit(bags[:100], y[:100], places[:100])
    errors = [np.mean((plain.predict(bags[100:]) - y[100:]) ** 2)]
    errors.append(np.mean((spatial.predict(bags[100:], places[100:]) - y[100:]) ** 2))
    assert errors[1] < 0.3 * errors[0]
    assert spatial.spatial_[0] > 0
    assert spatial.log_evidence_ > plain.log_evidence_
    low, high = spatial.predict_interval(bags[100:], 0.95, places[100:])
    assert np.mean((low <= y[100:]) & (y[100:] <= high)) > 0.8


def test_places_that_do_not_fit_are_refused(weighted_bags):
    y = np.arange(12.0)
    with pytest.raises(DataError, match="coordinates has shape"):
        BagGaussianProcess().fit(weighted_bags, y, np.zeros((3, 2)))
    with pytest.raises(DataError, match="at the same place"):
        BagGaussianProcess().fit(weighted_bags, y, np.zeros((12, 2)))
    model = BagGaussianProcess().fit(weighted_bags, y, np.arange(12.0))
    with pytest.raises(DataError, match="fitted with coordinates"):
        model.predict(weighted_bags)
    with pytest.raises(DataError, match="fitted without coordinates"):
        BagGaussianProcess().fit(weighted_bags, y).predict(weighted_bags, np.arange(12.0))
    with pytest.raises(DataError, match="level is 2"):
        model.predict_interval(weighted_bags, 2, np.arange(12.0))


def test_linear_kernels_and_several_outputs(weighted_bags):
    y = np.column_stack([np.arange(12.0), np.ones(12) + np.arange(12) % 3])
    model = BagGaussianProcess(EmbeddingKernel(LinearEmbedding(), "linear")).fit(weighted_bags, y)
    assert model.predict(weighted_bags).shape == (12, 2)
    assert (model.predict_std(weighted_bags) > 0).all()
