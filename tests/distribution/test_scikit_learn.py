"""Estimators on bags in scikit-learn's tools: folds, scorers, displays, ensembles."""

from typing import Any

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import is_classifier, is_regressor
from sklearn.ensemble import BaggingRegressor, StackingClassifier, StackingRegressor, VotingClassifier, VotingRegressor
from sklearn.inspection import PartialDependenceDisplay, partial_dependence, permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import RocCurveDisplay
from sklearn.model_selection import GridSearchCV, StratifiedKFold, check_cv, cross_val_predict, cross_val_score

from messages import raises
from sumwise import Bags
from sumwise.distribution import (
    BagGaussianProcess,
    BagKernelRidge,
    BagLogistic,
    BagRidge,
    DeepSets,
    LinearEmbedding,
    MomentEmbedding,
)
from sumwise.errors import DataError


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    centre = rng.normal(size=60)
    bags = Bags.from_arrays([rng.normal(m, 1.0, (12, 2)) for m in centre])
    return bags, centre, np.where(centre > 0, "high", "low")


def test_tags_say_what_an_estimator_is():
    for regressor in (BagRidge(), BagKernelRidge(), BagGaussianProcess(), DeepSets()):
        assert is_regressor(regressor)
        assert not is_classifier(regressor)
    for classifier in (BagLogistic(), DeepSets(task="classification")):
        assert is_classifier(classifier)
        assert not is_regressor(classifier)
    assert is_regressor(BagLogistic(target="proportions"))


def test_folds_of_classes_are_stratified_and_scorers_work(data):
    bags, _, classes = data
    model = BagLogistic(LinearEmbedding(), penalty=0.01)
    assert isinstance(check_cv(3, classes, classifier=is_classifier(model)), StratifiedKFold)
    for scoring in ("roc_auc", "neg_log_loss", "balanced_accuracy"):
        assert np.isfinite(cross_val_score(model, bags, classes, cv=3, scoring=scoring)).all()
    probabilities: Any = cross_val_predict(model, bags, classes, cv=3, method="predict_proba")
    assert probabilities.shape == (60, 2)
    assert np.mean((probabilities[:, 0] > 0.5) == (classes == "high")) > 0.85


def test_displays_draw(data):
    bags, _, classes = data
    model = BagLogistic(LinearEmbedding(), penalty=0.01).fit(bags, classes)
    drawn: Any = RocCurveDisplay.from_estimator(model, bags, classes)
    assert drawn.roc_auc > 0.9


def test_decision_function_and_log_probabilities_agree(data):
    bags, centre, classes = data
    model = BagLogistic(LinearEmbedding(), penalty=0.01).fit(bags, classes)
    odds = np.log(model.predict_proba(bags)[:, 1] / model.predict_proba(bags)[:, 0])
    assert np.allclose(model.decision_function(bags), odds)
    three = BagLogistic(LinearEmbedding(), penalty=0.01).fit(bags, np.digitize(centre, [-0.5, 0.5]))
    assert three.decision_function(bags).shape == (60, 3)
    assert np.allclose(np.exp(three.predict_log_proba(bags)).sum(axis=1), 1)


def test_voting_and_stacking_of_bags(data):
    bags, centre, classes = data
    pair = [("a", BagRidge(LinearEmbedding())), ("b", BagRidge(MomentEmbedding(2)))]
    assert VotingRegressor(pair).fit(bags, centre).score(bags, centre) > 0.8
    assert StackingRegressor(pair, cv=3).fit(bags, centre).score(bags, centre) > 0.8
    two = [(n, BagLogistic(e, penalty=0.01)) for n, e in (("a", LinearEmbedding()), ("b", MomentEmbedding(2)))]
    assert VotingClassifier(two, voting="soft").fit(bags, classes).score(bags, classes) > 0.85
    stacked = StackingClassifier(two, LogisticRegression(), cv=3).fit(bags, classes)
    assert stacked.score(bags, classes) > 0.85


def test_grid_search_over_parts(data):
    bags, centre, _ = data
    search = GridSearchCV(BagRidge(MomentEmbedding()), {"embedding__order": [1, 2]}, cv=3).fit(bags, centre)
    assert search.best_score_ > 0.5


def test_names_of_columns_are_kept(data):
    bags, centre, classes = data
    named = bags.with_values(bags.values, ("age", "income"), {})
    for model in (BagRidge(MomentEmbedding(1)), BagLogistic(LinearEmbedding(), penalty=0.01), MomentEmbedding(1)):
        y = classes if is_classifier(model) else centre
        assert model.fit(named, y).feature_names_in_.tolist() == ["age", "income"]
        assert model.fit(bags, y).n_features_in_ == 2
        assert not hasattr(model, "feature_names_in_")


def test_tools_that_copy_samples_into_a_matrix_say_what_does(data):
    bags, centre, _ = data
    uneven = Bags.from_arrays([np.asarray(rows)[: 3 + k % 5] for k, rows in enumerate(bags)])
    for given in (bags, uneven):
        with raises(DataError, "bags-rows-not"):
            BaggingRegressor(BagRidge(LinearEmbedding())).fit(given, centre)


@pytest.fixture
def uneven():
    rng = np.random.default_rng(3)
    y = rng.normal(size=50)
    sizes = rng.integers(5, 30, 50)
    return Bags.from_arrays([rng.normal([m, 0.0], 1.0, (n, 2)) for m, n in zip(y, sizes)]), y


def mean_importance(*args, **options):
    found: Any = permutation_importance(*args, **options)
    return found.importances_mean


def test_permutation_importance_of_scikit_learn(uneven):
    bags, y = uneven
    before = bags.values.copy()
    model = BagRidge(LinearEmbedding()).fit(bags, y)
    found = mean_importance(model, bags, y, n_repeats=4, random_state=0)
    half = mean_importance(model, bags, y, n_repeats=4, max_samples=0.5, random_state=0)
    assert found[0] > 0.5 > 20 * abs(found[1])
    assert half[0] > 0.5
    assert np.array_equal(bags.values, before)
    classifier = BagLogistic(LinearEmbedding(), penalty=0.01).fit(bags, y > 0)
    by_rank = mean_importance(classifier, bags, y > 0, scoring="roc_auc", n_repeats=4, random_state=0)
    assert by_rank[0] > 0.2 > 5 * abs(by_rank[1])


def test_partial_dependence_of_scikit_learn_shifts_means(uneven):
    bags, y = uneven
    model = BagRidge(LinearEmbedding()).fit(bags, y)
    found: Any = partial_dependence(model, bags, [0], grid_resolution=5, kind="both")
    slope = np.diff(found.average[0]) / np.diff(found.grid_values[0])
    moved = model.predict(bags.with_values(bags.values + np.array([1.0, 0.0]), bags.features)) - model.predict(bags)
    np.testing.assert_allclose(slope, moved.mean(), rtol=1e-6)  # a model of means is linear in them
    assert found.individual.shape == (1, 50, 5)
    pair: Any = partial_dependence(model, bags, [0, 1], grid_resolution=3)
    assert pair.average.shape == (1, 3, 3)


def test_display_of_partial_dependence_takes_names(uneven):
    bags, y = uneven
    model = BagRidge(LinearEmbedding()).fit(bags, y)
    shown = PartialDependenceDisplay.from_estimator(model, bags, ["x1"], feature_names=bags.features, grid_resolution=4)
    by_position: Any = partial_dependence(model, bags, [bags.features.index("x1")], grid_resolution=4)
    np.testing.assert_allclose(shown.pd_results[0].average, by_position.average)
    assert shown.axes_[0, 0].get_xlabel() == "x1"


def test_dependence_on_levels_is_an_error(uneven):
    bags, y = uneven
    coded = Bags(
        np.column_stack([bags.values[:, 0], np.arange(bags.n_rows) % 2]), bags.offsets, levels={"x1": ["a", "b"]}
    )
    model = BagRidge(LinearEmbedding()).fit(coded, y)
    assert mean_importance(model, coded, y, n_repeats=2, random_state=0)[0] > 0.5
    with raises(DataError, "column-levels-no", "x1"):
        partial_dependence(model, coded, [1])


def test_tables_of_embeddings_keep_bag_ids(data):
    bags, _, _ = data
    named = Bags(bags.values, bags.offsets, ids=[f"area {k}" for k in range(len(bags))])
    made = MomentEmbedding().set_output(transform="pandas").fit(named)
    assert list(made.transform(named[5:8]).index) == ["area 5", "area 6", "area 7"]
    assert list(made.fit_transform(named).index) == list(named.ids)
    assert list(made.transform(named).columns) == list(made.get_feature_names_out())
    with config_context(transform_output="pandas"):
        assert list(LinearEmbedding().fit_transform(named).index) == list(named.ids)
    assert isinstance(LinearEmbedding().fit_transform(named), np.ndarray)
