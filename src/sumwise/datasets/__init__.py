"""Public data sets by checksum: found on this machine, verified, returned in containers with their truth.

Files are looked for in the folder that the environment variable ``SUMWISE_DATA`` names, then in
``../shared/data`` beside the checkout and beside the current folder. Nothing is downloaded: an absent file
is an error that says where the public original is.
"""

from sumwise.datasets.advertising import adkdd_aggregates, adkdd_rows, criteo_attribution
from sumwise.datasets.birds import Blackbirds, blackbirds
from sumwise.datasets.census_codes import coarse_education, coarse_race
from sumwise.datasets.contests import contests, published_ei_scores
from sumwise.datasets.elections import (
    chile_2021,
    elec_1968,
    gwinnett_2018,
    redistrict,
    rxc_data,
    santa_clara,
    senc,
    stlouis,
    texas,
    waterbury,
)
from sumwise.datasets.microdata import (
    Adult,
    adult,
    adult_coded,
    adult_raw,
    bank,
    franco,
    franco_published,
    franco_variants,
    pums_ma,
    pums_national,
)
from sumwise.datasets.records import Contest, Election, LabelledBags, Microdata, Split
from sumwise.datasets.returns import (
    county_2012_2016,
    county_candidates_2016,
    county_results,
    county_results_2008_2016,
    crosswalk,
    exit_poll_shares,
    exit_polls_2016,
    pummeler_regions_2012,
    region_centroids,
    regions_2012,
    regions_2016,
)
from sumwise.datasets.samples import bdr_gamma_published, elephant, modelnet10, musk1
from sumwise.datasets.store import Entry, File, catalogue, folders, present
from sumwise.datasets.two_by_two import (
    foreign_illiteracy_1930,
    fultongen,
    house_pres_1988,
    lavoteall,
    matproii,
    nj,
    wallace_1968,
)

__all__ = [
    "Adult",
    "Blackbirds",
    "Contest",
    "Election",
    "Entry",
    "File",
    "LabelledBags",
    "Microdata",
    "Split",
    "adkdd_aggregates",
    "adkdd_rows",
    "adult",
    "adult_coded",
    "adult_raw",
    "bank",
    "bdr_gamma_published",
    "blackbirds",
    "catalogue",
    "chile_2021",
    "coarse_education",
    "coarse_race",
    "contests",
    "county_2012_2016",
    "county_candidates_2016",
    "county_results",
    "county_results_2008_2016",
    "criteo_attribution",
    "crosswalk",
    "elec_1968",
    "elephant",
    "exit_poll_shares",
    "exit_polls_2016",
    "folders",
    "foreign_illiteracy_1930",
    "franco",
    "franco_published",
    "franco_variants",
    "fultongen",
    "gwinnett_2018",
    "house_pres_1988",
    "lavoteall",
    "matproii",
    "modelnet10",
    "musk1",
    "nj",
    "present",
    "published_ei_scores",
    "pummeler_regions_2012",
    "pums_ma",
    "pums_national",
    "redistrict",
    "region_centroids",
    "regions_2012",
    "regions_2016",
    "rxc_data",
    "santa_clara",
    "senc",
    "stlouis",
    "texas",
    "wallace_1968",
    "waterbury",
]
