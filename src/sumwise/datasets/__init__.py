"""Public data sets by checksum: found on this machine, verified, returned in containers with their truth.

`example` has small generated files that come with the package.

Files are looked for in the folder that the environment variable ``SUMWISE_DATA`` names, then in
``../shared/data`` beside the checkout and beside the current folder. Nothing is downloaded: an absent file
is an error that says where the public original is.
"""

from sumwise.datasets.birds import Blackbirds, blackbirds
from sumwise.datasets.census_codes import coarse_education, coarse_race
from sumwise.datasets.contests import contests, published_ei_scores
from sumwise.datasets.elections import chile_2021, senc
from sumwise.datasets.example_files import example
from sumwise.datasets.microdata import (
    Adult,
    adult,
    adult_raw,
    bank,
    franco,
    franco_published,
    franco_variants,
    pums_ma,
    pums_national,
)
from sumwise.datasets.records import Contest, Election, LabelledBags, Microdata, Split
from sumwise.datasets.samples import elephant, modelnet10, musk1
from sumwise.datasets.store import catalogue, folders, present
from sumwise.datasets.two_by_two import foreign_illiteracy_1930, matproii

__all__ = [
    "Adult",
    "Blackbirds",
    "Contest",
    "Election",
    "LabelledBags",
    "Microdata",
    "Split",
    "adult",
    "adult_raw",
    "bank",
    "blackbirds",
    "catalogue",
    "chile_2021",
    "coarse_education",
    "coarse_race",
    "contests",
    "elephant",
    "example",
    "folders",
    "foreign_illiteracy_1930",
    "franco",
    "franco_published",
    "franco_variants",
    "matproii",
    "modelnet10",
    "musk1",
    "present",
    "published_ei_scores",
    "pums_ma",
    "pums_national",
    "senc",
]
