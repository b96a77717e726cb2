"""Spark's session and its failures; the engines that use it have tests of their own."""

import pytest

from sumwise import spark
from sumwise.errors import DataError, MissingExtra

py4j = pytest.importorskip("py4j.protocol", reason="the extra 'spark' isn't installed")


def test_spark_without_java_says_so(monkeypatch, tmp_path):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingExtra, match=r"Spark needs Java.*without Spark"):
        spark._require_java()


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ("An error\nModuleNotFoundError: No module named 'numba'\n at", "can't sample: ModuleNotFoundError.*install"),
        ("An error occurred\n: java.io.IOException: disk full\nat x", "didn't sample: : java.io.IOException"),
    ],
)
def test_failures_of_workers_are_told_in_one_line(told, words):
    with pytest.raises(DataError, match=words), spark.broken_workers("sample"):
        raise py4j.Py4JError(told)
