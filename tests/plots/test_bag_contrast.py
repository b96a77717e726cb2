"""What separates bags, as numbers."""

from __future__ import annotations

import numpy as np

from sumwise import Bags
from sumwise.plots import bag_contrast_numbers


def made(n_bags=30, seed=0):
    """Bags whose second feature moves with the response, whose third spreads with it, and whose first does neither."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(n_bags).astype(float)
    sizes = rng.integers(20, 60, n_bags)
    rows = [
        np.column_stack([rng.normal(size=n), rng.normal(k / 5, 1, n), rng.normal(0, 1 + k / 9, n)])
        for k, n in zip(y, sizes)
    ]
    return Bags.from_arrays(rows), y


def test_features_that_differ_come_first_and_thirds_are_in_order():
    bags, y = made()
    found = bag_contrast_numbers(bags, y)
    assert found["groups"] == ["lowest third", "middle third", "highest third"]
    assert found["features"][-1] == str(bags.features[0])
    moves = found["features"].index(str(bags.features[1]))
    spreads = found["features"].index(str(bags.features[2]))
    assert (np.diff(found["middle"][moves]) > 0.5).all()
    assert (np.diff((found["high"] - found["low"])[spreads]) > 0.2).all()


def test_every_bag_counts_alike_in_any_order():
    bags, y = made()
    order = np.random.default_rng(1).permutation(len(bags))
    one, two = bag_contrast_numbers(bags, y), bag_contrast_numbers(bags[order], y[order])
    for key in ("low", "middle", "high"):
        np.testing.assert_allclose(one[key], two[key], atol=1e-9)
    twice = Bags.from_arrays([np.vstack([x, x]) if k % 2 else x for k, x in enumerate(bags)])
    np.testing.assert_allclose(bag_contrast_numbers(twice, y)["middle"], one["middle"], atol=0.05)


def test_medians_are_those_of_equal_samples():
    bags = Bags.from_arrays([[[1.0], [2.0], [3.0]], [[11.0], [12.0], [13.0]]])
    found = bag_contrast_numbers(bags, [0, 1], classes=["a", "b"])
    spread = np.std([1, 2, 3, 11, 12, 13])
    np.testing.assert_allclose(found["middle"], [[(2 - 7) / spread, (12 - 7) / spread]])
