"""Options of the solver: one record."""

from dataclasses import FrozenInstanceError

import pytest
from sklearn.base import clone

from messages import raises
from sumwise import DataError
from sumwise.errors import UnknownName
from sumwise.maxent import MaxEntClassifier, SolverOptions
from sumwise.maxent.options import options_of


def test_options_are_frozen_and_checked_when_built():
    with pytest.raises(FrozenInstanceError):
        SolverOptions().tol = 1.0
    for name, value in (("n_chains", 3), ("max_iter", 0), ("tol", -1.0), ("preset", "thesis")):
        with pytest.raises(DataError, match=name):
            SolverOptions(**{name: value})


def test_options_may_be_a_mapping_of_known_names():
    assert options_of({"tol": 0.3}) == SolverOptions(tol=0.3)
    assert options_of(None) == SolverOptions()
    with raises(UnknownName, "no-option", "tolerance"):
        options_of({"tolerance": 0.3})
    with raises(DataError, "options-type-solveroptions", "int"):
        options_of(3)


def test_the_constructor_has_eight_parameters_and_survives_clone():
    model = MaxEntClassifier(options=SolverOptions(max_iter=7), random_state=0)
    assert len(model.get_params()) == 8
    assert len(vars(model.options)) == 6
    assert clone(model).options == model.options
    assert model.set_params(options__tol=0.4).options == SolverOptions(max_iter=7, tol=0.4)
    with raises(UnknownName, "no-option"):
        model.set_params(options__speed=1)
    with pytest.raises(ValueError, match="Invalid parameter"):
        model.set_params(speed=1)
