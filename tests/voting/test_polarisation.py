"""Polarised voting in one table of many contests, and groups that decided a contest."""

import numpy as np
import pytest

from messages import raises
from sumwise import Contests, Margins
from sumwise.ecological import EcologicalEM
from sumwise.errors import DataError, UnknownName
from sumwise.voting import POLARISED, decisive_groups, polarised_voting, voting_patterns
from sumwise.voting.candidates_of_choice import probability_text
from sumwise.voting.polarisation import overlap


def margins(shares, seed=0):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(300, 900, 50)
    first = rng.binomial(sizes, rng.uniform(0.05, 0.75, 50))
    rows = np.stack([first, sizes - first], axis=1)
    cells = np.array([[rng.multinomial(x, p) for x, p in zip(row, shares)] for row in rows])
    return Margins(rows, cells.sum(axis=1), row_names=["minority", "majority"], col_names=["X", "Y"])


APART, ALIKE = np.array([[0.9, 0.1], [0.15, 0.85]]), np.array([[0.8, 0.2], [0.75, 0.25]])


def test_many_contests_are_one_table_with_a_stated_definition():
    contests = Contests({"mayor": margins(APART), "clerk": margins(ALIKE, 1)})
    table = polarised_voting(EcologicalEM().fit(contests), offices={"mayor": "Mayor"})
    assert table["contest"].tolist() == ["mayor", "mayor", "clerk", "clerk"]
    assert table["office"].tolist()[0] == "Mayor"
    first = table.iloc[0]
    assert (first["candidate of choice"], first["probability"], first["polarised"]) == ("X", ">0.99", "yes")
    assert not first["candidate won"]
    assert first["overlap"] < 0.01
    assert first["cohesion low"] <= first["cohesion"] <= first["cohesion high"]
    assert table.iloc[2]["polarised"] == "no"
    assert "Gingles" in POLARISED


def test_probabilities_are_never_certain():
    assert [probability_text(p) for p in (0.995, 0.5, 0.004)] == [">0.99", "0.50", "<0.01"]


def test_overlap_is_one_for_equal_draws_and_zero_for_separate_ones():
    x = np.linspace(0, 0.4, 1000)
    assert overlap(x, x) == pytest.approx(1.0)
    assert overlap(x, x + 0.5) == 0.0
    assert overlap(np.zeros(3), np.zeros(3)) == 1.0


def test_a_group_is_decisive_where_the_winner_would_change_without_it():
    report = decisive_groups(EcologicalEM().fit(margins(APART)))
    assert report.attrs["winner"] == "Y"
    assert report.set_index("group").loc["majority", "decisive"] > 0.99
    assert report.set_index("group").loc["minority", "decisive"] < 0.01
    assert report["net votes"].sum() == pytest.approx(report.attrs["margin"])


def test_fits_must_be_given_by_contest():
    with raises(DataError, "fits-contest-such"):
        polarised_voting(EcologicalEM().fit(margins(APART)))


def with_stay_home(seed=0):
    """Two candidates and people who stayed at home, under a name that no list of ours holds."""
    rng = np.random.default_rng(seed)
    shares = np.array([[0.25, 0.10, 0.65], [0.10, 0.60, 0.30]])
    first = rng.integers(50, 450, 60)
    rows = np.stack([first, 500 - first], axis=1)
    cells = np.array([[rng.multinomial(x, p) for x, p in zip(row, shares)] for row in rows])
    return Margins(rows, cells.sum(axis=1), row_names=["minority", "majority"], col_names=["X", "Y", "pct_home"])


def test_outcomes_named_as_no_candidates_are_left_out_of_every_report():
    fits = {"mayor": EcologicalEM().fit(with_stay_home()), "clerk": EcologicalEM().fit(margins(APART))}
    wrong = polarised_voting(fits)
    assert wrong.iloc[0]["candidate of choice"] == "pct_home"
    table = polarised_voting(fits, abstention=["pct_home"])
    assert table["candidate of choice"].tolist() == ["X", "Y", "X", "Y"]
    assert abs(table.iloc[0]["cohesion"] - 25 / 35) < 0.1  # among voters
    patterns = voting_patterns(fits["mayor"], abstention="pct_home")
    assert patterns.choice["candidate"].tolist() == ["X", "Y"]
    assert patterns.abstention == ("pct_home",)
    assert decisive_groups(fits["mayor"], abstention="pct_home").attrs["runner-up"] == "X"
    with raises(UnknownName, "abstention-names-not"):
        polarised_voting(fits, abstention="home")
    with raises(DataError, "fewer-two-candidates"):
        decisive_groups(fits["mayor"], abstention=["pct_home", "X"])


def test_the_margin_is_that_of_the_votes_counted():
    rng = np.random.default_rng(5)
    rows = rng.integers(50, 400, (40, 2))
    shares = np.array([[0.1, 0.05, 0.85], [0.3, 0.35, 0.35]])  # groups that differ in turnout, and a close contest
    cols = np.array([sum(rng.multinomial(n, p) for n, p in zip(row, shares)) for row in rows])
    est = EcologicalEM().fit(Margins(rows, cols, col_names=["A", "B", "NoVote"]))
    votes = cols[:, :2].sum(axis=0)
    frame = decisive_groups(est)
    assert frame.attrs["margin"] == pytest.approx(abs(votes[0] - votes[1]), abs=0.01)
    winner = "AB"[int(votes.argmax())]
    assert frame.attrs["winner"] == winner
    table = polarised_voting({"race": est})
    np.testing.assert_array_equal(table["candidate won"], table["candidate of choice"] == winner)
