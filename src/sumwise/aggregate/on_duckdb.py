"""Run a plan on DuckDB: files, frames, queries and databases, in place, on one machine."""

from __future__ import annotations

import csv
import gzip
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sumwise import checks
from sumwise.aggregate import sources
from sumwise.aggregate.counters import Counter
from sumwise.aggregate.csv_lines import header_of, write_plain
from sumwise.aggregate.sql import DUCKDB, Column, Lookup, Statement
from sumwise.errors import DataError, sentence
from sumwise.io.formats.connection import (
    as_pattern,
    connect,
    database_table,
    expand_pattern,
    identifier,
    one_select,
    one_statement,
    reason,
)
from sumwise.io.formats.files import open_sheet, parquet_names, parse_arrow
from sumwise.io.formats.text import copy_as_utf8, inspect_text, is_utf8, single_quoted, warn_encoding
from sumwise.io.remote import is_remote
from sumwise.io.scratch import scratch_folder

CHUNK_ROWS = 1_000_000
NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE", "DECIMAL")
TEXTS = ("VARCHAR", "ENUM", "DATE", "TIME", "UUID")


class DuckDBEngine:
    """A source opened on DuckDB, for the time of one plan.

    Parameters
    ----------
    source, table
        As in :class:`~sumwise.aggregate.CountPlan`.
    columns : tuple of str
        The columns that the plan needs.
    threads : int >= 1, optional
        Threads of DuckDB and of the counting kernel; default: all cores.
    memory_limit : str, optional
        The most memory that DuckDB itself may take, as ``"2GB"``; it then uses a temporary folder, removed at the
        end.
    by_row : bool, default False
        Every value of a CSV file is text, and columns of mixed values in a frame are, so that no type depends on rows;
        each line of a CSV file is a row.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.aggregate.on_duckdb import DuckDBEngine
    >>> with DuckDBEngine(pd.DataFrame({"a": [1, 2, 2]}), ("a",)) as engine:
    ...     engine.table("SELECT count(*) AS n FROM sumwise_source").to_pylist()
    [{'n': 3}]
    """

    dialect = DUCKDB
    OPTIONS = ("threads", "memory_limit")
    sends_rows = True  # through a counter of this process

    def __init__(
        self,
        source: Any,
        columns: tuple[str, ...],
        table: str | None = None,
        threads: int | None = None,
        memory_limit: str | None = None,
        by_row: bool = False,
    ):
        import duckdb

        if threads is not None:
            checks.at_least(threads, "threads", 1)
        self.threads, self.by_row = threads, by_row
        self._rows: str | None = None  # the table of rows that took the place of the source
        self.categories: dict[str, tuple] = {}
        self._folder = scratch_folder()  # without one nothing is spilled to disk
        config: dict[str, Any] = {"temp_directory": "" if self._folder is None else self._folder.name}
        if threads is not None:
            config["threads"] = threads
        if memory_limit is not None:
            config["memory_limit"] = memory_limit
        self.what = "the query" if sources.is_query(source) else "the frame"
        try:
            if is_remote(source):
                self.what, source = f"the remote file {source!r}", sources.remote_dataset(source)
            elif not sources.is_query(source) and sources.is_sheet(source):
                self.what, source = f"the sheet {os.fspath(source)!r}", open_sheet(source).frame
            try:
                self._open(duckdb, source, columns, table, config)
            except DataError:
                copies = self._utf8_copies(source)
                if not copies:
                    raise
                self.connection.close()
                self._open(duckdb, source, columns, table, config, copies)
        except BaseException:
            self.close()
            raise

    def _utf8_copies(self, source: Any) -> list[str]:
        """Copies of CSV files of which one is not UTF-8, which is all that DuckDB reads; none where that isn't so."""
        if not (hasattr(self, "connection") and self.what.startswith("the file") and self._folder is not None):
            return []
        if self.by_row or sources.file_format(source) != "csv":
            return []
        files = [Path(f) for f in _files(source)]
        if all(is_utf8(f) for f in files):
            return []
        copies = []
        for i, file in enumerate(map(inspect_text, files)):
            warn_encoding(file)
            copies.append(os.path.join(self._folder.name, f"{i}.csv"))
            copy_as_utf8(file, Path(copies[-1]))
        return copies

    def _open(
        self, duckdb: Any, source: Any, columns: tuple[str, ...], table: str | None, config: dict, copies: Any = ()
    ) -> None:
        self._errors = duckdb.Error
        files, database, query = [], None, source if sources.is_query(source) else None
        if query is None and not sources.is_rows(source) and not _is_dataset(source):
            self.what = f"the file {str(source)!r}"
            form = sources.file_format(source)
            database = os.fspath(source) if form == "database" else None
            files = (list(copies) or _files(source)) if form in ("csv", "parquet") else []
            if form in ("csv", "parquet") and not files:
                raise DataError(f"There is no file {str(source)!r}.")
            if form == "csv" and self.by_row:
                files = self._plain_copies(files, columns)
        try:
            self.connection = connect(files, database=database, query=query, **config)
        except duckdb.Error as error:
            if database is not None:
                raise self._failure(error) from None
            raise DataError(
                f"DuckDB doesn't start: {reason(error)}", hint="look at threads and memory_limit, as '2GB'."
            ) from None
        names = self._create_view(source, columns, table, files)
        described = self.table(f"DESCRIBE {self.dialect.source}").to_pylist()
        found = [_column(name, i, d["column_type"]) for i, (name, d) in enumerate(zip(names, described))]
        self.columns = {c.name: c for c in found}
        for name in columns:
            checks.known(name, self.columns, "column")
        if files and sources.file_format(source) == "csv" and not self.by_row and columns:
            self._parse_once(files, columns)

    def _parse_once(self, files: list[str], columns: tuple[str, ...]) -> None:
        """Keep the columns that are needed as a table, if memory holds as much as the files: each pass would parse."""
        free = checks.free_memory()
        if free is None or sum(os.path.getsize(f) for f in files) <= free:
            self.replace_rows(f"SELECT {', '.join(self.columns[c].sql for c in columns)} FROM {self.dialect.source}")

    def _create_view(self, source: Any, columns: tuple[str, ...], table: str | None, files: list[str]) -> list[str]:
        """Create the view of the rows, with columns c0, c1, ...; return the users' names of them."""
        database = not files and not sources.is_query(source) and self.what.startswith("the file")
        database = database and sources.file_format(source) == "database"
        if table is not None and not database:
            raise DataError(f"table is {table!r}, and {self.what} is not a database.", hint="leave it out.")
        names: list[str] | None = None
        if sources.is_rows(source):
            arrow = (sources.table_by_row if self.by_row else sources.arrow_table)(source, columns)
            self.categories = {} if self.by_row else sources.categories(source, columns)
            self.connection.register("sumwise_given", arrow.rename_columns([f"g{i}" for i in range(len(columns))]))
            relation, names = "sumwise_given", list(columns)
        elif _is_dataset(source):
            self.connection.register("sumwise_given", source)
            relation, names = "sumwise_given", list(source.schema.names)
        elif database:
            [(name,)] = self.connection.execute("SELECT current_database()").fetchall()
            found = database_table(self.connection, self.what, table)
            relation = f"{identifier(name)}.{found}"  # in full: a view of ours may have its name
        elif sources.is_query(source):
            relation = f"({one_select(self.connection, source, self.what)}\n)"  # a comment may end the query
        else:
            relation, names = self._file_relation(source, files)
        try:
            found = self.connection.sql(one_statement(self.connection, f"SELECT * FROM {relation} LIMIT 0")).columns
            renamed = ", ".join(f"c{i}" for i in range(len(found)))
            view = f"CREATE TEMP VIEW {self.dialect.source} ({renamed}) AS SELECT * FROM {relation}"
            self.connection.execute(one_statement(self.connection, view))
        except self._errors as error:
            raise self._failure(error) from None
        return list(found) if names is None else [*names, *found[len(names) :]]  # folders' names come last

    def _file_relation(self, source: Any, files: list[str]) -> tuple[str, list[str] | None]:
        """The call that reads some files, and the users' names of its columns.

        Paths and signs are values of variables, and columns have names by position: nothing that stands in a file or
        in its name is part of a statement.
        """
        if sources.file_format(source) == "arrow":
            given = parse_arrow(Path(source))  # no Arrow file is read by this process: damaged ones crash
            self.connection.register("sumwise_given", given)
            return "sumwise_given", list(given.schema.names)
        self.connection.execute("SET VARIABLE sumwise_files = ?", [[as_pattern(f) for f in files]])
        if sources.file_format(source) == "csv":
            return self._csv_by_row() if self.by_row else self._csv_relation(files)
        try:
            names = list(parquet_names(self.connection, Path(files[0])))
        except Exception:  # what DuckDB says of damaged bytes is of many kinds
            names = None  # it says what is wrong when it reads the rows
        options = ["getvariable('sumwise_files')", *_folder_options(files, names or [])]
        return f"read_parquet({', '.join(options)})", names

    def _csv_relation(self, files: list[str]) -> tuple[str, list[str]]:
        sniffed = self._sniff(files[0], -1)
        names = _csv_names(files[0], sniffed)
        for path in files[1:]:
            other = _csv_names(path, self._sniff(path, 20_480))
            if sniffed["HasHeader"] and other != names:
                raise DataError(
                    f"{files[0]!r} has the columns {', '.join(map(repr, names[:8]))}; {path!r} has "
                    f"{', '.join(map(repr, other[:8]))}.",
                    hint="files that are read together have the same columns in the same order.",
                )
        signs = {
            "delim": sniffed["Delimiter"],
            "quote": sniffed["Quote"],
            "escape": sniffed["Escape"],
            "comment": sniffed["Comment"],
            "new_line": sniffed["NewLineDelimiter"],
            "dateformat": sniffed["DateFormat"],
            "timestampformat": sniffed["TimestampFormat"],
        }
        prefix = "sumwise_"
        while any(prefix in path for path in files):  # a folder called like a column of ours would be taken for it
            prefix += "_"
        options = [
            *_folder_options(files, names),
            "auto_detect = false",
            f"skip = {int(sniffed['SkipRows'])}",
            f"header = {str(bool(sniffed['HasHeader'])).lower()}",
        ]
        for option, sign in signs.items():
            if sign is not None:
                value = "" if sign in ("(empty)", "\0") else str(sign)
                self.connection.execute(f"SET VARIABLE sumwise_{option} = ?", [value])
                options.append(f"{option} = getvariable('sumwise_{option}')")

        def call(types: list[str]) -> str:
            columns = ", ".join(f"'{prefix}{i}': '{t}'" for i, t in enumerate(types))
            return f"read_csv(getvariable('sumwise_files'), {', '.join([*options, 'columns = {' + columns + '}'])})"

        types = _csv_types(sniffed)
        return call(self._plain_types(types, call(["VARCHAR"] * len(types)), prefix)), names

    def _plain_copies(self, files: list[str], columns: tuple[str, ...]) -> list[str]:
        """Copies of CSV files in which a line is a row; sign and names come from the header alone."""
        self._header = header_of(files[0], columns)
        for path in files[1:]:
            if header_of(path, columns) != self._header:
                raise DataError(f"{path!r} has other columns than {files[0]!r}.", hint="give files of one header.")
        if self._folder is None:
            raise DataError("No folder for temporary files can be written.", hint="set TMPDIR to one that can.")
        copies = [os.path.join(self._folder.name, f"rows{i}.csv") for i in range(len(files))]
        for path, copy in zip(files, copies):
            write_plain(path, Path(copy), self._header[0], len(self._header[1]))
        return copies

    def _csv_by_row(self) -> tuple[str, list[str]]:
        """The call that reads plain copies of CSV files as text."""
        sign, names = self._header
        self.connection.execute("SET VARIABLE sumwise_delim = ?", [sign])
        fields = ", ".join(f"'sumwise_{i}': 'VARCHAR'" for i in range(len(names)))
        options = (
            "hive_partitioning = false, auto_detect = false, header = false, delim = getvariable('sumwise_delim'), "
            "quote = '\"', escape = '\"', ignore_errors = true, parallel = false"
        )
        return f"read_csv(getvariable('sumwise_files'), {options}, columns = {{{fields}}})", names

    def _plain_types(self, types: list[str], as_text: str, prefix: str) -> list[str]:
        """Types by the one rule of `sumwise.encoding.values.as_level`: codes with a leading zero, yes and no, and dates
        are text as written, whatever DuckDB takes them for."""
        types = ["VARCHAR" if t.startswith(("DATE", "TIME")) else t for t in types]
        doubtful = [i for i, t in enumerate(types) if t == "BOOLEAN" or t.startswith(NUMBERS)]
        if not doubtful:
            return types
        tests = {
            i: f"lower(trim({prefix}{i})) NOT IN ('true', 'false')"
            if types[i] == "BOOLEAN"
            else f"{prefix}{i}[1] = '0' AND {prefix}{i}[2] BETWEEN '0' AND '9'"
            for i in doubtful
        }
        select = ", ".join(f"bool_or({test}) AS t{i}" for i, test in tests.items())
        found = self.table(f"SELECT {select} FROM {as_text}").to_pylist()[0]
        return ["VARCHAR" if found.get(f"t{i}") else t for i, t in enumerate(types)]

    def _sniff(self, path: str, n_rows: int) -> dict[str, Any]:
        """What DuckDB makes of a CSV file, quoted as `io.formats.text` says."""
        try:
            found = self._sniffed(path, n_rows, '"')
            if single_quoted([c["name"] for c in found["Columns"]]):
                found = self._sniffed(path, n_rows, "'")
            return found
        except self._errors as error:
            raise self._failure(error) from None

    def _sniffed(self, path: str, n_rows: int, quote: str) -> dict[str, Any]:
        given = [as_pattern(path), int(n_rows), quote, quote]
        found = self.connection.execute("FROM sniff_csv(?, sample_size = ?, quote = ?, escape = ?)", given)
        names = [d[0] for d in found.description]
        return dict(zip(names, found.fetchall()[0]))

    def table(self, sql: str) -> Any:
        """The result of a query as a pyarrow table."""
        try:
            return self.connection.sql(one_statement(self.connection, sql)).to_arrow_table()
        except self._errors as error:
            raise self._failure(error) from None

    def replace_rows(self, sql: str) -> None:
        """Make the result of a query the rows of the source."""
        before = self._rows
        self._rows = f"{self.dialect.prefix}{'even' if before and before.endswith('odd') else 'odd'}"
        for statement in (
            f"CREATE TEMP TABLE {self._rows} AS {sql}",
            f"DROP VIEW {self.dialect.source}",
            f"CREATE TEMP VIEW {self.dialect.source} AS FROM {self._rows}",
            *([] if before is None else [f"DROP TABLE {before}"]),
        ):
            try:
                self.connection.execute(one_statement(self.connection, statement))
            except self._errors as error:
                raise self._failure(error) from None

    def chunks(self, sql: str) -> Iterator[Any]:
        """The result of a query as record batches of up to a million rows, one after the other."""
        try:
            relation = self.connection.sql(one_statement(self.connection, sql))
            reader = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader
            yield from reader(CHUNK_ROWS)
        except (self._errors, OSError) as error:
            raise self._failure(error) from None

    def add_lookup(self, lookup: Lookup) -> None:
        """Make the small table of a lookup known under its alias."""
        self.connection.register(f"{lookup.alias}_given", lookup.arrow())
        self.connection.execute(f"CREATE OR REPLACE TEMP TABLE {lookup.alias} AS FROM {lookup.alias}_given")

    def count(self, statement: Statement, counter: Counter, progress: Any) -> bool:
        """Send the rows of a statement (a0, a1, ..., then y and w) through a counter; False if some code is
        negative."""
        for batch in self.chunks(statement.text(self.dialect.source)):
            arrays = {name: batch.column(i).to_numpy(zero_copy_only=False) for i, name in enumerate(batch.schema.names)}
            codes = [arrays[f"a{i}"] for i in range(len(arrays) - ("y" in arrays) - ("w" in arrays))]
            if batch.num_rows and min(int(c.min()) for c in codes) < 0:
                return False
            counter.add(codes, arrays.get("y"), arrays.get("w"))
            progress.step(batch.num_rows)
        return True

    def close(self) -> None:
        """Close the connection and remove the temporary folder."""
        if hasattr(self, "connection"):
            self.connection.close()
        if self._folder is not None:
            self._folder.cleanup()

    def __enter__(self) -> DuckDBEngine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _failure(self, error: Exception) -> DataError:
        if self.by_row:  # what the engine says quotes rows
            return DataError(
                f"{sentence(self.what)} can't be read.",
                hint="is it whole, and of that format?",
            )
        why = reason(error)
        hint = None if "Hint:" in why else "is it whole, and of that format?"
        return DataError(f"{sentence(self.what)} can't be read: {why}", hint=hint)


def _files(source: Any) -> list[str]:
    """The files of a path: itself, those of a pattern, or the Parquet files of a folder."""
    path = os.fspath(source)
    pattern = os.path.join(path, "**", "*.parquet") if os.path.isdir(path) else path
    return sources.ordinary_files(expand_pattern(pattern))


def _csv_types(sniffed: dict[str, Any]) -> list[str]:
    """The types of the columns, as DuckDB writes them; what doesn't look like a type is text."""
    kinds = [str(c["type"]) for c in sniffed["Columns"]]
    return [k if re.fullmatch(r"[A-Z][A-Z0-9_ ]*(\(\d+(,\s*\d+)?\))?", k) else "VARCHAR" for k in kinds]


def _column(name: str, i: int, described: str) -> Column:
    kind = described.upper().lstrip("U") if not described.upper().startswith("UUID") else "UUID"
    floating = kind in ("FLOAT", "DOUBLE")
    if kind.endswith("]"):  # lists and arrays
        return Column(name, f"c{i}", "other")
    if kind.startswith(NUMBERS):
        return Column(name, f"c{i}", "number", floating, whole=kind.endswith("INT") or kind == "INTEGER")
    if kind == "BOOLEAN":
        return Column(name, f"c{i}", "bool")
    if kind == '"NULL"':  # a column without any value
        return Column(name, f"c{i}", "text", plain_text=False)
    if kind.startswith(TEXTS):
        return Column(name, f"c{i}", "text", plain_text=kind == "VARCHAR")
    return Column(name, f"c{i}", "other")


def _is_dataset(source: Any) -> bool:
    from pyarrow import dataset

    return isinstance(source, dataset.Dataset)


def _folder_options(files: list[str], names: list[str]) -> list[str]:
    """Folders called ``name=value`` give columns, unless the files have a column of such a name, which then counts."""
    folders = {part.partition("=")[0].lower() for path in files for part in Path(path).parts[:-1] if "=" in part}
    return [] if folders.isdisjoint(name.lower() for name in names) else ["hive_partitioning = false"]


def _csv_names(path: str, sniffed: dict[str, Any]) -> list[str]:
    """The names of the header; DuckDB renames one that differs from another by case alone."""
    names = [c["name"] for c in sniffed["Columns"]]
    if not sniffed["HasHeader"] or not any(re.search(r"_\d+$", n) for n in names):
        return names
    try:
        with (
            gzip.open(path, "rt", encoding="utf-8-sig", newline="")
            if path.endswith(".gz")
            else open(path, encoding="utf-8-sig", newline="") as stream
        ):
            for _ in range(int(sniffed["SkipRows"])):
                next(stream)
            quote = sniffed["Quote"] if len(sniffed["Quote"] or "") == 1 and sniffed["Quote"] != "\0" else None
            quoting = csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE
            header = next(csv.reader(stream, delimiter=sniffed["Delimiter"], quotechar=quote, quoting=quoting))
    except (OSError, UnicodeDecodeError, StopIteration, csv.Error, TypeError):
        return names  # another encoding or packing: DuckDB's names stand
    if len(header) != len(names) or len(set(header)) != len(header):
        return names
    renamed = [re.fullmatch(re.escape(h) + r"_\d+", n) is not None for h, n in zip(header, names)]
    return [h if r else n for h, n, r in zip(header, names, renamed)]
