"""ClassForest: against enumeration of a small tree."""

from itertools import combinations
from typing import NamedTuple

import numpy as np
import pytest

from sumwise.privacy.class_forest import ClassForest, nearest_shares


class Measured(NamedTuple):
    counts: np.ndarray
    scale: float


def forest(singles, pairs, scale=1e-9):
    scales = scale if isinstance(scale, dict) else dict.fromkeys(pairs, scale)
    return ClassForest([Measured(s, 1e-9) for s in singles], {k: Measured(p, scales[k]) for k, p in pairs.items()})


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
    expected = forest(singles, measured).expected()
    for key, counts in pairs.items():
        assert np.allclose(expected[key], counts, atol=1e-4)


def test_without_a_path_attributes_are_independent_within_classes(chain):
    singles, pairs = margins(chain)
    expected = forest(singles, {(0, 1): pairs[0, 1]}).expected()
    apart = np.einsum("ak,bk->abk", singles[0], singles[2]) / np.array([600.0, 400.0])
    assert np.allclose(expected[0, 2], apart, atol=1e-4)


def test_a_pair_of_nothing_but_noise_is_no_edge(chain):
    singles, pairs = margins(chain)
    noisy = forest(singles, {(0, 1): pairs[0, 1], (1, 2): pairs[1, 2]}, {(0, 1): 1e-9, (1, 2): 1e6})
    assert [there for there, _ in noisy.paths[1]] == [0]


def test_negative_counts_are_no_probabilities(chain):
    singles, pairs = margins(chain)
    found = forest([s - 200 for s in singles], {k: p - 100 for k, p in pairs.items()}, 1.0)
    for table in found.expected().values():
        assert (table >= 0).all()
        assert np.isfinite(table).all()


def test_pairs_have_the_margins_of_all_tables(chain):
    singles, pairs = margins(chain)
    rng = np.random.default_rng(1)
    noisy = {k: p + rng.normal(0, 5, p.shape) for k, p in pairs.items()}
    found = forest(singles, noisy, 5.0)
    for (i, j), table in found.expected().items():
        assert np.allclose(table.sum(axis=1), singles[i], rtol=0.02, atol=1.0)
        assert np.allclose(table.sum(axis=0), singles[j], rtol=0.02, atol=1.0)


def test_nearest_shares_are_the_nearest_of_all():
    rng = np.random.default_rng(2)
    for _ in range(20):
        values = rng.normal(0.2, 0.5, 4)
        best = np.inf
        for size in range(1, 5):  # every set of shares above zero: the others' distance is fixed, theirs even
            for kept in combinations(range(4), size):
                shares = np.zeros(4)
                at = list(kept)
                shares[at] = values[at] - (values[at].sum() - 1.0) / size
                best = min(best, np.sum((shares - values) ** 2) if (shares >= 0).all() else np.inf)
        found = nearest_shares(values)
        assert found.sum() == pytest.approx(1.0)
        assert np.sum((found - values) ** 2) == pytest.approx(best)
