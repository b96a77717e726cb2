"""Draws of coefficients, people and bags: contrasts, coverage, and what is withheld."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.tree import DecisionTreeClassifier

import sumwise
from coverage_contract.proportions import people as world
from messages import raises, warns
from sumwise import Bags
from sumwise.errors import DataError, ModelWarning
from sumwise.proportions import CardinalityClassifier, subgroups


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
        with raises(DataError, "more-bags-fewer"):
            ask()
    assert np.isfinite(subgroups(clf, bags).interval()).all()
    tree = CardinalityClassifier(DecisionTreeClassifier(max_depth=2)).fit(bags, counts)
    with raises(DataError, "fit-no-posterior", "a scikit-learn classifier was trained by EM"):
        tree.count_draws(bags)


def test_a_model_that_is_not_linear_says_so_and_nearly_covers_subgroups(tmp_path):
    bags, labels, counts, _ = world(3, n_bags=120, size=10, d=2, square=2.0)
    clf = CardinalityClassifier().fit(bags, counts)
    with warns(ModelWarning, "bags-support-model"):
        clf.draws()
    group = np.abs(bags.values[:, 0]) > 1.2
    low, high = subgroups(clf, bags, {"far": group}, counts=counts, n_draws=200).interval(0.99)
    truth = [labels[~group].mean(), labels[group].mean()]
    # Over five draws of this world 7 of 10 shares lie inside and none is further out than .005: hence the warning.
    assert np.maximum(low[:, 1] - truth, truth - high[:, 1]).max() < 0.01
    sumwise.save(clf, tmp_path / "m.sumwise")
    again = sumwise.load(tmp_path / "m.sumwise")
    np.testing.assert_array_equal(again.predict_interval(bags.values[:5]), clf.predict_interval(bags.values[:5]))


def test_effects_of_bags_are_part_of_the_posterior():
    def widths_and_effects(own):
        bags, _, counts, coef = world(1, n_bags=80, own=own)
        clf = CardinalityClassifier("linear").fit(bags, counts)
        low, high = clf.draws().interval(0.99)
        assert ((low[0, :-1] < coef) & (coef < high[0, :-1])).all()
        (task,) = clf.posterior_
        return (high - low).mean(), sum(c["weight"] * c["effects"] for c in task)

    (narrow, none), (broad, one) = widths_and_effects(0.0), widths_and_effects(1.0)
    assert broad > 1.5 * narrow
    assert none < 0.4
    assert one == pytest.approx(1.0, abs=0.3)


def test_effects_of_new_bags_are_drawn_and_of_people_averaged():
    bags, _, counts, _ = world(1, n_bags=80, own=1.5)
    clf = CardinalityClassifier("linear").fit(bags, counts)
    alone, together = (subgroups(clf, rows, n_draws=200).draws.values[:, 0, 1].std() for rows in (bags.values, bags))
    assert together > 1.2 * alone  # 80 bags have effects of their own; 1,600 people of no bag average them out
    low, high = clf.count_draws(bags, 200).interval(0.9)
    assert (high - low)[:, 1].mean() > 1.5 * 2 * 1.645 * np.sqrt(20 * 0.2)


def test_classes_that_vary_more_than_their_members_explain_are_warned_of():
    bags, _, counts, _ = world(1, n_bags=80, own=1.5)
    three = np.column_stack([20 - counts, counts // 2, counts - counts // 2])
    clf = CardinalityClassifier("linear").fit(bags, three)
    assert clf.dispersion_ > 2
    for ask in (clf.draws, lambda: clf.predict_interval(bags.values[:3])):
        with warns(ModelWarning, "counts-bags-vary-times"):
            ask()


def test_bags_of_one_member_have_no_effects():
    bags, _, counts, _ = world(2, n_bags=300, size=1)
    clf = CardinalityClassifier("linear").fit(bags, counts)
    assert {c["effects"] for task in clf.posterior_ for c in task} == {0.0}


@pytest.mark.parametrize("seed", range(4))
def test_counts_that_are_as_the_model_are_not_warned_of(seed):
    bags, _, counts, _ = world(seed, n_bags=60)
    CardinalityClassifier("linear").fit(bags, counts).draws()
