"""Routes on a map."""

from __future__ import annotations

from flow_cases import OUTLINES, six_places
from sumwise import diagnostics
from sumwise.plots import plot_map_routes


def test_every_step_of_a_route_is_a_line():
    numbers = diagnostics.route_numbers(six_places(), 3, random_state=0)
    ax = plot_map_routes(numbers, OUTLINES)
    assert len(ax.collections[1].get_paths()) == 6  # three routes of two steps
