"""The heat map has a cell per share, with its percent written in it."""

import numpy as np

from sumwise.plots import plot_share_heatmap


def test_every_share_is_written_in_its_cell():
    share = np.array([[0.1, 0.9], [0.45, 0.55], [1.0, 0.0]])
    ax = plot_share_heatmap({"share": share, "groups": ["a", "b", "c"], "outcomes": ["x", "y"]})
    assert [t.get_text() for t in ax.texts] == ["10", "90", "45", "55", "100", "0"]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["a", "b", "c"]


def test_large_tables_have_no_numbers():
    share = np.full((30, 20), 0.05)
    ax = plot_share_heatmap({"share": share, "groups": list(range(30)), "outcomes": list(range(20))})
    assert len(ax.texts) == 0


def test_many_outcomes_of_few_groups_are_rows():
    share, names = np.full((2, 40), 0.025), [f"candidate {k}" for k in range(40)]
    ax = plot_share_heatmap({"share": share, "groups": ["owners", "tenants"], "outcomes": names})
    assert [t.get_text() for t in ax.get_yticklabels()] == names
    assert [t.get_text() for t in ax.get_xticklabels()] == ["owners", "tenants"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("group", "outcome")
    assert len(ax.texts) == 80
