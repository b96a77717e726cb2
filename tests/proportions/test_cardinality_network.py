"""Networks on the likelihood of bags: what a line can't learn, any module, and the contract."""

import numpy as np
import pytest
from sklearn.base import clone

import sumwise
from messages import raises, warns
from sumwise import Bags
from sumwise.errors import DataError, NotConverged, SumwiseError
from sumwise.proportions import CardinalityNetwork

torch = pytest.importorskip("torch", reason="networks need torch: pip install 'sumwise[torch]'")


def ring(n_bags=80, size=5, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n_bags * size, 2))
    labels = (values**2).sum(axis=1) > 1.4
    return Bags(values, np.arange(0, n_bags * size + 1, size)), labels, labels.reshape(n_bags, size).sum(axis=1)


@pytest.fixture(scope="module")
def fitted():
    bags, labels, counts = ring()
    return CardinalityNetwork(n_members=2).fit(bags, counts), bags, labels, counts


def test_ring_is_learned_where_a_line_fails(fitted):
    net, bags, labels, _ = fitted
    assert np.mean(net.predict(bags.values) == labels) > 0.85
    assert net.gain_ > 0.2
    assert net.fit_.converged


def test_saved_network_answers_bit_for_bit(fitted, tmp_path):
    net, bags, _, _ = fitted
    sumwise.save(net, tmp_path / "net.sumwise")
    loaded = sumwise.load(tmp_path / "net.sumwise")
    np.testing.assert_array_equal(loaded.predict_proba(bags.values), net.predict_proba(bags.values))


def test_same_seed_and_any_order_give_the_same_network():
    bags, _, counts = ring(20)
    net = CardinalityNetwork((8,), n_members=2, max_epochs=30, random_state=3)
    order = np.random.default_rng(0).permutation(20)
    with warns(NotConverged, "stopped-after-steps", "raise"):
        first = clone(net).fit(bags, counts)
    with pytest.warns(NotConverged):
        second = clone(net).fit(bags[order], counts[order])
    np.testing.assert_array_equal(first.predict_proba(bags.values), second.predict_proba(bags.values))


def test_network_that_sees_its_bag_learns_what_depends_on_it():
    rng = np.random.default_rng(1)
    centres = np.repeat(rng.choice([-1.5, 1.5], size=100), 6)
    values = np.column_stack([rng.normal(size=600), centres + 2.0 * rng.normal(size=600)])
    labels = (values[:, 0] * centres > 0).astype(int)  # the sign of the effect is the bag's
    bags = Bags(values, np.arange(0, 601, 6))
    counts = labels.reshape(100, 6).sum(axis=1)

    def accuracy(sees_bag):
        nets = [CardinalityNetwork(sees_bag=sees_bag, n_members=2, random_state=seed) for seed in (0, 1)]
        return np.mean([net.fit(bags, counts).predict(bags) == labels for net in nets])

    assert accuracy(True) > accuracy(False) + 0.05


@pytest.mark.parametrize("n_classes", [2, 3])
def test_any_module_is_an_encoder(n_classes):
    rng = np.random.default_rng(2)
    torch.manual_seed(0)
    images = rng.normal(size=(600, 16))
    scores = images[:, :n_classes] * 3
    labels = scores.argmax(axis=1)
    counts = np.array([np.bincount(part, minlength=n_classes) for part in labels.reshape(120, 5)])
    module = torch.nn.Sequential(
        torch.nn.Unflatten(1, (1, 4, 4)),
        torch.nn.Conv2d(1, 4, 3, padding=1),
        torch.nn.SiLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(64, 1 if n_classes == 2 else n_classes),
    )
    before = [p.clone() for p in module.parameters()]
    bags = Bags(images, np.arange(0, 601, 5))
    net = CardinalityNetwork(module, n_members=2).fit(bags, counts)
    assert np.mean(net.predict(images) == labels) > 0.8
    assert all(torch.equal(a, b) for a, b in zip(before, module.parameters()))


def test_bags_of_weight_zero_are_left_out_and_nonsense_is_refused(tmp_path):
    bags, _, counts = ring(20)
    net = CardinalityNetwork((4,), n_members=2, max_epochs=2)
    with pytest.warns(NotConverged):
        one = clone(net).fit(bags[:15], counts[:15])
    with pytest.warns(NotConverged):
        two = clone(net).fit(bags, counts, sample_weight=np.r_[np.ones(15), np.zeros(5)])
    np.testing.assert_array_equal(one.predict_proba(bags.values), two.predict_proba(bags.values))
    with raises(DataError, "module-widths-such", "deep"):
        CardinalityNetwork("deep").fit(bags, counts)
    with raises(DataError, "only-bag-network"):
        CardinalityNetwork().fit(bags[:1], counts[:1])
    with pytest.warns(NotConverged):
        own = CardinalityNetwork(torch.nn.Linear(2, 1), n_members=2, max_epochs=1).fit(bags, counts)
    with pytest.raises(SumwiseError):
        sumwise.save(own, tmp_path / "own.sumwise")
