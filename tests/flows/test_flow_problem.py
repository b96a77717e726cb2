"""The chain behind FlowModel: its states, its tables, and who is outside."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from sumwise.flows import Movement, Places
from sumwise.flows.flow_problem import FlowProblem
from sumwise.noise import Gaussian


def problem(reach=None, **more):
    places = Places.grid(2, 3, reach=reach)
    counts = np.random.default_rng(0).uniform(5, 20, (4, 6))
    return FlowProblem(places, places.moves(), counts, Gaussian(1.0), 100.0, **more)


@pytest.mark.parametrize("reach", [None, 1.2])
def test_steps_with_an_outside_are_probabilities(reach):
    logs = problem(reach, turnover=0.1).model(Movement(1.0)).log_potentials["t0", "t1"]
    p = np.exp(logs.toarray()) * (logs.toarray() != 0) if sparse.issparse(logs) else np.exp(logs)
    assert p.shape == (7, 7)
    np.testing.assert_allclose(p[:6].sum(axis=1), 1.0)
    np.testing.assert_allclose(p[:6, 6], 0.1)
    assert p[6].sum() == pytest.approx(1.0)


def test_a_year_visits_its_first_time_twice():
    year = problem(cyclic=True)
    assert year.names == ["t0", "t1", "t2", "t3", "t4"]
    np.testing.assert_array_equal(year.tables()["t4"].counts, year.tables()["t0"].counts)
    assert "t0" not in {t.attributes[0] for t in year.tables(without=[0])}
    assert "t4" not in {t.attributes[0] for t in year.tables(without=[0])}


def test_noise_per_place_and_per_time_is_cut_to_its_time():
    scales = np.arange(1.0, 25.0).reshape(4, 6)
    made = problem()
    made = FlowProblem(made.places, made.far, made.counts, Gaussian(scales), 100.0, turnover=0.1)
    np.testing.assert_array_equal(made.tables()["t2"].noise.scale[:6], scales[2])
