"""Regions that exchange individuals."""

from __future__ import annotations

import numpy as np

from flow_cases import six_places
from sumwise import plots
from sumwise.flows import FlowModel, Movement
from sumwise.plots import plot_connectivity


def test_shares_are_written_into_the_cells():
    shares = plots.connectivity_numbers(six_places())
    np.testing.assert_allclose(np.sum(shares["shares"], axis=1), 1.0)
    assert set(shares["regions"]) <= {"north-west", "north-east", "south-west", "south-east"}
    assert len(plot_connectivity(shares).texts) == len(shares["regions"]) ** 2


def test_regions_without_coordinates_are_the_largest_places():
    counts = np.random.default_rng(0).poisson(np.arange(10.0, 22.0), (2, 12))
    flow = FlowModel(movement=Movement(1.0)).fit(counts)
    found = plots.connectivity_numbers(flow)
    assert len(found["regions"]) == 9
    assert found["regions"][-1] == "other places"
