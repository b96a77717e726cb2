"""Subgroups as lines."""

import matplotlib.pyplot as plt

from sumwise.plots.subgroups import plot_subgroups


def test_truth_is_drawn_where_it_is_known():
    figure, (one, two) = plt.subplots(1, 2)
    numbers = {"names": ["f", "m"], "share": [0.5, 0.2], "low": [0.4, 0.1], "high": [0.6, 0.3], "level": 0.95}
    plot_subgroups({**numbers, "truth": [0.45, 0.2]}, one)
    plot_subgroups({**numbers, "truth": None}, two)
    assert [len(ax.lines) for ax in (one, two)] == [2, 1]
    assert [t.get_text() for t in one.get_yticklabels()] == ["f", "m"]
    plt.close(figure)
