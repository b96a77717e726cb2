"""Shares by several methods."""

import matplotlib.pyplot as plt

from sumwise.plots.methods import plot_methods


def test_every_method_has_a_mark_of_its_own_and_shares_outside_are_seen():
    figure, ax = plt.subplots()
    names = {"methods": ["EM", "King", "Goodman"], "groups": ["a", "b"], "outcomes": ["x"], "level": 0.9}
    shares = [[[0.2], [0.4]], [[0.3], [0.5]], [[-0.1], [1.2]]]
    plot_methods({**names, "shares": shares, "low": [[0.1], [0.3]], "high": [[0.4], [0.6]]}, ax)
    assert len({line.get_marker() for line in ax.lines}) == 3
    assert ax.get_xlim()[0] < -0.1 < 1.2 < ax.get_xlim()[1]  # markers are whole
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["90% interval", "EM", "King", "Goodman"]
    plt.close(figure)
