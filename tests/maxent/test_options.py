"""Options of the solver: one record, old keywords with a warning, old files."""

import warnings
from dataclasses import FrozenInstanceError
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import sumwise
from sumwise import DataError
from sumwise.errors import UnknownName
from sumwise.maxent import MaxEntClassifier, SolverOptions
from sumwise.maxent.options import options_of

OLD_FILE = Path(__file__).with_name(
    "model_0_1.sumwise"
)  # MaxEntClassifier(2.0, max_iter=77, tol=.2, n_chains=640, ...)


def test_options_are_frozen_and_checked_when_built():
    with pytest.raises(FrozenInstanceError):
        SolverOptions().tol = 1.0
    for name, value in (("solver", "newton"), ("n_chains", 3), ("max_iter", 0), ("tol", -1.0), ("noise", "deny")):
        with pytest.raises(DataError, match=name):
            SolverOptions(**{name: value})


def test_options_may_be_a_mapping_of_known_names():
    assert options_of({"tol": 0.3}) == SolverOptions(tol=0.3)
    assert options_of(None) == SolverOptions()
    with pytest.raises(UnknownName, match="no option 'tolerance'"):
        options_of({"tolerance": 0.3})
    with pytest.raises(DataError, match="options is of type int"):
        options_of(3)


def test_the_constructor_has_ten_parameters_and_survives_clone():
    model = MaxEntClassifier(options=SolverOptions(max_iter=7), random_state=0)
    assert len(model.get_params()) == 10
    assert clone(model).options == model.options
    assert model.set_params(options__tol=0.4).options == SolverOptions(max_iter=7, tol=0.4)
    with pytest.raises(UnknownName, match="option"):
        model.set_params(options__speed=1)
    with pytest.raises(ValueError, match="Invalid parameter"):
        model.set_params(speed=1)


def test_old_keywords_warn_and_give_the_same_options():
    with pytest.warns(DeprecationWarning, match=r"options=SolverOptions\(max_iter=7, tol=0.3\)"):
        model = MaxEntClassifier(2.0, max_iter=7, tol=0.3)
    assert model.options == SolverOptions(max_iter=7, tol=0.3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert clone(model).options == model.options
    with pytest.warns(DeprecationWarning, match="n_chains=100"):
        model.set_params(n_chains=100)
    assert model.options == SolverOptions(max_iter=7, tol=0.3, n_chains=100)
    with pytest.raises(TypeError, match="unexpected keyword argument 'speed'"):
        MaxEntClassifier(speed=3)


def test_a_model_saved_before_options_were_one_record_is_read():
    model = sumwise.load(OLD_FILE)
    assert model.options == SolverOptions(max_iter=77, tol=0.2, n_chains=640, noise="ignore", decay=0.02)
    assert model.penalty_theta == 2.0
    found = model.predict_proba({"x1": [0, 0], "x2": [0, 1], "x3": [0, 1]})[:, 1]
    np.testing.assert_allclose(found, [0.08090308776440557, 0.8440621626470007], rtol=1e-12)
    low, high = model.predict_interval({"x1": [0, 0], "x2": [0, 1], "x3": [0, 1]})
    assert ((low[:, 1] < found) & (found < high[:, 1])).all()
    assert model.effect_intervals()["contraction"].between(0, 1).all()
