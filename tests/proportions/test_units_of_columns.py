"""The units of columns and of the response change nothing, in every estimator of bags of both families."""

import inspect

import numpy as np
import pytest
from sklearn.base import is_classifier, is_regressor

from messages import raises
from sumwise import Bags, distribution, proportions
from sumwise.errors import DataError

pytestmark = [pytest.mark.check, pytest.mark.filterwarnings("ignore")]

N_BAGS, SIZE = 24, 6
QUICK = {
    "CardinalityNetwork": {"max_epochs": 3, "n_members": 2},
    "DeepSets": {"max_epochs": 3},
}
CENTRED = (proportions.AggregateRegressor,)
UNITS = [np.array([unit, 1 / unit, unit]) for unit in (1e-12, 1e-6, 1e6, 1e12)]


def estimators(family):
    """Every estimator that can be made without arguments, networks small; those with a task of both kinds."""
    for name in family.__all__:
        kind = getattr(family, name)
        if not (inspect.isclass(kind) and hasattr(kind, "get_params")) or name in ("Covariates", "OnInstances"):
            continue  # one takes frames and standardises them, the other has the units of what it is given
        known = inspect.signature(kind).parameters
        settings = {k: v for k, v in {"random_state": 0, **QUICK.get(name, {})}.items() if k in known}
        yield pytest.param(kind(**settings), id=name)
        if "task" in known:
            yield pytest.param(kind(**settings, task="classification"), id=f"{name}, classification")


@pytest.fixture(scope="module")
def sample():
    """Rows with missing values, bags' centres, labels and responses of rows."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=N_BAGS)
    values = rng.normal(size=(N_BAGS * SIZE, 3)) + np.repeat(centres, SIZE)[:, None] * [1, 0.3, 0]
    labels = (values[:, 0] + rng.logistic(size=len(values)) > 0).astype(int)
    responses = 2 * values[:, 0] + rng.normal(size=len(values))
    values[::17, 1] = np.nan
    return values, centres, labels, responses


def answer(model, bags, target):
    """Whatever the estimator says about the bags it was fitted to."""
    model.fit(bags) if target is None else model.fit(bags, target)
    for method in ("predict_proba", "predict", "transform", "gram"):
        if hasattr(model, method):
            found = np.asarray(getattr(model, method)(bags), dtype=float)
            return found[:, 1] if method == "predict_proba" else found
    raise AssertionError(f"{type(model).__name__} says nothing")


def same(found, usual, tol=1e-3):
    np.testing.assert_allclose(found, usual, rtol=0, atol=tol * np.std(usual))


def target_of(model, labels, responses):
    """Counts of bags, or what else the estimator learns from."""
    if isinstance(model, proportions.Oracle):
        return labels
    summed = responses if isinstance(model, proportions.AggregateRegressor) else labels
    return summed.reshape(N_BAGS, SIZE).sum(axis=1)


@pytest.mark.parametrize("model", list(estimators(proportions)))
def test_units_change_nothing_in_label_proportions(model, sample):
    values, _, labels, responses = sample
    offsets, target = np.arange(N_BAGS + 1) * SIZE, target_of(model, labels, responses)
    usual = answer(model, Bags(values, offsets), target)
    for units in UNITS:
        same(answer(model, Bags(values * units, offsets), target), usual)


@pytest.mark.parametrize("model", list(estimators(proportions)))
def test_a_column_far_from_zero_changes_nothing_or_is_refused(model, sample):
    values, _, labels, responses = sample
    offsets, target = np.arange(N_BAGS + 1) * SIZE, target_of(model, labels, responses)
    usual = answer(model, Bags(values, offsets), target)
    same(answer(model, Bags(values + 1e3, offsets), target), usual, 1e-2)
    far = Bags(values + 1e9, offsets)
    if isinstance(model, CENTRED):
        same(answer(model, far, target), usual)
    else:
        with raises(DataError, "columns-lie-too", "x0", "09"):
            answer(model, far, target)


@pytest.mark.parametrize("model", list(estimators(distribution)))
def test_units_change_nothing_in_distribution_regression(model, sample):
    values, centres, _, _ = sample
    offsets = np.arange(N_BAGS + 1) * SIZE
    target = (centres > 0).astype(int) if is_classifier(model) else centres if is_regressor(model) else None
    usual = answer(model, Bags(values, offsets), target)
    for units in UNITS:
        same(answer(model, Bags(values * units, offsets), target), usual)
    for unit in (1e-12, 1e12) if is_regressor(model) else ():
        same(answer(model, Bags(values, offsets), centres * unit) / unit, usual)
