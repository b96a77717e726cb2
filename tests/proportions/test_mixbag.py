"""MixBag: intervals of mixed bags cover, and the network learns."""

import numpy as np
import pytest

from sumwise import Bags
from sumwise.proportions import MixBag
from sumwise.proportions.mixbag import interval_loss, mixed_interval


def test_interval_covers_the_share_of_drawn_members():
    rng = np.random.default_rng(0)
    parts = [np.repeat([0, 1], [60, 40]), np.repeat([0, 1], [10, 50])]
    shares = np.array([np.bincount(p) / len(p) for p in parts])
    centre, width = mixed_interval(shares, np.array([100, 60]), np.array([40, 30]))
    drawn = [
        np.concatenate([rng.choice(parts[0], 40, replace=False), rng.choice(parts[1], 30, replace=False)]).mean()
        for _ in range(4000)
    ]
    assert np.mean(drawn) == pytest.approx(centre[1], abs=0.002)
    assert np.std(drawn) * 1.96 == pytest.approx(width[1], rel=0.05)


def test_loss_of_mixed_bags_counts_only_what_lies_outside():
    """Asanomi et al. 2023: no loss inside the interval, else the proportion loss of the expected shares."""
    torch = pytest.importorskip("torch", reason="networks need torch: pip install 'sumwise[torch]'")
    means = torch.tensor([[0.5, 0.5], [0.2, 0.8]], requires_grad=True)
    loss = interval_loss(means, torch.tensor([[0.55, 0.45], [0.4, 0.6]]), torch.full((2, 2), 0.1)).mean()
    assert loss.item() == pytest.approx(-(0.4 * np.log(0.2) + 0.6 * np.log(0.8)) / 2, rel=1e-5)
    loss.backward()
    np.testing.assert_allclose(means.grad, [[0.0, 0.0], [-1.0, -0.375]])


def test_network_learns_from_mixed_bags():
    pytest.importorskip("torch", reason="networks need torch: pip install 'sumwise[torch]'")
    rng = np.random.default_rng(1)
    values = rng.normal(size=(600, 2)) + np.repeat(rng.normal(size=(60, 2)), 10, axis=0)
    labels = (rng.random(600) < 1 / (1 + np.exp(-3 * values[:, 0]))).astype(int)
    bags = Bags(values, np.arange(0, 601, 10))
    net = MixBag((), learning_rate=0.1, batch_bags=10, patience=4).fit(bags, labels.reshape(60, 10).sum(axis=1))
    assert np.mean(net.predict(values) == labels) > 0.8
