"""Outcomes that are no choice."""

import pytest

from sumwise.nonvoting import choices, chose, is_nonvoting, no_candidates


@pytest.mark.parametrize(
    "name",
    ["NoVote", "novote", "no vote", "No_Vote", "Abstain", "abstention", "nonvoters", "noturnout", "Did not vote"],
)
def test_not_voting_is_known_by_its_names(name):
    assert is_nonvoting(name)


@pytest.mark.parametrize(
    "name", ["No", "Norton", "Voter choice", "NDP", "Nonpartisan", "Blank votes", "non", "None", 7, ""]
)
def test_choices_are_choices(name):
    assert not is_nonvoting(name)


def test_no_votes_beside_yes_votes_are_votes_against():
    measure = ["Prop 47, yes votes", "Prop 47, no votes", "blank"]
    assert no_candidates(measure) == [False, False, True]
    assert no_candidates(["yes_vote", "no_vote"]) == [False, False]
    assert no_candidates(["yes", "no vote"]) == [False, True]
    assert choices(["A", "no votes"]) == [0]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("unemployed", "were counted as unemployed"),
        ("Not registered", "were counted as “Not registered”"),
        ("Marriott", "chose Marriott"),
        ("Employers First", "chose Employers First"),
        ("Insurgentes", "chose Insurgentes"),
    ],
)
def test_states_are_not_chosen_and_candidates_are(name, words):
    assert chose([name, "Adams"], 0) == words


def test_a_contest_before_a_dash_is_no_part_of_the_name():
    names = ["Mayor - O'Neil", "Mayor - Arthur Blank", "Mayor - Blank", "Mayor: spoiled", "no vote"]
    assert no_candidates(names) == [False, False, True, True, True]
    assert chose(names, 2) == "were counted as “Mayor - Blank”"
