"""Scikit-learn's own checks, wherever what they assume holds for estimators of bags, on every one of both families."""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn import __version__, config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler
from sklearn.utils import estimator_checks

from sumwise import Bags, distribution, proportions

ESTIMATORS = {
    name: kind
    for family in (proportions, distribution)
    for name, kind in ((name, getattr(family, name)) for name in family.__all__)
    if inspect.isclass(kind) and hasattr(kind, "get_params")
}
# Scikit-learn 1.6 refuses weights for the score of a pipeline in searches, of its own estimators, too.
SCORES_PIPELINES = not __version__.startswith("1.6.")
CHECKS = [  # those that make no data of their own
    "check_no_attributes_set_in_init",
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_parameters_default_constructible",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_get_params_invariance",
    "check_set_params",
    "check_mixin_order",
    "check_estimator_tags_renamed",
    "check_valid_tag_types",
    "check_estimators_unfitted",
]
# All others call fit(X, y) with a matrix and a label per row. A sample is a bag here: fit takes Bags, and says so;
# docs/how-to/predict-from-bags.md lists them.


def test_all_estimators_are_found():
    assert len(ESTIMATORS) >= 20
    assert {"CardinalityClassifier", "AggregateRegressor", "BagLogistic", "WassersteinKernel"} <= set(ESTIMATORS)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_checks_of_scikit_learn_pass(name):
    for check in CHECKS:
        getattr(estimator_checks, check)(name, ESTIMATORS[name]())
    if hasattr(ESTIMATORS[name], "transform"):
        estimator_checks.check_transformers_unfitted(name, ESTIMATORS[name]())


@pytest.mark.skipif(not __version__.startswith("1.9."), reason="the page has the names of scikit-learn 1.9")
def test_the_page_lists_every_check_that_scikit_learn_would_run():
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "predict-from-bags.md").read_text("utf-8")
    part = page.split("These checks of `check_estimator`", 1)[1].split("\n## ", 1)[0]
    listed = set(re.findall(r"`(\w+)`", part))
    wanted = {
        getattr(check, "func", check).__name__.removeprefix("check_")
        for kind in ESTIMATORS.values()
        for _, check in estimator_checks.estimator_checks_generator(kind(), legacy=True)
    }
    assert len(wanted) > 60
    assert wanted <= listed


def _weighted(kind):
    return "sample_weight" in inspect.signature(getattr(kind, "fit", int)).parameters


@pytest.mark.parametrize("name", [name for name, kind in ESTIMATORS.items() if _weighted(kind)])
def test_weights_can_be_requested_and_bags_are_not_routed(name):
    with config_context(enable_metadata_routing=True):
        model = ESTIMATORS[name]().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        routing = clone(model).get_metadata_routing()
    assert routing.fit.requests["sample_weight"] is routing.score.requests["sample_weight"] is True
    assert "bags" not in routing.fit.requests | routing.score.requests | routing.predict.requests


@pytest.mark.parametrize(
    "model",
    [
        proportions.CardinalityClassifier(penalty=1.0),
        proportions.Oracle(),
        proportions.AggregateRegressor(),
        distribution.BagRidge(distribution.MomentEmbedding()),
        distribution.BagLogistic(distribution.MomentEmbedding(), penalty=0.1),
    ],
    ids=lambda model: type(model).__name__,
)
def test_weights_of_bags_are_routed_through_searches_and_pipelines(model):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(480, 2)) + np.repeat(rng.normal(size=(40, 2)), 12, axis=0)
    bags, labels = Bags(X, np.arange(0, 481, 12)), (X[:, 0] + rng.normal(size=480) > 0).astype(int)
    counts = labels.reshape(40, 12).sum(axis=1)
    of = {"Oracle": proportions.label_bags(bags, labels), "BagLogistic": counts > np.median(counts)}
    y, weights = of.get(type(model).__name__, counts), rng.integers(1, 5, size=40).astype(float)
    folds = list(proportions.BagKFold(2).split(bags))

    scaler = proportions.on_instances(MaxAbsScaler() if SCORES_PIPELINES else FunctionTransformer())

    def alone(*given):
        steps = clone(scaler).fit(bags[given[0]])
        train, test = (steps.transform(bags[part]) for part in given)
        w, v = (weights[part] for part in given)
        return clone(model).fit(train, y[given[0]], sample_weight=w).score(test, y[given[1]], sample_weight=v)

    with config_context(enable_metadata_routing=True):
        model = model.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        if "groups" in inspect.signature(model.fit).parameters:
            model = model.set_fit_request(groups=False)
        line = make_pipeline(scaler, model) if SCORES_PIPELINES else model
        found = cross_validate(line, bags, y, cv=folds, params={"sample_weight": weights}, error_score="raise")
        search = GridSearchCV(line, {}, cv=folds, error_score="raise").fit(bags, y, sample_weight=weights)
        whole = search.score(bags, y, sample_weight=weights)
    expected = [alone(*fold) for fold in folds]
    np.testing.assert_allclose(found["test_score"], expected, rtol=1e-6)
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], np.mean(expected), rtol=1e-6)
    everything = np.arange(40)
    np.testing.assert_allclose(whole, alone(everything, everything), rtol=1e-6)
    weights = np.ones(40)
    assert not np.allclose([alone(*fold) for fold in folds], expected, rtol=1e-6), "weights must matter here"
