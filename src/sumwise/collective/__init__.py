"""Flows and individual models from noisy counts over time or over any tree: collective graphical models."""

from __future__ import annotations

from sumwise.collective.counts import Counts, CountsFit
from sumwise.collective.counts_over_time import CountsOverTime
from sumwise.collective.counts_sample import CountsSample
from sumwise.collective.em import CollectiveEM
from sumwise.collective.energy import Energy
from sumwise.collective.flow_exchange import od_table
from sumwise.collective.flow_model import FlowModel
from sumwise.collective.forecast import forecast, transitions
from sumwise.collective.free_tables import FreeTables
from sumwise.collective.graph_model import GraphModel
from sumwise.collective.intervals import count_intervals
from sumwise.collective.log_linear import LogLinear
from sumwise.collective.loopy_model import LoopyModel
from sumwise.collective.map_counts import map_counts
from sumwise.collective.map_counts_batch import map_counts_batch
from sumwise.collective.measurements import tables_from_measurements
from sumwise.collective.method_choice import default_method
from sumwise.collective.movement import Movement
from sumwise.collective.place_process import ProcessCounts, process_counts
from sumwise.collective.places import Places
from sumwise.collective.routes import flux, line_crossings, routes
from sumwise.collective.sample_counts import sample_counts
from sumwise.collective.smoothing import SmoothedCounts, smooth_counts
from sumwise.collective.tracks import Tracks
from sumwise.collective.tree_model import TreeModel

__all__ = [
    "CollectiveEM",
    "Counts",
    "CountsFit",
    "CountsOverTime",
    "CountsSample",
    "Energy",
    "FlowModel",
    "FreeTables",
    "GraphModel",
    "LogLinear",
    "LoopyModel",
    "Movement",
    "Places",
    "ProcessCounts",
    "SmoothedCounts",
    "Tracks",
    "TreeModel",
    "count_intervals",
    "default_method",
    "flux",
    "forecast",
    "line_crossings",
    "map_counts",
    "map_counts_batch",
    "od_table",
    "process_counts",
    "routes",
    "sample_counts",
    "smooth_counts",
    "tables_from_measurements",
    "transitions",
]
