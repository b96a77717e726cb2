"""The calibration figure shows the numbers that it is given."""

import matplotlib.pyplot as plt
import pandas as pd

from sumwise.plots.calibration import plot_calibration


def test_points_are_the_tables():
    table = pd.DataFrame({"n": [5, 5], "predicted": [0.2, 0.7], "observed": [0.1, 0.8], "error": [0.1, 0.1]})
    ax = plot_calibration({"one": table})
    points = ax.containers[0].lines[0]
    assert points.get_xdata().tolist() == [0.2, 0.7]
    assert points.get_ydata().tolist() == [0.1, 0.8]
    assert plot_calibration({"two": table}, ax=ax) is ax
    plt.close("all")
