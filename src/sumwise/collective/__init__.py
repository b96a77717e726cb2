"""Individual models from noisy counts of populations, over any tree or graph: collective graphical models."""

from __future__ import annotations

from sumwise.collective.counts import Counts, CountsFit
from sumwise.collective.counts_sample import CountsSample
from sumwise.collective.em import CollectiveEM
from sumwise.collective.energy import Energy
from sumwise.collective.free_tables import FreeTables
from sumwise.collective.graph_model import GraphModel
from sumwise.collective.intervals import count_intervals
from sumwise.collective.log_linear import LogLinear
from sumwise.collective.loopy_model import LoopyModel
from sumwise.collective.map_counts import map_counts
from sumwise.collective.place_process import process_counts
from sumwise.collective.sample_counts import sample_counts
from sumwise.collective.smoothing import smooth_counts
from sumwise.collective.tree_model import TreeModel

__all__ = [
    "CollectiveEM",
    "Counts",
    "CountsFit",
    "CountsSample",
    "Energy",
    "FreeTables",
    "GraphModel",
    "LogLinear",
    "LoopyModel",
    "TreeModel",
    "count_intervals",
    "map_counts",
    "process_counts",
    "sample_counts",
    "smooth_counts",
]
