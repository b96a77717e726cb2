"""Flows and individual models from noisy counts over time or over any tree: collective graphical models."""

from __future__ import annotations

from sumwise.collective.counts import Counts, CountsFit
from sumwise.collective.counts_sample import CountsSample
from sumwise.collective.energy import Energy
from sumwise.collective.graph_model import GraphModel
from sumwise.collective.intervals import count_intervals
from sumwise.collective.map_counts import map_counts
from sumwise.collective.sample_counts import sample_counts
from sumwise.collective.tree_model import TreeModel

__all__ = ["Counts", "CountsFit", "CountsSample", "Energy", "GraphModel", "TreeModel", "count_intervals", "map_counts", "sample_counts"]
