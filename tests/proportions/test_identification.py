"""Identifiability: spread of bag means against what is asked."""

import numpy as np
import pytest

from messages import raises
from sumwise import Bags
from sumwise.errors import DataError
from sumwise.proportions import (
    AlternatingMeanMap,
    CardinalityClassifier,
    MeanEmbeddingClassifier,
    MeanMap,
    identifiability,
    identification,
)


def make(n_bags, size, spread, d=2, seed=0):
    rng = np.random.default_rng(seed)
    return Bags(
        rng.normal(size=(n_bags * size, d)) + np.repeat(rng.normal(size=(n_bags, d)) * spread, size, axis=0),
        np.arange(0, n_bags * size + 1, size),
    )


def test_spread_bags_answer_and_alike_bags_do_not():
    assert identifiability(make(100, 50, 1.0)).answerable.all()
    with pytest.warns(UserWarning, match="3 bags are too few to estimate any of the 2 effects"):
        found = identifiability(make(3, 10, 0.0))
    assert not found.answerable.any()


def test_printed_it_says_the_finding_and_one_line_per_feature():
    found = identifiability(make(100, 50, 1.0))
    lines = repr(found).splitlines()
    assert lines[0] == found.verdict
    assert lines[2].split() == ["feature", "standard_error", "between", "efficiency", "answerable"]
    assert len(lines) == 3 + len(found.features)


def test_fewer_bags_than_features_are_named():
    found = identifiability(make(4, 30, 1.0, d=6), warn=False)
    assert found.rank == 3
    assert np.isinf(found.standard_error).all()
    assert "differ in 3 directions, fewer than the 6 features" in found.verdict
    assert (found.efficiency == 0).all()


def test_one_effect_or_direction_is_in_the_singular():
    assert "enough to estimate the effect (standard error 0." in identifiability(make(100, 50, 1.0, d=1)).verdict
    few = identifiability(make(3, 10, 0.0, d=1), warn=False).verdict
    assert few.startswith(
        "3 bags are too few to estimate the effect: their means differ too little. The penalty determines it"
    )
    two = identifiability(make(2, 30, 1.0, d=3), warn=False).verdict
    assert "differ in 1 direction, fewer than the 3 features" in two
    same = Bags(np.tile([[0.0], [1.0]], (3, 1)), [0, 2, 4, 6])
    assert "their means do not differ" in identifiability(same, warn=False).verdict


def test_standard_error_is_that_of_the_fit():
    rng = np.random.default_rng(1)
    bags = make(60, 30, 0.7)
    slopes = []
    for _ in range(60):
        counts = (rng.random(bags.n_rows) < 0.5).reshape(60, 30).sum(axis=1)
        slopes.append(
            CardinalityClassifier(penalty=1e-6, tol=1e-2).fit(bags, counts).coef_[0] * bags.values.std(axis=0)
        )
    found = identifiability(bags)
    np.testing.assert_allclose(np.std(slopes, axis=0), found.standard_error, rtol=0.3)


def test_single_rows_lose_nothing_and_constant_features_everything():
    rows = Bags(np.random.default_rng(2).normal(size=(200, 2)), np.arange(201))
    np.testing.assert_allclose(identifiability(rows).efficiency, 1.0)
    flat = rows.with_values(np.column_stack([rows.values, np.ones(200)]))
    found = identifiability(flat, warn=False)
    assert found.answerable.tolist() == [True, True, False]
    frame = found.to_frame()
    assert frame["feature"].tolist() == ["x0", "x1", "x2"]


def test_counts_give_the_variance_of_labels():
    bags = make(50, 20, 1.0)
    rare = identifiability(bags, np.r_[np.ones(10), np.zeros(40)], warn=False)
    assert (rare.standard_error > identifiability(bags, warn=False).standard_error * 2).all()


def test_one_bag_is_reported_as_too_few():
    bags = Bags(np.random.default_rng(0).normal(size=(8, 2)), np.array([0, 8]))
    with pytest.warns(UserWarning, match="One bag is too few to estimate any of the 2 effects"):
        identifiability(bags)
    kinds = (CardinalityClassifier, MeanEmbeddingClassifier, AlternatingMeanMap)
    for kind in kinds:
        with pytest.warns(UserWarning, match="One bag is too few to estimate any of the 2 effects") as caught:
            kind(penalty=1.0).fit(bags, [3])
        assert caught[0].filename == __file__
    with raises(DataError, "class-shares-rank", 1):
        MeanMap(penalty=1.0).fit(bags, [3])


def test_indicators_of_one_column_are_compared_with_each_other():
    rng = np.random.default_rng(3)
    shares = rng.uniform(0.1, 0.9, 60)
    rows = [rng.random(30) < share for share in shares]
    both = Bags.from_arrays([np.column_stack([r, ~r]).astype(float) for r in rows])
    one = Bags.from_arrays([r[:, None].astype(float) for r in rows])
    found, alone = identifiability(both), identifiability(one)
    np.testing.assert_allclose(found.standard_error, alone.standard_error[0])
    np.testing.assert_allclose(found.efficiency, alone.efficiency[0])
    assert found.answerable.all()
    assert (found.rank, found.directions) == (1, 1)
    few = identifiability(both[[0, 1, 2]].with_values(rng.permutation(both[[0, 1, 2]].values)), warn=False)
    assert "fewer than" not in few.verdict


def _pair(rng):
    """Bags with correlated features, and a subgroup that some of the features decide."""
    n_features, n_bags, size = rng.integers((2, 4, 10), (25, 50, 80))
    mix = rng.normal(size=(n_features, n_features)) / np.sqrt(n_features)
    centres = rng.normal(size=(n_bags, n_features)) * rng.uniform(0.1, 1, (n_bags, 1))
    values = (rng.normal(size=(n_bags * size, n_features)) + np.repeat(centres, size, axis=0)) @ mix
    return Bags(values, np.arange(n_bags + 1) * size), rng.random(len(values)) < 0.3 + 0.4 * (values[:, 0] > 0)


def test_how_much_may_be_unseen_decides_few_comparisons(monkeypatch):
    found = {}
    for unseen in (0.03, 0.1, 0.3):
        monkeypatch.setattr(identification, "UNSEEN", unseen)
        rng = np.random.default_rng(0)
        pairs = [_pair(rng) for _ in range(30)]
        found[unseen] = np.array([identification.comparable(bags, None, one, ~one) for bags, one in pairs])
    assert 3 < found[0.1].sum() < 27
    assert (found[0.03] != found[0.1]).sum() <= 2
    assert (found[0.3] != found[0.1]).sum() <= 2
