"""Files to containers: CSV, Parquet, Arrow, DuckDB queries and databases, and any data frame."""

from sumwise.readers.bags import read_bags
from sumwise.readers.margins import read_margins, write_margins
from sumwise.readers.tables import read_tables, write_tables

__all__ = ["read_bags", "read_margins", "read_tables", "write_margins", "write_tables"]
