"""A standalone Spark cluster of two workers whose Python has no sumwise, and what is killed while it works.

    make cluster                                          # builds the archive, then
    python benchmarks/bare_cluster.py dist/pyspark-env.tar.gz [maxent bags aggregate]

Every fit is a script that spark-submit runs. The workers' Python is a new virtual environment with nothing in it.
sumwise comes by ``--archives`` to a first fit that nobody disturbs, and from the unpacked archive, as on storage that
all workers see, to the others. For each family, in turn: the driver is killed in mid-fit and started again; one worker
is killed in mid-fit; all workers are. The first two must end with the bits of a fit that nobody disturbed; the third
must say that no executor is alive, and stop by itself after `spark.sumwise.patience`, here 60 seconds. `result_size` is
a fit whose partial sums together exceed `spark.driver.maxResultSize`; it must end with the bits of the local engine.
Writes benchmarks/results/bare_cluster.json; about five CPU minutes.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import venv
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from run_record import run_record

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "src")]

from spark_cluster import Cluster  # noqa: E402
from sumwise import Bags, DataError, synthetic  # noqa: E402

RESULTS = Path(__file__).parent / "results" / "bare_cluster.json"
PATIENCE = 60
FAMILIES = ("maxent", "bags", "aggregate", "result_size")
PARTS = 16  # partial sums of result_size


def maxent(checkpoint: str | None) -> dict[str, np.ndarray]:
    """Sampling: a checkpoint after every ten steps."""
    from sumwise.maxent import MaxEntClassifier, SolverOptions, on_spark, trainers

    trainers.SECONDS = 0.0
    pause_at(on_spark.SparkGibbs, "moments", 12)
    tables = synthetic.rows(5_000, sizes=[4, 3, 5, 2], rate=0.3, random_state=0).tables()
    options = SolverOptions(n_chains=2_000, max_iter=20, tol=0.0)
    model = MaxEntClassifier(engine="spark", options=options, checkpoint=checkpoint, random_state=0)
    return {"theta": model.fit(tables).theta_}


def result_size(engine: str | None) -> dict[str, np.ndarray]:
    """Sampling with sums of 300 KB for each half of the chains, in 16 parts; engine: another than Spark."""
    from sumwise.maxent import MaxEntClassifier, SolverOptions

    tables = synthetic.rows(20_000, sizes=[140, 130, 3], rate=0.3, random_state=0).tables()
    options = SolverOptions(n_chains=6_000, max_iter=3, tol=0.0)
    return {"theta": MaxEntClassifier(engine=engine or "spark", options=options, random_state=0).fit(tables).theta_}


def bags(checkpoint: str | None) -> dict[str, np.ndarray]:
    """Class counts per bag: evaluations are kept."""
    from sumwise.proportions import CardinalityClassifier, journal, on_spark

    journal.Journal.__init__.__defaults__ = (0.0,)
    pause_at(on_spark.SparkProblem, "_all", 5)
    rng = np.random.default_rng(0)
    values = rng.normal(size=(5_000, 5)) + np.repeat(rng.normal(0, 0.5, (100, 5)), 50, axis=0)
    labels = rng.random(5_000) < 1 / (1 + np.exp(-values @ np.linspace(-1, 1, 5)))
    model = CardinalityClassifier(penalty=1.0, engine="spark", checkpoint=checkpoint)
    model.fit(Bags(values, np.arange(0, 5_001, 50)), labels.reshape(100, 50).sum(axis=1))
    return {"coef": model.coef_, "intercept": model.intercept_}


def aggregate(_checkpoint: str | None) -> dict[str, np.ndarray]:
    """Counting: one pass, which a lost driver begins again."""
    from sumwise.aggregate import aggregate, on_spark

    pause_at(on_spark.SparkEngine, "count", 1)
    rows = synthetic.rows(20_000, sizes=[4, 3, 5], rate=0.3, random_state=0).frame()
    tables = aggregate(rows, ["f0", "f1", "f2"], "label", engine="spark")
    return {"-".join(t.attributes): np.stack([t.counts, t.label_sums]) for t in tables}


def pause_at(owner: Any, method: str, call: int) -> None:
    """Let a driver say so before a call, and wait until the file that PAUSE names is there."""
    real, calls = getattr(owner, method), []

    def work(*given: Any) -> Any:
        calls.append(1)
        if len(calls) == call and "PAUSE" in os.environ:
            print("PAUSED", flush=True)
            while not Path(os.environ["PAUSE"]).exists():  # spark-submit hands no standard input on
                time.sleep(0.2)
        return real(*given)

    setattr(owner, method, work)


def driver(family: str, out: str, checkpoint: str | None) -> None:
    """Fit and write the result, in a process of its own; a refusal is printed."""
    warnings.simplefilter("ignore")
    try:
        np.savez(out, **globals()[family](checkpoint))
        print("DONE", flush=True)
    except DataError as error:
        print("REFUSED", " ".join(str(error).split()), flush=True)


class Driver:
    """A fit by spark-submit as a child of this process, and what it says.

    settings: options of spark-submit; the script names neither a master nor an archive.
    """

    def __init__(self, settings: list[str], family: str, out: Path, checkpoint: Path | None, pause: bool) -> None:
        import pyspark

        home = Path(pyspark.__file__).parent
        given = ["--driver", family, str(out), *([str(checkpoint)] if checkpoint else [])]
        self.wait_for = out.with_suffix(".go")
        self.wait_for.unlink(missing_ok=True)
        lent = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        environment = {**lent, "SPARK_HOME": str(home), "PYSPARK_DRIVER_PYTHON": sys.executable}
        self.process = subprocess.Popen(
            [str(home / "bin" / "spark-submit"), *settings, __file__, *given],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment | ({"PAUSE": str(self.wait_for)} if pause else {}),
            start_new_session=True,
        )

    def until(self, words: str) -> str:
        """The first line with these words; an end before that is an error."""
        assert self.process.stdout is not None
        said = []
        for line in self.process.stdout:
            said.append(line)
            if words in line:
                return line.strip()
        raise SystemExit(f"The driver ended without {words!r}:\n{''.join(said[-40:])}")

    def go_on(self) -> None:
        """Make the file that it waits for."""
        self.wait_for.touch()

    def kill(self) -> None:
        """End it and its Java at once."""
        os.killpg(self.process.pid, signal.SIGKILL)  # a group of our own making
        self.process.communicate()


def submit(cluster: Cluster, place: str) -> list[str]:
    """Options of spark-submit on this machine; place: where the executors find sumwise."""
    settings = {"spark.executorEnv.PYTHONPATH": place, "spark.sumwise.patience": PATIENCE}
    return ["--master", cluster.master, *options_of(settings)]


def tried(family: str, cluster: Cluster, folder: Path, archive: Path, unpacked: Path) -> dict[str, Any]:
    """All three losses of one family."""
    whole, again, kept = folder / f"{family}.npz", folder / f"{family}-again.npz", folder / f"{family}.checkpoint"
    shipped = [*submit(cluster, "./environment"), "--archives", f"{archive}#environment"]
    Driver(shipped, family, whole, None, pause=False).until("DONE")
    settings = submit(cluster, str(unpacked))
    lost = Driver(settings, family, again, kept, pause=True)
    lost.until("PAUSED")
    lost.kill()
    saved = kept.exists()
    Driver(settings, family, again, kept, pause=False).until("DONE")
    found: dict[str, Any] = {"driver": {"checkpoint was there": saved, "same bits": same(whole, again)}}
    disturbed = Driver(settings, family, again, None, pause=True)
    disturbed.until("PAUSED")
    cluster.kill(0)
    disturbed.go_on()
    disturbed.until("DONE")
    found["one worker"] = {"same bits": same(whole, again)}
    alone = Driver(settings, family, again, None, pause=True)
    alone.until("PAUSED")
    cluster.kill(1)
    begin = time.monotonic()
    alone.go_on()
    heard = alone.until("no executor is alive")
    after = round(time.monotonic() - begin)
    ended = alone.until("REFUSED")
    end = round(time.monotonic() - begin)
    found["all workers"] = {"heard after s": after, "line": heard, "ended after s": end, "words": ended}
    return found


def narrow(cluster: Cluster, folder: Path, unpacked: Path) -> dict[str, Any]:
    """A driver that may receive one megabyte, where sixteen parts have five together."""
    found = folder / "found.npz"
    limits = {"spark.driver.maxResultSize": "1m", "spark.default.parallelism": PARTS}
    settings = [*submit(cluster, str(unpacked)), *options_of(limits)]
    Driver(settings, "result_size", found, None, pause=False).until("DONE")
    here = result_size("gibbs")["theta"]
    n_bytes = 4 * 8 * (140 * 130 + 140 * 3 + 130 * 3)  # counts and label sums of each half
    same_bits = bool(np.array_equal(np.load(found)["theta"], here))
    return {"small maxResultSize": {**limits, "bytes of one sum": n_bytes, "same bits": same_bits}}


def options_of(settings: dict[str, Any]) -> list[str]:
    """Settings as options of spark-submit."""
    return [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]


def same(one: Path, other: Path) -> bool:
    """Whether two results have the same bits."""
    a, b = np.load(one), np.load(other)
    return a.files == b.files and all(np.array_equal(a[name], b[name]) for name in a.files)


def bare_python(folder: Path) -> Path:
    """A Python of this version without any package."""
    venv.create(folder / "bare", with_pip=False)
    python = folder / "bare" / "bin" / "python"
    lacks = subprocess.run([python, "-I", "-c", "import sumwise"], capture_output=True, check=False)
    assert lacks.returncode != 0, "the workers' Python has sumwise"
    return python


def main(archive: str, *families: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    found |= run_record(seed=0) | {"patience, s": PATIENCE}
    with tempfile.TemporaryDirectory() as place:
        shutil.unpack_archive(archive, place, filter="data")
        os.environ["PYSPARK_PYTHON"] = str(bare_python(Path(place)))
        for family in families or FAMILIES:
            folder = Path(place) / f"cluster-{family}"
            folder.mkdir()
            with Cluster(folder, bare=True) as cluster:
                if family == "result_size":
                    found[family] = narrow(cluster, folder, Path(place))
                else:
                    found[family] = tried(family, cluster, folder, Path(archive).resolve(), Path(place))
            shutil.rmtree(folder, ignore_errors=True)
            print(family, json.dumps(found[family]), flush=True)
            RESULTS.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    return found


if __name__ == "__main__":
    if sys.argv[1] == "--driver":
        driver(sys.argv[2], sys.argv[3], sys.argv[4] if len(sys.argv) > 4 else None)
    else:
        result = main(*sys.argv[1:])
        bits = [v["same bits"] for f in FAMILIES if f in result for v in result[f].values() if "same bits" in v]
        sys.exit(not all(bits))
