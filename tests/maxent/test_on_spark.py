"""Chains on Spark: the local engine's result to the bit; a killed worker and a killed driver change nothing."""

import json
import os
import shutil
import signal
import subprocess
import sys
import warnings

import numpy as np
import pytest

from killed import STAND_STILL
from maxent_settings import classifier
from sumwise import NotConverged, synthetic
from sumwise.aggregate import aggregate
from sumwise.encoding import Encoding
from sumwise.encoding.rules import Cross, Levels
from sumwise.maxent import on_spark, trainers
from sumwise.maxent.on_spark import Sums, merge, summed

OPTIONS = {"n_chains": 300, "random_state": 0, "max_iter": 16, "tol": 0.0}
SOLVER = {k: v for k, v in OPTIONS.items() if k != "random_state"}
WORLD = {"n": 2000, "sizes": [4, 3, 5], "rate": 0.3, "random_state": 1}
needs_spark = pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java, and there is none")


@pytest.fixture(scope="module")
def tables():
    return synthetic.rows(**WORLD).tables()


def fitted(tables, checkpoint=None, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        return classifier(**{**OPTIONS, **options}).fit(tables, checkpoint=checkpoint)


@pytest.fixture(scope="module")
def local(tables):
    """What the local engine learns."""
    return fitted(tables, engine="gibbs")


def test_sums_are_sent_by_cell_where_few_are_in_use():
    dense = np.zeros((100, 2))
    dense[[3, 50]] = [[2.0, 0.5], [1.0, 1.0]]
    few = summed(dense)
    assert few.cells.tolist() == [3, 50]
    assert np.array_equal(few.dense(100), dense)
    assert summed(np.ones((100, 2))).cells is None


@pytest.mark.parametrize("shares", [(0.02, 0.05), (0.2, 0.2), (0.9, 0.01), (0.9, 0.9)])
def test_merged_sums_are_those_of_all_chains(shares):
    rng = np.random.default_rng(0)
    parts = [rng.integers(1, 5, (200, 2)) * (rng.random((200, 1)) < s) for s in shares]
    found = merge({0: summed(parts[0].astype(float))}, {0: summed(parts[1].astype(float)), 1: Sums(parts[1])}, 200)
    assert np.array_equal(found[0].dense(200), parts[0] + parts[1])
    assert np.array_equal(found[1].values, parts[1])


@pytest.mark.spark
def test_hashed_crosses_are_trained_as_here(spark):
    rows = synthetic.rows(**WORLD).frame()
    plain = {a: Levels(a, tuple(range(k))) for a, k in zip(("f0", "f1", "f2"), WORLD["sizes"])}
    encoding = Encoding({**plain, "both": Cross(("f0", "f1"), 7, 1)})
    sets = [("both",), ("f0", "f2"), ("f1", "f2")]
    crossed = aggregate(rows, ["f0", "f1", "f2", "both"], "label", encoding=encoding, subsets=sets)
    here = fitted(crossed, engine="gibbs", max_iter=3)
    there = fitted(crossed, engine="spark", max_iter=3, master=spark.sparkContext.master)
    assert np.array_equal(there.theta_, here.theta_)


class Stopped(Exception):
    """What ends a driver in the middle."""


@pytest.mark.spark
def test_a_lost_partition_and_a_driver_that_ends_change_nothing(spark, tables, local, tmp_path, monkeypatch):
    """Begun, stopped, resumed, and chains lost by the executors: the local engine's bits."""
    monkeypatch.setattr(on_spark, "SWEEPS_PER_GATHERING", 3)  # so that chains are gathered between
    monkeypatch.setattr(trainers, "SECONDS", 0.0)
    real, calls = on_spark.SparkGibbs.moments, []

    def moments(self, parameters):
        calls.append(1)
        if len(calls) == 12:  # a checkpoint is saved after ten steps
            raise Stopped
        if len(calls) == 15:
            self._rdd.unpersist(blocking=True)  # as when the executor that holds them dies: swept again
        return real(self, parameters)

    monkeypatch.setattr(on_spark.SparkGibbs, "moments", moments)
    path = tmp_path / "state"
    with pytest.raises(Stopped):
        fitted(tables, engine="spark", master=spark.sparkContext.master, checkpoint=path)
    assert path.exists()
    found = fitted(tables, engine="spark", master=spark.sparkContext.master, checkpoint=path)
    assert (
        15 < len(calls) <= 12 + OPTIONS["max_iter"] - 10 + OPTIONS["max_iter"]
    )  # it went on from there, and was tested
    assert found.fit_.n_iter == OPTIONS["max_iter"]
    assert np.array_equal(found.theta_, local.theta_)
    assert np.array_equal(found.chains_["codes"], local.chains_["codes"])
    assert not path.exists()


DRIVER = """
import sys
from sumwise import synthetic
from sumwise.maxent import MaxEntClassifier, SolverOptions, trainers
trainers.SECONDS = 0.0
tables = synthetic.rows(**{world}).tables()
MaxEntClassifier(options=SolverOptions(**{options}, master="local[2]"), engine="spark", random_state=0).fit(
    tables, checkpoint=sys.argv[1]
)
"""


def killed_once_saved(path, log):
    """Run a driver of its own on local[2], and kill it and its Java when its first checkpoint is there."""
    code = STAND_STILL.format(saves=1)
    code += DRIVER.format(world=WORLD, options=SOLVER)
    with open(log, "wb") as out:
        driver = subprocess.Popen(
            [sys.executable, "-c", code, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=out,
            start_new_session=True,
        )
    stands = any(line == b"standing still\n" for line in iter(driver.stdout.readline, b""))
    if stands:
        os.killpg(driver.pid, signal.SIGKILL)
    driver.communicate()
    return stands and path.exists()


RESUMED = """
import json, pathlib, sys, warnings
import numpy as np
from spark_cluster import Cluster
from sumwise import NotConverged, synthetic
from sumwise.maxent import MaxEntClassifier, SolverOptions, on_spark
on_spark.SWEEPS_PER_GATHERING = 3  # so that chains are gathered between
real, calls = on_spark.SparkGibbs.moments, []
folder = pathlib.Path(sys.argv[1])
warnings.simplefilter("ignore", NotConverged)
with Cluster(folder) as cluster:
    def moments(self, parameters):
        calls.append(1)
        if len(calls) == 3:
            known = self.session.sparkContext._jsc.sc().getExecutorMemoryStatus().size()
            assert known == 3, known  # two executors and the driver
            cluster.kill(0)
        return real(self, parameters)
    on_spark.SparkGibbs.moments = moments
    options = SolverOptions(**{options}, master=cluster.master)
    model = MaxEntClassifier(options=options, engine="spark", random_state=0)
    found = model.fit(synthetic.rows(**{world}).tables(), checkpoint=folder / "state")
    alive = [w.poll() is None for w in cluster.workers]
np.savez(folder / "found.npz", theta=found.theta_, codes=found.chains_["codes"])
print("FOUND", json.dumps([alive, len(calls), found.fit_.n_iter]))
"""


@needs_spark
@pytest.mark.spark
@pytest.mark.long
def test_a_killed_driver_and_a_killed_worker_change_nothing(local, tmp_path):
    """Begun on local[2], resumed on a cluster of two workers of which one dies: the local engine's bits.

    Both drivers have a process of their own: this one may have a session on another master.
    """
    path = tmp_path / "state"
    assert killed_once_saved(path, tmp_path / "log"), (tmp_path / "log").read_text()[-2000:]
    done = subprocess.run(
        [sys.executable, "-c", RESUMED.format(world=WORLD, options=SOLVER), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(os.path.abspath(p) for p in sys.path if p)},
        capture_output=True,
        text=True,
    )
    said = [line for line in done.stdout.splitlines() if line.startswith("FOUND")]
    assert said, done.stderr[-3000:]
    alive, calls, steps = json.loads(said[0].removeprefix("FOUND"))
    assert alive == [False, True]
    assert 4 <= calls <= OPTIONS["max_iter"] - 10 + OPTIONS["max_iter"]  # it went on from there, and was tested
    assert steps == OPTIONS["max_iter"]
    found = np.load(tmp_path / "found.npz")
    assert np.array_equal(found["theta"], local.theta_)
    assert np.array_equal(found["codes"], local.chains_["codes"])
    assert not path.exists()
