"""Reports on ecological inference: lead, estimates and assumptions."""

from __future__ import annotations

import pytest

from sumwise import Margins, synthetic
from sumwise.ecological import Bounds, EcologicalEM, King
from sumwise.nonvoting import is_abstention
from sumwise.report import report


@pytest.mark.parametrize(
    "name", ["no vote", "Abstention", "no_vote", "Did not vote", "nonvoters", "blank", "not counted"]
)
def test_abstention_is_recognised(name):
    assert is_abstention(name)


@pytest.mark.parametrize("name", ["No", "Novak", "Note Party", "Blankenship", "Informality League", "nothing"])
def test_names_of_candidates_are_not_abstention(name):
    assert not is_abstention(name)


def test_bounds_alone_make_no_estimate():
    m = Margins([[60, 40]], [[80, 20]], row_names=["a", "b"], col_names=["y", "n"])
    found = report(Bounds().fit(m), m)
    assert found.findings[0] == "Share of people in “a” who chose y: 66.6% to 100.0%, whatever the model."
    assert any("single unit" in line for line in found.summary["lead"])


def test_truth_is_set_beside_the_estimates():
    made = synthetic.precincts(60, random_state=0)
    est = EcologicalEM().fit(made.margins)
    found = report(est, made.margins, truth=made.shares)
    assert "intervals cover it (95% expected)" in " ".join(found.summary["checked"])
    assert {"truth", "covered"} <= set(found.frames["estimates"])


@pytest.mark.filterwarnings("ignore")
def test_kings_intervals_from_few_units_have_a_caution():
    for n, cautioned in ((12, True), (40, False)):
        margins = synthetic.precincts(n, 2, 2, random_state=0).margins
        page = report(King(n_draws=100).fit(margins), margins).html()
        assert ("too narrow with fewer than 30 units" in page) == cautioned


def test_one_group_has_no_words_about_several():
    m = synthetic.precincts(12, 2, 3, random_state=4).margins
    one = Margins(m.totals[:, None], m.cols, row_names=["all"], col_names=["A", "B", "NoVote"])
    made = EcologicalEM().fit(one).report(one)
    assert "how each group divides" not in made.summary["lead"][0]
    assert "among those who voted" not in made.summary["lead"][0]
    assert "all people chose A (95% interval 31.6% to 31.6%)." in made.summary["lead"][0]
    assert "hardly identify" not in made.html()
