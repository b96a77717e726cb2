"""CPU seconds of the three jobs on tables that people wait for: a fit on Adult, `sumwise fit` on Bank, 20 million rows.

    python benchmarks/tables_speed.py [adult bank rows]    # about a minute; 65 MB of temporary files for the rows

adult: `MaxEntClassifier()` on all pairs of fourteen attributes, five seeds. bank: the command on the file of Bank, from
start to report, without comparisons, in a process of its own whose kernels are compiled. rows: all 21 pairs of seven
attributes with a label from a Parquet file, with the largest resident memory of the process. One thread each. Writes
benchmarks/results/tables_speed.json, part by part.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from run_record import run_record

RESULTS = Path(__file__).parent / "results" / "tables_speed.json"
SIZES = {"a": 5, "b": 7, "c": 4, "d": 9, "e": 12, "f": 6, "g": 20}
N_ROWS = 20_000_000


def adult() -> dict:
    """Five fits with defaults."""
    from maxent import fitted, load
    from sumwise.maxent import MaxEntClassifier, SolverOptions

    task = load("adult", "width")
    fitted(MaxEntClassifier(options=SolverOptions(max_iter=3), random_state=0), task)  # compiles
    seconds = [fitted(MaxEntClassifier(random_state=seed), task)[1] for seed in range(5)]
    return {"cpu_s": round(sum(seconds) / len(seconds), 2), "largest": round(max(seconds), 2), "seeds": 5}


def bank() -> dict:
    """`sumwise fit` as a user types it."""
    from sumwise import datasets

    with tempfile.TemporaryDirectory() as place:
        datasets.bank().frame.to_csv(Path(place) / "bank.csv", index=False)
        for command in (["init", "bank.csv", "--out", "bank.toml"], ["fit", "bank.toml", "--out", "first"]):
            _command(command, place)
        return {"cpu_s": round(_command(["fit", "bank.toml", "--out", "result"], place), 2)}


def _command(words: list[str], place: str) -> float:
    """CPU seconds of a command and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-c", "from sumwise.cli.entry import main; raise SystemExit(main())", *words],
        cwd=place,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def rows() -> dict:
    """20 million rows, in a process of its own."""
    import duckdb

    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "rows.parquet"
        columns = [f"(hash(i + {k}) % {size})::UTINYINT AS {a}" for k, (a, size) in enumerate(SIZES.items())]
        query = f"SELECT {', '.join(columns)}, (hash(i + 7) % 2)::UTINYINT AS y FROM range({N_ROWS}) t(i)"
        duckdb.connect(config={"threads": 1}).execute(f"COPY ({query}) TO '{path}' (FORMAT parquet)")
        done = subprocess.run([sys.executable, __file__, "--count", str(path)], check=True, capture_output=True)
    return json.loads(done.stdout)


def count(path: str) -> dict:
    """Count the file."""
    from sumwise.aggregate import aggregate

    aggregate({"a": [0, 1], "b": [1, 0], "y": [0, 1]}, ["a", "b"], "y")  # compiles
    begin = time.process_time()
    tables = aggregate(path, list(SIZES), "y", threads=1)
    seconds = time.process_time() - begin
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"rows": int(tables.n), "tables": len(tables), "cpu_s": round(seconds, 2), "MB": round(memory)}


def main() -> None:
    if sys.argv[1:2] == ["--count"]:
        print(json.dumps(count(sys.argv[2])))
        return
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    held = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    for name in sys.argv[1:] or ["adult", "bank", "rows"]:
        held[name] = {**run_record(seed="0 on"), **{"adult": adult, "bank": bank, "rows": rows}[name]()}
        print(name, held[name], flush=True)
        RESULTS.write_text(json.dumps(held, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
