"""Central votes: whole outcomes are allocated, within the people of each unit, and refusals."""

import numpy as np
import pandas as pd
import pytest

from messages import raises
from sumwise import DataError, Margins
from sumwise.voting import allocate_central_votes


@pytest.fixture
def case():
    rng = np.random.default_rng(0)
    people = rng.integers(300, 900, 30)
    cells = np.array([rng.multinomial(n, [0.3, 0.25, 0.05, 0.4]) for n in people])
    votes = pd.DataFrame(cells[:, :3], columns=["A", "B", "write-in"], index=[f"P{k}" for k in range(30)])
    return votes, {"A": 800, "B": 1500, "write-in": 40}, people


def test_every_central_vote_is_allocated_once_and_within_the_people(case):
    votes, central, people = case
    found = allocate_central_votes(votes, central, people)
    for table in (found.votes, found.by_people):
        np.testing.assert_allclose(table.sum(), votes.sum() + pd.Series(central))
        assert (table.sum(axis=1) <= people + 1e-9).all()
        assert (table >= found.low - 1e-9).all(axis=None)
        assert (table <= found.high + 1e-9).all(axis=None)
    margins = Margins.from_frame(
        found.votes.assign(people=people, young=people // 2), {"young": "young", "old": None},
        list(votes), total="people", mismatch="no_vote",
    )  # fmt: skip
    assert margins.col_names[-1] == "no vote"


def test_the_order_of_units_and_outcomes_decides_nothing(case):
    votes, central, people = case
    order = np.random.default_rng(1).permutation(30)
    there = allocate_central_votes(votes, central, people)
    back = allocate_central_votes(votes.iloc[order, ::-1], central, people[order])
    for name in ("votes", "by_people", "high"):
        pd.testing.assert_frame_equal(getattr(back, name).loc[votes.index, votes.columns], getattr(there, name))


def test_a_full_unit_gets_none():
    votes = pd.DataFrame({"A": [90, 10], "B": [10, 20]})
    found = allocate_central_votes(votes, {"A": 30, "B": 0}, [100, 200])
    assert found.votes.to_numpy().tolist() == [[90, 10], [40, 20]]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"central": {"A": 1, "B": 1}}, ("central-no-count", "write-in")),
        ({"central": {"A": 1, "B": 1, "write-in": 1, "C": 3}}, ("there-is-no", "C")),
        ({"central": {"A": 1e6, "B": 1, "write-in": 1}}, ("central-votes-people",)),
        ({"people": np.full(30, 10)}, ("unit-votes-people", 10)),
    ],
)
def test_what_cannot_be_is_refused(case, change, words):
    votes, central, people = case
    with raises(DataError, *words):
        allocate_central_votes(**{"votes": votes, "central": central, "people": people, **change})
