"""The court edition: numbered, whole, with what the problem file says, and nothing that runs or folds."""

from __future__ import annotations

import re

import pytest

from messages import raises
from sumwise import synthetic
from sumwise.ecological import Bounds, EcologicalEM, King
from sumwise.errors import DataError, UnknownName
from sumwise.nonvoting import members
from sumwise.report import Report, court_edition, report
from sumwise.report.summary import bullets

M = synthetic.precincts(40, 2, 2, random_state=0).margins


@pytest.fixture(scope="module")
def made():
    est = EcologicalEM().fit(M)
    return est, report(est, M)


def test_everything_is_numbered_and_nothing_is_folded(made):
    est, found = made
    case = {"case": "Doe <v.> Roe", "contest": "Mayor 2024", "analyst": "A. B."}
    provenance = {"command": "sumwise fit p.toml", "data": [{"file": "v.csv", "bytes": 10, "sha256": "abc"}]}
    provenance |= {"versions": {"sumwise": "1"}, "problem": 'family = "ecological"', "warnings": ["It stopped early."]}
    page = court_edition(found, case, est, provenance)
    numbers = [int(n) for n in re.findall(r'id="p(\d+)"', page)]
    assert numbers == list(range(1, len(numbers) + 1))
    tables = [int(n) for n in re.findall(r"<caption>Table (\d+)", page)]
    assert tables == list(range(1, len(tables) + 1))
    assert "Doe &lt;v.&gt; Roe" in page
    assert "<h1>Voting patterns: Mayor 2024</h1>" in page
    for word in ("<details", "<script", "http://", "https://"):
        assert word not in page.replace("http://www.w3.org", "")
    for word in ("SHA-256 abc", "It stopped early.", "Polarised voting", "Every unit", "478 U.S. 30", "Definitions"):
        assert word in page
    assert all(str(unit) in page for unit in M.units[:3])
    assert page.partition("Exhibit A")[2].count("<tr>") > 2 * 40  # both groups of every unit
    assert "display: table-header-group" in page


def test_what_stands_for_all_others_is_no_candidate_and_no_training_curve_is_shown(made):
    est, found = made
    summary = {**found.summary, "record": {**found.summary["record"], "outcomes": ["Smith", "not Smith"]}}
    page = court_edition(Report(summary, found.frames), None, est)
    assert "is not a candidate: it stands for all other choices together" in page
    assert "iteration." not in page  # of the caption of a training curve
    assert "converged" in page
    assert "is not a candidate" not in court_edition(found, None, est)


def test_probabilities_never_read_as_certainty(made):
    est, found = made
    page = court_edition(found, None, est)
    shown = re.sub(r"Homogeneous units.*?</table>", "", page.partition("Exhibit A")[0], flags=re.DOTALL)
    assert not re.search(r"<td[^>]*>1(\.0+)?</td>", shown)


def test_a_method_that_disagrees_stands_beside_the_first_choice_it_contradicts(made):
    est, found = made
    group = str(est.row_names_[0])
    words = f"Goodman: the largest outcome of the group “{group}” is “x”, not “y”."
    sections = [
        {**s, "blocks": [*s["blocks"], bullets([words])]} if s["key"] == "certainty" else s
        for s in found.summary["sections"]
    ]
    page = court_edition(Report({**found.summary, "sections": sections}, found.frames), None, est)
    choice = page.index(f"The candidate of choice of {members(group)} is")
    assert choice < page.index(words) < page.index("The candidate of choice of", choice + 1)


def test_the_signature_stands_on_the_page_of_the_references(made):
    page = court_edition(made[1], {"analyst": "A. Analyst"}, made[0])
    assert page.index("<h2>References</h2>") < page.index('class="signature"') < page.rindex("</section>")


def test_bounds_have_no_voting_patterns():
    est = Bounds().fit(M)
    page = court_edition(report(est, M), None, est)
    assert "Polarised voting" not in page
    assert "Duncan and Davis 1953" in page


def test_the_choice_of_the_lead_method_is_stated_first(made):
    est, found = made
    by_analyst = court_edition(found, {}, est)
    king = King(n_draws=50).fit(M)
    by_convention = court_edition(report(king, M, compare=()), {}, king)
    first = [re.search(r'id="p1".*?</p>', page, re.DOTALL).group() for page in (by_analyst, by_convention)]
    assert "EcologicalEM, is not the one that leads by convention" in first[0]
    assert "by convention and not by its results" in first[1]
    assert "compared with it below" not in by_convention


def test_unknown_keys_and_other_families_are_refused(made):
    with raises(UnknownName, "no-did-you", "analyst"):
        court_edition(made[1], {"analist": "A"})
    with raises(DataError, "court-edition-reports"):
        court_edition(Report({**made[1].summary, "family": "maxent"}))


def test_pages_are_headed_by_the_case_whatever_its_letters(made):
    page = court_edition(made[1], {"case": 'Doe "x" </style> v. Roe', "number": "7"}, made[0])
    style = page.partition("<style>")[2].partition("</style>")[0]
    assert "\\000044\\00006f\\000065\\000020\\000022" in style  # Doe "
    assert style.rstrip().endswith("@page :first { @top-right { content: none; } }")
