"""ClassForest: against enumeration of a small tree."""

import numpy as np
import pytest

from sumwise.privacy.class_forest import ClassForest


@pytest.fixture
def chain():
    """Counts of three attributes and a class, where 0 - 1 - 2 is a chain within each class."""
    rng = np.random.default_rng(0)
    start, step, last = (
        rng.dirichlet(np.ones(3), 2).T,
        rng.dirichlet(np.ones(2), (3, 2)),
        rng.dirichlet(np.ones(4), (2, 2)),
    )
    joint = np.einsum("ak,akb,bkc,k->abck", start, step, last, [600.0, 400.0])
    return joint


def margins(joint):
    singles = [joint.sum(axis=tuple({0, 1, 2} - {i})) for i in range(3)]
    pairs = {(i, j): joint.sum(axis=3 - i - j) for i, j in ((0, 1), (0, 2), (1, 2))}
    return singles, pairs


def test_unmeasured_pair_follows_the_path(chain):
    singles, pairs = margins(chain)
    measured = {key: pairs[key] for key in ((0, 1), (1, 2))}
    expected = ClassForest(singles, measured, dict.fromkeys(measured, 1e-9)).expected()
    for key, counts in pairs.items():
        assert np.allclose(expected[key], counts, atol=1e-4)


def test_without_a_path_attributes_are_independent_within_classes(chain):
    singles, pairs = margins(chain)
    expected = ClassForest(singles, {(0, 1): pairs[0, 1]}, {(0, 1): 1e-9}).expected()
    apart = np.einsum("ak,bk->abk", singles[0], singles[2]) / np.array([600.0, 400.0])
    assert np.allclose(expected[0, 2], apart, atol=1e-4)


def test_a_pair_of_nothing_but_noise_is_no_edge(chain):
    singles, pairs = margins(chain)
    noisy = ClassForest(singles, {(0, 1): pairs[0, 1], (1, 2): pairs[1, 2]}, {(0, 1): 1e-9, (1, 2): 1e6})
    assert [there for there, _ in noisy.paths[1]] == [0]


def test_negative_counts_are_no_probabilities(chain):
    singles, pairs = margins(chain)
    forest = ClassForest([s - 200 for s in singles], {k: p - 100 for k, p in pairs.items()}, dict.fromkeys(pairs, 1.0))
    for table in forest.expected().values():
        assert (table >= 0).all()
        assert np.isfinite(table).all()
