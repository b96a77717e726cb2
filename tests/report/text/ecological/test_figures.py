"""Figures of reports on ecological inference."""

from __future__ import annotations

import numpy as np
import pytest

from sumwise import Margins, synthetic
from sumwise.ecological import EcologicalEM, Goodman
from sumwise.report import report
from sumwise.report.text.ecological.figures import first_numbers


def test_large_tables_become_a_heat_map():
    m = synthetic.precincts(200, 9, 8, random_state=0).margins
    found = report(Goodman(constrained=True).fit(m), m)
    assert found.figures[0].plot == "share_heatmap"
    assert all(np.size(f.numbers.get("gap", [])) <= 24 for f in found.figures if f.plot == "polarisation")


@pytest.mark.parametrize("away", ["no vote", "third"])
def test_first_numbers_are_those_of_the_first_picture(away):
    rng = np.random.default_rng(0)
    rows = rng.integers(50, 500, (30, 2))
    votes = np.array([rng.multinomial(a, [0.5, 0.2, 0.3]) + rng.multinomial(b, [0.1, 0.5, 0.4]) for a, b in rows])
    margins = Margins(rows, votes, row_names=["a", "b"], col_names=["x", "y", away])
    est = EcologicalEM().fit(margins)
    picture = report(est, margins).figures[0].numbers
    numbers = first_numbers(est, 0.95, 0)
    for key in ("share", "low", "high", "lower_bound", "upper_bound", "withheld"):
        np.testing.assert_array_equal(numbers[key], picture[key])
    assert numbers.get("label") == picture.get("label")
    assert len(numbers["outcomes"]) == (2 if away == "no vote" else 3)
