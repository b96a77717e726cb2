"""Generators with known truth: each returns containers, and what a perfect method would find.

A seed gives the same draws on every processor with the same version of NumPy; another version may draw otherwise.
"""

from sumwise.synthetic.bird_tables import birds
from sumwise.synthetic.election_bags import election
from sumwise.synthetic.gamma_bags import gamma
from sumwise.synthetic.gaussian_bags import gaussian
from sumwise.synthetic.mobility_tables import mobility
from sumwise.synthetic.precinct_margins import precincts
from sumwise.synthetic.row_stream import rows
from sumwise.synthetic.shape_bags import shapes
from sumwise.synthetic.statistics_bags import statistics
from sumwise.synthetic.xor_tables import xor

__all__ = [
    "birds",
    "election",
    "gamma",
    "gaussian",
    "mobility",
    "precincts",
    "rows",
    "shapes",
    "statistics",
    "xor",
]
