"""The proportion-loss network learns what a line can't, stops by held-out bags, and is reproducible."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from sumwise import Bags
from sumwise.errors import DataError, NotConverged
from sumwise.proportions import CardinalityNetwork, MixBag, ProportionLossNetwork
from sumwise.proportions.share_network import _Run
from sumwise.proportions.shares import bag_shares

pytest.importorskip("torch", reason="networks need torch: pip install 'sumwise[torch]'")


def ring(n_bags=120, size=5, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n_bags * size, 2))
    labels = (values**2).sum(axis=1) > 1.4
    return Bags(values, np.arange(0, n_bags * size + 1, size)), labels, labels.reshape(n_bags, size).sum(axis=1)


@pytest.mark.filterwarnings("ignore::sumwise.errors.NotConverged")  # it may still be improving
def test_ring_is_learned():
    bags, labels, counts = ring()
    net = ProportionLossNetwork((32,), learning_rate=0.03, max_epochs=40, patience=8, batch_bags=12)
    net.fit(bags, counts)
    assert np.mean(net.predict(bags.values) == labels) > 0.85
    assert len(net.fit_.history["held_out"]) >= net.n_epochs_


def test_no_hidden_layer_is_a_line_for_three_classes():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(600, 2)) + np.repeat(rng.normal(size=(60, 2)), 10, axis=0)
    labels = np.argmax(3 * values @ rng.normal(size=(2, 3)) + rng.gumbel(size=(600, 3)), axis=1)
    counts = np.array([np.bincount(p, minlength=3) for p in labels.reshape(60, 10)])
    bags = Bags(values, np.arange(0, 601, 10))
    net = ProportionLossNetwork((), learning_rate=0.1, batch_bags=10, patience=5).fit(bags, counts)
    assert np.mean(net.predict(bags.values) == labels) > 0.7
    logits = net._logits(bags)
    middle = net._logits(Bags((values[:1] + values[1:2]) / 2, np.array([0, 1])))
    np.testing.assert_allclose(middle[0], (logits[0] + logits[1]) / 2)


def test_same_seed_same_network_and_early_end_is_owned_up():
    bags, _, counts = ring(20)
    net = ProportionLossNetwork((8,), max_epochs=2, random_state=3)
    with pytest.warns(NotConverged, match="raise max_epochs"):
        first, second = clone(net).fit(bags, counts), clone(net).fit(bags, counts)
    np.testing.assert_array_equal(first.predict_proba(bags), second.predict_proba(bags))


def test_one_bag_is_refused():
    bags, _, counts = ring(1)
    with pytest.raises(DataError, match="There is only one bag"):
        ProportionLossNetwork().fit(bags, counts)


@pytest.mark.parametrize(
    "model",
    [
        ProportionLossNetwork(max_epochs=2),
        MixBag(max_epochs=2),
        CardinalityNetwork(max_epochs=2, n_members=2, penalty=1.0),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.filterwarnings("ignore::sumwise.errors.NotConverged")
def test_bags_count_as_much_as_their_weights(model):
    """Weights of 1 change nothing, bags of weight 0 are left out, and other weights change the answer."""
    rng = np.random.default_rng(0)
    bags = Bags(rng.normal(size=(100, 2)) + np.repeat(rng.normal(size=(20, 2)), 5, axis=0), np.arange(0, 101, 5))
    counts = (bags.values[:, 0] + rng.normal(size=100) > 0).reshape(20, 5).sum(axis=1)
    weights = np.where(np.arange(20) % 5 == 1, 0.0, 1.0 + np.arange(20))
    kept = weights > 0

    def said(*given, **options):
        return clone(model).fit(*given, **options).predict_proba(bags.values)

    np.testing.assert_array_equal(said(bags, counts), said(bags, counts, sample_weight=np.ones(20)))
    weighted = said(bags, counts, sample_weight=weights)
    np.testing.assert_array_equal(weighted, said(bags[kept], counts[kept], sample_weight=weights[kept]))
    assert np.abs(weighted - said(bags[kept], counts[kept])).max() > 1e-6
    with pytest.raises(DataError, match="All bags have sample_weight 0"):
        clone(model).fit(bags, counts, sample_weight=np.zeros(20))


def test_weight_two_is_a_bag_twice_in_the_loss():
    import torch

    rng = np.random.default_rng(0)
    bags = Bags(rng.normal(size=(30, 2)), np.arange(0, 31, 5))
    weights, net = np.array([1, 3, 1, 2, 1, 1]), ProportionLossNetwork()
    net.n_classes_, net.mean_, net.scale_ = 2, np.zeros(2), np.ones(2)
    data = bag_shares(bags, rng.integers(1, 5, 6))
    twice = data.take(np.repeat(np.arange(6), weights))
    losses = []
    for given in (replace(data, importance=weights), twice):
        run = _Run(net, given, torch, np.random.default_rng(1))
        losses.append(net.batch_loss(run, run._initial_parameters()[0], np.arange(given.n_bags)).item())
    # the networks begin alike but for the bias of the overall shares, which counts bags alike, too
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
