"""Other methods: which are compared, which are left out, and what happens to those that fail."""

import numpy as np
import pytest

from sumwise import Margins, synthetic
from sumwise.ecological import Bounds, EcologicalEM, Goodman, King
from sumwise.estimator import family_of
from sumwise.maxent import NaiveBayesTables
from sumwise.report.other_methods import fit_others, other_methods, share_differences


def test_samplers_are_left_out_of_large_problems():
    large = synthetic.precincts(2000, 5, 5, random_state=0).margins
    made, left = other_methods(EcologicalEM(), large)
    assert (list(made), left) == (["Goodman"], ["King", "MultinomialDirichlet"])


def test_bounds_and_single_groups_have_nothing_to_compare():
    m = synthetic.precincts(20, random_state=0).margins
    assert other_methods(Bounds(), m) == ({}, [])
    assert other_methods(Goodman(), Margins([[3]], [[1, 2]])) == ({}, [])


def test_others_get_the_seed():
    made, _ = other_methods(NaiveBayesTables(), None, random_state=7)
    assert made["MaxEntClassifier"].random_state == 7
    assert family_of(made["BestPair"]) == "maxent"


def test_fitted_methods_are_taken_as_they_are_and_steps_are_named():
    m = synthetic.precincts(30, random_state=0).margins
    fitted, names = Goodman().fit(m), []

    def step(name, compute):
        names.append(name)
        return compute()

    fits, failed = fit_others({"mine": fitted, "King": King(random_state=0)}, (m,), step)
    assert fits["mine"] is fitted
    assert names == ["compare King"]
    assert failed == {}


def test_failures_are_reported_in_words():
    fits, failed = fit_others({"Goodman": Goodman()}, (Margins([[3, 0], [3, 0]], [[2, 1], [1, 2]]),))
    assert fits == {}
    assert "Goodman" in failed


def test_differences_are_against_the_first():
    m = synthetic.precincts(40, random_state=0).margins
    fits = {"EM": EcologicalEM().fit(m), "Goodman": Goodman().fit(m)}
    first, second = share_differences(fits)
    assert first["largest difference"] == 0
    assert first["inside the intervals"] == 1
    gap = np.abs(fits["EM"].shares_ - fits["Goodman"].shares_)
    assert second["mean difference"] == pytest.approx(gap.mean())
