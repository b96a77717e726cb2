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
    rasterio = require("rasterio")
    if not Path(fspath(path)).is_file():
        raise DataError(f"There is no file {fspath(path)!r}.")
    try:
        with rasterio.open(fspath(path)) as file:
            bands = file.read(masked=True).astype(float).filled(np.nan)
            crs, transform, called = file.crs, file.transform, file.descriptions
    except rasterio.errors.RasterioIOError as error:
        raise DataError(f"{fspath(path)!r} is not a raster that can be read: {error}") from None
    if crs is None:
        raise DataError(f"{fspath(path)!r} has no coordinate reference system.", hint="write one, with gdal_edit say.")
    if (bands < 0).any():
        raise DataError(f"{int((bands < 0).sum())} cells have negative abundance.", hint="is this a map of trends?")
    times = list(called) if all(called) and len(set(called)) == len(called) else list(range(1, len(bands) + 1))
    sums, seen = _blocks(np.nan_to_num(bands), block), _blocks((~np.isnan(bands)).astype(float), block)
    used = sums.sum(axis=0) > 0
    if not used.any():
        raise DataError(f"{fspath(path)!r} has no abundance in any of its {len(bands)} bands.")
    rows, columns = np.nonzero(used)
    right, down = (columns + 0.5) * block, (rows + 0.5) * block
    x = transform.a * right + transform.b * down + transform.c
    y = transform.d * right + transform.e * down + transform.f
    names = [f"row {r + 1}, column {c + 1}" for r, c in zip(rows.tolist(), columns.tolist())]
    if crs.is_geographic:
        places = Places(lon=x, lat=y, names=names)
    else:
        places = Places.from_projected(x, y, crs.to_wkt(), names=names)
    return times, places, np.where(seen > 0, sums, np.nan)[:, used]


def is_raster(given: Any) -> bool:
    """Whether this is the path of a GeoTIFF."""
    return isinstance(given, (str, PathLike)) and Path(fspath(given)).suffix.lower() in (".tif", ".tiff")


def _blocks(bands: np.ndarray, block: int) -> np.ndarray:
    """Sums of blocks of cells; those at the right and at the bottom may be smaller."""
    room = [(0, 0), *((0, -n % block) for n in bands.shape[1:])]
    padded = np.pad(bands, room)
    t, height, width = padded.shape
    return padded.reshape(t, height // block, block, width // block, block).sum(axis=(2, 4))
