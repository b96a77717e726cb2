"""Votes of reconstituted districts."""

import pytest

from messages import raises
from sumwise import Margins
from sumwise.errors import DataError
from sumwise.voting import district_performance

M = Margins(
    [[60, 40], [10, 90], [20, 80]],
    [[50, 30, 20], [20, 60, 20], [45, 35, 20]],
    units=["u", "v", "w"],
    col_names=["X", "Y", "NoVote"],
)


def test_votes_of_districts_add_up_without_non_voters():
    table = district_performance(M, {"u": "1", "v": "2", "w": "2"}).set_index("district")
    assert table.loc["1", "votes"] == 80
    assert table.loc["2", "votes for Y"] == pytest.approx(95 / 160)
    assert table["winner"].tolist() == ["X", "Y"]
    assert table.loc["2", "share of row0"] == pytest.approx(0.15)
    assert district_performance(M, ["a", "a", "a"])["winner"].tolist() == ["Y"]


def test_plans_that_do_not_cover_the_units_are_refused():
    with raises(DataError, "plan-leaves-out", 1, 3, "w"):
        district_performance(M, {"u": 1, "v": 2})
    with raises(DataError, "plan-entries-units", 2, 3):
        district_performance(M, [1, 2])
    with raises(DataError, "fewer-two-candidates"):
        district_performance(Margins([[1, 1]], [[1, 1]], col_names=["X", "NoVote"]), [1])
