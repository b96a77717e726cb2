"""Interval plots: a line per cell, labelled by group and outcome."""

import numpy as np

from sumwise.plots.intervals import plot_intervals


def test_one_line_per_cell():
    import matplotlib.pyplot as plt

    share = np.array([[0.7, 0.3], [0.4, 0.6]])
    numbers = {
        "share": share,
        "low": share - 0.1,
        "high": share + 0.1,
        "lower_bound": 0 * share,
        "upper_bound": 0 * share + 1,
    }
    ax = plot_intervals({**numbers, "level": 0.9, "groups": ("a", "b"), "outcomes": ("yes", "no")})
    assert [t.get_text() for t in ax.get_yticklabels()] == ["a: yes", "a: no", "b: yes", "b: no"]
    assert "90% interval" in [t.get_text() for t in ax.get_legend().get_texts()]
    plt.close("all")
