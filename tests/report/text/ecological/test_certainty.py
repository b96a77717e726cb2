"""What reports on ecological inference say about certainty."""

from __future__ import annotations

import numpy as np
import pytest

from sumwise import Margins, synthetic
from sumwise.ecological import EcologicalEM, Goodman
from sumwise.report import report

QUICK = {"constrained": True}


@pytest.mark.filterwarnings("ignore:Goodman's estimate leaves")
def test_behaviour_that_varies_with_composition_comes_first():
    x = np.linspace(0.05, 0.95, 60)
    young = (1000 * x).astype(int)

    def of(yes):
        m = Margins(np.column_stack([young, 1000 - young]), np.column_stack([yes, 1000 - yes]))
        return report(Goodman().fit(m), m).summary

    found = of((1000 * x**2).astype(int))
    assert "Read with caution: group behaviour appears to vary with the composition" in found["lead"][-1]
    assert "4 of 4 estimates lie outside their bounds" in found["lead"][-2]
    lead = " ".join(of((200 + 500 * x).astype(int))["lead"])
    assert "Read with caution" not in lead
    assert "outside their bounds" not in lead


def test_other_methods_are_fitted_compared_and_missed_by_name():
    m = synthetic.precincts(60, random_state=0).margins
    found = report(EcologicalEM().fit(m), m, compare=[Goodman(**QUICK)])
    text = str(found.summary["sections"])
    assert "Other methods on the same data" in text
    assert "methods" in [f.plot for f in found.figures]


def test_methods_are_compared_by_candidates_where_some_did_not_vote():
    rng = np.random.default_rng(0)
    rows = rng.integers(50, 500, (40, 2))
    cols = rng.multinomial(rows[:, 0], [0.3, 0.28, 0.42]) + rng.multinomial(rows[:, 1], [0.1, 0.45, 0.45])
    m = Margins(rows, cols, row_names=["a", "b"], col_names=["Ames", "Voss", "no vote"])
    est, other = EcologicalEM().fit(m), Goodman().fit(m)
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


def test_a_group_in_one_unit_does_not_stop_the_page():
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(40, 200, (30, 2)), np.zeros(30, dtype=int)])
    rows[4, 2] = 12  # only one half of the units can have this group
    cols = np.column_stack([rows[:, 0] // 2 + rows[:, 1] // 4, np.zeros(30, dtype=int)])
    cols[:, 1] = rows.sum(axis=1) - cols[:, 0]
    m = Margins(rows, cols, row_names=["a", "b", "few"], col_names=["yes", "no"])
    made = report(EcologicalEM().fit(m), m).summary
    assert "Two halves of the units could not be fitted apart: Group 'few' has nobody" in str(made["sections"])


def test_reports_say_how_an_error_of_the_groups_was_taken():
    rng = np.random.default_rng(0)
    rows = rng.integers(20, 200, (40, 2)).astype(float)
    cols = rows @ [[0.7, 0.3], [0.2, 0.8]]
    m = Margins(rows, cols, row_sd=np.full(rows.shape, 5.0))
    for kind, words in (("classical", "taken as classical"), ("berkson", "taken as Berkson error")):
        made = report(EcologicalEM(row_error=kind).fit(m), m).summary
        assert words in str(made["sections"])
        assert any("takes these counts as exact" in line for line in made["lead"])
        assert "true regardless" not in str(made["sections"])
