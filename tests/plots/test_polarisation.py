"""Polarisation around zero."""

import matplotlib.pyplot as plt

from sumwise.plots.polarisation import plot_polarisation


def test_gaps_that_hold_zero_are_drawn_hollow():
    figure, ax = plt.subplots()
    names = {"groups": ["a"], "outcomes": ["x", "y"], "level": 0.95}
    plot_polarisation({**names, "gap": [[0.2, 0.0]], "low": [[0.1, -0.1]], "high": [[0.3, 0.1]]}, ax)
    dots = ax.collections[-1]
    assert dots.get_offsets()[:, 0].tolist() == [0.2, 0.0]
    full, hollow = dots.get_facecolors()
    assert hollow.tolist() == [1.0, 1.0, 1.0, 1.0] != full.tolist()
    assert [t.get_text() for t in ax.get_yticklabels()] == ["a"]
    assert [t.get_text() for t in ax.texts] == ["x", "y"]
    plt.close(figure)
