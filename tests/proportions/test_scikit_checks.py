"""Scikit-learn's own checks, wherever what they assume holds for estimators of bags, on every one of both families."""

import inspect

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
# All others call fit(X, y) with a matrix and a label per row. A sample is a bag here: fit takes Bags, and says so.
# tests/test_contract.py checks the same properties on bags. Names as in scikit-learn 1.9, without "check_".
NEED_A_MATRIX = set(
    """
    all_zero_sample_weights_error array_api_input classifier_data_not_an_array classifiers_classes
    classifiers_one_label classifiers_one_label_sample_weights classifiers_regression_target classifiers_train
    complex_data decision_proba_consistency dict_unchanged dont_overwrite_parameters dtype_object
    estimator_sparse_array estimator_sparse_matrix estimator_sparse_tag estimators_dtypes
    estimators_empty_data_messages estimators_fit_returns_self estimators_nan_inf estimators_overwrite_params
    estimators_partial_fit_n_features estimators_pickle f_contiguous_array_estimator fit1d fit2d_1feature
    fit2d_1sample fit2d_predict1d fit_check_is_fitted fit_idempotent fit_score_takes_y
    methods_sample_order_invariance methods_subset_invariance n_features_in n_features_in_after_fitting
    non_transformer_estimators_n_iter pipeline_consistency positive_only_tag_during_fit readonly_memmap_input
    regressor_data_not_an_array regressors_int regressors_no_decision_function regressors_train requires_y_none
    sample_weight_equivalence_on_dense_data sample_weights_list sample_weights_not_an_array
    sample_weights_not_overwritten sample_weights_pandas_series sample_weights_shape supervised_y_2d
    supervised_y_no_nan transformer_data_not_an_array transformer_general transformer_n_iter
    transformer_preserve_dtypes
    """.split()  # noqa: SIM905
)


def test_all_estimators_are_found():
    assert len(ESTIMATORS) >= 20
    assert {"CardinalityClassifier", "AggregateRegressor", "BagLogistic", "WassersteinKernel"} <= set(ESTIMATORS)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_checks_of_scikit_learn_pass(name):
    for check in CHECKS:
        getattr(estimator_checks, check)(name, ESTIMATORS[name]())
    if hasattr(ESTIMATORS[name], "transform"):
        estimator_checks.check_transformers_unfitted(name, ESTIMATORS[name]())


@pytest.mark.skipif(not __version__.startswith("1.9."), reason="the names are those of scikit-learn 1.9")
def test_no_check_of_scikit_learn_is_left_out_unseen():
    wanted = {
        getattr(check, "func", check).__name__.removeprefix("check_")
        for kind in ESTIMATORS.values()
        for _, check in estimator_checks.estimator_checks_generator(kind(), legacy=True)
    }
    assert len(wanted) > 60
    assert wanted <= NEED_A_MATRIX | {name.removeprefix("check_") for name in (*CHECKS, "transformers_unfitted")}


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
