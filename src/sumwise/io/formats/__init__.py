"""Files to containers: text, Parquet, Arrow, Excel, Stata, SPSS, GeoJSON, GeoPackage, DuckDB, any data frame."""

from sumwise.io.formats.bags import read_bags
from sumwise.io.formats.birdflow import BirdFlow, read_birdflow, write_birdflow
from sumwise.io.formats.buckets import read_buckets
from sumwise.io.formats.margins import read_margins, write_margins
from sumwise.io.formats.tables import read_tables, write_tables

__all__ = [
    "BirdFlow",
    "read_bags",
    "read_birdflow",
    "read_buckets",
    "read_margins",
    "read_tables",
    "write_birdflow",
    "write_margins",
    "write_tables",
]
