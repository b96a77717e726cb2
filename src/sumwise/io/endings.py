"""The endings of files with rows: one list for every command; each goes to DuckDB, or to a parser in the sandbox."""

from __future__ import annotations

import os
from pathlib import PurePath

KINDS = {
    "text": (".csv", ".tsv", ".txt", ".tab", ".dat"),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".feather", ".ipc", ".arrows"),
    "database": (".duckdb", ".ddb", ".db"),
    "workbook": (".xlsx", ".xlsm"),
    "statistical": (".dta", ".sav", ".zsav"),
    "geojson": (".geojson", ".json"),
    "geopackage": (".gpkg",),
}
"""What a file is, and the endings that say so; a text file may be packed, too (``.csv.gz``)."""

ENDINGS = tuple(ending for endings in KINDS.values() for ending in endings)
PACKED = ".gz"  # of text alone


def kind_of(path: str | os.PathLike) -> str | None:
    """Return the kind of a file by its ending; None where the list lacks it.

    Examples
    --------
    >>> from sumwise.io.endings import kind_of
    >>> kind_of("votes.CSV.gz"), kind_of("votes.xlsx"), kind_of("votes.pdf"), kind_of("votes.xlsx.gz")
    ('text', 'workbook', None, None)
    """
    name = PurePath(path)
    packed = name.suffix.lower() == PACKED
    ending = (name.with_suffix("").suffix if packed else name.suffix).lower()
    kinds = ("text",) if packed else KINDS
    return next((kind for kind in kinds if ending in KINDS[kind]), None)
