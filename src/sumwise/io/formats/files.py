"""Any source to a sheet: text, Parquet, Arrow, Excel, Stata, SPSS, GeoJSON, GeoPackage, DuckDB, data frames."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
import pandas as pd

from sumwise import checks, frames
from sumwise.errors import DataError, SumwiseError, UnknownName
from sumwise.io.endings import ENDINGS, kind_of
from sumwise.io.formats.connection import as_pattern, connect, database_table, one_select, reason
from sumwise.io.formats.excel import open_excel
from sumwise.io.formats.geographic import open_geojson, open_geopackage
from sumwise.io.formats.grid import Asks, Strict, read_text
from sumwise.io.formats.numerals import PLAIN_SQL
from sumwise.io.formats.sheet import Sheet, blank_remark
from sumwise.io.formats.statistical import open_statistical
from sumwise.io.formats.text import TextFile, as_utf8, encoding_remark, inspect_text, is_gzip
from sumwise.io.parsers.arrow import NAMES
from sumwise.io.remote import RemoteFile, is_remote
from sumwise.io.sandbox import parse
from sumwise.io.sizes import check_decoded, check_rows, decoded_limit, machine_memory

LARGE = 1 << 26  # bytes of a text file, from which on DuckDB reads it
SQL = re.compile(r"\s*(select|with|from|values|table)\s", re.IGNORECASE)


class Opening(TypedDict, total=False):
    """How a source is opened; every reader takes these keywords.

    Examples
    --------
    >>> from sumwise.io.formats.files import Opening
    >>> Opening(separator=";", decimal=",")
    {'separator': ';', 'decimal': ','}
    """

    query: str | None  # a DuckDB query, on a database file or on its own
    table: str | None  # a table of a database file
    params: Sequence[Any] | dict[str, Any] | None  # values of the query's ? or $name
    separator: str | None  # of a text file
    encoding: str | None  # of a text file
    decimal: str | None  # "." or ","
    header: bool | None  # whether the first row of a text file names the columns; default: it does
    sheet: str | int | None  # of a workbook, by name or counted from 1; default: the only one that shows
    ragged: str | None  # "drop" leaves out rows of a text file that have too few or too many fields
    hidden_rows: str | None  # "use" or "drop", of a workbook


def open_sheet(source: Any, columns: Sequence | None = None, ids: Sequence | None = (), **opening: Any) -> Sheet:
    """Open a source and load some of its columns.

    Parameters
    ----------
    source : path, SQL text, DuckDB connection, data frame, or Sheet
        A ``.csv``, ``.tsv`` or ``.txt`` file (plain or gzip), ``.parquet``, ``.arrow`` or ``.feather``, ``.xlsx``,
        ``.dta``, ``.sav``, ``.geojson`` or ``.gpkg``, a ``.duckdb`` database with ``query`` or ``table``; a query on
        its own; a pandas, polars or pyarrow frame. A file may lie behind an address (``s3://``, ``s3a://``, ``gs://``,
        ``hdfs://``; extra ``remote``): it is copied first.
    columns : sequence of names, optional
        Which columns to load (default: all).
    ids : sequence of names, or None
        Columns of a text file that are never numbers: they stay text as written. None: all columns.
    **opening
        See :class:`Opening`.

    Examples
    --------
    >>> from sumwise.io.formats.files import open_sheet
    >>> open_sheet("SELECT 1 AS a, 'x' AS b").columns
    ('a', 'b')
    """
    unknown = set(opening) - set(Opening.__annotations__)
    if unknown:
        raise UnknownName(
            f"There is no option {sorted(unknown)[0]!r}.", hint=f"there are {', '.join(Opening.__annotations__)}."
        )
    if isinstance(source, Sheet):
        sheet = source
    elif is_remote(source):
        sheet = _open_remote(source, columns, ids, opening)
    elif isinstance(source, PathLike) or (isinstance(source, str) and not SQL.match(source)):
        sheet = _open_path(Path(fspath(source)), columns, ids, opening)
    elif isinstance(source, str) or hasattr(source, "extract_statements"):
        sheet = _open_query(source, opening)
    else:
        frame = frames.to_pandas(source, what="the frame")
        sheet = Sheet("the frame", tuple(frame.columns), frame, lambda i: f"row {i}, counted from 0")
    if columns is not None:
        sheet.known(*columns)
    if not len(sheet):
        raise DataError(f"{sheet.name} has columns and no rows.", hint="give at least one row.")
    return sheet if sheet.decimal else replace(sheet, decimal=opening.get("decimal"))


def renamed(given: Mapping[str, str] | None, names: Mapping[str, str], what: str, such_as: str) -> dict[str, str]:
    """The names of columns, with those that a caller gives in place of the usual ones."""
    if given is not None and not isinstance(given, Mapping):
        raise DataError(f"{what} is {given!r}.", hint=f"give a dict, such as {such_as}.")
    for key in given or ():
        checks.known(key, names, f"key of {what}")
    return {**names, **(given or {})}


def _open_remote(address: str, columns: Sequence | None, ids: Sequence | None, opening: dict) -> Sheet:
    """A file behind an address: a copy is opened, and messages speak of the address."""
    with RemoteFile(address).fetched() as local:
        try:
            sheet = _open_path(local, columns, ids, opening)
        except DataError as error:
            raise DataError(error.message.replace(str(local), address), hint=error.hint) from error
    return replace(sheet, name=repr(address))


def _open_path(path: Path, columns: Sequence | None, ids: Sequence | None, opening: dict) -> Sheet:
    return open_file(path, columns, ids, {k: v for k, v in opening.items() if v is not None}, Strict())


def open_file(path: Path, columns: Sequence | None, ids: Sequence | None, opening: dict, asks: Asks) -> Sheet:
    """A file as a sheet; questions about it go to `asks`, and what is answered into `opening`."""
    try:
        here, folder = path.is_file(), path.is_dir()
    except (OSError, ValueError):  # a name that no file can have
        here, folder = False, False
    if folder:
        kept = sorted(p.name for p in path.glob("*.sumwise"))
        hint = f"load it: sumwise.load({str(path / kept[0])!r})." if kept else "give one of the files in it."
        raise DataError(f"{str(path)!r} is a folder.", hint=hint)
    if not here:
        raise DataError(f"There is no file {str(path)!r}.", hint="check the path; a query begins with SELECT or FROM.")
    for option in ("query", "table", "params"):
        allowed = ("database", "geopackage") if option == "table" else ("database",)
        if opening.get(option) is not None and kind_of(path) not in allowed:
            raise DataError(
                f"{option}= is for databases; {str(path)!r} is none.",
                hint="leave it out, or give a query that names the file: \"SELECT * FROM 'votes.csv'\".",
            )
    openers = {
        "text": lambda: _open_any_text(path, columns, ids, opening, asks),
        "parquet": lambda: _open_parquet(path, columns),
        "arrow": lambda: _open_arrow(path, columns),
        "database": lambda: _open_database(path, opening),
        "workbook": lambda: open_excel(path, opening, asks, ids),
        "statistical": lambda: open_statistical(path),
        "geojson": lambda: open_geojson(path),
        "geopackage": lambda: open_geopackage(path, opening.get("table")),
    }
    kind = kind_of(path)
    if kind is None:
        raise DataError(
            f"{str(path)!r} has an ending that sumwise doesn't read.",
            hint=f"save it as one of {', '.join(sorted(ENDINGS))} (or .csv.gz), or rename it if it is one.",
        )
    return openers[kind]()


def _numbered_row(i: int) -> str:
    return f"row {i + 1}"


def _open_any_text(path: Path, columns: Sequence | None, ids: Sequence | None, opening: dict, asks: Asks) -> Sheet:
    """A text file: large ones by DuckDB, which needs clean rows."""
    if path.stat().st_size > LARGE:
        return _open_text(path, columns, ids, opening)
    sheet = read_text(path, opening, asks, ids)
    wanted = [c for c in sheet.columns if columns is None or c in set(columns)]
    return replace(sheet, frame=sheet.frame[wanted]) if len(wanted) < len(sheet.columns) else sheet


def _open_text(path: Path, columns: Sequence | None, ids: Sequence | None, opening: dict) -> Sheet:
    named = opening.get("header")
    file = inspect_text(path, opening.get("encoding"), opening.get("separator"), True if named is None else named)
    wanted = file.columns if columns is None else [c for c in file.columns if c in set(columns)]
    with as_utf8(file) as readable:
        frame, point = _load_text(file, readable, wanted, ids, opening.get("decimal"))
    decimal = opening.get("decimal") or ("." if point else None)
    name, row = repr(str(path)), lambda i: f"row {file.line(i)}"
    remarks = encoding_remark(path, file.encoding) if opening.get("encoding") is None else ()
    if len(wanted) == len(file.columns) > 1 and (blank := _blank_rows(frame)).any():
        kept, first = np.flatnonzero(~blank), file.line(int(np.argmax(blank)))
        frame, row = frame.iloc[kept].reset_index(drop=True), lambda i: f"row {file.line(int(kept[i]))}"
        remarks += (blank_remark(path, int(blank.sum()), first),)
    return Sheet(name, file.columns, frame, row, file.separator, decimal, remarks)


def _blank_rows(frame: pd.DataFrame) -> np.ndarray:
    """Rows without any entry, such as spreadsheets write below their last one."""
    blank = np.ones(len(frame), dtype=bool)
    for name in frame.columns:
        column: Any = frame.loc[blank, name]
        text = not pd.api.types.is_numeric_dtype(column.dtype)
        empty = column.isna() | (column.astype(str).str.strip() == "") if text else column.isna()
        blank[blank] = empty.to_numpy(dtype=bool)
        if not blank.any():
            break
    return blank


def _load_text(
    file: TextFile, readable: TextFile, wanted: Sequence, ids: Sequence | None, decimal: str | None
) -> tuple[pd.DataFrame, bool]:
    """Load columns as numbers where every entry is a plain one, else as text; and whether a decimal point is sure."""
    spec = "{" + ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(file.columns))) + "}"
    source = (
        f"read_csv($path, columns={spec}, header={str(file.header).lower()}, auto_detect=false, "
        "delim=$delim, quote=$quote, escape=$quote, "
        f"compression='{'gzip' if is_gzip(readable.path) else 'none'}', max_line_size=$longest, hive_partitioning=false"
        + ("" if file.newline is None else f", new_line={file.newline!r}")
        + ")"
    )
    values = {"path": as_pattern(readable.path), "delim": file.separator, "quote": file.quote, "longest": 1 << 26}
    at = {c: f"c{file.columns.index(c)}" for c in wanted}
    maybe = [c for c in wanted if ids is not None and c not in set(ids) and file.separator != ";" and decimal != ","]
    with connect([readable.path]) as con:
        try:
            plain, point = _plain_columns(con, source, values, {c: at[c] for c in maybe})
            picks = [f"try_cast(trim({at[c]}) AS DOUBLE) AS {at[c]}" if c in plain else at[c] for c in wanted] or [
                "1 AS c"
            ]
            frame = con.execute(f"SELECT {', '.join(picks)} FROM {source}", values).df()  # noqa: S608
        except Exception as error:
            if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryException":
                raise MemoryError(str(error).splitlines()[0] if str(error) else "") from error
            raise _text_error(file, error) from error
    frame.columns = list(wanted) or ["c"]
    return frame, point


def _plain_columns(con: Any, source: str, values: dict, at: dict[Any, str]) -> tuple[set, bool]:
    """Which columns hold plain numbers only (and no codes like 007), and whether a point must be a decimal sign.

    Where nothing in the file sets 1.234 apart from 1234, such a column stays text, to be read together with the others.
    """
    if not at:
        return set(), False
    asked = []
    for c in at.values():
        text = f"trim({c})"
        code = f"regexp_full_match({text}, '[+-]?0[0-9].*')"
        point = f"regexp_full_match({text}, '[+-]?[0-9]*\\.[0-9]*')"
        grouped = f"regexp_full_match({text}, '[+-]?[1-9][0-9]?[0-9]?\\.[0-9][0-9][0-9]')"
        long = f"regexp_full_match({text}, '[+-]?[0-9]{{16,}}')"  # perhaps no double; read as text, and checked
        asked += [
            f"count(*) FILTER ({text} <> '')",
            f"count(*) FILTER (regexp_full_match({text}, '{PLAIN_SQL}') AND NOT {code} AND NOT {long})",
            f"count(*) FILTER ({point} AND NOT {grouped})",
            f"count(*) FILTER ({grouped})",
        ]
    found = con.execute(f"SELECT {', '.join(asked)} FROM {source}", values).fetchone()  # noqa: S608
    numbers = {c: found[4 * i : 4 * i + 4] for i, c in enumerate(at) if 0 < found[4 * i] == found[4 * i + 1]}
    sure = any(points for _, _, points, _ in numbers.values())
    return {c for c, (_, _, _, grouped) in numbers.items() if sure or not grouped}, sure


def _text_error(file: TextFile, error: Exception) -> DataError:
    ragged = file.ragged()
    if ragged is not None:
        line, found = ragged
        return DataError(
            f"{str(file.path)!r}: row {line} has {found} fields; the header has {len(file.columns)}.",
            hint="correct that row, quote fields that contain the separator, or give separator=.",
        )
    with (gzip.open if is_gzip(file.path) else open)(file.path, "rb") as stream:
        lines = stream.read(1 << 22).split(b"\n")[:-1]
    if len({line.endswith(b"\r") for line in lines}) == 2:
        return DataError(
            f"{str(file.path)!r}: some lines end as on Windows and some as on Unix.",
            hint="save it with one kind of line ending (a text editor or dos2unix does).",
        )
    numbered = re.search(r"on Line: (\d+)", str(error))
    place = f"row {int(numbered[1]) + file.skip}" if numbered else "some row"
    lines = [line for line in str(error).splitlines() if "(Set By User)" not in line]  # DuckDB lists its options
    words = next((line for line in lines if "quote" in line or "unicode" in line), str(error))
    return DataError(f"{str(file.path)!r}: {place} can't be read: {words.splitlines()[0]}", hint="correct that row.")


def _open_parquet(path: Path, columns: Sequence | None) -> Sheet:
    with _foreign(path), connect([path]) as con:
        names = parquet_names(con, path)
        _no_twins(path, names)
        wanted = [c for c in names if columns is None or c in set(columns)]
        (n_rows,) = con.execute("SELECT num_rows FROM parquet_file_metadata(?)", [as_pattern(path)]).fetchone()
        check_rows(path, n_rows, len(wanted))
        alias = ", ".join(f"c{i}" for i in range(len(names)))
        picks = ", ".join(f"c{names.index(c)}" for c in wanted) or "1"
        rows = f"read_parquet(?, hive_partitioning=false) AS t({alias})"
        query = f"SELECT {picks} FROM {rows}"  # noqa: S608
        _check_texts(con, path, query, rows, n_rows)
        frame = con.execute(query, [as_pattern(path)]).df()
    frame.columns = wanted or ["c"]
    return Sheet(repr(str(path)), names, frame, _numbered_row)


def parquet_names(con: Any, path: Path) -> tuple[str, ...]:
    """Names of the columns as the file has them, whose parts follow each in the schema."""
    query = "SELECT name, coalesce(num_children, 0) FROM parquet_schema(?)"
    (_, n_columns), *parts = con.execute(query, [as_pattern(path)]).fetchall()
    names, within = [], 0  # how many parts of the last column are still to come
    for name, n_children in parts:
        if within == 0:
            names.append(name)
        within += n_children - (within > 0)
    if len(names) != n_columns:
        raise DataError(f"{str(path)!r} says {n_columns} columns, and its schema has {len(names)}.")
    return tuple(names)


def _check_texts(con: Any, path: Path, query: str, rows: str, n_rows: int) -> None:
    """Refuse a Parquet file whose texts and lists come to far more than its size; the metadata clears most texts."""
    groups = "SELECT coalesce(max(row_group_bytes), 0) FROM parquet_metadata(?)"
    (largest,) = con.execute(groups, [as_pattern(path)]).fetchone()
    clear = n_rows * largest <= decoded_limit(path)
    length = {"VARCHAR": "strlen({})", "BLOB": "octet_length({})"}
    for name, kind, *_ in con.execute(f"DESCRIBE {query}", [as_pattern(path)]).fetchall():
        nested = kind.endswith("]") or kind.startswith(("STRUCT", "MAP", "UNION"))
        if nested or (kind in length and not clear):
            text = length.get(kind, "strlen(CAST({} AS VARCHAR))").format(name)
            found = con.execute(f"SELECT sum({text}) FROM {rows}", [as_pattern(path)]).fetchone()[0]  # noqa: S608
            check_decoded(path, int(found or 0))


def _open_arrow(path: Path, columns: Sequence | None) -> Sheet:
    wanted = None if columns is None else [c for c in columns if isinstance(c, str)]
    table = parse_arrow(path, columns=wanted)
    names = tuple(json.loads(table.schema.metadata[NAMES]))
    return Sheet(repr(str(path)), names, table.to_pandas(ignore_metadata=True), _numbered_row)


def parse_arrow(path: Path, **options: Any) -> Any:
    """Columns of an Arrow or Parquet file as a table, parsed in a process with limits."""
    memory = int(min(2 * decoded_limit(path), machine_memory()))
    return parse("sumwise.io.parsers.arrow", path, memory, **options)


def _open_database(path: Path, opening: dict) -> Sheet:
    asked: dict[str, Any] = {"query": opening.get("query"), "params": opening.get("params")}
    with _foreign(path), connect(database=path, **asked) as con:
        return _run(con, repr(str(path)), opening.get("query"), opening)


def _open_query(source: Any, opening: dict) -> Sheet:
    if not isinstance(source, str):
        return _run(source, "the database", opening.get("query"), opening)
    if opening.get("query") is not None:
        raise DataError("There are two queries: the source and query=.", hint="give one.")
    with _foreign("the query"), connect(query=source, params=opening.get("params")) as con:
        return _run(con, "the query", source, opening)


def _run(con: Any, name: str, query: str | None, opening: dict) -> Sheet:
    if query is None:
        query = f"SELECT * FROM {database_table(con, name, opening.get('table'))}"  # noqa: S608
    elif opening.get("table") is not None:
        raise DataError("There is a query and a table.", hint="give one of query= and table=.")
    with _foreign(name):
        result = con.execute(one_select(con, query, name), opening.get("params"))
        columns = tuple(column[0] for column in result.description)
        _no_twins(name, columns)
        frame = result.df()
    frame.columns = columns
    return Sheet(name, columns, frame, lambda i: f"row {i + 1} of the result")


def _no_twins(path: Any, names: Sequence[str]) -> None:
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise DataError(f"{_shown(path)} has two columns called {twice[0]!r}.", hint="give each a name of its own.")


def _shown(path: Any) -> str:
    return str(path) if str(path).startswith(("'", "the ")) else repr(str(path))


@contextmanager
def _foreign(path: Any) -> Iterator[None]:
    """Turn what DuckDB and pyarrow raise into a DataError that names the file."""
    try:
        yield
    except (SumwiseError, MemoryError):
        raise
    except Exception as error:  # what DuckDB and pyarrow say of damaged bytes is of many kinds
        if type(error).__name__ == "OutOfMemoryException":  # DuckDB's is no MemoryError
            raise MemoryError(str(error)) from error
        raise DataError(f"{_shown(path)} can't be read: {reason(error)}") from error
