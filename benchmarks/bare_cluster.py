"""A fit on a standalone Spark cluster of two workers whose Python has no sumwise: it comes by an archive.

    make cluster                                          # builds the archive, then
    python benchmarks/bare_cluster.py dist/pyspark-env.tar.gz

The workers' Python is a new virtual environment with nothing in it. The fit must have the bits of the local engine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "src")]

from spark_cluster import Cluster  # noqa: E402
from sumwise import synthetic  # noqa: E402
from sumwise.maxent import MaxEntClassifier, SolverOptions  # noqa: E402


def bare_python(folder: Path) -> Path:
    """A Python of this version without any package."""
    venv.create(folder / "bare", with_pip=False)
    python = folder / "bare" / "bin" / "python"
    lacks = subprocess.run([python, "-I", "-c", "import sumwise"], capture_output=True, check=False)
    assert lacks.returncode != 0, "the workers' Python has sumwise"
    return python


def main(archive: str) -> dict:
    tables = synthetic.rows(5_000, sizes=[4, 3, 5, 2], rate=0.3, random_state=0).tables()
    options = {"n_chains": 2_000, "max_iter": 20}
    local = MaxEntClassifier(engine="gibbs", options=SolverOptions(**options), random_state=0).fit(tables)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["PYSPARK_PYTHON"] = str(bare_python(folder))
        os.environ["PYSPARK_SUBMIT_ARGS"] = (
            f"--archives {Path(archive).resolve()}#environment --conf spark.executorEnv.PYTHONPATH=./environment "
            "pyspark-shell"
        )
        begin = time.monotonic()
        with Cluster(folder, bare=True) as cluster:
            spread = SolverOptions(**options, master=cluster.master)
            found = MaxEntClassifier(engine="spark", options=spread, random_state=0).fit(tables)
    same = bool(np.array_equal(found.theta_, local.theta_))
    return {"same bits": same, "steps": found.fit_.n_iter, "seconds": round(time.monotonic() - begin, 1)}


if __name__ == "__main__":
    result = main(sys.argv[1])
    print(json.dumps(result))
    sys.exit(not result["same bits"])
