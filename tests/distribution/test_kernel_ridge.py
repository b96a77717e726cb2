import numpy as np
import pytest

import brute_distribution as brute
from messages import raises, warns
from sumwise import Bags, synthetic
from sumwise.distribution import (
    BagKernelRidge,
    BagRidge,
    EmbeddingKernel,
    LinearEmbedding,
    MomentEmbedding,
    WassersteinKernel,
)
from sumwise.errors import DataError, ModelWarning


def test_a_linear_kernel_is_ridge_on_the_embedding(weighted_bags):
    y = np.random.default_rng(0).normal(size=(12, 2))
    kernel = BagKernelRidge(EmbeddingKernel(MomentEmbedding(2), "linear"), penalty=0.01).fit(weighted_bags, y)
    primal = BagRidge(MomentEmbedding(2), penalty=0.01).fit(weighted_bags, y)
    assert np.allclose(kernel.predict(weighted_bags), primal.predict(weighted_bags))
    assert np.allclose(kernel.loo_error_, primal.loo_error_)


def test_leave_one_out_errors_are_those_of_refits(weighted_bags):
    y = np.random.default_rng(0).normal(size=12)
    model = BagKernelRidge(widths=(1,), penalty=0.05).fit(weighted_bags, y)
    gram = model.kernel_.gram(weighted_bags)
    values, vectors = np.linalg.eigh(gram)
    features = vectors * np.sqrt(np.maximum(values, 0))
    top = np.linalg.norm(features - features.mean(axis=0), 2) ** 2
    assert model.loo_error_[0] == pytest.approx(np.mean(brute.leave_one_out(features, y, 0.05 * top) ** 2))


def test_widths_are_chosen_with_the_penalty():
    train = synthetic.gamma(120, 100, noise=0, random_state=1)
    model = BagKernelRidge().fit(train.bags, train.response)
    alone = [BagKernelRidge(widths=(w,)).fit(train.bags, train.response).loo_error_[0] for w in (0.01, 0.3, 3)]
    assert model.loo_error_[0] <= min(alone) * 1.01
    assert len(model.fit_.history["gamma"]) == 12  # with and without extra slices


def test_landmarks_come_close_to_the_whole_gram_matrix():
    train, test = (synthetic.gamma(300, 100, noise=0, random_state=s) for s in (1, 2))
    whole = BagKernelRidge(random_state=0).fit(train.bags, train.response)
    some = BagKernelRidge(max_bags=200, n_landmarks=150, n_tuning=200, random_state=0).fit(train.bags, train.response)
    assert some.dual_.shape == (150, 1)
    assert abs(some.score(test.bags, test.response) - whole.score(test.bags, test.response)) < 0.03


@pytest.mark.check
def test_gamma_bags_are_read_within_a_tenth_of_the_optimum():
    train, test = (synthetic.gamma(n, 500, random_state=s) for n, s in ((600, 60), (300, 61)))
    model = BagKernelRidge().fit(train.bags, train.response)
    assert np.mean((model.predict(test.bags) - test.response) ** 2) < 1.2 * test.bayes_error


class Indefinite(EmbeddingKernel):
    def similarities(self, distances, gamma):
        return np.tanh(3 - distances[0])


def test_a_matrix_that_is_not_definite_is_said(weighted_bags):
    with warns(ModelWarning, "gram-matrix-not"):
        model = BagKernelRidge(Indefinite(LinearEmbedding()), widths=(1,)).fit(weighted_bags, np.arange(12.0))
    assert model.least_eigenvalue_ < -1e-6
    assert np.isfinite(model.predict(weighted_bags)).all()


def test_bad_settings_are_refused(weighted_bags):
    y = np.arange(12.0)
    for settings, message in (
        ({"kernel": MomentEmbedding()}, ("type-such", "kernel", "MomentEmbedding")),
        ({"widths": (0,)}, ("not-above-zero-2", "widths")),
        ({"n_landmarks": 0}, ("must-least", "n_landmarks", 0)),
        ({"penalty": -1.0}, ("not-above-zero-2", "penalty")),
    ):
        with raises(DataError, *message):
            BagKernelRidge(**settings).fit(weighted_bags, y)


@pytest.mark.parametrize(
    "kernel",
    [WassersteinKernel(1), WassersteinKernel(2), EmbeddingKernel(MomentEmbedding(2), "linear")],
    ids=["W1", "W2", "linear"],
)
def test_bags_unlike_those_of_training_are_said(kernel):
    data = synthetic.gamma(80, 60, noise=0, random_state=0)
    model = BagKernelRidge(kernel, penalty=0.01, random_state=0).fit(data.bags, data.response)
    assert np.allclose(model.remoteness(data.bags), 0, atol=1e-5)  # each is its own neighbour
    shifted = data.bags.with_values(data.bags.values + 3.0)
    with pytest.warns(ModelWarning) as caught:
        model.predict(shifted)
    assert "of 80 bags lie more than twice as far" in str(caught[0].message)
    assert len(caught) == 1 or "80 of 80 predictions lie farther from the training responses" in str(caught[1].message)
    assert caught[0].filename == __file__
    assert model.remoteness(shifted).min() > 2


def test_remoteness_is_the_distance_to_the_nearest_training_bag():
    bags = Bags.from_arrays([[0.0, 2.0], [1.0, 3.0], [4.0, 6.0]])
    model = BagKernelRidge(WassersteinKernel(1), penalty=0.1).fit(bags, [0.0, 1.0, 2.0])
    assert np.allclose(model.remoteness(Bags.from_arrays([[5.5, 7.5], [0.5, 2.5]])), [0.5, 1 / 6], atol=1e-9)
