"""A value per place on a map."""

from __future__ import annotations

import numpy as np

from flow_cases import OUTLINES, six_places
from sumwise import diagnostics
from sumwise.plots import plot_map_values


def test_widths_of_intervals_are_drawn():
    wide = diagnostics.uncertainty_numbers(six_places(), 1)
    assert np.nanmin(wide["values"]) > 0
    assert plot_map_values(wide, OUTLINES).get_title() == "Uncertainty at 1"


def test_places_without_a_value_are_rings():
    numbers = {"positions": [[0.0, 0.0], [1.0, 1.0]], "values": [np.nan, 2.0], "label": "sd", "title": "t"}
    ax = plot_map_values(numbers)
    assert [len(c.get_offsets()) for c in ax.collections[:2]] == [1, 1]
