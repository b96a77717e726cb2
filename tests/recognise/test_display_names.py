"""Names for columns: words are set apart, shared measures go, and nothing is guessed or given twice."""

import pytest

from sumwise.recognise.display_names import display_names


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        (["day_of_week", "emp.var.rate"], {"day_of_week": "day of week", "emp.var.rate": "emp var rate"}),
        (["age_years", "income_USD"], {"age_years": "age (years)", "income_USD": "income (USD)"}),
        (["B01001_001E", "RAC1P", "x_1", "age", "v2_score"], {}),
        (["少数_民族"], {"少数_民族": "少数 民族"}),
        (["day_week", "day.week"], {}),  # would be one name
        (["a_word", "a word"], {}),
    ],
)
def test_single_columns(columns, names):
    assert display_names([], columns) == names


@pytest.mark.parametrize(
    ("side", "taken", "names"),
    [
        (["pct_white", "pct_black"], [], ["white", "black"]),
        (["obama_votes", "romney_votes"], [], ["obama", "romney"]),
        (["pct_white", "pct_black"], ["white"], ["pct white", "pct black"]),  # another column has that name
        (["pct_white", "share_black"], [], ["pct white", "share black"]),
        (["votes_total", "votes"], [], ["votes total", "votes"]),
        (["dem_vote", "rep_vote", "no_vote"], [], ["dem vote", "rep vote", "no vote"]),
        (["yes_votes", "no_votes"], [], ["yes", "no"]),
    ],
)
def test_sides_lose_the_measure_that_all_share(side, taken, names):
    found = display_names([side], taken=taken)
    assert [found.get(c, c) for c in side] == names


def test_names_are_unique_over_all_columns():
    found = display_names([["pct_at_home", "pct_at_work"]], ["at_home"])
    assert found == {"pct_at_home": "pct at home", "pct_at_work": "pct at work", "at_home": "at home"}


def test_origins_parties_and_units_are_written_out_where_two_are_known():
    assert display_names([["BVAP", "WVAP"], ["dem", "rep", "non"]]) == {
        "BVAP": "Black",
        "WVAP": "White",
        "dem": "Democrat",
        "rep": "Republican",
    }
    assert display_names([["black", "young"], ["rep", "x"]]) == {}  # one name alone may mean anything
    assert display_names([["a", "b"], ["ADAMS_D", "Brown_R", "NOVOTE"]]) == {
        "ADAMS_D": "Adams (D)",
        "Brown_R": "Brown (R)",
    }
    assert display_names([["plan_C", "plan_D", "plan_G"]]) == {f"plan_{c}": f"plan {c}" for c in "CDG"}
    assert display_names([], ["yield_t_ha", "humidity_pct"]) == {
        "yield_t_ha": "yield (t/ha)",
        "humidity_pct": "humidity (%)",
    }


def test_names_that_would_be_the_same_stay():
    assert display_names([["white", "wht", "black"], ["yes", "no"]]) == {}


def test_candidates_lose_the_contest_before_them():
    mayor, clerk = ["Mayor - O'Neil", "Mayor - Blank"], ["Clerk - Reyes-Ortiz", "Clerk - Blank"]
    found = display_names([["black", "white"], mayor, clerk])
    assert [found[c] for c in (*mayor, *clerk)] == ["O'Neil", "Blank", "Reyes-Ortiz", "Blank"]
    assert display_names([["black", "white"], mayor], taken=["O'Neil"]) == {}  # another column has that name
    assert display_names([["Mayor - Hale", "Clerk - Voss"]]) == {}  # no contest that all share
