import numpy as np
import pytest

from messages import raises
from sumwise import Bags, synthetic
from sumwise.distribution import BagGaussianProcess, EmbeddingKernel, LinearEmbedding
from sumwise.errors import DataError


def test_predictions_and_spread_are_those_of_conditioning(weighted_bags):
    y = np.random.default_rng(0).normal(size=12)
    model = BagGaussianProcess().fit(weighted_bags[:9], y[:9])
    gram = model.kernel_.gram(weighted_bags)
    inflation = 1 + model.rows_[0] / (weighted_bags.total_weights + model.rows_[1])
    inside = gram[:9, :9] + model.noise_ * np.diag(inflation[:9])
    mean = y[:9].mean() + gram[9:, :9] @ np.linalg.solve(inside, y[:9] - y[:9].mean())
    cover = gram[9:, 9:] - gram[9:, :9] @ np.linalg.solve(inside, gram[:9, 9:])
    scale = (y[:9] - y[:9].mean()) @ np.linalg.solve(inside, y[:9] - y[:9].mean()) / 9
    assert np.allclose(model.predict(weighted_bags[9:]), mean)
    variance = scale * 9 / 8 * (np.diag(cover) + model.noise_ * inflation[9:])  # the mean is estimated too
    settings, model.settings_ = model.settings_, []  # the best setting alone
    assert np.allclose(model.predict(weighted_bags[9:], return_std=True)[1] ** 2, variance)
    model.settings_ = settings


@pytest.mark.check
def test_spread_of_few_bags_averages_over_settings(weighted_bags):
    y = np.random.default_rng(0).normal(size=12)
    model = BagGaussianProcess().fit(weighted_bags[:9], y[:9])
    inflation = 1 + model.rows_[0] / (weighted_bags.total_weights + model.rows_[1])
    best, centred, total = model.predict(weighted_bags[9:]), y[:9] - y[:9].mean(), 0.0
    for setting in model.settings_:
        model.kernel_.gamma_ = setting["gamma"]
        gram = model.kernel_.gram(weighted_bags)
        inside = gram[:9, :9] + setting["noise"] * np.diag(inflation[:9])
        mean = y[:9].mean() + gram[9:, :9] @ np.linalg.solve(inside, centred)
        cover = np.diag(gram[9:, 9:] - gram[9:, :9] @ np.linalg.solve(inside, gram[:9, 9:]))
        scale = centred @ np.linalg.solve(inside, centred) / 9
        total = total + setting["weight"] * (scale * (cover + setting["noise"] * inflation[9:]) + (mean - best) ** 2)
    assert sum(setting["weight"] for setting in model.settings_) == pytest.approx(1)
    assert len(model.settings_) > 1
    assert np.allclose(model.predict(weighted_bags[9:], return_std=True)[1] ** 2, total * 9 / 8)


@pytest.mark.check
def test_inducing_bags_come_close_to_all():
    train, test = (synthetic.gamma(n, 40, random_state=s) for n, s in ((400, 1), (300, 2)))
    full = BagGaussianProcess(random_state=0).fit(train.bags, train.response)
    sparse = BagGaussianProcess(max_bags=100, n_inducing=80, random_state=0).fit(train.bags, train.response)
    errors = [np.mean((m.predict(test.bags) - test.response) ** 2) for m in (full, sparse)]
    assert sparse.n_inducing_ == len(sparse.reference_) == len(sparse.dual_) == 80
    assert errors[1] < 1.02 * errors[0]
    low, high = sparse.predict_interval(test.bags, 0.9)
    assert 0.84 < np.mean((low <= test.response) & (test.response <= high)) < 0.96


def test_inducing_bags_have_their_places_too():
    bags, y, places = neighbours(3)
    kernel = EmbeddingKernel(LinearEmbedding())
    full = BagGaussianProcess(kernel).fit(bags[:120], y[:120], places[:120])
    sparse = BagGaussianProcess(kernel, max_bags=50, n_inducing=60, random_state=0).fit(
        bags[:120], y[:120], places[:120]
    )
    errors = [np.mean((m.predict(bags[120:], places[120:]) - y[120:]) ** 2) for m in (full, sparse)]
    assert errors[1] < 1.2 * errors[0]


def test_sparse_process_is_the_same_for_the_same_seed():
    train = synthetic.gamma(60, 20, random_state=0)
    options = {"max_bags": 30, "n_inducing": 10, "n_tuning": 25}
    one, two = (BagGaussianProcess(random_state=5, **options).fit(train.bags, train.response) for _ in range(2))
    assert np.array_equal(one.predict(train.bags, return_std=True)[1], two.predict(train.bags, return_std=True)[1])


def test_intervals_cover_as_they_say():
    train, test = (synthetic.gamma(n, 200, random_state=s) for n, s in ((250, 7), (500, 8)))
    model = BagGaussianProcess().fit(train.bags, train.response)
    for level in (0.5, 0.9):
        low, high = model.predict_interval(test.bags, level)
        assert np.mean((low <= test.response) & (test.response <= high)) == pytest.approx(level, abs=0.07)


def neighbours(seed):
    """Bags whose response is their centre and a surface over places."""
    rng = np.random.default_rng(seed)
    places, centre = rng.uniform(0, 1, (160, 2)), rng.normal(size=160)
    bags = Bags.from_arrays([rng.normal(m, 1, (40, 1)) for m in centre])
    return bags, centre + 2 * np.sin(6 * places[:, 0]), places


def test_places_help_where_neighbours_are_alike():
    bags, y, places = neighbours(0)
    kernel = EmbeddingKernel(LinearEmbedding())
    plain = BagGaussianProcess(kernel).fit(bags[:100], y[:100])
    spatial = BagGaussianProcess(kernel).fit(bags[:100], y[:100], places[:100])
    errors = [np.mean((plain.predict(bags[100:]) - y[100:]) ** 2)]
    errors.append(np.mean((spatial.predict(bags[100:], places[100:]) - y[100:]) ** 2))
    assert errors[1] < 0.3 * errors[0]
    assert spatial.spatial_[0] > 0
    assert spatial.log_evidence_ > plain.log_evidence_


def test_intervals_over_places_cover_as_they_say():
    inside = {0.9: [], 0.95: []}
    for seed in range(12):  # 60 bags of one draw alone would cover 95% give or take 6
        bags, y, places = neighbours(seed)
        model = BagGaussianProcess(EmbeddingKernel(LinearEmbedding())).fit(bags[:100], y[:100], places[:100])
        for level, found in inside.items():
            low, high = model.predict_interval(bags[100:], level, coordinates=places[100:])
            found.extend((low <= y[100:]) & (y[100:] <= high))
    for level, found in inside.items():
        assert np.mean(found) == pytest.approx(level, abs=0.03)


@pytest.mark.check
def test_intervals_of_small_and_large_bags_cover_alike():
    inside = {5: [], 20: [], 100: [], 200: []}
    for seed in range(3):
        data = synthetic.gamma(500, 200, small=0.25, random_state=seed)
        model = BagGaussianProcess().fit(data.bags[:200], data.response[:200])
        assert model.rows_[0] > 0
        low, high = model.predict_interval(data.bags[200:], 0.9)
        for size, found in inside.items():
            here = data.bags[200:].sizes == size
            found.extend(((low <= data.response[200:]) & (data.response[200:] <= high))[here])
    assert [np.mean(found) for found in inside.values()] == pytest.approx([0.9] * 4, abs=0.07)


def test_noise_that_does_not_depend_on_size_is_left_so():
    bags, y, _ = neighbours(1)
    assert BagGaussianProcess(EmbeddingKernel(LinearEmbedding())).fit(bags, y).rows_ == (0.0, 0.0)


def test_places_that_do_not_fit_are_refused(weighted_bags):
    y = np.arange(12.0)
    with raises(DataError, "coordinates-shape-bags"):
        BagGaussianProcess().fit(weighted_bags, y, np.zeros((3, 2)))
    with raises(DataError, "all-bags-lie"):
        BagGaussianProcess().fit(weighted_bags, y, np.zeros((12, 2)))
    model = BagGaussianProcess().fit(weighted_bags, y, np.arange(12.0))
    with raises(DataError, "process-fitted-coordinates"):
        model.predict(weighted_bags)
    with raises(DataError, "process-fitted-without"):
        BagGaussianProcess().fit(weighted_bags, y).predict(weighted_bags, np.arange(12.0))
    with raises(DataError, "must-lie-between", "level", 2):
        model.predict_interval(weighted_bags, 2, np.arange(12.0))


def test_linear_kernels_and_several_outputs(weighted_bags):
    y = np.column_stack([np.arange(12.0), np.ones(12) + np.arange(12) % 3])
    model = BagGaussianProcess(EmbeddingKernel(LinearEmbedding(), "linear")).fit(weighted_bags, y)
    assert model.predict(weighted_bags).shape == (12, 2)
    assert (model.predict(weighted_bags, return_std=True)[1] > 0).all()
