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


def test_what_is_no_finding_is_hatched_and_has_no_dot():
    numbers = {"names": ["sex", "f", "age", "old"], "headings": [True, False, True, False], "level": 0.95}
    numbers |= {"share": [None, 0.5, None, 0.3], "low": [None, 0.4, None, 0.1], "high": [None, 0.6, None, 0.5]}
    numbers |= {"withheld": [False, False, False, True], "reference": 0.4}
    ax = plot_subgroups(numbers)
    (dots,) = [line for line in ax.lines if line.get_marker() == "o"]
    assert dots.get_xdata().tolist() == [0.5]
    (bar,) = ax.patches
    assert bar.get_hatch() == "////"
    assert (round(bar.get_x(), 6), round(bar.get_width(), 6)) == (0.1, 0.4)
    assert [t.get_fontweight() for t in ax.get_yticklabels()] == ["bold", "normal", "bold", "normal"]
    plt.close(ax.figure)
