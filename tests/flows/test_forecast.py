"""Forecasts against simulated futures."""

import numpy as np
import pytest

from messages import raises
from sumwise import synthetic
from sumwise.collective import TreeModel
from sumwise.collective.transitions import transitions
from sumwise.errors import DataError
from sumwise.flows.forecast import forecast

MOVES = np.array([[0.8, 0.2, 0.0], [0.0, 0.7, 0.3], [0.1, 0.0, 0.9]])


def test_intervals_cover_simulated_futures():
    rng, covered = np.random.default_rng(0), []
    for _ in range(60):
        people = rng.multinomial(200, [0.5, 0.3, 0.2])
        ahead = forecast(people, [MOVES] * 3, level=0.9, draws=400, random_state=rng)
        for k in range(3):
            people = sum(rng.multinomial(people[i], MOVES[i]) for i in range(3))
            covered.extend((ahead.low[k] <= people) & (people <= ahead.high[k]))
    assert 0.86 < np.mean(covered) < 0.97


def test_uncertain_starts_widen_the_intervals():
    sure = forecast([100, 50, 50], [MOVES])
    unsure = forecast(np.random.default_rng(1).poisson([100, 50, 50], (500, 3)), [MOVES])
    assert (unsure.high - unsure.low).sum() > 1.2 * (sure.high - sure.low).sum()


def test_transitions_of_a_model_are_those_it_was_built_from():
    season = synthetic.birds(3, 5, 100, random_state=0)
    model = TreeModel(season.domain, season.edges, season.log_potentials)
    for table, edge in zip(transitions(model.marginals()), season.edges):
        here = model.marginals().nodes[edge[0]] > 1e-12
        np.testing.assert_allclose(table[here], np.exp(season.log_potentials[edge])[here], atol=1e-9)


def test_fractions_of_people_are_right_on_average():
    ahead = forecast([0.4, 0.0, 0.0], [np.eye(3)], draws=4000, level=0.5)
    assert ahead.values[0, 0] == 0.4
    assert ahead.high[0, 0] <= 1


def test_who_certainly_stays_has_an_interval_without_width():
    ahead = forecast([100, 7, 3], [np.eye(3)] * 5)
    np.testing.assert_array_equal(ahead.low, ahead.high)
    np.testing.assert_array_equal(ahead.values, ahead.high)


@pytest.mark.parametrize(
    ("start", "steps", "words"),
    [
        ([1, 2, 3], [], ("no-steps-forecast",)),
        ([1, 2, 3], [MOVES / 2], ("step-no-probabilities", 0, "0.5")),
        ([1, 2, 3], [np.eye(2)], ("start-shape-counts|step-probabilities-shape",)),
        ([-1, 2, 3], [MOVES], ("negative-counts-start",)),
        (np.ones((2, 2, 3)), [MOVES], ("start-shape-counts|step-probabilities-shape",)),
    ],
)
def test_bad_input_is_refused(start, steps, words):
    with raises(DataError, *words):
        forecast(start, steps)
