"""Scikit-learn's own checks, wherever what they assume holds for estimators of bags, on every one of both families."""

import inspect

import pytest
from sklearn.utils import estimator_checks

from sumwise import distribution, proportions

ESTIMATORS = {
    name: kind
    for family in (proportions, distribution)
    for name, kind in ((name, getattr(family, name)) for name in family.__all__)
    if inspect.isclass(kind) and hasattr(kind, "get_params")
}
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
]
# All others call fit(X, y) with a matrix and a label per row. A sample is a bag here: fit takes Bags, and says so;
# docs/how-to/predict-from-bags.md lists them.


def test_all_estimators_are_found():
    assert len(ESTIMATORS) >= 40
    assert {"CardinalityClassifier", "AggregateRegressor", "BagLogistic", "WassersteinKernel"} <= set(ESTIMATORS)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_checks_of_scikit_learn_pass(name):
    for check in CHECKS:
        getattr(estimator_checks, check)(name, ESTIMATORS[name]())
