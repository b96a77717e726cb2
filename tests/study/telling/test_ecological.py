"""What is said of margins, in words."""

from __future__ import annotations

import numpy as np

from sumwise import synthetic
from sumwise.diagnostics import interval_numbers
from sumwise.ecological import Goodman
from sumwise.study.telling.ecological import MOST_LINES, _fewer, lead_lines


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
