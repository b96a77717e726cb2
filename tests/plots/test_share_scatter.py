"""Scatter of predicted against polled shares."""

import matplotlib.pyplot as plt
import pytest

from sumwise.errors import UnknownName
from sumwise.plots.share_scatter import plot_share_scatter

TABLE = {"sex": ["m", "f", "m"], "predicted": [0.4, 0.5, 0.6], "polled": [0.44, 0.56, 0.6]}


def test_groups_have_their_own_points_and_intervals():
    whole = TABLE | {"low": [0.3, 0.4, 0.5], "high": [0.5, 0.6, 0.7], "weight": [1, 2, 3]}
    ax = plot_share_scatter(whole, "sex")
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["m", "f"]
    assert [len(c.get_offsets()) for c in ax.collections if len(c.get_offsets()) and hasattr(c, "get_sizes")] == [2, 1]
    plt.close("all")


def test_axes_are_taken_and_columns_checked():
    _, ax = plt.subplots()
    assert plot_share_scatter(TABLE, ax=ax) is ax
    with pytest.raises(UnknownName):
        plot_share_scatter(TABLE, "race", ax=ax)
    plt.close("all")
