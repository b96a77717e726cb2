"""Figures of reports on ecological inference."""

from __future__ import annotations

import numpy as np

from sumwise import synthetic
from sumwise.ecological import Goodman
from sumwise.report import report


def test_large_tables_become_a_heat_map():
    m = synthetic.precincts(200, 9, 8, random_state=0).margins
    found = report(Goodman(constrained=True).fit(m), m)
    assert found.figures[0].plot == "share_heatmap"
    assert all(np.size(f.numbers.get("gap", [])) <= 24 for f in found.figures if f.plot == "polarisation")
