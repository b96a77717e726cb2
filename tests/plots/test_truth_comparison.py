"""Estimates around the truth."""

import matplotlib.pyplot as plt

from sumwise.plots.truth_comparison import plot_findings


def test_estimates_without_interval_are_dots_alone():
    figure, ax = plt.subplots()
    plot_findings(
        {"names": ["a", "b"], "off": [5.0, -2.0], "low": [1.0, float("nan")], "high": [9.0, float("nan")]}, ax
    )
    assert ax.lines[1].get_xdata().tolist() == [5.0, -2.0]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["a", "b"]
    plt.close(figure)
