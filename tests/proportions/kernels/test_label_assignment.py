"""Most likely labels with given counts, against enumeration."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sumwise.proportions.kernels.label_assignment import most_likely_labels, top_labels


def best_by_enumeration(scores, counts):
    """The greatest total score over all labels with these class counts."""
    n, n_classes = scores.shape
    allowed = (y for y in product(range(n_classes), repeat=n) if (np.bincount(y, minlength=n_classes) == counts).all())
    return max(sum(scores[i, c] for i, c in enumerate(y)) for y in allowed)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 6), st.integers(2, 4), st.integers(0, 10**6))
def test_labels_are_the_best_of_all(n, n_classes, seed):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n, n_classes)).round(1)  # ties happen
    counts = rng.multinomial(n, np.ones(n_classes) / n_classes)
    labels = most_likely_labels(scores, np.array([0, n]), counts[None])
    np.testing.assert_array_equal(np.bincount(labels, minlength=n_classes), counts)
    assert scores[np.arange(n), labels].sum() == pytest.approx(best_by_enumeration(scores, counts), abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 8), st.integers(0, 10**6))
def test_two_classes_by_sorting_equal_paths(n, seed):
    rng = np.random.default_rng(seed)
    scores, count = rng.normal(size=n), rng.integers(0, n + 1)
    labels = most_likely_labels(np.column_stack([np.zeros(n), scores]), np.array([0, n]), [[n - count, count]])
    np.testing.assert_array_equal(top_labels(scores, [0, n], [count]), labels)


def test_weights_use_up_the_count_in_order():
    labels = top_labels([3.0, 1.0, 2.0, 9.0], [0, 3, 3, 4], [1.5, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0])
    np.testing.assert_allclose(labels, [1.0, 0.0, 0.5, 0.0])
    labels = top_labels([3.0, 2.0, 1.0], [0, 3], [1.5], [0.5, 2.0, 0.5])
    np.testing.assert_allclose(labels, [1.0, 0.5, 0.0])


def test_a_large_bag_is_labelled_with_its_counts():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(3000, 3))
    labels = most_likely_labels(scores, np.array([0, 3000]), np.array([[2500, 300, 200]]))
    np.testing.assert_array_equal(np.bincount(labels), [2500, 300, 200])
    swapped = scores[np.arange(3000), labels][:, None] + scores[np.arange(3000), labels][None]
    crossed = scores[:, labels]  # [i, j]: i with the label of j
    assert (swapped >= crossed + crossed.T - 1e-9).all(), "no exchange of two labels gains"
