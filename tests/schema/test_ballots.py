"""Ballots that hold more than one choice: fusion lines, several votes per voter, rounds."""

import numpy as np
import pandas as pd
import pytest

from sumwise import Schema
from sumwise.errors import SumwiseError
from sumwise.nonvoting import is_abstention


def precincts(**columns):
    rng = np.random.default_rng(0)
    black, white = rng.integers(100, 900, (2, 40))
    frame = pd.DataFrame({"precinct": [f"P{k}" for k in range(40)], "black": black, "white": white})
    return frame.assign(**{name: np.rint(a * black + b * white).astype(int) for name, (a, b) in columns.items()})


def with_sum(frame, outcomes):
    """The last outcome has whoever is left of the groups."""
    others = frame[outcomes[:-1]].sum(axis=1)
    return frame.assign(**{outcomes[-1]: frame["black"] + frame["white"] - others})


def test_lines_of_one_candidate_are_asked_for():
    outcomes = ["Smith (Dem)", "Smith (WF)", "Jones (Rep)"]
    frame = with_sum(precincts(**{"Smith (Dem)": (0.6, 0.2), "Smith (WF)": (0.2, 0.1)}), outcomes)
    assert [question.key for question in Schema.infer(frame).questions] == ["lines"]
    schema = Schema.infer(frame, {"lines": "no, they are different choices"})
    assert list(schema.read(frame).col_names) == outcomes
    with pytest.raises(SumwiseError, match="are lines of one candidate: add them up"):
        Schema.infer(frame, {"lines": "stop: none of these"})


def test_parties_after_different_names_are_not_asked_for():
    outcomes = ["Smith (Dem)", "Lee (Dem)", "Jones (Rep)"]
    frame = with_sum(precincts(**{"Smith (Dem)": (0.6, 0.2), "Lee (Dem)": (0.2, 0.1)}), outcomes)
    assert not Schema.infer(frame).questions
    votes = with_sum(precincts(**{"Votes (Dem)": (0.6, 0.2)}), ["Votes (Dem)", "Votes (Rep)"])
    assert not Schema.infer(votes).questions


def test_votes_that_were_not_cast_are_no_contest_of_their_own():
    frame = precincts(Adams=(0.8, 0.2), Baker=(0.6, 0.3), Clark=(0.2, 0.8))
    frame["ballots cast"] = frame["black"] + frame["white"]
    frame["undervotes"] = 2 * frame["ballots cast"] - frame[["Adams", "Baker", "Clark"]].sum(axis=1)
    answers = {"confirm": "yes", "more": "voters had several votes: fit each candidate by itself"}
    assert list(Schema.infer(frame, answers).read(frame)) == ["Adams", "Baker", "Clark"]


def test_exhausted_ballots_of_a_round_are_no_choice():
    assert is_abstention("Round 1 exhausted")
    assert not is_abstention("Round 1 Adams")
