"""BagStacking: an average of methods that is as good as the best and the same for any order of bags."""

import numpy as np
import pytest

from messages import raises
from sumwise import Bags, DataError, load, save, synthetic
from sumwise.distribution import (
    BagLogistic,
    BagRidge,
    BagStacking,
    FourierEmbedding,
    LinearEmbedding,
    MomentEmbedding,
    QuantileEmbedding,
)
from sumwise.distribution.candidates import default_candidates
from sumwise.distribution.kernels.stacking import stack_classes, stack_numbers

DATA = synthetic.gamma(60, 60, noise=0.0, random_state=0)
PAIR = {"means": BagRidge(LinearEmbedding()), "moments": BagRidge(MomentEmbedding())}


def spread_bags(rng, n):
    """Bags whose spread is the response; their means are at random."""
    y = rng.uniform(1, 3, n)
    return Bags.from_arrays([m + w * rng.normal(size=(40, 1)) for m, w in zip(rng.normal(0, 5, n), y)]), y


def test_the_method_that_predicts_gets_the_weight():
    rng = np.random.default_rng(0)
    (bags, y), (other, truth) = spread_bags(rng, 80), spread_bags(rng, 80)
    model = BagStacking(PAIR).fit(bags, y)
    assert model.weights_["moments"] > 0.8
    assert model.score(other, truth) > 0.8
    assert sum(model.weights_.values()) == pytest.approx(1)


def test_where_rows_say_nothing_the_average_is_nearly_the_constant():
    rng = np.random.default_rng(1)
    bags, y = Bags.from_arrays(list(rng.normal(size=(60, 10, 3)))), rng.normal(size=60)
    model = BagStacking(PAIR).fit(bags, y)
    assert np.std(model.predict(bags)) < 0.3 * np.std(y)
    assert model.fit_.objective <= 1.05


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_the_order_of_bags_and_rows_changes_nothing(task):
    rng = np.random.default_rng(2)
    bags, y = spread_bags(rng, 30)
    labels = np.where(y > 2, "wide", "narrow")
    response = y if task == "regression" else labels
    linear = {
        "moments": BagLogistic(MomentEmbedding(2), penalty=0.01),
        "means": BagLogistic(LinearEmbedding(), penalty=0.1),
    }
    methods = PAIR if task == "regression" else linear
    order = rng.permutation(30)
    shuffled = Bags.from_arrays([rng.permutation(bags[int(b)]) for b in order])
    base, other = (
        BagStacking(methods, task=task).fit(b, r) for b, r in ((bags, response), (shuffled, response[order]))
    )
    assert other.weights_ == pytest.approx(base.weights_, abs=1e-8)
    said = [m.predict(bags) if task == "regression" else m.predict_proba(bags) for m in (base, other)]
    np.testing.assert_allclose(said[0], said[1], atol=1e-8)


def test_classes_get_probabilities_that_sum_to_one():
    rng = np.random.default_rng(3)
    bags, y = spread_bags(rng, 60)
    labels = np.array(["low", "mid", "high"])[np.digitize(y, [1.7, 2.3])]
    methods = {"moments": BagLogistic(MomentEmbedding(2)), "means": BagLogistic(LinearEmbedding())}
    model = BagStacking(methods, task="classification").fit(bags, labels)
    chances = model.predict_proba(bags)
    assert chances.shape == (60, 3)
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    assert model.score(bags, labels) > 0.7
    assert set(model.predict(bags)) <= {"low", "mid", "high"}


def test_intervals_cover_new_bags():
    rng = np.random.default_rng(4)
    (bags, y), (other, truth) = spread_bags(rng, 80), spread_bags(rng, 400)
    for model in (BagStacking(PAIR), *PAIR.values()):
        low, high = model.fit(bags, y).predict_interval(other, 0.8)
        assert 0.72 < np.mean((low <= truth) & (truth <= high)) < 0.9
        low, high = model.predict_interval(other, 0.8, bounds=(1.2, 2.5))
        assert low.min() >= 1.2
        assert high.max() <= 2.5


def test_an_interval_that_few_bags_can_not_give_is_refused():
    bags, y = spread_bags(np.random.default_rng(5), 12)
    with raises(DataError, "bags-left-out", 12):
        BagRidge(MomentEmbedding()).fit(bags, y).predict_interval(bags, 0.95)


def test_groups_are_left_out_together():
    rng = np.random.default_rng(6)
    bags, _ = spread_bags(rng, 40)
    groups = np.repeat(np.arange(10), 4)
    y = rng.normal(size=10)[groups]  # a method that recognises the group looks good if a part of it is left in
    tagged = Bags.from_arrays([np.column_stack([x, np.full(len(x), g)]) for x, g in zip(bags, groups)])
    from sumwise.distribution import BagKernelRidge

    apart = BagStacking({"kernel": BagKernelRidge()}).fit(tagged, y, groups=groups)
    mixed = BagStacking({"kernel": BagKernelRidge()}).fit(tagged, y)
    assert mixed.fit_.objective < apart.fit_.objective


def test_methods_that_fail_are_named_and_left_out():
    bags, y = spread_bags(np.random.default_rng(7), 20)
    model = BagStacking({**PAIR, "broken": BagRidge(QuantileEmbedding(n_quantiles=0))}).fit(bags, y)
    assert set(model.left_out_) == {"broken"}
    assert "n_quantiles" in model.left_out_["broken"]


@pytest.mark.parametrize(
    ("n", "options", "words"),
    [
        (3, {"candidates": PAIR}, ("bags-methods-nothing", 3)),
        (20, {"candidates": {}}, ("bags-methods-nothing", 0)),
        (20, {"candidates": PAIR, "task": "ranking"}, ("is-takes", "task")),
        (20, {"candidates": {"broken": BagRidge(QuantileEmbedding(n_quantiles=0))}}, ("no-method-fitted",)),
    ],
)
def test_what_can_not_be_compared_is_refused(n, options, words):
    bags, y = spread_bags(np.random.default_rng(8), n)
    with raises(DataError, *words):
        BagStacking(**options).fit(bags, y)


def test_a_saved_average_predicts_the_same(tmp_path):
    model = BagStacking(PAIR).fit(DATA.bags, DATA.response)
    save(model, tmp_path / "model.sumwise")
    np.testing.assert_array_equal(load(tmp_path / "model.sumwise").predict(DATA.bags), model.predict(DATA.bags))


def test_the_comparison_has_every_method_and_the_average():
    model = BagStacking(PAIR).fit(DATA.bags, DATA.response)
    table = model.comparison()
    assert table["method"].tolist() == ["means", "moments", "constant", "average"]
    relative = np.mean(model.residuals_**2) / DATA.response.var()
    assert table["held-out loss"].iloc[-1] == pytest.approx(relative)
    assert relative < 0.3 * table["held-out loss"][2]


def test_held_out_predictions_have_weights_of_the_other_folds():
    rng = np.random.default_rng(0)
    bags, y = Bags.from_arrays(list(rng.normal(size=(12, 3, 1)))), rng.normal(size=12)
    noise = {f"{k}": BagRidge(FourierEmbedding(4, random_state=k), 1e-6) for k in range(8)}
    model = BagStacking(noise).fit(bags, y)
    table = model.comparison()["held-out loss"]
    assert table.iloc[-1] > table.iloc[:-1].min()  # with weights that had seen each bag it would be less than any


def test_defaults_cover_both_tasks():
    for task in ("regression", "classification"):
        assert {"means", "Wasserstein kernel", "random forest"} <= set(default_candidates(DATA.bags, task, 0))


def test_weights_of_numbers_are_the_best_on_the_simplex():
    rng = np.random.default_rng(9)
    truth, counted = rng.normal(size=(50, 2)), rng.uniform(0.5, 2, 50)
    predicted = truth + rng.normal(size=(3, 50, 2)) * np.array([0.5, 1.0, 2.0])[:, None, None]
    weights, losses = stack_numbers(predicted, truth, counted)
    grid = [np.array([a, b, 1 - a - b]) for a in np.linspace(0, 1, 101) for b in np.linspace(0, 1 - a, 101)]
    spread = np.sqrt(np.average((truth - np.average(truth, axis=0, weights=counted)) ** 2, axis=0, weights=counted))

    def loss(w):
        errors = (np.einsum("k,kbo->bo", w, predicted) - truth) / spread
        return np.average((errors**2).mean(axis=1), weights=counted)

    assert losses[-1] == pytest.approx(loss(weights))
    assert losses[-1] <= min(map(loss, grid)) + 1e-9
    assert losses[0] == pytest.approx(loss([1, 0, 0]))


def test_weights_of_classes_are_the_likeliest_on_the_simplex():
    rng = np.random.default_rng(10)
    predicted = rng.dirichlet(np.ones(3), size=(2, 40))
    codes = rng.integers(0, 3, 40)
    weights, losses = stack_classes(predicted, codes, np.ones(40))
    own = predicted[:, np.arange(40), codes]
    best = max(np.log(a * own[0] + (1 - a) * own[1]).mean() for a in np.linspace(0, 1, 2001))
    assert -losses[-1] == pytest.approx(best, abs=1e-5)
    assert weights.sum() == pytest.approx(1)
