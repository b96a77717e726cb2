"""Networks on bag likelihood: what a line can't learn, what a bag shows, and the contract."""

import numpy as np
import pytest
from sklearn.base import clone

import sumwise
from sumwise import Bags
from sumwise.errors import DataError, NotConverged
from sumwise.proportions import CardinalityNetwork, cardinality_network

pytest.importorskip("torch", reason="networks need torch: pip install 'sumwise[torch]'")


def ring(n_bags=100, size=5, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n_bags * size, 2))
    labels = (values**2).sum(axis=1) > 1.4
    return Bags(values, np.arange(0, n_bags * size + 1, size)), labels, labels.reshape(n_bags, size).sum(axis=1)


@pytest.fixture(scope="module")
def fitted():
    bags, labels, counts = ring()
    net = CardinalityNetwork(
        (32,), penalty=1.0, n_folds=2, n_members=2, learning_rate=0.01, max_epochs=25, patience=25, batch_bags=12
    )
    with pytest.warns(NotConverged, match="raise max_epochs"):
        return net.fit(bags, counts), bags, labels, counts


def test_ring_is_learned_where_a_line_fails(fitted):
    net, bags, labels, counts = fitted
    assert np.mean(net.linear_.predict(bags.values) == labels) < 0.7
    assert np.mean(net.predict(bags.values) == labels) > 0.85
    assert net.gain_ > 0.2
    assert net.score(bags, counts) > net.linear_.score(bags, counts)


def test_saved_network_answers_bit_for_bit_without_torch(fitted, tmp_path):
    net, bags, _, _ = fitted
    sumwise.save(net, tmp_path / "net.sumwise")
    loaded = sumwise.load(tmp_path / "net.sumwise")
    np.testing.assert_array_equal(loaded.predict_proba(bags.values), net.predict_proba(bags.values))


def test_same_seed_same_network():
    bags, _, counts = ring(20)
    net = CardinalityNetwork((8,), penalty=1.0, n_members=2, patience=1, learning_rate=0.1, random_state=3)
    first, second = clone(net).fit(bags, counts), clone(net).fit(bags, counts)
    np.testing.assert_array_equal(first.predict_proba(bags), second.predict_proba(bags))


def test_network_that_sees_its_bag_learns_what_depends_on_it():
    rng = np.random.default_rng(1)
    centres = np.repeat(rng.choice([-1.5, 1.5], size=100), 6)
    values = rng.normal(size=(600, 1))
    values = np.column_stack([values, centres + 0.3 * rng.normal(size=600)])
    labels = (values[:, 0] * centres > 0).astype(int)  # the sign of the effect is the bag's
    bags = Bags(values, np.arange(0, 601, 6))
    net = CardinalityNetwork(
        (16,),
        sees_bag=True,
        penalty=1.0,
        n_folds=2,
        n_members=1,
        learning_rate=0.03,
        max_epochs=100,
        patience=4,
        batch_bags=20,
    ).fit(bags, labels.reshape(100, 6).sum(axis=1))
    assert np.mean(net.predict(bags) == labels) > 0.8
    alone = net.predict_proba(bags[0])
    np.testing.assert_allclose(alone, net.predict_proba(bags)[:6])


def test_three_classes_one_bag_at_a_time():
    rng = np.random.default_rng(2)
    bags = Bags(rng.normal(size=(60, 2)), np.arange(0, 61, 6))
    counts = rng.multinomial(6, [0.3, 0.3, 0.4], size=10)
    net = CardinalityNetwork((4,), penalty=1.0, n_members=1, batch_bags=1, patience=1, learning_rate=0.1).fit(
        bags, counts
    )
    np.testing.assert_allclose(net.posterior(bags, counts).reshape(10, 6, 3).sum(axis=1), counts, atol=1e-9)


def test_one_bag_is_refused():
    bags, _, counts = ring(1)
    with pytest.raises(DataError, match="There is only one bag"):
        CardinalityNetwork(penalty=1.0).fit(bags, counts)


def curved(n_bags, size=5, seed=0):
    """Labels that a line tells badly, in bags that don't differ much."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n_bags * size, 2))
    labels = np.abs(values[:, 0]) > 0.7
    return Bags(values, np.arange(0, n_bags * size + 1, size)), labels.reshape(n_bags, size).sum(axis=1)


def steep(n_bags, size=5, seed=0):
    """Labels that a line tells for certain, in bags that differ: a network that learns slowly falls far behind."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n_bags * size, 6)) + np.repeat(rng.normal(size=(n_bags, 6)), size, axis=0)
    return Bags(values, np.arange(0, n_bags * size + 1, size)), (values[:, 0] > 0).reshape(n_bags, size).sum(axis=1)


@pytest.mark.filterwarnings("ignore::sumwise.errors.NotConverged")
def test_start_says_what_networks_are_added_to(tmp_path):
    bags, counts = curved(30)
    logits = {}
    for start in ("linear", "zero", "both"):
        net = CardinalityNetwork(
            (8,), start=start, penalty=1.0, n_folds=2, n_members=3, max_epochs=3, patience=2, learning_rate=0.1
        ).fit(bags, counts)
        assert net.start_ == start
        assert net.member_starts_ == {"both": ["linear", "zero", "linear"]}.get(start, [start] * 3)
        bare = clone(net).set_params(max_epochs=1).fit(bags, counts)
        bare.members_ = [[np.zeros_like(w) for w in weights] for weights in bare.members_]
        logits[start] = bare._logits(bags)
    line = bare.linear_._logits(bags)
    share = counts.sum() / bags.n_rows
    np.testing.assert_allclose(logits["linear"], line)
    np.testing.assert_allclose(logits["zero"], np.log(share / (1 - share)), atol=0.03)  # shares are smoothed a little
    assert np.ptp(logits["zero"]) == 0.0
    np.testing.assert_allclose(logits["both"], 0.5 * (logits["linear"] + logits["zero"]))
    sumwise.save(net, tmp_path / "net.sumwise")
    np.testing.assert_array_equal(sumwise.load(tmp_path / "net.sumwise").predict_proba(bags), net.predict_proba(bags))


@pytest.mark.filterwarnings("ignore::sumwise.errors.NotConverged")
def test_auto_takes_both_starts_where_held_out_bags_are_predicted_better(monkeypatch):
    gains = {}
    choose = cardinality_network._Training._both

    def seen(self, line, zero):
        trial = choose(self, line, zero)
        gains.update(linear=line.gain, both=trial.gain)
        log_prob = self.likelihood.evaluate(0.5 * (line.logits + zero.logits)[:, 0]).log_prob
        np.testing.assert_allclose(trial.held_out, log_prob)
        return trial

    monkeypatch.setattr(cardinality_network._Training, "_both", seen)
    starts = set()
    for data, rate in ((curved(24), 0.1), (steep(24), 1e-5)):
        net = CardinalityNetwork((8,), penalty=1.0, n_folds=2, n_members=2, max_epochs=8, learning_rate=rate).fit(*data)
        starts.add(net.start_)
        assert net.start_ == max(gains, key=lambda start: gains[start])
        assert net.gain_ == pytest.approx(gains[net.start_])
    assert starts == {"both", "linear"}
    bags, counts = curved(24)
    assert CardinalityNetwork(penalty=1.0, n_members=1, max_epochs=1).fit(bags, counts).start_ == "linear"
    with pytest.raises(DataError, match="start is 'half'"):
        CardinalityNetwork(start="half").fit(bags, counts)
    with pytest.raises(DataError, match="n_members is 1"):
        CardinalityNetwork(start="both", n_members=1).fit(bags, counts)
