"""Unit scatters: points, line, and bounds on demand."""

import numpy as np

from sumwise.plots.unit_scatter import plot_unit_scatter


def test_bounds_can_be_left_out():
    import matplotlib.pyplot as plt

    x = np.array([0.2, 0.8])
    numbers = {
        "x": x,
        "t": x,
        "size": x * 100,
        "line": [0.1, 0.9],
        "lower": 0 * x,
        "upper": x,
        "group": "a",
        "outcome": "yes",
    }
    full, bare = plot_unit_scatter(numbers), plot_unit_scatter(numbers, bounds=False)
    assert len(full.collections) == len(bare.collections) + 1
    np.testing.assert_allclose(full.lines[0].get_ydata(), [0.1, 0.9])
    plt.close("all")
