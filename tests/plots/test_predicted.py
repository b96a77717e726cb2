"""Predicted against actual."""

import matplotlib.pyplot as plt

from sumwise.plots import predicted_numbers
from sumwise.plots.predicted import plot_predicted


def test_the_diagonal_spans_both():
    figure, ax = plt.subplots()
    plot_predicted(predicted_numbers([0, 10], [5, 20], "y", [4, 18], [6, 22]), ax)
    assert ax.get_xlim() == ax.get_ylim()
    assert ax.get_xlim()[0] < 0 < 22 < ax.get_xlim()[1]  # intervals too
    assert len(ax.collections) == 2
    plt.close(figure)
