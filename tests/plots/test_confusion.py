"""Confusions as squares."""

import matplotlib.pyplot as plt

from sumwise.plots.confusion import plot_confusion


def test_every_pair_has_its_count():
    figure, ax = plt.subplots()
    plot_confusion({"counts": [[1200, 1], [0, 4]], "classes": ["a", "b"]}, ax)
    assert [t.get_text() for t in ax.texts] == ["1,200", "1", "0", "4"]
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the first class stands on top
    plt.close(figure)
