"""The one place that opens DuckDB: a connection that reads the files it is given, and nothing else.

A file's contents (its header, the names of its columns and tables, its views) are data. They never become part of a
statement, and whatever a view or a macro of an opened database asks for, only the files that the user named are open.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sumwise.errors import DataError, UnknownName, sentence

CLOSED: dict[str, Any] = {
    "autoload_known_extensions": False,
    "autoinstall_known_extensions": False,
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,
    "python_enable_replacements": False,
}
URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:[\\/][\\/]")
PATTERN = re.compile(r"[*?\[]")
DENIED = re.compile(r"Cannot access (?:file|directory) \"(.*)\" - file system operations are disabled", re.DOTALL)


def connect(
    files: Iterable[str | os.PathLike] = (),
    *,
    database: str | os.PathLike | None = None,
    query: str | None = None,
    params: Any = None,
    **config: Any,
) -> Any:
    """Open a DuckDB connection that reads some files and no others.

    No extension is loaded or installed, no URL is opened, and the configuration is locked: nothing that runs on the
    connection can widen what it reads.

    Parameters
    ----------
    files : iterable of path
        The files that may be opened, beside the database itself.
    database : path, optional
        A database file, opened for reading; by default an empty database in memory.
    query : str, optional
        One SELECT of the user's; the files that it names may be opened too.
    params : sequence or dict, optional
        Values of the query's ``?`` or ``$name``; the files among them may be opened too.
    **config
        More of DuckDB's settings: ``threads``, ``memory_limit``, ``temp_directory``.

    Returns
    -------
    duckdb.DuckDBPyConnection
        Close it, or use it as a context manager.

    Examples
    --------
    >>> from sumwise.io.formats.connection import connect
    >>> with connect() as con:
    ...     con.execute("SELECT 1 + 1").fetchall()
    [(2,)]
    >>> with connect() as con:
    ...     con.execute("FROM read_text('/etc/hostname')")
    Traceback (most recent call last):
    _duckdb.PermissionException: Permission Error: Cannot access file "/etc/hostname" ...
    """
    import duckdb

    where = ":memory:" if database is None else os.path.abspath(os.fspath(database))
    con = duckdb.connect(where, read_only=database is not None, config={**CLOSED, **config})
    try:
        con.execute("SET enable_progress_bar = false")
        con.execute("SET TimeZone = 'UTC'")  # times with a zone read the same on every machine
        paths = [path for f in files for path in (os.path.abspath(os.fspath(f)), as_pattern(f))]
        if query is not None:
            paths += _files_of(con, one_select(con, query, "the query"), params)
        con.execute("SET allowed_paths = ?", [list(dict.fromkeys(paths))])
        con.execute("SET enable_external_access = false")
        con.execute("SET lock_configuration = true")
    except BaseException:
        con.close()
        raise
    return con


def one_statement(con: Any, text: str) -> Any:
    """Parse text that must be one statement.

    Examples
    --------
    >>> from sumwise.io.formats.connection import connect, one_statement
    >>> with connect() as con:
    ...     one_statement(con, "SELECT 1; DROP TABLE x")
    Traceback (most recent call last):
    sumwise.errors.DataError: There are 2 statements; one is run at a time.
    """
    statements = con.extract_statements(text)
    if len(statements) != 1:
        raise DataError(f"There are {len(statements)} statements; one is run at a time.")
    return statements[0]


def one_select(con: Any, query: str, name: str) -> str:
    """Return a user's query without what ends it, or refuse it unless it is one SELECT.

    Examples
    --------
    >>> from sumwise.io.formats.connection import connect, one_select
    >>> with connect() as con:
    ...     one_select(con, "SELECT 1;", "the query")
    'SELECT 1'
    """
    import duckdb

    try:
        statements = con.extract_statements(query)
    except duckdb.Error as error:
        raise DataError(f"{sentence(name)} can't be read: {reason(error)}") from None
    if len(statements) != 1 or statements[0].type.name != "SELECT":
        raise DataError(
            f"{sentence(name)} can't be read: it is not one SELECT statement.", hint="give one query that only reads."
        )
    return query.strip().rstrip(";").rstrip()


def as_pattern(path: str | os.PathLike) -> str:
    """Return the pattern that finds one file, for DuckDB takes every path for a pattern.

    Examples
    --------
    >>> from sumwise.io.formats.connection import as_pattern
    >>> as_pattern("/data/votes[2020]*.csv")
    '/data/votes[[]2020][*].csv'
    """
    return PATTERN.sub(r"[\g<0>]", os.path.abspath(os.fspath(path)))


def expand_pattern(path: str) -> list[str]:
    """Return the files that a path with ``*`` stands for, sorted; a file that exists under the very name is itself.

    Examples
    --------
    >>> from sumwise.io.formats.connection import expand_pattern
    >>> expand_pattern("/no/such/folder/*.csv")
    []
    """
    import duckdb

    path = os.path.abspath(path)
    if os.path.lexists(path) or not PATTERN.search(path):
        return [path]
    with duckdb.connect(":memory:", config=CLOSED) as con:
        return sorted(row[0] for row in con.execute("SELECT file FROM glob(?)", [path]).fetchall())


def reason(error: Exception) -> str:
    """Say in one line what DuckDB objects to.

    Examples
    --------
    >>> from sumwise.io.formats.connection import reason
    >>> reason(ValueError("Binder Error: no column a\\n\\nLINE 1: ..."))
    'Binder Error: no column a'
    """
    denied = DENIED.search(str(error))
    if denied:
        kind = "the URL" if URL.match(denied[1]) else "the file"
        return (
            f"it reads {kind} {denied[1]!r}, and only files that you name yourself are opened. "
            "Hint: download it, name it in the query as plain text, or copy a view into a table."
        )
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def files_named(query: str) -> list[str]:
    """Return the files, and the patterns of files, that a query names where a table stands; none if it can't be parsed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sumwise.io.formats.connection import files_named
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pathlib.Path(folder, "rows.csv").touch()
    ...     [pathlib.Path(f).name for f in files_named(f"SELECT a FROM '{folder}/rows.csv' WHERE a <> 'rows.csv'")]
    ['rows.csv']
    """
    with connect() as con:
        names = dict.fromkeys(_tables_of(_parsed(con, query)))
    return [n for n in names if os.path.isfile(n) or (PATTERN.search(n) and expand_pattern(os.path.abspath(n)))]


def _parsed(con: Any, query: str) -> Any:
    return json.loads(con.execute("SELECT json_serialize_sql(?)", [query]).fetchall()[0][0])


def _files_of(con: Any, query: str, params: Any) -> list[str]:
    """Return the files that a query names where a table stands, and those among its parameters."""
    tree = _parsed(con, query)
    given = list(params.values()) if isinstance(params, dict) else list(params or ())
    paths: list[str] = []
    for name in dict.fromkeys([*_tables_of(tree), *_texts(given)]):
        if URL.match(name):
            raise DataError(
                f"The query reads the URL {name!r}; sumwise opens files of this machine only.",
                hint="download it first, or give a DuckDB connection of your own that may open it.",
            )
        if not name or "\0" in name or len(name) > 4096:
            continue
        path = os.path.abspath(name)
        if os.path.isfile(path):
            paths += [name, path]  # older DuckDBs compare what stands in the query
        elif PATTERN.search(name):
            found = expand_pattern(path)
            paths += [name, path, *found, *(os.path.relpath(f) for f in found)]
    return paths


def database_table(con: Any, name: str, table: str | None) -> str:
    """Return a database's one table, or the one that is asked for, as SQL names it.

    One of another schema than the main one is called schema.table.
    """
    rows = con.execute("SELECT table_schema, table_name FROM information_schema.tables ORDER BY 2, 1").fetchall()
    tables = {t if s == "main" else f"{s}.{t}": f"{identifier(s)}.{identifier(t)}" for s, t in rows}
    listed = ", ".join(list(tables)[:8])
    if table is None and len(tables) != 1:
        raise DataError(
            f"{sentence(name)} contains {len(tables)} tables: {listed}.", hint="say which by table=, or give a query."
        )
    if table is not None and table not in tables:
        raise UnknownName(f"{sentence(name)} has no table {table!r}.", hint=f"it has {listed}.")
    return next(iter(tables.values())) if table is None else tables[table]


def identifier(name: str) -> str:
    """Return a name as SQL quotes it."""
    return '"' + name.replace('"', '""') + '"'


def _tables_of(node: Any) -> Iterator[str]:
    """Find the texts of a parsed query that stand where a table does: after FROM, or given to a table function."""
    if isinstance(node, dict):
        if node.get("type") in ("BASE_TABLE", "TABLE_FUNCTION"):
            yield from _texts(node)
        else:
            for value in node.values():
                yield from _tables_of(value)
    elif isinstance(node, list):
        for value in node:
            yield from _tables_of(value)


def _texts(node: Any) -> Iterator[str]:
    if isinstance(node, str):
        yield node
    elif isinstance(node, os.PathLike):
        yield str(node)
    elif isinstance(node, dict):
        for value in node.values():
            yield from _texts(value)
    elif isinstance(node, Sequence):
        for value in node:
            yield from _texts(value)
