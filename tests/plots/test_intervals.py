"""Interval plots: a line per cell, labelled by group and outcome."""

import numpy as np

from sumwise import Margins
from sumwise.diagnostics import interval_numbers
from sumwise.ecological import Bounds
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


def test_bounds_alone_show_no_estimate():
    import matplotlib.pyplot as plt

    numbers = interval_numbers(Bounds().fit(Margins([[60, 40]], [[80, 20]])))
    ax = plot_intervals(numbers)
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["bounds"]
    (marks,) = ax.lines
    assert sorted(set(marks.get_xdata().round(2))) == [0.0, 0.33, 0.5, 0.67, 1.0]  # ends of the bounds, no point inside
    plt.close("all")
