"""Densities: a curve per group."""

import numpy as np

from sumwise.plots.share_density import plot_share_density


def test_a_curve_per_group():
    import matplotlib.pyplot as plt

    grid = np.linspace(0, 1, 5)
    ax = plot_share_density({"grid": grid, "density": np.ones((3, 5)), "groups": ("a", "b", "c"), "outcome": "yes"})
    assert [line.get_label() for line in ax.lines] == ["a", "b", "c"]
    plt.close("all")
