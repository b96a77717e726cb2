import numpy as np
import pytest

import brute_distribution as brute
from messages import raises, warns
from sumwise import Bags, synthetic
from sumwise.distribution import BagRidge, FourierEmbedding, MomentEmbedding
from sumwise.errors import DataError, ModelWarning


def test_a_given_penalty_gives_the_ridge_solution(weighted_bags):
    y = np.random.default_rng(0).normal(size=12)
    model = BagRidge(MomentEmbedding(2), penalty=0.01).fit(weighted_bags, y)
    features = model.embedding_.transform(weighted_bags)
    top = np.linalg.norm(features - features.mean(axis=0), 2) ** 2
    coef, intercept = brute.ridge(features, y, 0.01 * top)
    assert np.allclose(model.coef_[:, 0], coef)
    assert model.intercept_[0] == pytest.approx(intercept)
    assert model.loo_error_[0] == pytest.approx(np.mean(brute.leave_one_out(features, y, 0.01 * top) ** 2))


def test_the_average_over_penalties_predicts_about_as_well_as_the_best(weighted_bags):
    y = np.random.default_rng(0).normal(size=(12, 2)) + np.asarray([[np.mean(x)] for x in weighted_bags])
    model = BagRidge(MomentEmbedding(2)).fit(weighted_bags, y)
    for k in range(2):
        others = [BagRidge(MomentEmbedding(2), p).fit(weighted_bags, y[:, k]).loo_error_[0] for p in (1e-6, 1e-2, 1.0)]
        assert model.loo_error_[k] <= 1.1 * min(others)
    assert model.fit_.history["n_features"] == [len(model.coef_)]


def test_gamma_bags_are_read_within_reach_of_the_optimum():
    train, test = (synthetic.gamma(n, 500, random_state=s) for n, s in ((400, 50), (200, 51)))
    model = BagRidge(random_state=0).fit(train.bags, train.response)
    error = np.mean((model.predict(test.bags) - test.response) ** 2)
    assert error < 1.6 * test.bayes_error


def test_spreads_are_read_whatever_the_place():
    rng = np.random.default_rng(0)
    y = rng.uniform(1, 3, 200)
    bags = Bags.from_arrays([m + w * rng.random((50, 1)) for m, w in zip(rng.normal(0, 1, 200), y)])
    assert BagRidge(random_state=0).fit(bags[:120], y[:120]).score(bags[120:], y[120:]) > 0.9
    assert BagRidge(FourierEmbedding(), random_state=0).fit(bags[:120], y[:120]).score(bags[120:], y[120:]) < 0.7


def test_other_parts_and_penalties_are_refused(weighted_bags):
    y = np.arange(12.0)
    with raises(DataError, "type-such", "embedding", "str"):
        BagRidge("fourier").fit(weighted_bags, y)
    with raises(DataError, "is-takes", "penalty", "cv"):
        BagRidge(penalty="cv").fit(weighted_bags, y)
    with raises(DataError, "not-above-zero-2", "penalty"):
        BagRidge(penalty=0.0).fit(weighted_bags, y)


def test_the_embedding_given_is_left_alone(weighted_bags):
    given = FourierEmbedding()
    BagRidge(given, random_state=3).fit(weighted_bags, np.arange(12.0))
    assert given.random_state is None
    assert not hasattr(given, "columns_")


def test_remoteness_is_leverage_relative_to_the_farthest_training_bag(weighted_bags):
    y = np.random.default_rng(0).normal(size=12)
    model = BagRidge(MomentEmbedding(2), penalty=0.01).fit(weighted_bags, y)
    features = model.embedding_.transform(weighted_bags)
    centred = features - features.mean(axis=0)
    penalty = 0.01 * np.linalg.norm(centred, 2) ** 2
    inverse = np.linalg.inv(centred.T @ centred + penalty * np.eye(centred.shape[1]))
    leverage = np.einsum("ij,jk,ik->i", centred, inverse, centred)
    of_others = []
    for i in range(12):
        rest = np.delete(features, i, axis=0)
        away, rest = features[i] - rest.mean(axis=0), rest - rest.mean(axis=0)
        of_others.append(away @ np.linalg.solve(rest.T @ rest + penalty * np.eye(rest.shape[1]), away))
    assert np.allclose(model.remoteness(weighted_bags), leverage / max(of_others))


def test_new_bags_of_the_same_kind_are_not_called_remote_by_many_features():
    rng = np.random.default_rng(5)
    bags = Bags.from_arrays([rng.normal(size=(10, 6)) for _ in range(70)])
    y = np.array([part[:, 0].mean() for part in bags]) + 1e-3 * rng.normal(size=70)
    model = BagRidge(penalty=1e-6, random_state=0).fit(bags[:40], y[:40])
    assert len(model.used_) > 40
    assert np.median(model.remoteness(bags[40:])) < 1


def test_subgroups_far_from_training_are_said():
    data = synthetic.gamma(150, 100, noise=0, random_state=0)
    model = BagRidge(FourierEmbedding(8, (1.0,), random_state=0)).fit(data.bags, data.response)
    low = data.bags.subset(data.bags.values[:, 0] < np.median(data.bags.values[:, 0])).drop_empty()
    with warns(ModelWarning, "bags-lie-more", 150) as caught:
        model.predict(low)
    assert caught[0].filename == __file__  # the warning points at the user's line
    assert model.remoteness(low).min() > 1
    random = data.bags.subset(np.random.default_rng(0).random(data.bags.n_rows) < 0.9)
    assert np.mean(model.remoteness(random) > 1) < 0.05
