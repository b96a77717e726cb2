"""The proportion-loss network learns what a line can't, stops by held-out bags, and is reproducible."""

import numpy as np
import pytest
from sklearn.base import clone

from sumwise import Bags
from sumwise.errors import DataError, NotConverged
from sumwise.proportions import ProportionLossNetwork

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
    with pytest.raises(DataError, match="There is one bag only"):
        ProportionLossNetwork().fit(bags, counts)
