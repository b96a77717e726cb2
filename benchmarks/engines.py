"""What counting costs on each engine: CPU seconds and memory for pairs of 15 columns and a label.

    python benchmarks/engines.py              # 500,000 and 5 million rows; about two CPU minutes, and needs Java

Every count runs in a process of its own with its own start (Spark: of an application on local[2]). CPU seconds are
those of the process and of all that it started; memory is its largest resident size (of Spark, without Java). On
DuckDB: ``csv``, the same rows as CSV; ``encode``, with quantiles and lists of levels that are learned from them first;
``release``, a private release of declared rows with a person key. Writes benchmarks/results/engines.json.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb
from run_record import run_record

RESULTS = Path(__file__).parent / "results" / "engines.json"
NUMBERS, LEVELS = [100, 50, 1000, 20, 10, 80, 15], [5, 12, 40, 3, 8, 300, 25, 60]
NAMES = [*(f"n{i}" for i in range(len(NUMBERS))), *(f"t{i}" for i in range(len(LEVELS)))]
WAYS = ("duckdb", "csv", "encode", "release", "spark")


def write(folder: Path, n: int) -> None:
    """Rows of independent columns, as Parquet and CSV."""
    numbers = [f"(hash(i * 31 + {k}) % {size})::INT AS n{k}" for k, size in enumerate(NUMBERS)]
    texts = [f"'lv' || (hash(i * 17 + {k}) % {size}) AS t{k}" for k, size in enumerate(LEVELS)]
    columns = ", ".join(["i AS person", *numbers, *texts, "(hash(i * 7) % 10 = 0)::INT AS y"])
    with duckdb.connect() as base:
        base.execute(f"COPY (SELECT {columns} FROM range({n}) t(i)) TO '{folder / 'rows.parquet'}'")
        base.execute(f"COPY (FROM '{folder / 'rows.parquet'}') TO '{folder / 'rows.csv'}' (HEADER)")


def count(way: str, folder: Path) -> None:
    """One count, in this process."""
    from sumwise.aggregate import aggregate

    if way == "release":
        from sumwise.encoding import Declaration
        from sumwise.privacy import release_rows

        widths = {f"n{k}": {"kind": "width", "bins": 10, "range": [0, size]} for k, size in enumerate(NUMBERS)}
        lists = {f"t{k}": {"kind": "levels", "values": [f"lv{i}" for i in range(n)]} for k, n in enumerate(LEVELS)}
        declared = Declaration({**widths, **lists}, label="y", person="person")
        release_rows(folder / "rows.parquet", declared, 1.0, 1e-6, "gaussian", None)
        return
    rules = {n: {"kind": "quantiles", "bins": 10} if n[0] == "n" else "levels" for n in NAMES}
    source = folder / ("rows.csv" if way == "csv" else "rows.parquet")
    options = {"engine": "spark", "master": "local[2]"} if way == "spark" else {}
    aggregate(source, NAMES, "y", encoding=rules if way == "encode" else None, **options)


def used() -> float:
    """CPU seconds of this process and of all that it started, also of those that still run (Java, Spark's workers)."""
    stats = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        stats[int(folder.name)] = int(fields[1]), sum(map(int, fields[11:15]))  # with what ended below it
    ours = {os.getpid()}
    while more := {pid for pid, (parent, _) in stats.items() if parent in ours} - ours:
        ours |= more
    return sum(stats[pid][1] for pid in ours) / os.sysconf("SC_CLK_TCK")


def measured(way: str, folder: Path) -> dict[str, float]:
    """CPU seconds, memory and time of a process that does one count."""
    start = time.monotonic()
    done = subprocess.run([sys.executable, __file__, "--one", way, str(folder)], check=True, stdout=subprocess.PIPE)
    return {**json.loads(done.stdout.split(b"\n")[-2]), "s": round(time.monotonic() - start, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[500_000, 5_000_000])
    parser.add_argument("--ways", nargs="+", default=WAYS, choices=WAYS)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        count(given.one[0], Path(given.one[1]))
        largest = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        print(json.dumps({"cpu_s": round(used(), 2), "mib": round(largest / 1024)}))
        return
    kept = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {"rows": {}}
    for n in given.rows:
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made)
            write(folder, n)
            found = kept["rows"].setdefault(str(n), {})
            for way in given.ways:
                found[way] = measured(way, folder)
                print(n, way, found[way], flush=True)
                if {"spark", "duckdb"} <= set(found):
                    found["factor"] = round(found["spark"]["cpu_s"] / found["duckdb"]["cpu_s"], 1)
                kept |= run_record()
                RESULTS.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
