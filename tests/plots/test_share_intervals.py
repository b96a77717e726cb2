"""Shares with their intervals, one line per subgroup."""

import matplotlib.pyplot as plt
import pytest

from sumwise.errors import DataError
from sumwise.plots.share_intervals import plot_share_intervals

TABLE = {"state": [1, 1], "sex": ["m", "f"], "share": [0.4, 0.5], "low": [0.3, 0.4], "high": [0.5, 0.6]}


def test_a_line_per_group_and_its_reference():
    ax = plot_share_intervals(TABLE, ["state", "sex"], [0.44, 0.56])
    assert [t.get_text() for t in ax.get_yticklabels()] == ["1, m", "1, f"]
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["interval", "estimate", "reference"]
    plt.close("all")


def test_axes_are_taken_and_lengths_checked():
    _, ax = plt.subplots()
    assert plot_share_intervals(TABLE, "sex", ax=ax) is ax
    with pytest.raises(DataError, match="Lengths differ"):
        plot_share_intervals(TABLE, "sex", [0.1], ax=ax)
    plt.close("all")
