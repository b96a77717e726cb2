"""Run a plan on Spark: a Spark frame, files that its workers can read, or a frame from here."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.aggregate import sources
from sumwise.aggregate.counters import Counter
from sumwise.aggregate.sql import SPARK, Column, Lookup, Statement
from sumwise.errors import DataError, sentence
from sumwise.extras import require
from sumwise.io.formats.connection import expand_pattern
from sumwise.io.formats.text import inspect_text, is_utf8, warn_encoding
from sumwise.spark import Standstill, spark_session

NUMBER = r"^[+-]?((0|[1-9][0-9]*)([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)?$"
HINTS = (
    (
        ("No FileSystem for scheme", "Class org.apache.hadoop.fs."),
        "Spark reads s3a://, gs://, abfs:// by packages: for s3a:// --packages org.apache.hadoop:hadoop-aws:VERSION, "
        "that of its Hadoop; or read the address by engine='duckdb'.",
    ),
    (("PATH_NOT_FOUND", "FileNotFoundException"), "look at the address; every worker must see it."),
    (
        ("ConnectException", "UnknownHost", "Timeout", "AccessDenied", "AccessControl", "Forbidden", "Credentials"),
        "look at the address, the network and the rights.",
    ),
    (("Job aborted", "ExecutorLost", "OutOfMemory", "cancelled"), "the executors' own logs say more."),
)
ENCODINGS = {"latin-1": "ISO-8859-1", "cp1252": "windows-1252"}  # as Java calls them
NUMBERS = ("byte", "short", "integer", "long", "float", "double", "decimal")


class SparkEngine:
    """A source opened on Spark, for the time of one plan.

    Parameters
    ----------
    source
        A Spark frame, a path that Spark's workers can read (Parquet or CSV), or a pandas, polars or pyarrow frame.
    columns : tuple of str
        The columns that the plan needs.
    table : str, optional
        Not used here: databases are read by DuckDB.
    master : str, optional
        The master's URL, as ``"local[2]"`` or ``"spark://host:7077"``.
    session : SparkSession, optional
        A session to use; it isn't stopped.

    Examples
    --------
    >>> from sumwise.aggregate import aggregate
    >>> aggregate("rows.parquet", ["age", "city"], engine="spark", master="local[2]")  # doctest: +SKIP
    """

    OPTIONS = ("master", "session")
    sends_rows = False  # executors count them
    threads = 1  # of the driver's counter, which only holds the result

    def __init__(
        self,
        source: Any,
        columns: tuple[str, ...],
        table: str | None = None,
        master: str | None = None,
        session: Any = None,
    ):
        require("pyspark.sql", extra="spark")
        if table is not None:
            raise DataError("Spark reads no database file.", hint="use engine='duckdb', or write the table to Parquet.")
        self.categories: dict[str, tuple] = {}
        self._views: list[str] = []
        if session is None and hasattr(source, "sparkSession"):
            session = source.sparkSession
        if session is None:
            session = spark_session(master, connect=True)
        self.session = session
        self.dialect = replace(SPARK, prefix=f"sumwise_{id(self):x}_")  # a session may have several plans
        self._case = self.session.conf.get("spark.sql.caseSensitive")
        self.session.conf.set("spark.sql.caseSensitive", "true")  # files may have both 'a' and 'A'
        try:
            frame = self._frame(source, columns)
            self._set_view(frame, columns)
        except BaseException:
            self.close()
            raise

    def _frame(self, source: Any, columns: tuple[str, ...]) -> Any:
        if hasattr(source, "sparkSession"):
            self.what = "the Spark frame"
            return source
        if sources.is_query(source):
            self.what = "the query"
            return self._guarded(lambda: self.session.sql(source))
        if sources.is_rows(source):
            self.what = "the frame"
            self.categories = sources.categories(source, columns)
            arrow = sources.arrow_table(source, columns)
            return self._guarded(lambda: self.session.createDataFrame(arrow))
        self.what = f"the file {str(source)!r}"
        path = os.fspath(source) if isinstance(source, str | os.PathLike) else source
        remote = "://" in str(path)
        form = ("csv" if ".csv" in path.rpartition("/")[2] else "parquet") if remote else sources.file_format(path)
        path = path if remote else os.path.abspath(path)  # Java has a working folder of its own
        if form == "parquet":
            return self._guarded(lambda: self.session.read.parquet(path))
        if form == "csv":
            separator = "\t" if ".tsv" in path else ","
            reader = self.session.read.option("escape", '"').option("multiLine", "true")
            reader = reader if remote else reader.option("encoding", _csv_encoding(path))
            return self._guarded(lambda: _typed(reader.csv(path, header=True, inferSchema=False, sep=separator)))
        raise DataError(f"{sentence(self.what)} is of a format that Spark doesn't read.", hint="use engine='duckdb'.")

    def _set_view(self, frame: Any, columns: tuple[str, ...]) -> None:
        names = [f.name for f in frame.schema.fields]
        for name in columns:
            checks.known(name, names, "column")
        fields = frame.schema.fields
        found = [_column(f.name, i, f.dataType.typeName()) for i, f in enumerate(fields)]
        self.columns = {c.name: c for c in found}
        renamed = frame.toDF(*(c.sql for c in found))
        self._view(renamed, self.dialect.source)

    def _view(self, frame: Any, name: str) -> None:
        frame.createOrReplaceTempView(name)
        if name not in self._views:
            self._views.append(name)

    def table(self, sql: str) -> Any:
        """The result of a query as a pyarrow table."""
        return self._guarded(lambda: self.session.sql(sql).toArrow())

    def replace_rows(self, sql: str) -> None:
        """Make the result of a query the rows of the source."""
        self._view(self._guarded(lambda: self.session.sql(sql)), self.dialect.source)

    def chunks(self, sql: str) -> Iterator[Any]:
        """The result of a query as record batches."""
        yield from self.table(sql).to_batches()

    def add_lookup(self, lookup: Lookup) -> None:
        """Make the small table of a lookup known under its alias."""
        self._view(self._guarded(lambda: self.session.createDataFrame(lookup.arrow())), lookup.alias)

    def count(self, statement: Statement, counter: Counter, progress: Any) -> bool:
        """Count each partition with the compiled kernel where it lies, and add up the cells; False if some code is
        negative."""
        coded = self._guarded(lambda: self.session.sql(statement.text(self.dialect.source)))
        kind = "double" if counter.weighted else "bigint"
        part = _Part(counter.subsets, counter.sizes.tolist(), counter.n_classes, counter.weighted)
        cells = self._guarded(lambda: coded.mapInArrow(part, f"cell bigint, n {kind}, s {kind}"))
        self._view(cells, f"{self.dialect.prefix}cells")
        found = self._guarded(
            lambda: self.session.sql(
                f"SELECT cell, sum(n) AS n, sum(s) AS s FROM {self.dialect.prefix}cells GROUP BY cell"
            ).toArrow()
        )
        cell = found.column("cell").to_numpy()
        if (cell < 0).any():
            return False
        counts, sums = found.column("n").to_numpy(), found.column("s").to_numpy()
        counter.set_cells(cell, counts, sums)
        progress.step(progress.total or 0)
        return True

    def close(self) -> None:
        """Forget the views; the session stays for the next plan."""
        for view in self._views:
            self.session.catalog.dropTempView(view)
        self.session.conf.set("spark.sql.caseSensitive", self._case)

    def __enter__(self) -> SparkEngine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _guarded(self, work: Any) -> Any:
        errors = require("pyspark.errors", extra="spark")
        java = require("py4j.protocol", extra="spark")
        with Standstill(self.session, "count") as watch:
            try:
                with warnings.catch_warnings():  # Spark warns of every pandas above 2; nothing here goes through pandas
                    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
                    return work()
            except (errors.PySparkException, java.Py4JError) as error:
                raise watch.given_up or self._failure(str(error)) from None

    def _failure(self, message: str) -> DataError:
        lines = message.strip().split("\n")
        absent = [line for line in lines if line.startswith("ModuleNotFoundError")]
        if absent:
            return DataError(
                f"Spark's workers can't count: {absent[-1]}.",
                hint="install sumwise on the workers, set PYSPARK_PYTHON, or use counting='sql'.",
            )
        first = lines[1].lstrip(": ") if lines[0].startswith("An error occurred") and len(lines) > 1 else lines[0]
        hint = next(
            (hint for words, hint in HINTS if any(w in first for w in words)), "is it whole, and of that format?"
        )
        return DataError(f"{sentence(self.what)} can't be read: {first}", hint=hint)


class _Part:
    """Count one partition on its worker; sends cells that are not empty, or cell -1 for a value without a level."""

    def __init__(self, subsets: list, sizes: list, n_classes: int | None, weighted: bool):
        self.subsets, self.n_classes, self.weighted = subsets, n_classes, weighted
        self.sizes = sizes if n_classes is None else sizes[:-1]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        from sumwise.aggregate.counters import Counter

        counter = Counter(self.subsets, self.sizes, self.n_classes, self.weighted, n_threads=1)
        unseen = False
        for arrays in _gathered(batches):
            codes = [arrays[f"a{i}"] for i in range(len(self.sizes))]
            unseen = unseen or min(int(c.min()) for c in codes) < 0
            if not unseen:
                counter.add(codes, arrays.get("y"), arrays.get("w"))
        counts, sums = counter.cells()
        cell = np.flatnonzero((counts != 0) | (sums != 0)) if not unseen else np.array([-1])
        kind = float if self.weighted else np.int64
        n, s = (x[cell].astype(kind) for x in (counts, sums))
        for i in range(0, len(cell), 1_000_000):
            part = slice(i, i + 1_000_000)
            columns = [pa.array(x[part]) for x in (cell, n, s)]
            yield pa.RecordBatch.from_arrays(columns, names=["cell", "n", "s"])


def _gathered(batches: Iterator[Any], rows: int = 1_000_000) -> Iterator[dict[str, np.ndarray]]:
    """Spark sends ten thousand rows at a time; large tables want to see many more before the next has its turn."""
    parts: list[dict[str, np.ndarray]] = []
    waiting = 0
    for batch in batches:
        if batch.num_rows:
            names = batch.schema.names
            parts.append({n: batch.column(i).to_numpy(zero_copy_only=False) for i, n in enumerate(names)})
            waiting += batch.num_rows
        if waiting >= rows:
            yield {n: np.concatenate([p[n] for p in parts]) for n in parts[0]}
            parts, waiting = [], 0
    if parts:
        yield {n: np.concatenate([p[n] for p in parts]) for n in parts[0]}


def _column(name: str, i: int, described: str) -> Column:
    sql = f"c{i}"
    if described.startswith(NUMBERS):
        whole = described in ("byte", "short", "integer", "long")
        return Column(name, sql, "number", described in ("float", "double"), whole=whole)
    if described == "boolean":
        return Column(name, sql, "bool")
    if described in ("date", "timestamp", "timestamp_ntz"):
        return Column(name, sql, "text", plain_text=False)
    return Column(name, sql, "text" if described.startswith(("string", "varchar", "char")) else "other")


def _typed(frame: Any) -> Any:
    """A frame of text with types by the one rule of `sumwise.encoding.values.as_level`, in one pass over it."""
    functions = require("pyspark.sql.functions", extra="spark")
    text = frame.toDF(*(f"c{i}" for i in range(len(frame.columns))))
    rules = {"long": r"^[+-]?(0|[1-9][0-9]{0,17})$", "double": NUMBER, "boolean": "(?i)^(true|false)$"}
    tests = [
        functions.bool_and(functions.trim(f"c{i}").rlike(rule)).alias(f"c{i}_{kind}")
        for i in range(len(frame.columns))
        for kind, rule in rules.items()
    ]
    found = text.agg(*tests).first()
    kinds = [next((k for k in rules if found[f"c{i}_{k}"]), "string") for i in range(len(frame.columns))]
    typed = [functions.trim(f"c{i}").cast(k) if k != "string" else text[f"c{i}"] for i, k in enumerate(kinds)]
    return text.select(*typed).toDF(*frame.columns)


def _csv_encoding(path: str) -> str:
    """The encoding of the files of a path or pattern, as Java calls it: by UTF-8 Spark would put marks for letters."""
    files = [Path(f) for f in sources.ordinary_files(expand_pattern(path))]
    others = [inspect_text(f) for f in files if not is_utf8(f)]
    for file in others:
        warn_encoding(file)
    found = {ENCODINGS.get(file.encoding, file.encoding) for file in others}
    if len(found) > 1 or 0 < len(others) < len(files):
        raise DataError(
            f"{len(others)} of {len(files)} files of {path!r} are not UTF-8, and Spark reads all in one encoding.",
            hint="save them alike, or use engine='duckdb'.",
        )
    return found.pop() if found else "UTF-8"
