"""The tomography plot draws what the numbers hold."""

import numpy as np

from sumwise.plots.tomography import plot_tomography


def test_lines_points_segments_and_contours_are_drawn():
    import matplotlib.pyplot as plt

    lines = np.array([[[0.0, 0.5], [1.0, 0.2]], [[0.1, 1.0], [0.6, 0.0]]])
    numbers = {"lines": lines, "axes": ("a", "b"), "outcome": "yes"}
    bare = plot_tomography(numbers)
    assert len(bare.collections) == 1
    ring = np.array([[0.4, 0.4], [0.6, 0.6]])
    full = plot_tomography({**numbers, "points": ring, "segments": lines / 2, "contours": {0.5: ring}}, ax=bare)
    assert full is bare
    assert len(full.lines) == 1
    assert full.get_legend() is not None
    plt.close("all")
