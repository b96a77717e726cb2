"""What all bag classifiers answer: probabilities, counts, posteriors, score, and their refusals."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_predict, cross_val_score

from messages import raises, warns
from sumwise import Bags
from sumwise.errors import DataError, ModelWarning
from sumwise.proportions import (
    AlternatingMeanMap,
    CardinalityClassifier,
    MeanEmbeddingClassifier,
    MeanMap,
)


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    bags = Bags(rng.normal(size=(200, 2)), np.arange(0, 201, 10))
    counts = rng.multinomial(10, [0.2, 0.3, 0.5], size=20)
    return CardinalityClassifier(penalty=1.0).fit(bags, counts), bags, counts


def test_probabilities_counts_and_posteriors_add_up(fitted):
    clf, bags, counts = fitted
    probs = clf.predict_proba(bags.values)
    np.testing.assert_allclose(probs.sum(axis=1), 1.0)
    np.testing.assert_array_equal(clf.predict(bags), probs.argmax(axis=1))
    np.testing.assert_allclose(clf.predict_counts(bags), probs.reshape(20, 10, 3).sum(axis=1))
    np.testing.assert_allclose(clf.posterior(bags, counts).reshape(20, 10, 3).sum(axis=1), counts, atol=1e-9)
    assert clf.score(bags, counts) < 0


def test_counts_follow_weights_and_empty_bags(fitted):
    clf, _, _ = fitted
    bags = Bags(np.zeros((3, 2)), np.array([0, 0, 3]), np.array([1.0, 2.0, 3.0]))
    counts = clf.predict_counts(bags)
    np.testing.assert_array_equal(counts[0], 0.0)
    assert counts[1].sum() == pytest.approx(6.0)


def test_unfitted_and_mismatched_use_is_refused(fitted):
    clf, bags, counts = fitted
    with pytest.raises(NotFittedError):
        CardinalityClassifier().predict(np.zeros((1, 2)))
    with raises(DataError, "x-features-classifier", 3, 2):
        clf.predict(np.zeros((1, 3)))
    with raises(DataError, "use-nan-cell"):
        clf.predict([[np.inf, 1.0]])
    with warns(ModelWarning, "feature-missing-rows", "x0", 1):
        clf.predict([[np.nan, 1.0]])
    with raises(DataError, "x-shape-row", "(2,)"):
        clf.predict([1.0, 2.0])
    with raises(DataError, "counts-classes-classifier", 2, 3):
        clf.score(bags, counts[:, 0])


def test_a_matrix_counts_as_one_bag(fitted):
    clf, bags, counts = fitted
    one, total = Bags(bags.values, np.array([0, 200])), counts.sum(axis=0, keepdims=True)
    np.testing.assert_array_equal(clf.predict_counts(bags.values), clf.predict_counts(one))
    np.testing.assert_array_equal(clf.posterior(bags.values, total), clf.posterior(one, total))
    assert clf.score(bags.values, total) == clf.score(one, total)
    with pytest.raises(NotFittedError):
        CardinalityClassifier().predict_counts(bags)


def townspeople(n_bags=40, size=10, seed=0):
    """People of towns: a number, a text whose alphabetical order says nothing, and labels."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"town": [f"t{b:02d}" for b in rng.permutation(n_bags) for _ in range(size)]})
    towns = frame["town"].astype("category").cat.codes.to_numpy()
    frame["income"] = rng.normal(size=len(frame)) + rng.normal(size=n_bags)[towns]
    lean = rng.integers(0, 4, n_bags)[towns]
    code = np.where(rng.random(len(frame)) < 0.6, lean, rng.integers(0, 4, len(frame)))
    frame["job"] = np.array(["baker", "clerk", "miner", "nurse"])[code]
    logit = frame["income"] + 4.0 * frame["job"].isin(["baker", "miner"]) - 2.0
    frame["vote"] = (logit + rng.logistic(size=len(frame)) > 0).astype(int)
    return frame


LINEAR = [
    CardinalityClassifier,
    MeanEmbeddingClassifier,
    MeanMap,
    AlternatingMeanMap,
]


@pytest.mark.filterwarnings("ignore:Counts of the bags vary")  # MeanMap, which these bags do not suit
@pytest.mark.parametrize("kind", LINEAR)
def test_text_enters_by_its_levels(kind):
    frame = townspeople()
    bags = Bags.from_frame(frame, bag="town", features=["income", "job"])
    clf = kind(penalty=0.5).fit(bags, frame.groupby("town")["vote"].sum())
    assert clf.coef_.shape == (1, 5)
    assert clf.get_feature_names_out().tolist() == ["income", "job=baker", "job=clerk", "job=miner", "job=nurse"]
    accuracy = np.mean(clf.predict(frame) == frame["vote"])
    assert accuracy > 0.78, accuracy  # codes in the order of the alphabet give .6


def test_names_are_checked_and_columns_found_in_any_order():
    frame = townspeople()
    bags = Bags.from_frame(frame, bag="town", features=["income", "job"])
    counts = frame.groupby("town")["vote"].sum()
    clf = CardinalityClassifier(penalty=1.0).fit(bags, counts)
    assert clf.feature_names_in_.tolist() == ["income", "job"]
    swapped = Bags.from_frame(frame, bag="town", features=["job", "income"])
    np.testing.assert_array_equal(clf.predict_proba(swapped), clf.predict_proba(bags))
    assert clf.score(swapped, counts) == clf.score(bags, counts)
    other = Bags.from_frame(frame.rename(columns={"job": "work"}), bag="town", features=["income", "work"])
    with raises(DataError, "lack-features-training", 1, 2, "job"):
        clf.score(other, counts)


def test_counts_by_id_are_put_into_the_order_of_the_bags():
    frame = townspeople()
    bags = Bags.from_frame(frame, bag="town", features=["income", "job"])
    counts = frame.groupby("town")["vote"].sum()
    assert bags.ids.tolist() != counts.index.tolist()
    by_id = CardinalityClassifier(penalty=1.0).fit(bags, counts)
    by_order = CardinalityClassifier(penalty=1.0).fit(bags, counts.loc[bags.ids].to_numpy())
    np.testing.assert_array_equal(by_id.coef_, by_order.coef_)
    assert by_id.score(bags, counts) == by_order.score(bags, counts.loc[bags.ids].to_numpy())
    with raises(DataError, "index-index-bags", 40):
        by_id.score(bags, counts.set_axis([f"u{i}" for i in range(40)]))


@pytest.mark.filterwarnings("ignore:Counts of the bags vary")  # MeanMap, which these bags do not suit
@pytest.mark.parametrize("kind", LINEAR)
def test_units_change_nothing(kind):
    frame = townspeople(30)
    values = np.column_stack([frame["income"], frame["income"] ** 2, frame["job"] == "miner"])
    offsets, counts = np.arange(0, 301, 10), frame["vote"].to_numpy().reshape(30, 10).sum(axis=1)
    units = np.array([1e12, 1.0, 1e-12])
    plain, scaled = (kind().fit(Bags(x, offsets), counts) for x in (values, values * units))
    np.testing.assert_allclose(scaled.coef_ * units, plain.coef_, rtol=0.02, atol=2e-3)
    np.testing.assert_allclose(scaled.predict_proba(values * units), plain.predict_proba(values), atol=2e-3)


def test_units_change_no_interval():
    frame = townspeople()
    counts = frame.groupby("town")["vote"].sum()
    widths = []
    for unit in (1.0, 1e-3):
        rows = frame.assign(income=frame["income"] * unit)
        clf = CardinalityClassifier("linear").fit(Bags.from_frame(rows, bag="town", features=["income", "job"]), counts)
        low, high = clf.draws().interval(0.9)
        widths.append((high - low)[0] * [unit, 1, 1, 1, 1])
    np.testing.assert_allclose(widths[0], widths[1], rtol=1e-6)


@pytest.mark.filterwarnings("ignore:Counts of the bags vary")  # MeanMap, which these bags do not suit
@pytest.mark.parametrize("kind", LINEAR)
def test_missing_values_have_a_mean_and_an_indicator(kind):
    frame = townspeople()
    complete = frame.copy()
    rng = np.random.default_rng(3)
    frame.loc[rng.random(len(frame)) < 0.2, "income"] = np.nan
    frame.loc[rng.random(len(frame)) < 0.2, "job"] = None
    bags = Bags.from_frame(frame, bag="town", features=["income", "job"])
    clf = kind(penalty=0.5).fit(bags, frame.groupby("town")["vote"].sum())
    assert [str(x) for x in clf.get_feature_names_out() if "missing" in x] == ["income=missing", "job=missing"]
    assert np.isfinite(clf.predict_proba(frame)).all()
    assert np.mean(clf.predict(complete) == complete["vote"]) > 0.72


@pytest.mark.parametrize("kind", [CardinalityClassifier, AlternatingMeanMap, MeanEmbeddingClassifier])
def test_few_bags_for_many_features_are_worth_a_warning(kind):
    rng = np.random.default_rng(0)
    bags = Bags(rng.normal(size=(100, 50)), np.arange(0, 101, 20))
    with warns(ModelWarning, "bags-too-few-estimate", 5, 50, 4):
        kind(penalty=10.0).fit(bags, [5, 10, 12, 8, 9])


def test_cross_val_predict_is_refused_with_the_reason():
    frame = townspeople()
    bags = Bags.from_frame(frame, bag="town", features=["income"])
    counts = bags.align(frame.groupby("town")["vote"].sum())
    clf = CardinalityClassifier(penalty=1.0)
    with raises(DataError, "cross-val-predict"):
        cross_val_predict(clf, bags, counts)
    assert len(cross_val_score(clf, bags, counts)) == 5
