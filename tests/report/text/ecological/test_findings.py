"""Findings of reports on ecological inference."""

from __future__ import annotations

import numpy as np
import pytest

from sumwise import Margins, synthetic
from sumwise.ecological import Bounds, EcologicalEM, Goodman
from sumwise.report import report
from sumwise.voting import turnout

QUICK = {"constrained": True}


def test_findings_name_the_largest_groups_with_interval_and_bounds():
    m = synthetic.precincts(60, 6, 2, random_state=0).margins
    est = Goodman(**QUICK).fit(m)
    found = report(est, m, level=0.9).summary["findings"]
    order = np.argsort(-est.group_sizes_)
    assert len(found) == 6
    first = found[0]
    assert first["what"].startswith(f"Share of people in “{est.row_names_[order[0]]}” who chose ")
    assert first["value"] == est.shares_[order[0]].max()
    assert first["lower_bound"] <= first["value"] <= first["upper_bound"]
    assert "90% interval" in first["line"]
    assert "the data alone imply" in first["line"]
    for each in found[:5]:
        assert each["because"].count("(probability ") == 1  # one statement of how sure it is
    assert "Difference between" in found[-1]["what"]


@pytest.mark.filterwarnings("ignore:There are 3 units for 4 cells")
def test_fewer_units_than_shares_are_said():
    m = Margins([[820, 310], [130, 990], [400, 610], [0, 0]], [[700, 430], [420, 700], [520, 490], [0, 0]])  # one empty
    found = report(EcologicalEM().fit(m), m).summary["findings"]
    assert "3 units are few for 4 shares" in found[0]["because"]


def test_not_voting_is_never_a_choice():
    base = synthetic.precincts(40, 2, 2, random_state=0).margins
    m = Margins(base.rows * 4, np.column_stack([base.cols, 3 * base.totals]), col_names=["yes", "no", "did not vote"])
    est = EcologicalEM().fit(m)
    assert est.shares_.argmax(axis=1).tolist() == [2, 2]
    found = report(est, m)
    text = str(found.summary)
    assert "chose did not vote" not in text
    assert "for did not vote" not in text.replace("totals for yes, no and did not vote", "")
    choice = next(
        b for s in found.summary["sections"] for b in s["blocks"] if b.get("title", "") and "First choice" in b["title"]
    )
    assert {row[1] for row in choice["rows"]} <= {"yes", "no"}


def test_impossible_headlines_are_not_quoted():
    base = synthetic.precincts(60, 2, 2, random_state=1).margins
    few = np.zeros((60, 1))
    few[:14] = 1.0
    m = Margins(
        np.hstack([few, base.rows - np.hstack([few, 0 * few])]),
        base.cols,
        row_names=["few", "a", "b"],
        col_names=["yes", "no"],
    )
    est = EcologicalEM().fit(m)
    found = report(est, m).summary
    assert not any(f["what"].startswith("few ") for f in found["findings"])
    assert "few people chose" not in found["lead"][0]
    est.error_scale_ = np.full(est.shares_.shape, 1e-6)  # 51.2% (51.1% to 51.3%)
    wide = [r for r in range(3) if (est.upper_bound_ - est.lower_bound_)[r].max() > 0.1 and r > 0]
    assert wide
    for line in report(est, m).findings[:2]:
        assert "whatever the model" in line
        assert "interval" not in line.partition("Confidence")[0]


def test_groups_with_almost_nobody_and_units_that_are_alike_are_cautions():
    from sumwise.report.text.ecological.findings import alike_units, small_groups

    rows = np.array([[600, 400, 0], [302, 199, 4]])
    margins = Margins(rows, rows[:, ::-1], row_names=["a", "b", "martian"])
    est = Bounds().fit(margins)
    said = "Almost nobody is in the group martian (0.27% of all people): too few for a finding."
    assert small_groups(est) == [said]
    assert "nearly the same composition (within 0.4 percentage points" in alike_units(margins)[0]
    mixed = Margins([[60, 40], [30, 70]], [[50, 50], [50, 50]])
    assert alike_units(mixed) == small_groups(Bounds().fit(Margins([[60, 40]], [[50, 50]]))) == []


def test_findings_lead_with_voters_where_some_did_not_vote():
    """An analyst of votes asks for shares of voters; the share of everybody is smaller by the turnout."""
    m = synthetic.precincts(60, 2, 3, random_state=4).margins
    named = Margins(m.rows, m.cols, row_names=["north", "south"], col_names=["A", "B", "NoVote"])
    est = EcologicalEM().fit(named)
    summary = est.report(named).summary
    first = summary["findings"][0]
    voted = turnout(est).choice.to_frame().set_index(["group", "candidate"]).loc[("north", "A")]
    whole = float(est.shares_[0, 0])
    assert first["what"] == "Share of north voters who chose A"
    assert (first["value"], first["low"]) == (voted["share"], voted["low"])
    assert first["because"].startswith("Of all north people, non-voters included: ")
    assert f"{100 * whole:.0f}%" in first["because"] or f"{100 * whole:.1f}%" in first["because"]
    assert first["value"] > whole + 0.1
    assert 0 <= first["lower_bound"] < first["low"]
    assert first["high"] < first["upper_bound"] <= 1
    everybody = Margins(m.rows, m.cols)
    assert "voted" not in EcologicalEM().fit(everybody).report(everybody).summary["findings"][0]["because"]


def test_blank_votes_are_votes():
    m = synthetic.precincts(40, 2, 3, random_state=4).margins
    named = Margins(m.rows, m.cols, row_names=["north", "south"], col_names=["A", "B", "blank votes"])
    summary = EcologicalEM().fit(named).report(named).summary
    assert "(A and B; blank votes)" in summary["lead"][0]
    assert "Shares are of those whose vote was valid" in summary["lead"][0]
    assert summary["findings"][0]["because"].startswith("Of all north people, those without a valid vote included: ")


def test_groups_that_turn_out_alike_or_not_are_compared_among_voters():
    rng = np.random.default_rng(3)
    rows = rng.integers(50, 900, (60, 2))
    shares = [[0.2, 0.1, 0.7], [0.4, 0.2, 0.4]]  # the same choice of voters, twice the turnout
    cols = np.sum([[rng.multinomial(n, p) for n, p in zip(r, shares)] for r in rows], axis=1)
    m = Margins(rows, cols, row_names=["a", "b"], col_names=["X", "Y", "NoVote"])
    est = EcologicalEM().fit(m)
    gap = next(f for f in report(est, m).summary["findings"] if f["what"].startswith("Difference"))
    assert gap["what"] == "Difference between voters in “b” and voters in “a” in the share who chose X"
    choice = turnout(est).choice.values
    order = np.argsort(-est.group_sizes_)
    np.testing.assert_allclose(gap["value"], choice[order[0], 0] - choice[order[1], 0])
    assert gap["low"] < 0 < gap["high"]
    assert "That the two groups differ in this direction is " in gap["because"]
    assert "the data alone imply" not in gap["line"]
