"""What is said of margins, in words."""

from __future__ import annotations

import numpy as np
import pandas as pd

from study_cases import study, votes
from sumwise import synthetic
from sumwise.diagnostics import interval_numbers
from sumwise.ecological import Goodman
from sumwise.report.text.ecological import MOST_LINES, _fewer, lead_lines


def test_lead_tells_the_largest_groups_with_interval_and_bounds():
    m = synthetic.precincts(60, 6, 2, random_state=0).margins
    est = Goodman(constrained=True, n_bootstrap=20).fit(m)
    lines = lead_lines(est, 0.9)
    order = np.argsort(-est.group_sizes_)
    assert len(lines) == 5
    assert lines[0].startswith(f"Of {est.row_names_[order[0]]}, an estimated {100 * est.shares_[order[0]].max():.1f}%")
    assert "90% interval" in lines[0]
    assert "whatever the model" in lines[0]
    assert lines[-1] == "The other 2 groups are in the table."


def test_tall_figures_keep_the_most_common_outcomes():
    m = synthetic.precincts(200, 9, 8, random_state=0).margins
    numbers = interval_numbers(Goodman(constrained=True, n_bootstrap=5).fit(m))
    cut = _fewer(numbers)
    assert cut["share"].size <= MOST_LINES
    common = np.argsort(-numbers["share"].mean(axis=0))[: cut["share"].shape[1]]
    assert sorted(cut["outcomes"]) == sorted(numbers["outcomes"][c] for c in common)


MARGINS = 'family = "ecological"\nmethod = "Goodman"\nsensitivity = false\n'
MARGINS += '[data]\nfile = "data.csv"\nmismatch = "rescale"'
COLUMNS = '\n[columns]\nunit = "precinct"\ngroups = ["young", "old"]\noutcomes = ["yes", "no"]\n'


def test_totals_that_were_rescaled_are_told_first(tmp_path):
    frame = votes(40)
    assert "rescaled" not in " ".join(study(tmp_path, frame, MARGINS + COLUMNS).summary().lead)
    frame.loc[3, "yes"] += 20
    lead = " ".join(study(tmp_path, frame, MARGINS + COLUMNS).summary().lead)
    assert "differ in 1 of 40 units" in lead
    assert "bounds are of the rescaled totals" in lead


def test_shares_that_bend_with_composition_are_told_first(tmp_path):
    x = np.linspace(0.05, 0.95, 60)
    young, yes = (1000 * x).astype(int), (1000 * x**2).astype(int)
    frame = pd.DataFrame({"precinct": [f"P{i}" for i in range(60)], "young": young, "old": 1000 - young})
    made = study(tmp_path, frame.assign(yes=yes, no=1000 - yes), MARGINS + COLUMNS)
    lead = made.summary().lead
    assert "Read with care" in lead[-1]
    assert "4 of 4 estimates lie outside their bounds" in lead[-2]
    straight = (200 + 500 * x).astype(int)
    made = study(tmp_path, frame.assign(yes=straight, no=1000 - straight), MARGINS + COLUMNS)
    lead = " ".join(made.summary().lead)
    assert "Read with care" not in lead
    assert "outside their bounds" not in lead
