"""Doors to `fit`: bags, lists, rows with groups; labels of a few members."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import get_scorer
from sklearn.model_selection import cross_validate

from messages import raises
from sumwise import Bags
from sumwise.errors import DataError
from sumwise.noise import Gaussian
from sumwise.proportions import CardinalityClassifier, MeanEmbeddingClassifier, intervals


def people(n_bags=30, size=6, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n_bags * size, 2)) + np.repeat(rng.normal(size=(n_bags, 2)), size, axis=0)
    labels = (rng.random(len(values)) < 1 / (1 + np.exp(-2 * values[:, 0]))).astype(int)
    return values, labels, np.repeat(np.arange(n_bags), size)


@pytest.mark.parametrize("model", [CardinalityClassifier(), MeanEmbeddingClassifier()], ids=["default", "other"])
def test_every_door_leads_to_the_same_fit(model):
    values, labels, group = people()
    counts = np.bincount(group, labels).astype(int)
    first = model.fit(Bags(values, np.arange(0, 181, 6)), counts).predict_proba(values)
    rng = np.random.default_rng(1)
    mixed = rng.permutation(180)
    names = np.array([f"town {g}" for g in group])
    series = pd.Series(counts, [f"town {g}" for g in range(30)])
    frame = pd.DataFrame(values, columns=["x0", "x1"]).assign(town=names).iloc[mixed]
    for given in (
        model.fit(np.split(values, 30), counts),
        model.fit(values[mixed], counts, groups=group[mixed]) if (group[mixed][:1] == 0).all() else model,
        model.fit(values[mixed], series, groups=names[mixed]),
        model.fit(values[mixed], series.to_dict(), groups=names[mixed]),
        model.fit(frame[["x0", "x1"]], series, groups=frame["town"]),
        model.fit(frame, series, groups="town"),
    ):
        np.testing.assert_array_equal(given.predict_proba(values), first)


def test_counts_without_names_are_refused_where_their_order_is_open():
    values, labels, group = people()
    counts = np.bincount(group, labels).astype(int)
    with raises(DataError, "counts-no-names", 30):
        CardinalityClassifier().fit(values[::-1], counts, groups=group[::-1])
    with raises(DataError, "groups-rows-bags"):
        CardinalityClassifier().fit(Bags(values, np.arange(0, 181, 6)), counts, groups=group)
    with raises(DataError, "lengths-differ-entry", 200):
        CardinalityClassifier().fit(values, counts, groups=np.zeros(200))


def test_labels_of_all_members_give_the_fit_to_bags_of_one():
    values, labels, group = people()
    bags, counts = Bags(values, np.arange(0, 181, 6)), np.bincount(group, labels).astype(int)
    one = CardinalityClassifier(penalty=1.0).fit(Bags(values, np.arange(181)), labels)
    known = CardinalityClassifier(penalty=1.0).fit(bags, counts, labels=labels)
    np.testing.assert_allclose(known.coef_, one.coef_, atol=1e-6)


def test_a_few_labels_help_and_are_checked_against_counts():
    values, labels, group = people(12, 15, seed=3)
    bags, counts = Bags(values, np.arange(0, 181, 15)), np.bincount(group // 1, labels).astype(int)
    few = np.where(np.arange(180) % 3 == 0, labels, -1).astype(float)
    few[few < 0] = np.nan
    with_labels = CardinalityClassifier().fit(bags, counts, labels=few)
    ranged = CardinalityClassifier().fit(bags, intervals(counts, counts), labels=few)
    without = CardinalityClassifier().fit(bags, counts)
    new, truth, _ = people(seed=9)
    loss = [-np.log(m.predict_proba(new)[np.arange(len(new)), truth]).mean() for m in (with_labels, without, ranged)]
    assert loss[0] < loss[1]
    assert loss[2] == pytest.approx(loss[0], abs=0.02)
    mixed = np.random.default_rng(0).permutation(180)
    other = CardinalityClassifier().fit(values[mixed], dict(enumerate(counts)), groups=group[mixed], labels=few[mixed])
    np.testing.assert_array_equal(other.coef_, with_labels.coef_)
    with raises(DataError, "known-labels-contradict"):
        CardinalityClassifier().fit(bags, counts, labels=1 - labels)
    with raises(DataError, "labels-holds-classes", "0.5"):
        CardinalityClassifier().fit(bags, counts, labels=np.full(180, 0.5))
    with raises(DataError, "labels-shape-rows"):
        CardinalityClassifier().fit(bags, counts, labels=[1, 0])
    with raises(DataError, "labels-members-taken", "Gaussian"):
        CardinalityClassifier(noise=Gaussian(1.0)).fit(bags, counts, labels=few)


def test_individuals_are_scored_by_name():
    values, labels, group = people()
    bags, counts = Bags(values, np.arange(0, 181, 6)), np.bincount(group, labels).astype(int)
    rows = CardinalityClassifier().fit(bags, counts).individuals()
    for name in ("neg_log_loss", "roc_auc", "accuracy", "neg_brier_score"):
        assert np.isfinite(get_scorer(name)(rows, values, labels))
    scores = cross_validate(rows, values, labels, scoring="neg_log_loss", cv=3)["test_score"]
    assert (scores < 0).all()
    assert len(cross_validate(CardinalityClassifier("linear"), bags, counts, cv=3)["test_score"]) == 3
