"""Flows of a population between places, from counts over time."""

from __future__ import annotations

from sumwise.flows.counts_over_time import CountsOverTime
from sumwise.flows.flow_model import FlowModel
from sumwise.flows.movement import Movement
from sumwise.flows.places import Places
from sumwise.flows.rasters import read_raster
from sumwise.flows.tracks import Tracks

__all__ = ["CountsOverTime", "FlowModel", "Movement", "Places", "Tracks", "read_raster"]
