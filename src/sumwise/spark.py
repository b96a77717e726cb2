"""Spark for those who have it: a session, and how its failures are reported."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sumwise.errors import DataError, MissingExtra
from sumwise.extras import require

__all__ = ["broken_workers", "spark_session"]


def spark_session(master: str | None = None) -> tuple[Any, Any]:
    """A Spark session and what to call when done with it: the active session stays, a new one is stopped.

    Parameters
    ----------
    master : str, optional
        ``"local[2]"``, ``"spark://host:7077"``, ...; default: the active session, else ``"local[*]"``. A session on
        this machine listens on 127.0.0.1 alone and keeps its files in a temporary folder.

    Examples
    --------
    >>> from sumwise.spark import spark_session
    >>> session, stop = spark_session("local[2]")  # doctest: +SKIP
    >>> stop()  # doctest: +SKIP
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        pyspark = require("pyspark.sql", extra="spark")
    active = pyspark.SparkSession.getActiveSession()
    if active is not None and (master is None or active.sparkContext.master == master):
        return active, lambda: None
    if active is not None:
        raise DataError(
            f"A Spark session on {active.sparkContext.master!r} is active; {master!r} was asked for.",
            hint="stop it first, or leave master out.",
        )
    _require_java()
    master = "local[*]" if master is None else master
    folder = tempfile.mkdtemp(prefix="sumwise-spark-")
    builder = pyspark.SparkSession.builder.master(master).appName("sumwise")
    builder = builder.config("spark.ui.enabled", "false").config("spark.sql.warehouse.dir", f"{folder}/warehouse")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    here = master.startswith("local") or "//127.0.0.1:" in master
    if here:
        builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
        builder = builder.config("spark.local.dir", folder).config("spark.sql.shuffle.partitions", "4")
    try:
        session = builder.getOrCreate()
    except Exception as error:
        shutil.rmtree(folder, ignore_errors=True)
        first = str(error).strip().split("\n")[0]
        raise DataError(
            f"Spark on {master!r} doesn't start: {first}", hint="is the master right, and reachable?"
        ) from None

    session.sparkContext.setLogLevel("ERROR")
    if here and "PYSPARK_PYTHON" not in os.environ:
        session.sparkContext.pythonExec = sys.executable  # else the first python3 on the path, which may lack sumwise

    def stop() -> None:
        session.stop()
        shutil.rmtree(folder, ignore_errors=True)

    return session, stop


def _require_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if (home and (Path(home) / "bin" / "java").exists()) or shutil.which("java"):
        return
    raise MissingExtra(
        "Spark needs Java, and there is none: no JAVA_HOME and no java on the path.",
        hint="install Java 17 or newer, or use an engine without Spark.",
    )


@contextmanager
def broken_workers(what: str) -> Iterator[None]:
    """Tell a failure of Spark's workers in one line; `what` they were to do.

    Examples
    --------
    >>> from sumwise.spark import broken_workers
    >>> with broken_workers("count"):
    ...     pass
    """
    java, own = require("py4j.protocol", extra="spark"), require("pyspark.errors", extra="spark")
    try:
        yield
    except (java.Py4JError, own.PySparkException) as error:
        lines = [line.strip() for line in str(error).strip().split("\n")]
        absent = [line for line in lines if line.startswith("ModuleNotFoundError")]
        if absent:
            raise DataError(
                f"Spark's workers can't {what}: {absent[-1]}.",
                hint="install sumwise on the workers, or set PYSPARK_PYTHON.",
            ) from None
        shown = [line for line in lines if "Exception" in line or "Error" in line] or lines
        raise DataError(f"Spark's workers didn't {what}: {shown[-1]}", hint="their own log says more.") from error
