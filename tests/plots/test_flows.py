"""Arrows on a map: the numbers, then the picture."""

from __future__ import annotations

import numpy as np

from sumwise.collective import Counts
from sumwise.plots import flow_numbers
from sumwise.plots.flows import plot_flows

PLACES = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
TABLE = np.array([[1.0, 0.0, 3.0], [0.0, 0.0, 0.0], [2.0, 2.0, 0.0]])


def test_one_arrow_per_cell_with_individuals():
    counts = Counts({}, {("a", "b"): TABLE}, 8)
    ax = plot_flows(flow_numbers(counts, ("a", "b"), PLACES))
    arrows = next(c for c in ax.collections if type(c).__name__ == "Quiver")
    assert len(arrows.U) == 2
    assert ax.get_title() == "a to b"
    _close(ax)


def _close(ax):
    import matplotlib.pyplot as plt

    plt.close(ax.figure)
