import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sumwise.distribution import spatial_folds
from sumwise.errors import DataError


@settings(max_examples=30, deadline=None)
@given(n=st.integers(2, 60), folds=st.integers(2, 7), seed=st.integers(0, 9))
def test_every_bag_is_tested_once_and_blocks_are_even(n, folds, seed):
    places = np.random.default_rng(seed).normal(size=(n, 2)).round(1)  # some on the same spot
    if folds > n:
        with pytest.raises(DataError, match="for .* folds"):
            spatial_folds(places, folds)
        return
    cut = spatial_folds(places, folds)
    assert sorted(np.concatenate([test for _, test in cut])) == list(range(n))
    sizes = [len(test) for _, test in cut]
    assert max(sizes) - min(sizes) <= 3
    for train, test in cut:
        assert sorted(np.concatenate([train, test])) == list(range(n))


def test_blocks_lie_apart():
    places = np.random.default_rng(0).uniform(size=(400, 2))
    near = []
    for train, test in spatial_folds(places, 4):
        gaps = np.linalg.norm(places[test][:, None] - places[train][None], axis=2)
        near.append((gaps.min(axis=1) < 0.05).mean())
    assert np.mean(near) < 0.25  # of random folds, nearly all bags have such a neighbour in training


def test_a_buffer_keeps_neighbours_out_of_training():
    places = np.random.default_rng(1).uniform(size=(300, 2))
    for train, test in spatial_folds(places, 3, buffer=0.1):
        assert len(train) + len(test) < 300
        assert np.linalg.norm(places[test][:, None] - places[train][None], axis=2).min() >= 0.1
    with pytest.raises(DataError, match="smaller buffer"):
        spatial_folds(places, 3, buffer=10.0)


def test_bad_places_are_refused():
    with pytest.raises(DataError, match="places"):
        spatial_folds(np.array([[0.0], [np.nan]]), 2)
    with pytest.raises(DataError, match="n_folds"):
        spatial_folds(np.zeros((3, 1)), 1)
