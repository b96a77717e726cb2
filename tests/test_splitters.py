"""Splitters by bag: every bag tested once, shares alike, neighbours together, and scikit-learn takes them."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, cross_validate

from messages import raises
from sumwise import Bags
from sumwise.errors import DataError, UnknownName
from sumwise.proportions import (
    BagKFold,
    MeanEmbeddingClassifier,
    SpatialBagKFold,
    StratifiedBagKFold,
    intervals,
)


def people(n_bags=40, seed=0):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 30, n_bags)
    places = rng.random((n_bags, 2))
    values = np.column_stack([rng.normal(size=sizes.sum()), np.repeat(places, sizes, axis=0)])
    bags = Bags(values, np.concatenate([[0], np.cumsum(sizes)]), features=["x", "east", "north"])
    return bags, rng.binomial(sizes, places[:, 0]), places


SPLITTERS = [BagKFold(4), StratifiedBagKFold(4), SpatialBagKFold(4, coordinates=["east", "north"])]


@pytest.mark.parametrize("splitter", SPLITTERS)
def test_every_bag_is_tested_once_and_never_trained_on(splitter):
    bags, counts, _ = people()
    tested = []
    for train, test in splitter.split(bags, counts):
        assert not set(train) & set(test)
        assert len(train) + len(test) == 40
        tested.extend(test)
    assert sorted(tested) == list(range(40))
    assert splitter.get_n_splits() == 4
    again = [test.tolist() for _, test in splitter.split(bags, counts)]
    assert again == [test.tolist() for _, test in splitter.split(bags, counts)]


@pytest.mark.parametrize("splitter", SPLITTERS)
def test_scikit_learn_takes_them(splitter):
    bags, counts, _ = people()
    scores = cross_validate(MeanEmbeddingClassifier(), bags, counts, cv=splitter, error_score="raise")["test_score"]
    assert np.isfinite(scores).all()
    search = GridSearchCV(MeanEmbeddingClassifier(), {"penalty": [0.1, 1.0]}, cv=splitter, error_score="raise")
    assert search.fit(bags, counts).best_params_["penalty"] in (0.1, 1.0)


def test_folds_hold_about_equally_many_rows():
    bags, _, _ = people()
    rows = [bags.sizes[test].sum() for _, test in BagKFold(4).split(bags)]
    assert max(rows) - min(rows) <= bags.sizes.max()


def test_stratified_folds_have_alike_shares():
    bags, counts, _ = people(200)
    shares = counts / bags.sizes
    spread = {}
    for splitter in (BagKFold(5), StratifiedBagKFold(5)):
        spread[type(splitter)] = np.std([shares[test].mean() for _, test in splitter.split(bags, counts)])
    assert spread[StratifiedBagKFold] < 0.3 * spread[BagKFold]
    three = np.column_stack([counts, bags.sizes - counts, np.zeros(200)])
    assert np.std([shares[test].mean() for _, test in StratifiedBagKFold(5).split(bags, three)]) < 0.02
    ranges = intervals(counts, counts)
    assert len(list(StratifiedBagKFold(5).split(bags, ranges))) == 5


def test_spatial_folds_lie_apart():
    bags, _, places = people(120)
    for coordinates in (places, ["east", "north"]):
        nearest = []
        for train, test in SpatialBagKFold(4, coordinates=coordinates).split(bags):
            nearest.append(np.linalg.norm(places[test][:, None] - places[train], axis=2).min(axis=1).mean())
        random = []
        for train, test in BagKFold(4).split(bags):
            random.append(np.linalg.norm(places[test][:, None] - places[train], axis=2).min(axis=1).mean())
        assert np.mean(nearest) > 2 * np.mean(random)
    far = SpatialBagKFold(4, coordinates=places, n_blocks=12, buffer=0.1)
    for train, test in far.split(bags):
        assert np.linalg.norm(places[test][:, None] - places[train], axis=2).min() >= 0.1
    by_groups = [t.tolist() for _, t in SpatialBagKFold(4).split(bags, groups=places)]
    assert by_groups == [t.tolist() for _, t in SpatialBagKFold(4, coordinates=places).split(bags)]


@pytest.mark.parametrize(
    ("splitter", "told"),
    [
        (BagKFold(1), ("must-least", "n_splits", 1)),
        (BagKFold(41), ("bags-cant-make", 40, 41)),
        (StratifiedBagKFold(3), ("bags-stratified-counts",)),
        (SpatialBagKFold(3), ("bags-no-places",)),
        (SpatialBagKFold(3, coordinates=np.zeros((40, 2))), ("distinct-places-cant", 1)),
        (SpatialBagKFold(3, coordinates=np.zeros((4, 2))), ("coordinates-shape-bags-row", 40)),
        (SpatialBagKFold(3, coordinates=np.repeat(["north", "south"], 20)), ("coordinates-names-not",)),
        (SpatialBagKFold(3, coordinates="east"), ("coordinates-names-not",)),
        (SpatialBagKFold(3, coordinates=["east"], n_blocks=2), ("must-least", "n_blocks", 2)),
        (SpatialBagKFold(3, coordinates=["east"], buffer=9.0), ("every-training-bag",)),
    ],
)
def test_what_makes_no_folds_is_refused(splitter, told):
    with raises(DataError, *told):
        list(splitter.split(people()[0]))


def test_an_unknown_feature_is_named():
    with pytest.raises(UnknownName):
        list(SpatialBagKFold(3, coordinates=["west"]).split(people()[0]))


def test_empty_bags_have_no_place():
    bags = people()[0]
    more = Bags(bags.values, np.insert(bags.offsets, 5, bags.offsets[5]), features=bags.features)
    with raises(DataError, "bags-empty-no", 41, "bag 5"):
        list(SpatialBagKFold(3, coordinates=["east"]).split(more))
    assert sum(len(test) for _, test in BagKFold(3).split(more)) == 41
