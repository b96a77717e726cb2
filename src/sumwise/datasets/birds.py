"""A year of red-winged blackbirds: abundance by week and cell, and banded birds that were met again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from sumwise.datasets.store import read_csv, read_document
from sumwise.display import record_html

DAYS_OF_A_WEEK = 7
LAST_WEEK = 52


@dataclass(frozen=True)
class Blackbirds:
    """Where red-winged blackbirds are through the year, and single birds that were met twice.

    Attributes
    ----------
    cells : pandas.DataFrame
        337 cells of 250 km: cell, row, col, x, y (projected, m), lon, lat.
    abundance : pandas.DataFrame
        Relative abundance, a row per week (1 to 52) and cell; every week sums to 1.
    bands : pandas.DataFrame
        1,483 banded birds: dates and coordinates of both sightings, days between, and the weeks of the year.
    outlines : dict
        GeoJSON of states, coarse, for maps.

    Examples
    --------
    >>> from sumwise import datasets
    >>> datasets.blackbirds().abundance.columns.tolist()
    ['week', 'cell', 'abundance']
    """

    cells: pd.DataFrame
    abundance: pd.DataFrame
    bands: pd.DataFrame
    outlines: dict[str, Any] = field(repr=False)

    _repr_html_ = record_html


def blackbirds() -> Blackbirds:
    """Red-winged blackbirds: 52 weeks of relative abundance on 337 cells, and 1,483 banded birds.

    Examples
    --------
    >>> from sumwise import datasets
    >>> len(datasets.blackbirds().bands)
    1483
    """
    wide = read_csv("blackbirds", 1)
    long = wide.melt("cell", var_name="week", value_name="abundance")
    long["week"] = long["week"].str.removeprefix("week").astype(int)
    bands = read_csv("blackbirds", 2)
    for end in ("from", "to"):
        bands[f"date_{end}"] = pd.to_datetime(bands[f"date_{end}"])
        day = bands[f"date_{end}"].dt.day_of_year
        bands[f"week_{end}"] = ((day - 1) // DAYS_OF_A_WEEK + 1).clip(upper=LAST_WEEK)
    abundance = long[["week", "cell", "abundance"]]
    return Blackbirds(read_csv("blackbirds"), abundance, bands, read_document("blackbirds", 3))
