"""DeepSets as an estimator: what it learns, weights, resumption, classes, several responses, bad input."""

import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import sumwise
from killed import kill_after
from messages import raises, warns
from sumwise import Bags, synthetic
from sumwise.distribution import DeepSets
from sumwise.distribution.set_presets import arranged
from sumwise.errors import DataError, ModelWarning, NotConverged

torch = pytest.importorskip("torch", reason="networks need torch: pip install 'sumwise[torch]'")


def deep(**options):
    """A network from options of network and training side by side."""
    return DeepSets(**arranged(options))


SMALL = {"phi": (16,), "rho": (16,), "max_epochs": 40, "weight_decay": 0.1}


def spreads(n=150, seed=0, size=(20, 40)):
    """Bags around zero whose spread is the response: their means say nothing."""
    rng = np.random.default_rng(seed)
    y = rng.uniform(1, 3, n)
    return Bags.from_arrays([rng.normal(0, s, (int(k), 2)) for s, k in zip(y, rng.integers(*size, n))]), y


@pytest.fixture(scope="module")
def fitted():
    bags, y = spreads()
    return deep(**SMALL).fit(bags, y), *spreads(seed=1)


@pytest.mark.check
def test_learns_what_the_mean_of_rows_does_not_show(fitted):
    net, bags, y = fitted
    assert net.score(bags, y) > 0.85  # the sample standard deviation itself has 0.95
    assert net.fit_.converged
    assert net.fit_.history["held_out"][net.best_epochs_[0] - 1] == net.fit_.objective


def test_predictions_are_those_of_double_precision(fitted):
    import brute_sets

    net, bags, _ = fitted
    plan = net._plan()
    rows = net.columns_.numbers(bags.values)
    slow = [
        brute_sets.bag_output(plan, net.members_[0], rows[a:b], np.ones(b - a))[0]
        for a, b in zip(bags.offsets, bags.offsets[1:])
    ]
    wanted = net.response_.decode(np.array(slow)[:, None])[:, 0]
    np.testing.assert_allclose(net.predict(bags), wanted, atol=1e-5)  # what single precision costs


def test_weights_count_like_repeated_rows():
    bags, y = spreads(40)
    weights = np.random.default_rng(2).integers(0, 3, bags.n_rows)
    weights[bags.offsets[:-1]] = 1  # no bag without weight
    weighted = Bags(bags.values, bags.offsets, weights.astype(float))
    edges = np.concatenate([[0], np.cumsum(weights)])[bags.offsets]
    repeated = Bags(np.repeat(bags.values, weights, axis=0), edges)
    nets = [deep(**SMALL, batch_bags=8).fit(b, y) for b in (weighted, repeated)]
    np.testing.assert_allclose(nets[0].predict(weighted), nets[1].predict(repeated), atol=2e-3)
    np.testing.assert_allclose(nets[0].predict(weighted), nets[0].predict(repeated), atol=1e-5)


@pytest.mark.parametrize("shape", [{"pool": "sum"}, {"pool": "max"}, {"equivariant": True}, {"local": (8,)}], ids=str)
def test_other_networks_learn_too(shape):
    bags, y = spreads(100)
    net = deep(**{**SMALL, "max_epochs": 20}, **shape).fit(bags, y)
    assert net.score(*spreads(100, 1)) > 0.6


@pytest.mark.check
def test_sum_pool_knows_the_size_of_a_bag():
    rng = np.random.default_rng(0)
    sizes = rng.integers(5, 50, 120)
    bags = Bags.from_arrays([rng.normal(size=(k, 1)) for k in sizes])
    by = {p: deep(**SMALL, pool=p).fit(bags[:80], sizes[:80]).score(bags[80:], sizes[80:]) for p in ("sum", "mean")}
    assert by["sum"] > 0.95
    assert by["mean"] < 0.3


def test_classes_of_any_kind_and_their_probabilities():
    bags, y = spreads()
    labels = np.where(y > 2, "wide", "narrow")
    net = deep(**SMALL, task="classification").fit(bags, labels)
    other, truth = spreads(seed=1)
    said = net.predict_proba(other)
    np.testing.assert_allclose(said.sum(axis=1), 1.0)
    assert net.classes_.tolist() == ["narrow", "wide"]
    assert net.predict(other).tolist() == net.classes_[said.argmax(axis=1)].tolist()
    assert net.score(other, np.where(truth > 2, "wide", "narrow")) > 0.8


def test_several_responses_at_once():
    bags, y = spreads()
    both = np.column_stack([y, 100 - 20 * y])
    net = deep(**SMALL).fit(bags, both)
    said = net.predict(bags)
    assert said.shape == both.shape
    assert net.score(bags, both) > 0.8
    low, high = net.predict_interval(bags, 0.8)
    assert np.all((low < said) & (said < high))


def test_shares_stay_within_zero_and_one():
    bags, y = spreads(60)
    share = 1 / (1 + np.exp(-8 * (y - 2)))
    net = deep(**SMALL, task="share").fit(bags, share)
    wide = bags.with_values(bags.values * 50)
    said = net.predict(wide)
    assert said.min() >= 0
    assert said.max() <= 1
    assert net.score(bags, share) > 0.7
    with raises(DataError, "shares-must-lie"):
        net.fit(bags, y)


def test_intervals_cover_new_bags():
    bags, y = spreads(400, size=(10, 20))
    net = deep(phi=(16,), rho=(8,), max_epochs=15, validation=0.3).fit(bags, y)
    other, truth = spreads(400, 5, size=(10, 20))
    low, high = net.predict_interval(other, 0.8)
    assert 0.72 < np.mean((low <= truth) & (truth <= high)) < 0.9  # 120 held out, 400 new: standard error 0.04
    with raises(DataError, "bags-left-out", 0):
        deep(**{**SMALL, "max_epochs": 1}, validation=0).fit(bags, y).predict_interval(bags)


def test_members_are_averaged():
    bags, y = spreads(60)
    net = deep(**{**SMALL, "max_epochs": 5}, n_members=2).fit(bags, y)
    each = []
    for member in net.members_:
        one = deep(**{**SMALL, "max_epochs": 5})
        vars(one).update(vars(net) | {"members_": [member]})
        each.append(one.predict(bags))
    assert not np.allclose(each[0], each[1])
    np.testing.assert_allclose(net.predict(bags), np.mean(each, axis=0))


def test_given_bags_judge_the_epochs():
    bags, y = spreads(60)
    judges = spreads(30, 3)
    net = deep(**{**SMALL, "max_epochs": 6}, validation=0).fit(bags, y, validation=judges)
    error = judges[1] - net.predict(judges[0])
    assert net.fit_.objective == pytest.approx(np.mean(error**2) / y.var(), rel=1e-5)


def test_residuals_are_of_an_epoch_in_whose_choice_the_bag_had_no_part():
    bags, y = spreads(60)
    judges = spreads(30, 3)
    options = {**SMALL, "weight_decay": 0.01, "validation": 0}
    one = deep(**{**options, "max_epochs": 1}).fit(bags, y, validation=judges)  # no choice: errors of the model
    np.testing.assert_allclose(one.residuals_[:, 0], judges[1] - one.predict(judges[0]), atol=1e-6)
    net = deep(**{**options, "max_epochs": 20}).fit(bags, y, validation=judges)
    error = judges[1] - net.predict(judges[0])
    assert len(net.residuals_) == 30
    assert np.mean(net.residuals_**2) >= np.mean(error**2) * (1 - 1e-6)


def test_critical_sets_decide_alone():
    bags, y = spreads(40)
    weights = np.ones(bags.n_rows)
    weights[::7] = 0.0
    bags = Bags(bags.values, bags.offsets, weights)
    net = deep(**{**SMALL, "max_epochs": 5}, pool="max", equivariant=True).fit(bags, y)
    kept = net.critical_set(bags)
    assert kept.sum() < 0.8 * bags.n_rows
    assert not kept[::7].any()
    np.testing.assert_allclose(net.predict(bags.subset(kept)), net.predict(bags), rtol=1e-6)
    with raises(DataError, "pool-pool"):
        deep(**{**SMALL, "max_epochs": 1}).fit(bags, y).critical_set(bags)


class Spread(torch.nn.Module):
    """A module of a user's: the spread of learned features of a bag."""

    def __init__(self, n_features=2, n_outputs=1):
        super().__init__()
        self.first, self.last = torch.nn.Linear(n_features, 8), torch.nn.Linear(8, n_outputs)
        self.drop = torch.nn.Dropout(0.1)

    def forward(self, rows, bags):
        hidden = torch.tanh(self.first(rows))
        off = hidden - bags.spread(bags.pool(hidden, "mean"))
        return self.last(self.drop(bags.pool(off**2, "mean")))


def test_any_module_is_a_network():
    bags, y = spreads(100)
    module = Spread()
    before = torch.get_rng_state()
    net = DeepSets(module, max_epochs=60, training={"batch_bags": 10}).fit(bags, y)
    assert torch.equal(before, torch.get_rng_state())
    assert net.score(*spreads(100, 1)) > 0.7
    again = DeepSets(Spread(), max_epochs=60, training={"batch_bags": 10}).fit(bags, y)
    np.testing.assert_array_equal(again.predict(bags), net.predict(bags))  # new weights come from random_state
    wide = DeepSets(Spread(2, 2), "classification", max_epochs=5).fit(bags, np.where(y > 2, "wide", "narrow"))
    assert wide.predict_proba(bags).shape == (100, 2)
    with raises(DataError, "pool-pool", "that of a module"):
        net.critical_set(bags)


def test_bags_that_arrive_over_time(tmp_path):
    net = deep(phi=(16,), rho=(16,))
    for k in range(25):
        net.partial_fit(*spreads(60, 100 + k))
    assert net.passes_ == 25
    assert net.score(*spreads(seed=1)) > 0.8
    sumwise.save(net, tmp_path / "net")
    other = sumwise.load(tmp_path / "net")
    for each in (net, other):  # what was saved goes on as the other does
        each.partial_fit(*spreads(60, 200))
    assert np.array_equal(net.predict(spreads()[0]), other.predict(spreads()[0]))
    labels = deep(phi=(8,), rho=(), task="classification")
    bags, y = spreads(20)
    labels.partial_fit(bags, y > 2, classes=[False, True]).partial_fit(bags, np.zeros(20, dtype=bool))
    assert labels.predict_proba(bags).shape == (20, 2)


def test_columns_of_codes_are_read_as_categories():
    import pandas as pd

    rng = np.random.default_rng(0)
    bag = np.repeat(np.arange(80), 15)
    share = rng.dirichlet([1, 1, 1], 80)
    colour = np.array(["blue", "green", "red"])[[rng.choice(3, p=share[b]) for b in bag]]
    bags = Bags.from_frame(pd.DataFrame({"bag": bag, "colour": colour}), bag="bag")
    y = share[:, 1]  # not monotone in the codes
    net = deep(**SMALL).fit(bags[:60], y[:60])
    assert net._plan().n_features == 3
    assert net.score(bags[60:], y[60:]) > 0.6


CHILD = """
import sys
from test_deep_sets import slow_net, spreads
slow_net(sys.argv[1]).fit(*spreads(60))
"""


def slow_net(path, **changes):
    return deep(phi=(16,), rho=(16,), dropout=0.1, max_epochs=6, n_members=2, checkpoint=path, **changes)


@pytest.mark.check
def test_a_killed_fit_goes_on_to_the_same_bits(tmp_path, monkeypatch):
    monkeypatch.setattr("sumwise.distribution.deep_sets.SECONDS", 0.0)
    path = tmp_path / "net.checkpoint"
    code = f"import sumwise.distribution.deep_sets as d; d.SECONDS = 0.0{CHILD}"
    here = [str(Path(__file__).parent), *(p for p in sys.path if p)]
    kill_after(2, f"import sys; sys.path[:0] = {here!r}\n{code}", path)
    assert path.exists()
    resumed = slow_net(path).fit(*spreads(60))
    assert not path.exists()
    whole = slow_net(None).fit(*spreads(60))
    for one, other in zip(resumed.members_, whole.members_, strict=True):
        assert {n: w.tobytes() for n, w in one["weights"].items()} == {
            n: w.tobytes() for n, w in other["weights"].items()
        }


def test_a_checkpoint_of_other_data_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("sumwise.distribution.deep_sets.SECONDS", 0.0)
    bags, y = spreads(30)
    path = tmp_path / "net.checkpoint"
    with monkeypatch.context() as inner:
        inner.setattr("sumwise.io.checkpoint.Checkpoint.clear", lambda self: None)
        deep(**{**SMALL, "max_epochs": 2}, checkpoint=path).fit(bags, y)
    with raises(DataError, "checkpoint-written-other"):
        deep(**{**SMALL, "max_epochs": 2}, checkpoint=path).fit(bags, y + 1)


def test_defaults_follow_the_network_and_the_bags():
    bags, _ = spreads(1000, size=(20, 21))
    assert DeepSets()._settings(bags).max_epochs == 96  # 64 bags a step
    assert [deep(**k)._rate() for k in ({}, {"phi": (8, 8)}, {"pool": "max"})] == pytest.approx([0.03, 0.01, 0.003])
    assert deep(learning_rate=0.5)._rate() == 0.5


def test_held_out_bags_choose_the_weight_decay():
    bags, y = spreads(80)
    net = deep(phi=(16,), rho=(16,), max_epochs=15).fit(bags, y)
    each = {d: clone(net).set_params(training={"weight_decay": d}).fit(bags, y).fit_.objective for d in (0.01, 0.2)}
    assert net.fit_.objective == min(each.values())
    assert each[net.weight_decays_[0]] == net.fit_.objective
    assert DeepSets()._decays(False) == (0.05,)  # nobody to choose


def test_stopping_early_warns():
    with warns(NotConverged, "stopped-after-steps", "raise"):
        deep(**{**SMALL, "max_epochs": 2}, schedule="constant").fit(*spreads(30))


def test_hard_bags():
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=(k, 2)) for k in (1, 1, 30_000, 2, 7, 1)]
    bags = Bags.from_arrays([np.column_stack([p, np.full(len(p), 3.0)]) for p in parts])  # a constant column
    with warns(ModelWarning, "columns-constant-left", 1, 3):
        net = deep(phi=(8,), rho=(), max_epochs=2, batch_bags=1).fit(bags, np.full(6, 2.5))  # a constant response
    np.testing.assert_allclose(net.predict(bags), 2.5, atol=0.5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"task": "ranking"}, ("is-takes", "task")),
        ({"schedule": "linear"}, ("is-takes", "schedule")),
        ({"validation": 1.0}, ("validation-share-below", "1.0")),
        ({"max_epochs": 0}, ("must-least", "max_epochs")),
        ({"batch_bags": 0}, ("must-least", "batch_bags")),
        ({"device": "abacus"}, ("device-cpu-cuda", "abacus")),
        ({"phi": ()}, ("phi-no-layers",)),
        ({"learning_rate": -1.0}, ("must-least", "learning_rate")),
        ({"network": {"depth": 3}}, ("no-option", "depth")),
        ({"training": {"epochs": 3}}, ("no-option", "epochs")),
    ],
)
def test_bad_parameters_are_refused(settings, message):
    bags, y = spreads(10)
    with raises(DataError, *message):
        (DeepSets if {"network", "training"} & set(settings) else deep)(**settings).fit(bags, y)


def test_bad_data_are_refused():
    bags, y = spreads(10)
    with raises(DataError, "bags-responses-response-per", 10, 9):
        DeepSets().fit(bags, y[:9])
    with raises(DataError, "bags-empty-first", 10):
        DeepSets().fit(bags.subset((bags.bag_index != 3) & (bags.bag_index != 5)), y)
    with raises(DataError, "bags-least-needed", 1, 2):
        DeepSets().fit(bags[:1], y[:1])
    with raises(DataError, "only-class"):
        DeepSets(task="classification").fit(bags, np.ones(10))
    with raises(DataError, "bags-type-build", "ndarray"):
        DeepSets().fit(bags.values, y)
    net = deep(**{**SMALL, "max_epochs": 1}).fit(bags, y)
    with raises(DataError, "bags-columns-those", 1):
        net.predict(Bags(np.ones((3, 1)), [0, 3]))
    assert not hasattr(net, "predict_proba")


@pytest.mark.check
def test_gamma_bags_are_told_apart_by_their_shape():
    data = synthetic.gamma(360, 100, noise=0.0, random_state=3)
    net = deep(max_epochs=40).fit(data.bags[:260], data.response[:260])
    test = slice(260, 360)
    error = np.mean((net.predict(data.bags[test]) - data.response[test]) ** 2)
    best = np.mean((data.bayes() - data.response)[test] ** 2)
    assert best < error < 3 * best  # 260 bags only; the variance of the response is 13 times the best error
