"""One contract for every estimator in the package, and proof that each clause can be broken."""

import importlib
import inspect
import itertools

import numpy as np
import pytest

from contract import (
    CASES,
    CHECKS,
    FAMILIES,
    OWN_CASES,
    check_declared,
    check_parameters,
    check_record,
    check_saving,
    check_seed,
    check_splitting,
    check_unfitted,
    estimators,
    margins_case,
)
from sumwise.estimator import Estimator
from sumwise.io.saved.classes import PUBLIC

CASE = {name: make() for name, make in (CASES | OWN_CASES).items()}


@pytest.mark.parametrize("check", CHECKS, ids=lambda f: f.__name__.removeprefix("check_"))
@pytest.mark.parametrize("kind", estimators(), ids=lambda k: f"{k.__module__.split('.')[1]}.{k.__name__}")
def test_every_estimator_keeps_the_contract(kind, check, tmp_path):
    own = kind.__name__ in OWN_CASES
    check(kind, CASE[kind.__name__ if own else kind.__module__.split(".")[1]], tmp_path)


def test_estimators_are_found_and_every_family_has_a_case():
    found = {kind.__module__.split(".")[1] for kind in estimators()}
    assert found, "no estimator was found: the search is broken"
    assert found <= set(CASES)
    assert found <= set(FAMILIES)


def test_no_public_estimator_is_left_out():
    """Contract, edge fits and forged files run over the same list."""
    known = set(estimators())
    for module in map(importlib.import_module, PUBLIC):
        for thing in (getattr(module, name) for name in getattr(module, "__all__", ())):
            if inspect.isclass(thing) and issubclass(thing, Estimator) and not inspect.isabstract(thing):
                assert thing in known or thing.__name__ == "IndividualClassifier"  # a view of a fitted one, for rows


class Honest(Estimator):
    def __init__(self, pull=0.5, random_state=None):
        self.pull = pull
        self.random_state = random_state

    def fit(self, margins, y=None):
        rng = np.random.default_rng(self.random_state)
        self.shares_ = margins.col_shares.mean(axis=0) * self.pull + 1e-9 * rng.random(2)
        return self

    def score(self, margins, y=None):
        return -float(np.abs(margins.col_shares - self._fitted().shares_).mean())


class KeepsMore(Honest):
    def __init__(self, pull=0.5, random_state=None):
        super().__init__(pull, random_state)
        self.twice = 2 * pull


class ForgetsToComplain(Honest):
    def score(self, margins, y=None):
        return 0.0


class DrawsFromTheAir(Honest):
    counter = itertools.count()

    def fit(self, margins, y=None):
        super().fit(margins)
        self.shares_ = self.shares_ + next(self.counter)
        return self


class DiffersByInstance(Honest):
    counter = itertools.count()

    def fit(self, margins, y=None):
        if not hasattr(self, "number_"):
            self.number_ = next(self.counter)
        super().fit(margins)
        self.shares_ = self.shares_ + self.number_
        return self


class GoesOnFromBefore(Honest):
    def fit(self, margins, y=None):
        before = getattr(self, "shares_", 0.0)
        super().fit(margins)
        self.shares_ = self.shares_ + before
        return self


class ChangesItsParameters(Honest):
    def fit(self, margins, y=None):
        self.pull = self.pull / 2
        return super().fit(margins)


class KeepsNoRecord(Honest):
    def __init__(self, pull=0.5, max_iter=10, random_state=None):
        super().__init__(pull, random_state)
        self.max_iter = max_iter


class CountsRowsInstead(Honest):
    def score(self, margins, y=None):
        if len(margins) != 24:
            raise ValueError("wrong number of units")
        return super().score(margins)


@pytest.mark.parametrize("check", [c for c in CHECKS if c not in (check_saving, check_declared)])
def test_an_honest_estimator_passes(check, tmp_path):
    check(Honest, margins_case(), tmp_path)


@pytest.mark.parametrize(
    ("kind", "check"),
    [
        (KeepsMore, check_parameters),
        (ForgetsToComplain, check_unfitted),
        (DrawsFromTheAir, check_seed),
        (ChangesItsParameters, check_seed),
        (DiffersByInstance, check_seed),
        (GoesOnFromBefore, check_seed),
        (KeepsNoRecord, check_record),
        (CountsRowsInstead, check_splitting),
        (Honest, check_declared),
        (Honest, check_saving),  # not a public class of the package: saving refuses it
    ],
)
def test_each_clause_can_be_broken(kind, check, tmp_path):
    with pytest.raises((AssertionError, AttributeError, ValueError, pytest.fail.Exception)):
        check(kind, margins_case(), tmp_path)
