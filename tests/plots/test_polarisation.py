"""Polarisation around zero."""

import matplotlib.pyplot as plt

from sumwise.plots.polarisation import plot_polarisation


def test_gaps_that_hold_zero_are_drawn_hollow():
    figure, ax = plt.subplots()
    names = {"groups": ["a"], "outcomes": ["x", "y"], "level": 0.95}
    plot_polarisation({**names, "gap": [[0.2, 0.0]], "low": [[0.1, -0.1]], "high": [[0.3, 0.1]]}, ax)
    full, hollow = ax.lines[1:]
    assert full.get_xdata().tolist() == [0.2]
    assert hollow.get_xdata().tolist() == [0.0]
    assert hollow.get_markerfacecolor() == "none"
    assert [t.get_text() for t in ax.get_yticklabels()] == ["a: x", "a: y"]
    plt.close(figure)
