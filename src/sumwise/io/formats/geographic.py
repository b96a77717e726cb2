"""Attributes of geographic files: GeoJSON, read as JSON, and GeoPackage, which is an SQLite database."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from sumwise.errors import DataError
from sumwise.io.documents import read_json
from sumwise.io.formats.sheet import Sheet, column_values
from sumwise.io.parsers.rows import from_table
from sumwise.io.sandbox import parse
from sumwise.io.sizes import decoded_limit, machine_memory


def open_geojson(path: Path) -> Sheet:
    """The properties of a FeatureCollection's features, without shapes; or the objects of a list, as records."""
    shown = repr(str(path))
    try:
        read = read_json(path)
    except (ValueError, OSError) as error:
        raise DataError(f"{shown} is not valid JSON: {error}.", hint="is the file complete?") from error
    if isinstance(read, list) and read and all(isinstance(record, dict) for record in read):
        names = list(dict.fromkeys(str(name) for record in read for name in record))
        return _sheet(shown, names, [[record.get(name) for name in names] for record in read], "record")
    collection = read if isinstance(read, dict) else {}
    features = collection.get("features")
    if not isinstance(features, list) or collection.get("type") != "FeatureCollection":
        hint = "GeoJSON has features with properties; other JSON is a list of objects, one per row."
        raise DataError(f"{shown} is not a FeatureCollection.", hint=hint)
    rows = [_properties(feature, i, shown) for i, feature in enumerate(features, start=1)]
    names = list(dict.fromkeys(str(name) for row in rows for name in row))
    return _sheet(shown, names, [[row.get(name) for name in names] for row in rows], "feature")


def _properties(feature: Any, i: int, shown: str) -> dict[str, Any]:
    """The properties of a feature: an object of values, or nothing."""
    read = feature.get("properties") if isinstance(feature, dict) else feature
    if read is None:
        return {}
    if not isinstance(feature, dict) or not isinstance(read, dict):
        raise DataError(
            f"{shown}: feature {i} has {read!r:.60} in place of properties.", hint="GeoJSON has an object of values."
        )
    return read


def open_geopackage(path: Path, table: str | None = None) -> Sheet:
    """A table of a GeoPackage without its shapes, read in a process with limits."""
    memory = int(min(8 * decoded_limit(path), machine_memory()))  # Python's objects take several times a value's bytes
    names, rows = from_table(parse("sumwise.io.parsers.geopackage", path, memory, table=table))
    return _sheet(repr(str(path)), names, rows, "row")


def _sheet(shown: str, names: Sequence[str], rows: list[list[Any]], word: str) -> Sheet:
    if not names:
        raise DataError(f"{shown} has no attributes.", hint="shapes alone say nothing about people.")
    columns = {name: column_values([row[j] for row in rows]) for j, name in enumerate(names)}
    frame = pd.DataFrame(columns)
    return Sheet(shown, tuple(frame.columns), frame, lambda i: f"{word} {i + 1}")
