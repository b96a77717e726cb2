"""A Spark driver that is killed: the fit goes on from its checkpoint and ends with the same bits.

    python benchmarks/lost_driver.py        # about two CPU minutes

Fits label proportions on local[2] without interruption; then starts the same fit in a process of its own with a
checkpoint, kills that process (SIGKILL) as soon as the checkpoint is there, starts it again, and compares. Writes
benchmarks/results/lost_driver.json.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from run_record import run_record

from sumwise import Bags
from sumwise.proportions import CardinalityClassifier, journal, on_spark

RESULTS = Path(__file__).parent / "results" / "lost_driver.json"


def bags():
    """Two hundred bags of 50 with ten features."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(10_000, 10)) + np.repeat(rng.normal(0, 0.5, (200, 10)), 50, axis=0)
    labels = rng.random(10_000) < 1 / (1 + np.exp(-values @ np.linspace(-1, 1, 10)))
    return Bags(values, np.arange(0, 10_001, 50)), labels.reshape(200, 50).sum(axis=1)


def fit(out: str, checkpoint: str | None) -> None:
    """Fit, and write the coefficients and how many evaluations Spark made."""
    made, real = [0], on_spark.SparkProblem._all

    def counted(problem, method, theta):
        made[0] += 1
        return real(problem, method, theta)

    on_spark.SparkProblem._all = counted  # type: ignore[method-assign]
    journal.Journal.__init__.__defaults__ = (0.0,)  # save after every evaluation
    model = CardinalityClassifier(penalty=1.0, engine="spark", master="local[2]", checkpoint=checkpoint).fit(*bags())
    np.savez(out, coef=model.coef_, intercept=model.intercept_, made=made[0])


def child(out: Path, checkpoint: Path | None) -> subprocess.Popen:
    """A fit in a process of its own."""
    command = [sys.executable, __file__, "--fit", str(out), *([str(checkpoint)] if checkpoint else [])]
    return subprocess.Popen(command, start_new_session=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--fit", nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.fit:
        fit(given.fit[0], given.fit[1] if len(given.fit) > 1 else None)
        return
    with tempfile.TemporaryDirectory() as folder:
        whole, again, kept = (Path(folder) / name for name in ("whole.npz", "again.npz", "fit.checkpoint"))
        child(whole, None).wait()
        lost = child(again, kept)
        while not kept.exists() and lost.poll() is None:
            time.sleep(0.05)
        os.killpg(lost.pid, signal.SIGKILL)  # the driver and its Java; started above, in a group of its own
        lost.wait()
        interrupted = kept.exists() and not again.exists()
        child(again, kept).wait()
        one, other = np.load(whole), np.load(again)
        same = bool(np.array_equal(one["coef"], other["coef"]) and np.array_equal(one["intercept"], other["intercept"]))
        found = {
            **run_record(seed=0),
            "killed before the end": interrupted,
            "evaluations without interruption": int(one["made"]),
            "evaluations after the driver was lost": int(other["made"]),
            "same bits": same,
        }
    print(found)
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
