"""Spark for those who have it: a session, and how its failures are reported."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sumwise.errors import DataError, MissingExtra
from sumwise.extras import require

SECONDS_WITHOUT_TASK = 60.0  # seconds without a finished task after which a warning is issued
SECONDS_BETWEEN_LOOKS = 10.0  # seconds between looks; two in a row that find no executor are enough for a warning
PATIENCE = 600.0  # seconds without any executor after which work that had some is given up
HAD_EXECUTORS: set[str] = set()  # applications that had any
FAN_IN = 8  # partial results that one task adds up


OWN: list[tuple[Any, str]] = []  # the session that this process started, and its temporary folder


def spark_session(master: str | None = None, connect: bool = False) -> Any:
    """The active Spark session, or one that is started and kept until the process ends.

    Starting an application, and unpacking its archives on every worker, takes longer than most counts: later calls use
    the same session; `stop_session` ends it, before another master is asked for.

    Parameters
    ----------
    master : str, optional
        ``"local[2]"``, ``"spark://host:7077"``, ...; default: the active session, else what ``spark-submit``, the
        environment or ``spark-defaults.conf`` give, else ``"local[*]"``. A session on this machine listens on 127.0.0.1
        alone and keeps its files in a temporary folder. No setting that the environment gives is changed.
    connect : bool, default False
        Whether a session of Spark Connect will do, as for counting.

    Examples
    --------
    >>> from sumwise.spark import spark_session, stop_session
    >>> session = spark_session("local[2]")  # doctest: +SKIP
    >>> stop_session()
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        pyspark = require("pyspark.sql", extra="spark")
    active = pyspark.SparkSession.getActiveSession()
    if connect and master is None and active is None and os.environ.get("SPARK_REMOTE"):
        return pyspark.SparkSession.builder.getOrCreate()
    if active is not None and connect and master is None:
        return active
    if active is not None:
        context = classic(active).sparkContext
        if master is None or context.master == master:
            return active
        raise DataError(
            f"A Spark session on {context.master!r} is active; {master!r} was asked for.",
            hint="stop it first (sumwise.spark.stop_session ends our own), or leave master out.",
        )
    if master is None and os.environ.get("SPARK_REMOTE"):
        raise _connect_error()
    _require_java()
    folder = tempfile.mkdtemp(prefix="sumwise-spark-")
    try:
        settings = environment_settings()
        master = master or settings.get("spark.master") or "local[*]"
        session = _started(pyspark, master, folder, settings)
    except Exception as error:
        shutil.rmtree(folder, ignore_errors=True)
        lines = [line.strip().lstrip(": ") for line in str(error).strip().split("\n")]
        said = lines[1] if len(lines) > 1 and lines[0].startswith("An error occurred") else lines[0]
        raise DataError(
            f"Spark on {master or 'the master of the environment'!r} doesn't start: {said}",
            hint="is the master right, and reachable, and are the archives and packages complete?",
        ) from None

    if not OWN:
        atexit.register(stop_session)
    OWN[:] = [(session, folder)]
    return session


def stop_session() -> None:
    """Stop the session that this process started, if it did, and remove its temporary files."""
    while OWN:
        session, folder = OWN.pop()
        session.stop()
        shutil.rmtree(folder, ignore_errors=True)


def environment_settings() -> dict[str, str]:
    """Return what ``spark-submit``, ``PYSPARK_SUBMIT_ARGS`` and ``spark-defaults.conf`` set for this process."""
    pyspark = require("pyspark", extra="spark")
    pyspark.SparkContext._ensure_initialized()  # noqa: SLF001 - nothing public reads spark-submit's settings
    return dict(pyspark.SparkConf().getAll())


def _started(pyspark: Any, master: str, folder: str, settings: dict[str, str]) -> Any:
    """Start a session with our defaults for whatever the environment leaves open."""
    local = master.startswith("local") or "//127.0.0.1:" in master
    defaults = {"spark.app.name": "sumwise", "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
    if local:
        defaults |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        defaults |= {"spark.local.dir": folder, "spark.sql.shuffle.partitions": "4"}
        defaults |= {"spark.sql.warehouse.dir": f"{folder}/warehouse"}
    builder = pyspark.SparkSession.builder.master(master)
    for name, value in defaults.items():
        if name not in settings:
            builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR" if local else "WARN")  # a cluster's operator wants to see its warnings
    if local and "PYSPARK_PYTHON" not in os.environ and "spark.pyspark.python" not in settings:
        session.sparkContext.pythonExec = sys.executable  # else the first python3 on the path, which may lack sumwise
    return session


def classic(session: Any) -> Any:
    """Return the session if it has a SparkContext; an error for Spark Connect, which can't hold chains or bags."""
    try:
        session.sparkContext  # noqa: B018
    except Exception as error:
        raise _connect_error() from error
    return session


def _connect_error() -> DataError:
    return DataError(
        "This is a Spark Connect session; sampling and bags on Spark need a classic one, whose executors keep data.",
        hint="run on the cluster by spark-submit, or count with aggregate(..., session=...) and train here.",
    )


def one_sum(rdd: Any, add: Any) -> Any:
    """Return the sum of all elements, added in the executors so that the driver receives one of them.

    Spark's ``treeReduce`` sends the last round to the driver, where large partial sums pass ``maxResultSize``.
    """
    n = rdd.getNumPartitions()
    while n > 1:
        n = -(-n // FAN_IN)
        rdd = rdd.mapPartitionsWithIndex(_Keyed(n)).reduceByKey(add, n).values()
    return rdd.reduce(add)


class _Keyed:
    def __init__(self, n: int) -> None:
        self.n = n

    def __call__(self, index: int, elements: Iterator[Any]) -> Iterator[tuple[int, Any]]:
        return ((index % self.n, element) for element in elements)


def _require_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if (home and (Path(home) / "bin" / "java").exists()) or shutil.which("java"):
        return
    raise MissingExtra(
        "Spark needs Java, and there is none: no JAVA_HOME and no java on the path.",
        hint="install Java 17 or newer, or use an engine without Spark.",
    )


@contextmanager
def broken_workers(what: str, session: Any = None) -> Iterator[None]:
    """Report a failure of Spark's workers in one line, and a standstill while it lasts; `what` they were to do.

    Examples
    --------
    >>> from sumwise.spark import broken_workers
    >>> with broken_workers("count"):
    ...     pass
    """
    java, own = require("py4j.protocol", extra="spark"), require("pyspark.errors", extra="spark")
    with Standstill(session, what) as watch:
        try:
            yield
        except (java.Py4JError, own.PySparkException) as error:
            if watch.given_up:
                raise watch.given_up from None
            lines = [line.strip() for line in str(error).strip().split("\n")]
            absent = [line for line in lines if line.startswith("ModuleNotFoundError")]
            if absent:
                raise DataError(
                    f"Spark's workers can't {what}: {absent[-1]}.",
                    hint="install sumwise on the workers, ship it by --archives, or set PYSPARK_PYTHON.",
                ) from None
            shown = [line for line in lines if "Exception" in line or "Error" in line] or lines
            said = shown[-1].lstrip(": ")
            hint = "raise that setting." if "spark.driver.maxResultSize" in said else "their own log says more."
            raise DataError(f"Spark's workers didn't {what}: {said}", hint=hint) from error


class Standstill:
    """While it is open, say if no task of Spark finishes, and how many executors there are.

    The line comes after a minute and again after every further minute; after two looks where no executor is alive; and
    as soon as some executors are lost.
    Where all executors were lost and none came back in ten minutes (``spark.sumwise.patience``, in seconds), the work
    is cancelled, and `given_up` says so. Executors that have not come yet are waited for.

    Parameters
    ----------
    session : SparkSession or None
        None watches nothing.
    what : str
        What the workers are doing.
    seconds : float, default 60
        How long nothing may finish.
    say : callable, optional
        Takes the line; default: standard error.
    look : float, default 10
        Seconds between two looks at Spark's counts.
    """

    def __init__(
        self,
        session: Any,
        what: str,
        seconds: float = SECONDS_WITHOUT_TASK,
        say: Any = None,
        look: float = SECONDS_BETWEEN_LOOKS,
    ) -> None:
        self.session, self.what, self.seconds, self.look = session, what, seconds, look
        self.say = say or (lambda line: print(line, file=sys.stderr, flush=True))  # noqa: T201
        self.given_up: DataError | None = None
        self.tag = f"sumwise-{id(self):x}"
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Standstill:
        if self.session is not None:
            with suppress(Exception):  # as below
                self._known()
            self._tagged("addJobTag")
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self.session is not None:
            self._thread.join()
            self._tagged("removeJobTag")

    def _tagged(self, change: str) -> None:
        """Mark what this thread asks Spark for, so that it alone can be cancelled."""
        with suppress(Exception):  # a session without a context, or one that is gone
            getattr(self.session.sparkContext, change)(self.tag)

    def _watch(self) -> None:
        last, still, due, alive = None, 0, self.seconds, 0
        while not self._over.wait(self.look):
            try:
                now = self._finished()
                still = still + 1 if now == last and now else 0
                n = self._known()
                if 0 < n < alive:
                    self.say(self._lost(alive - n, n))
                alive = n
                if n == 0 and self._application() in HAD_EXECUTORS and still * self.look >= self._patience():
                    self._give_up(still * self.look)
                    return
            except Exception:  # the context is gone, which the thread that works reports itself
                return
            last = now
            if not still:
                due = self.seconds
            elif still * self.look >= due or (n == 0 and due == self.seconds and still > 1):
                self.say(self._line(still * self.look, n))
                due = still * self.look + self.seconds

    def _patience(self) -> float:
        return float(self.session.sparkContext.getConf().get("spark.sumwise.patience", str(PATIENCE)))

    def _give_up(self, since: float) -> None:
        self.given_up = DataError(
            f"All executors of Spark were lost while they should {self.what}, and none came back in {since:.0f} s.",
            hint="start workers and run again, which resumes from a checkpoint; or raise spark.sumwise.patience.",
        )
        self.session.sparkContext.cancelJobsWithTag(self.tag)

    def _lost(self, lost: int, n: int) -> str:
        executors = "an executor" if lost == 1 else f"{lost} executors"
        return f"Spark lost {executors} while its workers should {self.what}; {n} left repeat what was lost."

    def _line(self, since: float, n: int | None) -> str:
        cause = "no executor is alive" if n == 0 else f"{n} executors are alive"
        return (
            f"Spark has finished no task for {since:.0f} s ({cause}) while its workers should {self.what}. "
            "Hint: look at the cluster's page and the executors' logs. A checkpointed run can be stopped and resumed."
        )

    def _finished(self) -> tuple:
        """Finished tasks of every active stage; a change means progress."""
        tracker = self.session.sparkContext.statusTracker()
        stages = ((i, tracker.getStageInfo(i)) for i in tracker.getActiveStageIds())
        return tuple(sorted((i, info.numCompletedTasks) for i, info in stages if info is not None))

    def _application(self) -> str:
        return self.session.sparkContext.applicationId

    def _known(self) -> int:
        """How many executors are alive; that there were some is remembered, as they may be lost between two watches."""
        n = self._executors()
        if n > 0:
            HAD_EXECUTORS.add(self._application())
        return n

    def _executors(self) -> int:
        context = self.session.sparkContext
        local = context.master.startswith("local")
        known = context._jsc.sc().getExecutorMemoryStatus().size()  # noqa: SLF001 - the tracker doesn't know executors
        return known if local else known - 1  # the driver is among them
