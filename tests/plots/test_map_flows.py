"""A week on a map: arrows, outlines, a scale bar, and degrees that are as long as they should be."""

from __future__ import annotations

import numpy as np
import pytest

from sumwise.collective import Counts
from sumwise.diagnostics import flow_numbers
from sumwise.plots import plot_map_flows

WHERE = np.array([[-90.0, 59.0], [-88.0, 61.0], [-80.0, 60.0]])
TABLE = np.array([[1.0, 0.0, 3.0], [0.0, 0.0, 0.0], [2.0, 2.0, 0.0]])
SQUARE = [[[-91, 58], [-79, 58], [-79, 62], [-91, 62], [-91, 58]]]


def test_outlines_arrows_and_the_scale_bar_are_drawn():
    import matplotlib.pyplot as plt

    numbers = flow_numbers(Counts({}, {("a", "b"): TABLE}, 8), ("a", "b"), WHERE)
    outlines = {"features": [{"geometry": {"type": "Polygon", "coordinates": SQUARE}}]}
    ax = plot_map_flows(numbers, outlines)
    arrows = next(c for c in ax.collections if type(c).__name__ == "Quiver")
    assert len(arrows.U) == 2
    assert len(ax.lines) == 2  # the outline and the bar
    bar = ax.lines[1].get_xdata()
    assert (bar[1] - bar[0]) * 111.195 * 0.5 == pytest.approx(100, rel=0.01)
    assert ax.get_aspect() == pytest.approx(2.0)
    plt.close(ax.figure)
