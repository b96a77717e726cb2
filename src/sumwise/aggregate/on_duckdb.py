"""Run a plan on DuckDB: files, frames, queries and databases, in place, on one machine."""

from __future__ import annotations

import csv
import glob
import gzip
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sumwise import checks
from sumwise.aggregate import sources
from sumwise.aggregate.counters import Counter
from sumwise.aggregate.sql import DUCKDB, Column, Lookup, Statement
from sumwise.errors import DataError

__all__ = ["DuckDBEngine"]

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
    threads : int, optional
        Threads of DuckDB and of the counting kernel; default: all cores.
    memory_limit : str, optional
        The most memory that DuckDB itself may take, as ``"2GB"``; it then uses a temporary folder, removed at the
        end.

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

    def __init__(
        self,
        source: Any,
        columns: tuple[str, ...],
        table: str | None = None,
        threads: int | None = None,
        memory_limit: str | None = None,
    ):
        import duckdb

        if threads is not None:
            checks.at_least(threads, "threads", 1)
        self.threads = threads
        self.categories: dict[str, tuple] = {}
        self._folder = tempfile.TemporaryDirectory(prefix="sumwise-")
        config: dict[str, Any] = {"temp_directory": self._folder.name}
        if threads is not None:
            config["threads"] = threads
        if memory_limit is not None:
            config["memory_limit"] = memory_limit
        self.what = "the query" if sources.is_query(source) else "the frame"
        try:
            self._open(duckdb, source, columns, table, config)
        except BaseException:
            self.close()
            raise

    def _open(self, duckdb: Any, source: Any, columns: tuple[str, ...], table: str | None, config: dict) -> None:
        self._errors = duckdb.Error
        database = ":memory:"
        if not sources.is_query(source) and not sources.is_rows(source) and not _is_dataset(source):
            self.what = f"the file {str(source)!r}"
            if sources.file_format(source) == "database":
                database = str(source)
        try:
            self.connection = duckdb.connect(database, read_only=database != ":memory:", config=config)
        except duckdb.Error as error:
            if database != ":memory:":
                raise self._failure(error) from None
            told = str(error).strip().split("\n")[0]
            raise DataError(
                f"DuckDB doesn't start: {told}", hint="look at threads and memory_limit, as '2GB'."
            ) from None
        self.connection.execute("SET enable_progress_bar = false")
        self.connection.execute("SET TimeZone = 'UTC'")  # times with a zone read the same on every machine
        names = self._create_view(source, columns, table, database != ":memory:")
        described = self.table(f"DESCRIBE {self.dialect.source}").to_pylist()
        true_names = names or [d["column_name"] for d in described]
        found = [_column(name, i, d["column_type"]) for i, (name, d) in enumerate(zip(true_names, described))]
        self.columns = {c.name: c for c in found}
        for name in columns:
            checks.known(name, self.columns, "column")

    def _create_view(
        self, source: Any, columns: tuple[str, ...], table: str | None, database: bool
    ) -> list[str] | None:
        """Create the view of the rows, with columns c0, c1, ...; return the users' names where SQL would lose
        them."""
        if table is not None and not database:
            raise DataError(f"table is {table!r}, and {self.what} is no database.", hint="leave it out.")
        if sources.is_rows(source):
            arrow = sources.arrow_table(source, columns)
            self.categories = sources.categories(source, columns)
            self.connection.register("sumwise_given", arrow.rename_columns([f"g{i}" for i in range(len(columns))]))
            relation, names = "sumwise_given", list(columns)
        elif _is_dataset(source):
            self.connection.register("sumwise_given", source)
            relation, names = "sumwise_given", list(source.schema.names)
        elif database:
            relation, names = self._database_table(table), None
        elif sources.is_query(source):
            relation, names = f"({source.strip().rstrip(';')})", None
        else:
            relation, names = self._file_relation(source)
        try:
            first = self.connection.sql(f"SELECT * FROM {relation} LIMIT 0").columns
            renamed = ", ".join(f"c{i}" for i in range(len(first)))
            self.connection.execute(f"CREATE TEMP VIEW {self.dialect.source} ({renamed}) AS SELECT * FROM {relation}")
        except self._errors as error:
            raise self._failure(error) from None
        return names or list(first)

    def _file_relation(self, source: Any) -> tuple[str, list[str] | None]:
        path = os.fspath(source)
        form = sources.file_format(path)
        if form == "arrow":
            given = self._arrow_file(path)
            self.connection.register("sumwise_given", given)
            return "sumwise_given", list(given.schema.names)
        if form == "csv":
            try:
                found = self.connection.sql(f"FROM sniff_csv({DUCKDB.literal(path)}, sample_size = -1)")
                told = dict(zip(found.columns, found.fetchall()[0]))
            except self._errors as error:
                raise self._failure(error) from None
            prompt = (
                str(told["Prompt"]).strip().rstrip(";")
            )  # a complete read_csv call, so that nothing is guessed twice
            return f"({prompt})", _csv_names(path, told)
        if Path(path).is_dir():
            path = os.path.join(path, "**", "*.parquet")
        return f"read_parquet({DUCKDB.literal(path)})", _parquet_names(path)

    def _arrow_file(self, path: str) -> Any:
        import pyarrow as pa
        from pyarrow import dataset

        try:
            return dataset.dataset(path, format="ipc")
        except (pa.ArrowInvalid, OSError) as error:
            raise DataError(f"{_start(self.what)} can't be read: {error}.") from None

    def _database_table(self, table: str | None) -> str:
        query = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'main' ORDER BY 1"
        known = [r[0] for r in self.connection.execute(query).fetchall()]
        if table is not None:
            checks.known(table, known, "table")
            known = [table]
        if len(known) != 1:
            raise DataError(
                f"{_start(self.what)} has {len(known)} tables.",
                hint=f"name one by table=...: {', '.join(map(repr, known[:10]))}.",
            )
        database = self.connection.execute("SELECT current_database()").fetchall()[0][0]
        return f"{_identifier(database)}.main.{_identifier(known[0])}"  # in full: a view of ours may have its name

    def table(self, sql: str) -> Any:
        """The result of a query as a pyarrow table."""
        try:
            return self.connection.sql(sql).to_arrow_table()
        except self._errors as error:
            raise self._failure(error) from None

    def chunks(self, sql: str) -> Iterator[Any]:
        """The result of a query as record batches of up to a million rows, one after the other."""
        try:
            relation = self.connection.sql(sql)
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
        self._folder.cleanup()

    def __enter__(self) -> DuckDBEngine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _failure(self, error: Exception) -> DataError:
        first = str(error).strip().split("\n")[0]
        return DataError(f"{_start(self.what)} can't be read: {first}", hint="is it whole, and of that format?")


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


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _start(what: str) -> str:
    return what[0].upper() + what[1:]


def _csv_names(path: str, told: dict[str, Any]) -> list[str] | None:
    """The names of the header, where DuckDB renamed one that differs from another by case alone."""
    names = [c["name"] for c in told["Columns"]]
    if not told["HasHeader"] or not any(re.search(r"_\d+$", n) for n in names):
        return None
    first = path if "*" not in path else min(glob.glob(path, recursive=True))
    try:
        with (
            gzip.open(first, "rt", encoding="utf-8-sig")
            if first.endswith(".gz")
            else open(first, encoding="utf-8-sig", newline="") as stream
        ):
            for _ in range(int(told["SkipRows"])):
                next(stream)
            quote = told["Quote"] if len(told["Quote"] or "") == 1 and told["Quote"] != "\0" else None
            quoting = csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE
            header = next(csv.reader(stream, delimiter=told["Delimiter"], quotechar=quote, quoting=quoting))
    except (OSError, UnicodeDecodeError, StopIteration, csv.Error, TypeError):
        return None  # another encoding or packing: DuckDB's names stand
    if len(header) != len(names) or len(set(header)) != len(header):
        return None
    renamed = [re.fullmatch(re.escape(h) + r"_\d+", n) is not None for h, n in zip(header, names)]
    return [h if r else n for h, n, r in zip(header, names, renamed)]


def _parquet_names(path: str) -> list[str] | None:
    """The names in the file; DuckDB tells names apart by more than their case, and renames the second."""
    import pyarrow as pa
    from pyarrow import parquet

    first = path if "*" not in path else next(iter(sorted(glob.glob(path, recursive=True))), None)
    if first is None:
        return None
    try:
        return list(parquet.read_schema(first).names)
    except (pa.ArrowInvalid, OSError):
        return None  # DuckDB says what is wrong with it
