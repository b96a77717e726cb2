"""Outcomes that are no choice."""

import pytest

from sumwise.nonvoting import is_nonvoting


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
