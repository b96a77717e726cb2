"""The report on margins: findings with interval and bounds, cautions first, abstention is no candidate."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sumwise import Margins, synthetic
from sumwise.diagnostics import is_abstention
from sumwise.ecological import Bounds, EcologicalEM, Goodman, King, turnout
from sumwise.report import report
from sumwise.report.text.ecological import CALIBRATION, COVARIATES, CURVED, VARIED

RESULTS = Path(__file__).parents[3] / "benchmarks" / "results" / "ecological.json"
QUICK = {"constrained": True, "n_bootstrap": 20}


def test_findings_name_the_largest_groups_with_interval_and_bounds():
    m = synthetic.precincts(60, 6, 2, random_state=0).margins
    est = Goodman(**QUICK).fit(m)
    found = report(est, m, level=0.9).summary["findings"]
    order = np.argsort(-est.group_sizes_)
    assert len(found) == 6
    first = found[0]
    assert first["what"].startswith(f"Share of the group “{est.row_names_[order[0]]}” that chose ")
    assert first["value"] == est.shares_[order[0]].max()
    assert first["lower_bound"] <= first["value"] <= first["upper_bound"]
    assert "90% interval" in first["line"]
    assert "the data alone imply" in first["line"]
    assert {f["trust"] for f in found} <= {"high", "moderate", "low"}
    assert "Difference between" in found[-1]["what"]


@pytest.mark.filterwarnings("ignore:There are 3 units for 4 cells")
def test_fewer_units_than_shares_are_no_more_than_low_confidence():
    m = Margins([[820, 310], [130, 990], [400, 610], [0, 0]], [[700, 430], [420, 700], [520, 490], [0, 0]])  # one empty
    found = report(EcologicalEM().fit(m), m).summary["findings"]
    assert {f["trust"] for f in found} == {"low"}
    assert "3 units are few for 4 shares" in found[0]["because"]


def test_large_tables_become_a_heat_map():
    m = synthetic.precincts(200, 9, 8, random_state=0).margins
    found = report(Goodman(constrained=True, n_bootstrap=5).fit(m), m)
    assert found.figures[0].plot == "share_heatmap"
    assert all(np.size(f.numbers.get("gap", [])) <= 24 for f in found.figures if f.plot == "polarisation")


@pytest.mark.filterwarnings("ignore:Goodman's estimate leaves")
def test_behaviour_that_varies_with_composition_comes_first():
    x = np.linspace(0.05, 0.95, 60)
    young = (1000 * x).astype(int)

    def of(yes):
        m = Margins(np.column_stack([young, 1000 - young]), np.column_stack([yes, 1000 - yes]))
        return report(Goodman(n_bootstrap=20).fit(m), m).summary

    found = of((1000 * x**2).astype(int))
    assert "Read with caution: group behaviour appears to vary with the composition" in found["lead"][-1]
    assert "4 of 4 estimates lie outside their bounds" in found["lead"][-2]
    assert {f["trust"] for f in found["findings"]} == {None}  # bounds hold whatever speaks against the estimates
    lead = " ".join(of((200 + 500 * x).astype(int))["lead"])
    assert "Read with caution" not in lead
    assert "outside their bounds" not in lead


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
    assert found.findings[0] == "Share of the group “a” that chose “y”: 66.6% to 100.0%, whatever the model."
    assert any("single unit" in line for line in found.summary["lead"])


def test_truth_is_set_beside_the_estimates():
    made = synthetic.precincts(60, random_state=0)
    est = EcologicalEM().fit(made.margins)
    found = report(est, made.margins, truth=made.shares)
    assert "intervals cover it (95% expected)" in " ".join(found.summary["checked"])
    assert {"truth", "covered"} <= set(found.frames["estimates"])


def test_other_methods_are_fitted_compared_and_missed_by_name():
    m = synthetic.precincts(60, random_state=0).margins
    found = report(EcologicalEM().fit(m), m, compare=[Goodman(**QUICK)])
    text = str(found.summary["sections"])
    assert "Other methods on the same data" in text
    assert "methods" in [f.plot for f in found.figures]
    assert "other methods agree" in str(found.summary["findings"]) or "Other methods differ" in str(found.summary)


def test_methods_are_compared_by_candidates_where_some_did_not_vote():
    rng = np.random.default_rng(0)
    rows = rng.integers(50, 500, (40, 2))
    cols = rng.multinomial(rows[:, 0], [0.3, 0.28, 0.42]) + rng.multinomial(rows[:, 1], [0.1, 0.45, 0.45])
    m = Margins(rows, cols, row_names=["a", "b"], col_names=["Ames", "Voss", "no vote"])
    est, other = EcologicalEM(n_groups=2).fit(m), Goodman().fit(m)
    other.shares_ = np.array([[0.6, 0.3, 0.1], [0.1, 0.5, 0.4]])  # the first choice is the same, "no vote" is not
    items = [
        item
        for section in report(est, m, compare={"Goodman": other}).summary["sections"]
        for block in section["blocks"]
        if block["kind"] == "bullets"
        for item in block["items"]
    ]
    assert "All methods agree on the first choice of every group." in items
    assert not any("not “no vote”" in item or "is “no vote”" in item for item in items)


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
    est = EcologicalEM(n_groups=4).fit(m)
    found = report(est, m).summary
    assert not any(f["what"].startswith("few ") for f in found["findings"])
    assert "few” chose" not in found["lead"][0]
    est.standard_errors_ = np.full(est.shares_.shape, 1e-6)  # 51.2% (51.1% to 51.3%)
    wide = [r for r in range(3) if (est.upper_bound_ - est.lower_bound_)[r].max() > 0.1 and r > 0]
    assert wide
    for line in report(est, m).findings[:2]:
        assert "whatever the model" in line
        assert "interval" not in line.partition("Confidence")[0]


def test_a_group_in_one_unit_does_not_stop_the_page():
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(40, 200, (30, 2)), np.zeros(30, dtype=int)])
    rows[4, 2] = 12  # only one half of the units can have this group
    cols = np.column_stack([rows[:, 0] // 2 + rows[:, 1] // 4, np.zeros(30, dtype=int)])
    cols[:, 1] = rows.sum(axis=1) - cols[:, 0]
    m = Margins(rows, cols, row_names=["a", "b", "few"], col_names=["yes", "no"])
    made = report(EcologicalEM().fit(m), m).summary
    assert "Two halves of the units could not be fitted apart: Group 'few' has nobody" in str(made["sections"])


def test_the_coverage_that_reports_quote_is_the_measured_one():
    rows = json.loads(RESULTS.read_text("utf-8"))["contests"]["result"]["summary"]
    chosen, reported = ({r["contests of"]: r for r in rows}[f"all {kind}"] for kind in ("chosen on", "reported"))
    assert f"chosen on {chosen['contests']} contests" in CALIBRATION
    assert f"on {reported['contests']} contests of three other elections" in CALIBRATION
    widths = json.loads(RESULTS.with_name("ecological_intervals.json").read_text("utf-8"))  # of the present widths
    left_out = widths["left out"]["chosen on the first half"]["tables"]["all"]["coverage"]
    simulated = widths["simulated, odd seeds"]["composition 1.0"]["coverage"]
    assert f"covered {left_out:.1%} of the true cells" in CALIBRATION
    assert f"they covered {simulated:.0%} of the true cells" in CALIBRATION
    assert f"at most {widths['overdispersion']['all']['max']:.3f} there" in VARIED
    with_some = widths["covariates"]["reported, with covariates"]["coverage"]
    assert f"they covered {with_some:.1%} of the true cells" in COVARIATES
    rejected = widths["contests by the test of aggregation bias"]["True"]["coverage"]
    assert (
        f"covered {rejected:.0%} of the true cells; in simulated ones with stronger dependence, {simulated:.0%}"
        in CURVED
    )


def test_groups_with_almost_nobody_and_units_that_are_alike_are_cautions():
    from sumwise.report.text.ecological import _alike_units, _small_groups

    rows = np.array([[600, 400, 0], [302, 199, 4]])
    margins = Margins(rows, rows[:, ::-1], row_names=["a", "b", "martian"])
    est = Bounds().fit(margins)
    said = "Almost nobody is in the group “martian” (0.27% of all people): too few for a finding."
    assert _small_groups(est) == [said]
    assert "nearly the same composition (within 0.4 percentage points" in _alike_units(margins)[0]
    mixed = Margins([[60, 40], [30, 70]], [[50, 50], [50, 50]])
    assert _alike_units(mixed) == _small_groups(Bounds().fit(Margins([[60, 40]], [[50, 50]]))) == []


def test_reports_say_how_an_error_of_the_groups_was_taken():
    rng = np.random.default_rng(0)
    rows = rng.integers(20, 200, (40, 2)).astype(float)
    cols = rows @ [[0.7, 0.3], [0.2, 0.8]]
    m = Margins(rows, cols, row_sd=np.full(rows.shape, 5.0))
    for kind, words in (("classical", "taken as classical"), ("berkson", "taken as Berkson error")):
        made = report(EcologicalEM(n_groups=2, row_error=kind).fit(m), m).summary
        assert words in str(made["sections"])


@pytest.mark.filterwarnings("ignore")
def test_kings_intervals_from_few_units_have_a_caution():
    for n, cautioned in ((12, True), (40, False)):
        margins = synthetic.precincts(n, 2, 2, random_state=0).margins
        page = report(King(n_draws=100).fit(margins), margins).html()
        assert ("too narrow with fewer than 30 units" in page) == cautioned


def test_findings_add_the_share_among_voters_where_some_did_not_vote():
    """An analyst of votes asks for shares of voters; the share of everybody is smaller by the turnout."""
    m = synthetic.precincts(60, 2, 3, random_state=4).margins
    named = Margins(m.rows, m.cols, row_names=["north", "south"], col_names=["A", "B", "NoVote"])
    est = EcologicalEM().fit(named)
    summary = est.report(named).summary
    first = summary["findings"][0]
    voted = turnout(est).choice.to_frame().set_index(["group", "candidate"]).loc[("north", "A")]
    quoted = f"Among those who voted: {100 * voted['share']:.0f}% ({100 * voted['low']:.0f}% to"
    assert first["what"] == "Share of the group “north” that chose “A”"
    assert first["because"].startswith(quoted)
    assert voted["share"] > first["value"] + 0.1
    everybody = Margins(m.rows, m.cols)
    assert "voted" not in EcologicalEM().fit(everybody).report(everybody).summary["findings"][0]["because"]


def test_blank_votes_are_votes():
    m = synthetic.precincts(40, 2, 3, random_state=4).margins
    named = Margins(m.rows, m.cols, row_names=["north", "south"], col_names=["A", "B", "blank votes"])
    summary = EcologicalEM().fit(named).report(named).summary
    assert "(A and B; blank votes)" in summary["lead"][0]
    assert "whether their vote was valid or not" in summary["lead"][0]
    assert summary["findings"][0]["because"].startswith("Among those whose vote was valid: ")


def test_one_group_has_no_words_about_several():
    m = synthetic.precincts(12, 2, 3, random_state=4).margins
    one = Margins(m.totals[:, None], m.cols, row_names=["all"], col_names=["A", "B", "NoVote"])
    made = EcologicalEM().fit(one).report(one)
    assert "how each group divides" not in made.summary["lead"][0]
    assert "among those who voted" not in made.summary["lead"][0]
    assert "The 95% interval is 0 percentage points wide." in made.summary["lead"][0]
    assert "hardly identify" not in made.html()


def test_few_units_that_widen_intervals_are_said():
    groups = np.array([[52, 48], [50, 50], [47, 53], [45, 55]]) * 10
    margins = Margins(groups, groups[:, ::-1] // 2 + 250)
    text = str(EcologicalEM().fit(margins).report(margins).summary)
    assert "4 units with these compositions hardly identify the shares of groups: the intervals are 2.4 times" in text
    spread = Margins(np.column_stack([np.arange(100, 900, 10), np.arange(900, 100, -10)]), np.full((80, 2), 500))
    assert "hardly identify" not in str(EcologicalEM().fit(spread).report(spread).summary)


def test_groups_that_turn_out_alike_or_not_are_compared_among_voters():
    rng = np.random.default_rng(3)
    rows = rng.integers(50, 900, (60, 2))
    shares = [[0.2, 0.1, 0.7], [0.4, 0.2, 0.4]]  # the same choice of voters, twice the turnout
    cols = np.sum([[rng.multinomial(n, p) for n, p in zip(r, shares)] for r in rows], axis=1)
    m = Margins(rows, cols, row_names=["a", "b"], col_names=["X", "Y", "NoVote"])
    est = EcologicalEM().fit(m)
    gap = next(f for f in report(est, m).summary["findings"] if f["what"].startswith("Difference"))
    assert ", among those who voted, in the share that chose “X”" in gap["what"]
    choice = turnout(est).choice.values
    order = np.argsort(-est.group_sizes_)
    np.testing.assert_allclose(gap["value"], choice[order[0], 0] - choice[order[1], 0])
    assert gap["low"] < 0 < gap["high"]
    assert "whether the two groups differ is open" in gap["because"]
    assert "the data alone imply" not in gap["line"]
