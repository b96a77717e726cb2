"""Weekly rasters, such as those of eBird Status and Trends: a GeoTIFF with a band per week."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.errors import DataError
from sumwise.extras import require
from sumwise.flows.places import Places
from sumwise.io.parsers.raster import from_table
from sumwise.io.sandbox import parse
from sumwise.io.sizes import decoded_limit, machine_memory


def read_raster(path: str | PathLike, block: int = 1) -> tuple[list, Places, np.ndarray]:
    """Read a GeoTIFF with a band per time: times, places in longitude and latitude, and abundance (T, L).

    Needs the extra ``geo``.

    Parameters
    ----------
    path : path
        As eBird Status and Trends has them: relative abundance by week, missing outside of the area of prediction.
    block : int >= 1, default 1
        Cells along each side that are added up to one place, from the top left corner: 27 km make 270 km with 10.

    Returns
    -------
    times : list
        The bands' descriptions if all differ (dates, in Status and Trends), else 1, 2, ...
    places : Places
        Centres of the cells with abundance at any time; a cell's missing parts count as 0.
    abundance : (T, L) array
        NaN where all of a cell is missing at that time.

    See Also
    --------
    sumwise.io.formats.read_birdflow : Weekly abundance as BirdFlow keeps it.

    Examples
    --------
    >>> from sumwise.flows import FlowModel, read_raster
    >>> times, places, abundance = read_raster("abundance_2023.tif", block=10)  # doctest: +SKIP
    >>> flow = FlowModel().fit("abundance_2023.tif")  # doctest: +SKIP
    """
    checks.at_least(block, "block", 1)
    require("rasterio")
    if not Path(fspath(path)).is_file():
        raise DataError(f"There is no file {fspath(path)!r}.")
    most = int(min(decoded_limit(path), machine_memory()))
    table = parse("sumwise.io.parsers.raster", path, 2 * most, block=int(block), most_bytes=most)
    sums, there, facts = from_table(table)
    if facts["crs"] is None:
        raise DataError(f"{fspath(path)!r} has no coordinate reference system.", hint="write one, with gdal_edit say.")
    if facts["negative"]:
        raise DataError(f"{facts['negative']} cells have negative abundance.", hint="is this a map of trends?")
    called = facts["times"]
    times = called if all(called) and len(set(called)) == len(called) else list(range(1, len(sums) + 1))
    used = sums.sum(axis=0) > 0
    if not used.any():
        raise DataError(f"{fspath(path)!r} has no abundance in any of its {len(sums)} bands.")
    rows, columns = np.nonzero(used)
    right, down = (columns + 0.5) * block, (rows + 0.5) * block
    along, across, left, down_along, down_across, top = facts["transform"]
    x, y = along * right + across * down + left, down_along * right + down_across * down + top
    names = [f"row {r + 1}, column {c + 1}" for r, c in zip(rows.tolist(), columns.tolist())]
    if facts["geographic"]:
        places = Places(lon=x, lat=y, names=names)
    else:
        places = Places.from_projected(x, y, facts["crs"], names=names)
    return times, places, np.where(there, sums, np.nan)[:, used]


def is_raster(given: Any) -> bool:
    """Whether this is the path of a GeoTIFF."""
    return isinstance(given, (str, PathLike)) and Path(fspath(given)).suffix.lower() in (".tif", ".tiff")
