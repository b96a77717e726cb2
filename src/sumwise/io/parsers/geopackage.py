"""Attributes of a table of a GeoPackage, which is an SQLite database, to Arrow."""

from __future__ import annotations

import os
import re
import sqlite3
from typing import Any
from urllib.parse import quote

from sumwise import checks
from sumwise.errors import DataError
from sumwise.io.parsers.rows import to_table

LONGEST_VALUE = 2**28  # bytes; shapes of countries in full detail have some millions
PLAIN_NAME = re.compile(r"\w[\w .-]*")  # what a name may be that stands in a statement


def parse(path: str, table: str | None = None) -> Any:
    """Read a table without its shapes; only tables are read, never views, and nothing is written."""
    shown = repr(path)
    try:
        con = sqlite3.connect(f"file:{quote(os.path.abspath(path))}?mode=ro", uri=True)
    except sqlite3.Error as error:
        raise DataError(f"{shown} can't be read: {error}.") from error
    try:
        con.execute("PRAGMA trusted_schema = OFF")
        con.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
        con.set_authorizer(_reads_tables)
        name = _table(con, shown, table)
        shapes = _shapes(con, name)
        found = con.execute(f'SELECT * FROM "{name}"')  # noqa: S608  a plain name, checked
        names = [column[0] for column in found.description]
        kept = [j for j, column in enumerate(names) if column not in shapes]
        rows = [[row[j] for j in kept] for row in found]
    except sqlite3.Error as error:
        raise DataError(f"{shown} can't be read: {error}.", hint="is it a complete GeoPackage?") from error
    finally:
        con.close()
    return to_table([names[j] for j in kept], rows)


def _reads_tables(action: int, _first: Any, _second: Any, _database: Any, source: Any) -> int:
    """Allow a statement to read columns of tables, and nothing that the file may ask for on its own.

    Views (which may never end), functions in computed columns (which may fill memory) and anything that writes.
    """
    plain = action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ) and source is None
    return sqlite3.SQLITE_OK if plain else sqlite3.SQLITE_DENY


def _shapes(con: sqlite3.Connection, name: str) -> set[str]:
    """The columns that hold shapes; a GeoPackage of attributes alone need not have the table that lists them."""
    if not con.execute("SELECT name FROM sqlite_master WHERE name = 'gpkg_geometry_columns'").fetchall():
        return set()
    listed = con.execute("SELECT column_name FROM gpkg_geometry_columns WHERE table_name = ?", [name])
    return {row[0] for row in listed}


def _table(con: sqlite3.Connection, shown: str, table: str | None) -> str:
    listed = "SELECT c.table_name, m.sql FROM gpkg_contents c JOIN sqlite_master m ON m.name = c.table_name"
    kinds = "WHERE m.type = 'table' AND c.data_type IN ('features', 'attributes') ORDER BY c.rowid"
    found = con.execute(f"{listed} {kinds}").fetchall()
    names = [name for name, made in found if not str(made).upper().startswith("CREATE VIRTUAL")]
    if not names:
        raise DataError(f"{shown} has no table of features.")
    if table is None and len(names) > 1:
        raise DataError(f"{shown} contains {len(names)} tables: {', '.join(names[:8])}.", hint="say which: table=.")
    if table is not None:
        checks.known(table, names, "table")
    name = names[0] if table is None else table
    if not PLAIN_NAME.fullmatch(name):
        raise DataError(f"{shown}: the name of table {name!r} has characters that can't be read.", hint="rename it.")
    return name
