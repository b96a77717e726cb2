"""Public data sets by checksum: found on this machine, verified, returned in containers with their truth.

`example` has small generated files that come with the package.

Files are looked for in the folder that the environment variable ``SUMWISE_DATA`` names, then in
``../shared/data`` next to the checkout and next to the current folder. Nothing is downloaded: an absent file
is an error that says where the public original is.
"""

from sumwise.datasets.birds import blackbirds
from sumwise.datasets.contests import contests
from sumwise.datasets.elections import chile_2021, senc
from sumwise.datasets.example_files import example
from sumwise.datasets.microdata import (
    adult,
    bank,
    franco,
    pums_ma,
    pums_national,
)
from sumwise.datasets.records import Election
from sumwise.datasets.samples import elephant, modelnet10, musk1
from sumwise.datasets.store import catalogue
from sumwise.datasets.two_by_two import foreign_illiteracy_1930, matproii

__all__ = [
    "Election",
    "adult",
    "bank",
    "blackbirds",
    "catalogue",
    "chile_2021",
    "contests",
    "elephant",
    "example",
    "foreign_illiteracy_1930",
    "franco",
    "matproii",
    "modelnet10",
    "musk1",
    "pums_ma",
    "pums_national",
    "senc",
]
