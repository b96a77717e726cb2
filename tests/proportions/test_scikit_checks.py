"""Scikit-learn's own checks, wherever what they assume holds for classifiers of bags."""

import pytest
from sklearn.utils import estimator_checks

from sumwise import proportions

ESTIMATORS = [
    proportions.AggregateRegressor,
    proportions.AlternatingMeanMap,
    proportions.CalibratedBagClassifier,
    proportions.CardinalityClassifier,
    proportions.CardinalityNetwork,
    proportions.CentralLimitClassifier,
    proportions.ClusterSelection,
    proportions.Covariates,
    proportions.EasyLLP,
    proportions.HardEM,
    proportions.InverseCalibration,
    proportions.LabelSampler,
    proportions.MeanEmbeddingClassifier,
    proportions.MeanMap,
    proportions.MixBag,
    proportions.OnInstances,
    proportions.Oracle,
    proportions.ProportionLossClassifier,
    proportions.ProportionLossNetwork,
    proportions.ProportionSVM,
]
CHECKS = [  # those that make no data of their own
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_get_params_invariance",
    "check_set_params",
    "check_mixin_order",
    "check_estimator_tags_renamed",
    "check_valid_tag_types",
]
# All others call fit(X, y) with a matrix and a label per row. A sample is a bag here: fit takes Bags and counts, and
# says so. `individuals()` gives a classifier of rows, which is fitted already.


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_checks_of_scikit_learn_pass(kind, check):
    getattr(estimator_checks, check)(kind.__name__, kind())
