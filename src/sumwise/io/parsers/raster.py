"""A GeoTIFF's bands to Arrow, cells added up in blocks; rasterio (GDAL) does the reading."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from sumwise.errors import DataError

FACTS = b"raster"


def parse(path: str, block: int, most_bytes: int) -> Any:
    """Read band after band: sums of blocks of cells, and whether any cell of a block has a value.

    Only as GeoTIFF: GDAL would follow a file of another kind, whatever its name, to other files and addresses.
    """
    import pyarrow as pa
    import rasterio

    with rasterio.open(path, driver="GTiff") as file:
        if 8 * file.count * file.height * file.width > most_bytes:
            raise DataError(
                f"{path!r} declares {file.count:,} bands of {file.height:,} x {file.width:,} cells; values of a file "
                f"of its size come to at most {most_bytes:,} bytes.",
                hint="is the file complete? If it is, save it in larger cells.",
            )
        sums, there, negative = [], [], 0
        for band in range(1, file.count + 1):
            cells = file.read(band, masked=True).astype(float).filled(np.nan)
            negative += int((cells < 0).sum())
            sums.append(_blocks(np.nan_to_num(cells), block))
            there.append(_blocks((~np.isnan(cells)).astype(float), block) > 0)
        crs = file.crs
        facts = {
            "shape": [len(sums), *(-(-n // block) for n in file.shape)],
            "negative": negative,
            "times": list(file.descriptions),
            "crs": crs.to_wkt() if crs is not None else None,
            "geographic": crs is not None and crs.is_geographic,
            "transform": list(file.transform)[:6],
        }
    values = {"sums": pa.array(np.ravel(sums)), "there": pa.array(np.ravel(there))}
    return pa.table(values).replace_schema_metadata({FACTS: json.dumps(facts).encode()})


def from_table(table: Any) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """Return sums and whether there are any, (T, rows, columns), and the facts of a table that `parse` made."""
    facts = json.loads(table.schema.metadata[FACTS])
    sums, there = (table[name].to_numpy().reshape(facts["shape"]) for name in ("sums", "there"))
    return sums, there, facts


def _blocks(band: np.ndarray, block: int) -> np.ndarray:
    """Sums of blocks of cells; those at the right and at the bottom may be smaller."""
    padded = np.pad(band, [(0, -n % block) for n in band.shape])
    height, width = padded.shape
    return padded.reshape(height // block, block, width // block, block).sum(axis=(1, 3))
