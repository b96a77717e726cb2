"""Swaps draw labels from their distribution given the count."""

from itertools import combinations, pairwise

import numpy as np

from sumwise.proportions.kernels.label_swaps import swap_labels


def test_frequencies_are_those_of_enumeration():
    logits, offsets = np.array([0.5, -1.0, 1.5, 0.0]), np.array([0, 4])
    labels, seen = np.array([1.0, 1.0, 0.0, 0.0]), np.zeros(4)
    n, rng = 4000, np.random.default_rng(0)
    for _ in range(n):
        labels = swap_labels(labels, logits, offsets, 2, rng=rng)
        assert labels.sum() == 2
        seen += labels
    pairs = list(combinations(range(4), 2))
    weight = np.array([np.exp(logits[list(pair)].sum()) for pair in pairs])
    exact = np.array([sum(w for w, pair in zip(weight, pairs) if i in pair) for i in range(4)]) / weight.sum()
    np.testing.assert_allclose(seen / n, exact, atol=0.04)


def test_each_bag_keeps_its_count():
    rng = np.random.default_rng(0)
    labels = (rng.random(30) < 0.4).astype(float)
    offsets = np.array([0, 7, 7, 20, 30])
    found = swap_labels(labels, rng.normal(size=30), offsets, 5, rng=rng)
    assert [found[a:b].sum() for a, b in pairwise(offsets)] == [labels[a:b].sum() for a, b in pairwise(offsets)]
    assert not np.array_equal(found, labels)
