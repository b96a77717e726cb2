"""Training curves of fits."""

import matplotlib.pyplot as plt

from sumwise.plots.training_curve import plot_training_curve


def test_course_has_a_line_per_fit():
    figure, ax = plt.subplots()
    numbers = {"names": ["a", "b"], "values": [[3, 2, 1], [2.0, 1.0]], "what": "gap"}
    assert plot_training_curve(numbers, ax) is ax
    assert [line.get_xdata().tolist() for line in ax.lines] == [[1, 2, 3], [1, 2]]
    assert ax.get_ylabel() == "gap"
    assert ax.get_legend() is not None
    plt.close(figure)
