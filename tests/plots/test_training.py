"""The training figure shows the history that it is given."""

import matplotlib.pyplot as plt

from sumwise.fit import Fit
from sumwise.plots.training import plot_training


def test_lines_are_the_histories():
    fits = {"a": Fit(history={"held_out": [0.1, 0.3]}), "b": Fit(history={"held_out": [0.2, 0.4]})}
    ax = plot_training(fits)
    assert [line.get_ydata().tolist() for line in ax.lines] == [[0.1, 0.3], [0.2, 0.4]]
    assert ax.get_yscale() == "linear"
    plt.close("all")
