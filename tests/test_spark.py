"""Spark's session and its failures; the engines that use it have tests of their own."""

import itertools
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from messages import raises
from sumwise import spark
from sumwise.errors import DataError, MissingExtra

py4j = pytest.importorskip("py4j.protocol", reason="the extra 'spark' isn't installed")
ROOT = Path(__file__).parents[1]


def test_spark_without_java_says_so(monkeypatch, tmp_path):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with raises(MissingExtra, "spark-needs-java"):
        spark._require_java()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            "An error\nModuleNotFoundError: No module named 'numba'\n at",
            ("sparks-workers-cant-install", "sample", "ModuleNotFoundError"),
        ),
        (
            "An error occurred\n: java.io.IOException: disk full\nat x",
            ("sparks-workers-didnt-own", "sample", "java.io.IOException"),
        ),
        (
            "An error occurred\n: SparkException: Job aborted: 15 tasks exceed spark.driver.maxResultSize (1024.0 KiB)",
            ("sparks-workers-didnt", "sample", "SparkException"),
        ),
    ],
)
def test_failures_of_workers_are_one_line(given, words):
    with raises(DataError, *words), spark.broken_workers("sample"):
        raise py4j.Py4JError(given)


class Connect:
    """A session of Spark Connect: it has no context."""

    @property
    def sparkContext(self):
        raise AttributeError("[JVM_ATTRIBUTE_NOT_SUPPORTED] sparkContext")


def test_spark_connect_is_refused_by_name():
    with raises(DataError, "spark-connect-session"):
        spark.classic(Connect())


def test_a_remote_of_the_environment_is_refused_by_name(monkeypatch):
    from pyspark.sql import SparkSession

    monkeypatch.setattr(SparkSession, "getActiveSession", classmethod(lambda cls: None))
    monkeypatch.setenv("SPARK_REMOTE", "sc://127.0.0.1:1")
    with raises(DataError, "spark-connect-session"):
        spark.spark_session()


def test_counting_takes_a_connect_session_that_is_active(monkeypatch):
    from pyspark.sql import SparkSession

    session = Connect()
    monkeypatch.setattr(SparkSession, "getActiveSession", classmethod(lambda cls: session))
    assert spark.spark_session(connect=True) is session
    with raises(DataError, "spark-connect-session"):
        spark.spark_session()


def test_why_a_session_does_not_start_is_said(monkeypatch):
    from pyspark.sql import SparkSession

    def refused(*given):
        raise py4j.Py4JError("An error occurred while calling None.X.\n: java.io.IOException: no room\n\tat")

    monkeypatch.setattr(SparkSession, "getActiveSession", classmethod(lambda cls: None))
    monkeypatch.setattr(spark, "_require_java", lambda: None)
    monkeypatch.setattr(spark, "environment_settings", dict)
    monkeypatch.setattr(spark, "_started", refused)
    with raises(DataError, "spark-doesnt-start", "spark://x:1", "java.io.IOException: no room"):
        spark.spark_session("spark://x:1")


SCRIPT = """
from sumwise.spark import one_sum, spark_session, stop_session
session = spark_session()
assert spark_session() is session
context = session.sparkContext
print("MASTER", context.master, context.appName, context.getConf().get("spark.sql.shuffle.partitions"))
print("SUM", one_sum(context.parallelize(range(100), 9), lambda a, b: a + b))
stop_session()
"""


@pytest.mark.spark
def test_the_master_of_the_environment_is_kept(tmp_path):
    (tmp_path / "job.py").write_text(SCRIPT)
    options = "--master local[1] --name mine --conf spark.sql.shuffle.partitions=7 pyspark-shell"
    environment = {**os.environ, "PYSPARK_SUBMIT_ARGS": options, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "job.py"], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert "MASTER local[1] mine 7" in done.stdout, done.stderr[-2000:]
    assert "SUM 4950" in done.stdout


APPLICATIONS = itertools.count()


class Status:
    """A session whose one stage doesn't move."""

    def __init__(self):
        self.sparkContext = self
        self.applicationId = f"app-{next(APPLICATIONS)}"
        self.master = "spark://127.0.0.1:7077"
        self._jsc = self

    def statusTracker(self):
        return self

    def getActiveStageIds(self):
        return [3]

    def getStageInfo(self, i):
        return type("Info", (), {"numCompletedTasks": 2})

    def sc(self):
        return self

    def getExecutorMemoryStatus(self):
        return self

    def size(self):
        return 1

    def addJobTag(self, tag):
        self.tag = tag

    def getConf(self):
        return {"spark.sumwise.patience": "300"}

    def cancelJobsWithTag(self, tag):
        self.cancelled = tag


def looks(status, n, **options):
    """What is said over so many looks, ten seconds apart by the watch's own count."""
    said = []
    watch = spark.Standstill(status, "sample", say=said.append, **options)
    answers = iter([False] * n + [True])
    watch._over = type("Looks", (), {"wait": lambda self, seconds: next(answers)})()
    watch._watch()
    return said


def test_no_executor_alive_is_said_within_a_minute_and_again_after_every_further_one():
    said = looks(Status(), 3)
    assert len(said) == 1
    assert "no task for 20 s (no executor is alive) while its workers should sample" in said[0]
    assert [line.split(" s ")[0].split()[-1] for line in looks(Status(), 20)] == ["20", "80", "140"]


def test_a_standstill_with_executors_is_said_after_a_minute():
    status = Status()
    status.size = lambda: 3
    assert looks(status, 6) == []
    assert "no task for 60 s (2 executors are alive)" in looks(status, 7)[0]


def test_work_whose_executors_are_all_lost_is_given_up_and_cancelled_alone():
    status, sizes = Status(), iter([3, 3] + [1] * 100)
    status.size = lambda: next(sizes)
    said, gone = [], []
    watch = spark.Standstill(status, "sample", say=said.append)
    answers = iter([False] * 50)
    watch._over = type("Looks", (), {"wait": lambda self, seconds: gone.append(1) or next(answers)})()
    watch._watch()
    assert len(gone) == 31  # the first look sees the stage, thirty more of ten seconds see it stand still
    assert len(said) == 5
    assert "lost while they should sample, and none came back in 300 s" in str(watch.given_up)
    assert status.cancelled == watch.tag


def test_a_lost_executor_is_said_at_the_next_look():
    status, sizes, rounds = Status(), iter([3, 3, 3, 2, 2, 2, 3, 3]), iter(range(1000))
    status.size = lambda: next(sizes)
    status.getStageInfo = lambda i: type("Info", (), {"numCompletedTasks": next(rounds)})  # the others work on
    said = looks(status, 8)
    assert said == ["Spark lost an executor while its workers should sample; 1 left repeat what was lost."]


def test_executors_that_were_lost_before_the_watch_are_known_of():
    status = Status()
    status.size = lambda: 3
    looks(status, 2)
    del status.size
    assert len(looks(status, 100)) == 5
    assert hasattr(status, "cancelled")


def test_executors_that_have_not_come_yet_are_waited_for():
    status = Status()
    assert len(looks(status, 100)) == 17
    assert not hasattr(status, "cancelled")


def test_a_stage_that_moves_is_not_a_standstill():
    status, rounds = Status(), iter(range(1000))
    status.getStageInfo = lambda i: type("Info", (), {"numCompletedTasks": next(rounds)})
    assert looks(status, 20) == []


def test_a_driver_at_work_without_a_stage_is_not_a_standstill():
    status = Status()
    status.getActiveStageIds = list
    assert looks(status, 20) == []


def test_the_watch_runs_beside_the_work_and_ends_with_it():
    heard = threading.Event()
    with spark.Standstill(Status(), "sample", say=lambda line: heard.set(), look=0.01):
        assert heard.wait(60)
