"""Convergence: one line per fit, against the best of all."""

from __future__ import annotations

import numpy as np

from sumwise.diagnostics import convergence
from sumwise.fit import Fit
from sumwise.plots.convergence import plot_convergence


def test_lines_end_at_the_best_objective():
    import matplotlib.pyplot as plt

    fast = Fit(history={"objective": [5.0, 1.0], "seconds": [0.0, 0.1]})
    slow = Fit(history={"objective": [5.0, 3.0, 2.0], "seconds": [0.0, 0.1, 0.2]})
    ax = plot_convergence(convergence({"fast": fast, "slow": slow}))
    lines = {line.get_label(): line.get_ydata() for line in ax.lines}
    np.testing.assert_allclose(lines["slow"], [4.0, 2.0, 1.0])
    assert lines["fast"][-1] < 1e-9
    plt.close(ax.figure)


def test_without_times_steps_are_drawn():
    import matplotlib.pyplot as plt

    ax = plot_convergence(convergence({"a": Fit(history={"objective": [2.0, 1.0]})}))
    assert ax.get_xlabel() == "step"
    plt.close(ax.figure)
