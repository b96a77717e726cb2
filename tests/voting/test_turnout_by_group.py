"""Turnout by group and choice among voters; non-voters are never a candidate."""

import numpy as np
import pytest

from messages import raises
from sumwise import Margins
from sumwise.ecological import EcologicalEM
from sumwise.errors import DataError, UnknownName
from sumwise.voting import turnout, voting_patterns

TURNOUT = np.array([0.35, 0.7])
CHOICE = np.array([[0.85, 0.15], [0.3, 0.7]])


def margins(names=("A", "B", "NoVote"), seed=0, n=60):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(300, 900, n)
    first = rng.binomial(sizes, rng.uniform(0.05, 0.95, n))
    rows = np.stack([first, sizes - first], axis=1)
    shares = np.column_stack([TURNOUT[:, None] * CHOICE, 1 - TURNOUT])
    cells = np.array([[rng.multinomial(x, p) for x, p in zip(row, shares)] for row in rows])
    return Margins(rows, cells.sum(axis=1), row_names=["minority", "majority"], col_names=names)


def test_turnout_and_choice_are_near_the_truth_with_intervals():
    m = margins()
    found = turnout(EcologicalEM().fit(m))
    assert found.abstention == ("NoVote",)
    assert found.choice.labels == (("minority", "majority"), ("A", "B"))
    np.testing.assert_allclose(found.turnout.values, TURNOUT, atol=0.05)
    np.testing.assert_allclose(found.choice.values, CHOICE, atol=0.08)
    np.testing.assert_allclose(found.choice.values.sum(axis=1), 1.0, atol=1e-6)
    assert found.turnout.covers(TURNOUT).all()
    assert found.choice.covers(CHOICE).all()


def test_outcomes_without_a_candidate_can_be_named():
    m = margins(("A", "B", "rest"))
    with raises(DataError, "outcomes-not-voting"):
        turnout(EcologicalEM().fit(m))
    assert turnout(EcologicalEM().fit(m), abstention=["rest"]).abstention == ("rest",)
    with raises(UnknownName, "abstention-names-not", "nobody"):
        turnout(EcologicalEM().fit(m), abstention="nobody")
    with raises(DataError, "outcomes-not-voting-leave"):
        turnout(EcologicalEM().fit(m), abstention=["A", "B", "rest"])


def test_voting_patterns_are_among_voters():
    found = voting_patterns(EcologicalEM().fit(margins()))
    assert found.abstention == ("NoVote",)
    assert found.polarisation.labels[1] == ("A", "B")
    assert found.cohesion.values[0] > 0.7  # of voters; of all adults it would be 0.3
    assert "of the group's voters chose A" in found.to_text()


@pytest.mark.parametrize("blank", ["Undervotes", "blank ballots", "Over votes"])
def test_undervotes_turned_out(blank):
    m = margins()
    under = np.round(0.1 * m.cols[:, :2])  # a tenth of all voters, of either candidate
    cols = np.column_stack([m.cols[:, :2] - under, under.sum(axis=1), m.cols[:, 2]])
    m = Margins(m.rows, cols, row_names=m.row_names, col_names=["A", "B", blank, "no vote"])
    found = turnout(EcologicalEM().fit(m))
    assert found.abstention == ("no vote",)
    assert found.choice.labels[1] == ("A", "B")
    np.testing.assert_allclose(found.turnout.values, TURNOUT, atol=0.03)  # without them it would be .9 of it
    np.testing.assert_allclose(found.choice.values, CHOICE, atol=0.08)
    np.testing.assert_allclose(found.choice.values.sum(axis=1), 1.0, atol=1e-6)


def test_margins_of_voters_have_no_turnout():
    m = margins(("A", "B", "blank"))
    found = turnout(EcologicalEM().fit(m))
    assert found.abstention == ()
    assert found.turnout.values.tolist() == [1.0, 1.0]


def test_estimates_are_means_of_the_draws_of_their_intervals():
    est = EcologicalEM().fit(margins())
    draws = est.draws(2000, 0).values[..., :2]
    each = draws / draws.sum(axis=2, keepdims=True)
    np.testing.assert_allclose(turnout(est).choice.values, each.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(voting_patterns(est).voters[0], each.mean(axis=0), atol=1e-12)
