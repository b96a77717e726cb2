"""Which rows decide: critical and upper sets against adding rows one by one, attention against known instances."""

import numpy as np
import pytest

from messages import raises
from sumwise import Bags
from sumwise.distribution import DeepSets
from sumwise.errors import DataError

torch = pytest.importorskip("torch", reason="networks need torch: pip install 'sumwise[torch]'")

SHAPES = [{}, {"equivariant": True}, {"local": (6,), "embedding": 5}]


LITTLE = {"weight_decay": 0.01}


def clouds(n=12, seed=0):
    rng = np.random.default_rng(seed)
    return Bags.from_arrays([rng.normal(size=(k, 2)) for k in rng.integers(5, 9, n)]), rng.normal(size=n)


@pytest.mark.parametrize("shape", SHAPES)
def test_upper_sets_are_the_rows_that_change_nothing(shape):
    bags, y = clouds()
    net = DeepSets(
        {"phi": (8, 8), "rho": (8,), "pool": "max", **shape}, training=LITTLE, max_epochs=3, n_members=2
    ).fit(bags, y)
    rows = np.random.default_rng(1).normal(0.0, 0.7, size=(40, 2))
    found, kept = net.upper_set(bags, rows), net.critical_set(bags)
    np.testing.assert_allclose(net.predict(bags.subset(kept)), net.predict(bags), atol=1e-6)
    assert found.shape == (12, 40)
    for b, own in enumerate(bags):
        before = net.predict(bags[[b]])
        longer = Bags.from_arrays([np.vstack([own, row]) for row in rows])
        moved = np.abs(net.predict(longer) - before) > 1e-5
        assert not moved[found[b]].any()
        assert net.critical_set(longer)[longer.offsets[1:] - 1][~found[b]].all()  # each other row attains a maximum
        whole = Bags.from_arrays([np.vstack([own, rows[found[b]]])])
        assert net.predict(whole) == pytest.approx(before, abs=1e-5)  # all of them together change nothing either
    assert found.any()
    assert not found.all()
    for own, upper in zip(bags, net.upper_set(bags, np.asarray(bags.values))):
        assert upper.sum() >= len(own)  # a bag's own rows belong to it


def test_instance_weights_find_the_instance_that_makes_a_bag_positive():
    rng = np.random.default_rng(0)
    sizes = rng.integers(4, 10, 160)
    label = np.arange(160) % 2
    parts = [rng.normal(size=(k, 3)) for k in sizes]
    for part, positive in zip(parts, label):
        part[0, 0] = 4.0 if positive else part[0, 0]
    bags = Bags.from_arrays(parts)
    net = DeepSets({"phi": (16,), "rho": (), "pool": "attention"}, "classification", training=LITTLE, max_epochs=40)
    net.fit(bags[:120], label[:120])
    assert net.score(bags[120:], label[120:]) > 0.9
    weights = net.instance_weights(bags[120:])
    np.testing.assert_allclose(np.add.reduceat(weights, bags[120:].offsets[:-1]), 1.0, atol=1e-6)
    each = np.split(weights, bags[120:].offsets[1:-1])
    responsible = [np.argmax(w) == 0 for w, positive in zip(each, label[120:]) if positive]
    assert np.mean(responsible) > 0.9


def test_each_explanation_asks_for_its_pool():
    bags, y = clouds()
    net = DeepSets((4,), training=LITTLE, max_epochs=1).fit(bags, y)
    for ask, pool in ((net.critical_set, "max"), (net.instance_weights, "attention")):
        with raises(DataError, "pool-pool", pool):
            ask(bags)
    with raises(DataError, "pool-pool"):
        net.upper_set(bags, np.zeros((1, 2)))
