"""Generators with known truth: each returns containers, and what a perfect method would find.

A seed gives the same draws on every processor with the same version of NumPy; another version may draw otherwise.
"""

from sumwise.synthetic.bird_tables import Birds, birds
from sumwise.synthetic.election_bags import Election, election
from sumwise.synthetic.gamma_bags import Gamma, gamma
from sumwise.synthetic.gaussian_bags import GaussianRegions, gaussian
from sumwise.synthetic.mobility_tables import Mobility, mobility
from sumwise.synthetic.precinct_margins import Precincts, precincts
from sumwise.synthetic.row_model import RowModel
from sumwise.synthetic.row_stream import Rows, rows
from sumwise.synthetic.shape_bags import Shapes, shapes
from sumwise.synthetic.statistics_bags import Statistics, statistics
from sumwise.synthetic.xor_tables import Xor, xor

__all__ = [
    "Birds",
    "Election",
    "Gamma",
    "GaussianRegions",
    "Mobility",
    "Precincts",
    "RowModel",
    "Rows",
    "Shapes",
    "Statistics",
    "Xor",
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
