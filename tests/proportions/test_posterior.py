"""Draws of coefficients, people and bags: contrasts, coverage, and what is withheld."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.tree import DecisionTreeClassifier

import sumwise
from sumwise import Bags
from sumwise.errors import DataError, ModelWarning
from sumwise.proportions import CardinalityClassifier, subgroups


def world(seed, n_bags=80, size=20, d=4, own=0.0, shared=0.0, square=0.0, coef=None):
    """Rows, labels, counts and coefficients; bags may have effects of their own, or labels that are copied."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n_bags * size, d)) + np.repeat(0.7 * rng.normal(size=(n_bags, d)), size, axis=0)
    coef = rng.normal(0, 0.7, d) if coef is None else coef
    logits = values @ coef + np.repeat(own * rng.normal(size=n_bags), size) + square * (values[:, 0] ** 2 - 1.5)
    luck = rng.random(len(values))
    if shared:  # a part of each bag shares its luck, so that labels are correlated
        common = np.repeat(rng.random(n_bags), size)
        luck = np.where(rng.random(len(values)) < shared, common, luck)
    labels = luck < expit(logits)
    bags = Bags(values, np.arange(0, len(values) + 1, size))
    return bags, labels, labels.reshape(n_bags, size).sum(axis=1), coef


def covers(interval, truth):
    return np.mean((interval[0] <= truth) & (truth <= interval[1]))


def coverage(n_draws, new=200, **options):
    """Shares of 90% intervals that cover coefficients, people's probabilities, subgroup shares and counts of bags."""
    found = []
    for seed in range(n_draws):
        bags, labels, counts, coef = world(seed, **options)
        clf = CardinalityClassifier("linear").fit(bags, counts)
        people = np.random.default_rng([1, seed]).normal(size=(new, bags.n_features))
        truth = np.append(coef, 0.0)
        group = bags.values[:, 1] > 0.5
        shares = subgroups(clf, bags, {"group": group}, counts=counts, n_draws=200).interval(0.9)
        other, _, more, _ = world(10_000 + seed, coef=coef, **options)
        row = [covers(np.array(clf.draws().interval(0.9))[:, 0], truth)]
        row.append(covers(clf.predict_interval(people, 0.9), expit(people @ coef)))
        row.append(covers([side[:, 1] for side in shares], [labels[~group].mean(), labels[group].mean()]))
        ends = clf.count_draws(other, 200).interval(0.9)
        row.append(covers([side[:, 1] for side in ends], more))
        found.append(row)
    return np.mean(found, axis=0)


def test_intervals_cover_in_a_world_that_is_as_the_model():
    assert (coverage(8, n_bags=60) > 0.75).all()


# What 90% intervals are promised to cover in each world, of coefficients, people, shares and counts alike. The default
# model has no effects of the bags' own, and shrinks what it can't tell from them.
PROMISED = {
    "as the model": ({}, 0.85),
    "bag effects": ({"own": 0.6}, 0.70),
    "correlated labels": ({"shared": 0.1}, 0.84),
    "15 features": ({"d": 15}, 0.85),
}


@pytest.mark.check
@pytest.mark.parametrize("name", PROMISED)
def test_intervals_cover_what_is_promised(name):
    options, least = PROMISED[name]
    covered = coverage(80, **options)
    print(name, covered)
    assert (covered >= least).all(), covered
    assert (covered <= 0.99).all(), covered


def test_levels_are_contrasts_with_a_reference_and_never_nan():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"town": np.repeat(np.arange(60), 10), "age": rng.normal(size=600)})
    frame["job"] = rng.choice(["baker", "clerk", "miner"], 600)
    frame["retired"] = rng.random(600) < 0.3
    frame.loc[::9, "age"] = np.nan
    logits = frame["age"].fillna(0) + 1.5 * (frame["job"] == "clerk") - 0.5
    counts = (rng.random(600) < expit(logits)).groupby(frame["town"]).sum()
    clf = CardinalityClassifier("linear").fit(Bags.from_frame(frame, bag="town"), counts)
    found = clf.draws().estimate(0.9).to_frame()
    assert found["feature"].tolist() == [
        "age",
        "age=missing",
        "job=clerk vs baker",
        "job=miner vs baker",
        "retired=True vs False",
        "intercept",
    ]
    assert np.isfinite(found[["coefficient", "low", "high"]]).all(axis=None)
    assert (found["low"] < found["coefficient"]).all()
    clerk = found.set_index("feature").loc["job=clerk vs baker"]
    assert clerk["low"] < 1.5 < clerk["high"]
    lo, hi = clf.predict_interval(frame)
    assert ((lo <= clf.predict_proba(frame)[:, 1] + 0.02) & (clf.predict_proba(frame)[:, 1] - 0.02 <= hi)).all()


def test_three_classes_are_compared_with_the_first():
    bags, _, counts, _ = world(0, n_bags=60, size=8, d=2)
    three = np.column_stack([8 - counts, counts // 2, counts - counts // 2])
    clf = CardinalityClassifier("linear").fit(bags, three)
    found = clf.draws()
    assert found.shape == (2, 3)
    np.testing.assert_allclose(found.mean[:, :2], clf.coef_[1:] - clf.coef_[0], atol=0.15)
    totals = clf.count_draws(bags, 50).values.sum(axis=2)
    np.testing.assert_allclose(totals, 8.0, atol=1.0)
    low, high = clf.predict_interval(bags)
    assert low.shape == high.shape == (bags.n_rows, 3)


def test_what_bags_cannot_show_is_withheld():
    bags, _, counts, _ = world(0, n_bags=10, d=5)
    clf = CardinalityClassifier("linear").fit(bags, counts)
    for ask in (clf.draws, lambda: clf.predict_interval(bags)):
        with pytest.raises(DataError, match="10 bags are too few for intervals of 5 effects"):
            ask()
    assert np.isfinite(subgroups(clf, bags).interval()).all()
    tree = CardinalityClassifier(DecisionTreeClassifier(max_depth=2)).fit(bags, counts)
    with pytest.raises(DataError, match="a scikit-learn classifier was trained by EM"):
        tree.count_draws(bags)


def test_a_model_that_is_not_linear_says_so_and_nearly_covers_subgroups(tmp_path):
    bags, labels, counts, _ = world(3, n_bags=120, size=10, d=2, square=2.0)
    clf = CardinalityClassifier().fit(bags, counts)
    with pytest.warns(ModelWarning, match="not linear with weight"):
        clf.draws()
    group = np.abs(bags.values[:, 0]) > 1.2
    low, high = subgroups(clf, bags, {"far": group}, counts=counts, n_draws=200).interval(0.99)
    truth = [labels[~group].mean(), labels[group].mean()]
    # Over five draws of this world 7 of 10 shares lie inside and none is further out than .005: hence the warning.
    assert np.maximum(low[:, 1] - truth, truth - high[:, 1]).max() < 0.01
    sumwise.save(clf, tmp_path / "m.sumwise")
    again = sumwise.load(tmp_path / "m.sumwise")
    np.testing.assert_array_equal(again.predict_interval(bags.values[:5]), clf.predict_interval(bags.values[:5]))
