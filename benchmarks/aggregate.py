"""All pairwise tables with label sums of many rows: ours beside one GROUP BY per pair, and growth in constant memory.

    python benchmarks/aggregate.py                     # 10 million rows, then 1, 10 and 80 million streamed
    python benchmarks/aggregate.py --rows 1000000 --growth 1000000

Every job runs in a process of its own, with 2 threads, and reports CPU time (both threads together), wall time and its
largest resident memory. Compare ratios within one run: on a shared machine wall times are noisy. Writes
benchmarks/results/aggregate.json.
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
from functools import partial
from itertools import combinations
from pathlib import Path

ATTRIBUTES = [f"f{i}" for i in range(19)]
PAIRS = list(combinations(range(19), 2))
THREADS = 2
CHUNK = 1_000_000
MEMORY_CAP = 6 * 2**30  # of address space; the aim is 4 GiB resident


def timed(work):
    """CPU and wall seconds of some work, and what it gave."""
    cpu, wall = time.process_time(), time.perf_counter()
    result = work()
    return {"cpu_s": time.process_time() - cpu, "wall_s": time.perf_counter() - wall}, result


def ours(path: str) -> dict:
    """From the file to tables: levels found, columns decoded to codes, 171 tables counted."""
    from sumwise.aggregate import aggregate

    aggregate(path, ATTRIBUTES[:2], label="label", threads=THREADS)  # compile, or load what was compiled
    spent, tables = timed(lambda: aggregate(path, ATTRIBUTES, label="label", threads=THREADS, memory_limit="1GB"))
    return {
        **spent,
        "n": tables.n,
        "check": float(sum(t.label_sums.sum() for t in tables)),
        "cells": total_cells(tables),
    }


def total_cells(tables) -> int:
    """Cells of all tables together."""
    return sum(t.counts.size for t in tables)


def ours_on_codes(path: str) -> dict:
    """From codes in memory to counts: what is left when nothing must be decoded."""
    import numpy as np
    import pyarrow.parquet as pq

    from sumwise.aggregate.counters import Counter

    file = pq.ParquetFile(path)
    counter = None
    spent = {"cpu_s": 0.0, "wall_s": 0.0}
    sizes = [1] * 19
    for batch in file.iter_batches(CHUNK, columns=ATTRIBUTES):
        sizes = [max(s, int(np.max(c.to_numpy())) + 1) for s, c in zip(sizes, batch.columns)]
    for batch in file.iter_batches(CHUNK):
        codes = [batch.column(a).to_numpy() for a in ATTRIBUTES]
        label = batch.column("label").to_numpy()
        if counter is None:
            counter = Counter(PAIRS, sizes, n_threads=THREADS)
            counter.add([c[:1000] for c in codes], label[:1000])
            counter = Counter(PAIRS, sizes, n_threads=THREADS)
        took, _ = timed(partial(counter.add, codes, label))
        spent = {k: spent[k] + took[k] for k in spent}
    took, tables = timed(counter.tables)
    spent = {k: spent[k] + took[k] for k in spent}
    check = float(sum(s.sum() for _, s in tables))
    return {**spent, "n": counter.rows, "check": check, "increments_per_row": len(counter.joints)}


def one_group_by_per_pair(path: str) -> dict:
    """171 separate DuckDB statements over the file."""
    import duckdb

    con = duckdb.connect(config={"threads": THREADS})

    def work():
        check = 0
        for a, b in combinations(ATTRIBUTES, 2):
            sql = f"SELECT {a}, {b}, count(*) AS n, sum(label) AS s FROM read_parquet('{path}') GROUP BY ALL"
            check += sum(con.sql(sql).to_arrow_table().column("s").to_pylist())
        return check

    spent, check = timed(work)
    return {**spent, "check": float(check)}


def pandas_groupby(path: str) -> dict:
    """171 pandas groupbys on a tenth of the rows; times ten."""
    import pandas as pd
    import pyarrow.parquet as pq

    frame = pq.read_table(path).slice(0, pq.read_metadata(path).num_rows // 10).to_pandas()

    def work():
        for a, b in combinations(ATTRIBUTES, 2):
            frame.groupby([a, b], sort=False)["label"].agg(["size", "sum"])

    assert isinstance(frame, pd.DataFrame)
    spent, _ = timed(work)
    return {k: 10 * v for k, v in spent.items()}


JOBS = {
    "ours, file to tables": ours,
    "ours, codes to counts": ours_on_codes,
    "(a) DuckDB, a GROUP BY per pair": one_group_by_per_pair,
    "(b) pandas on a tenth, times ten": pandas_groupby,
}


def run_job(name: str, path: Path, cap: bool = False) -> dict:
    """One job in a process of its own."""
    arguments = [sys.executable, __file__, "--job", name, "--path", str(path)] + (["--cap"] if cap else [])
    environment = {**os.environ, "NUMBA_NUM_THREADS": str(THREADS), "OMP_NUM_THREADS": str(THREADS)}
    done = subprocess.run(arguments, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise SystemExit(f"{name} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def child(name: str, path: str, cap: bool) -> None:
    """Run a job here and print what it took."""
    if cap:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_CAP, MEMORY_CAP))
    result = JOBS[name](path)
    result["peak_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(result))


def written(folder: Path, n: int) -> Path:
    """A Parquet file of n generated rows with the shape of the AdKDD set."""
    from sumwise import synthetic

    path = folder / f"rows-{n}.parquet"
    if not path.exists():
        synthetic.rows(n, preset="adkdd", random_state=0).write_parquet(path)
    return path


def stretched(folder: Path, n: int, unit: int = 10_000_000) -> Path:
    """n rows as a folder that holds one file of ten million rows under several names: no more disk, as much to read."""
    if n <= unit or n % unit:
        return written(folder, n)
    path = folder / f"stretched-{n}"
    path.mkdir(exist_ok=True)
    for i in range(n // unit):
        if not (path / f"{i}.parquet").exists():
            os.link(written(folder, unit), path / f"{i}.parquet")
    return path


def compare(folder: Path, n: int) -> dict:
    """All jobs on one file, as a table."""
    path = written(folder, n)
    results = {name: run_job(name, path) for name in JOBS}
    rival = results["(a) DuckDB, a GROUP BY per pair"]
    sums = {r["check"] for r in results.values() if "check" in r}
    if len(sums) != 1:
        raise SystemExit(f"The jobs disagree: {sums}")
    print(f"\n171 tables with label sums of {n:,} rows x 19 attributes, {THREADS} threads; all agree on the label sums")
    print(f"{'':36}{'CPU s':>8}{'wall s':>8}{'peak MiB':>10}{'(a) / CPU':>11}{'(a) / wall':>12}")
    for name, r in results.items():
        ratios = rival["cpu_s"] / r["cpu_s"], rival["wall_s"] / r["wall_s"]
        print(f"{name:36}{r['cpu_s']:8.2f}{r['wall_s']:8.2f}{r['peak_mib']:10.0f}{ratios[0]:11.1f}{ratios[1]:12.1f}")
    joints = results["ours, codes to counts"]["increments_per_row"]
    codes = n * (19 * 2 + 1)
    per = results["ours, codes to counts"]["cpu_s"] / (n * joints) * 1e9
    print(
        f"Floor: {path.stat().st_size / 2**20:,.0f} MiB of Parquet and {codes / 2**20:,.0f} MiB of codes, "
        f"each read once; {n * 171 / 1e9:.2f} billion increments of pairs,\n"
        f"of which joint tables leave {n * joints / 1e9:.2f} billion "
        f"({joints} per row), at {per:.2f} ns of CPU each."
    )
    return results


def growth(folder: Path, counts: list[int]) -> dict:
    """Ours over more and more rows, streamed, with a cap on memory."""
    print(f"\nGrowth, streamed from Parquet, DuckDB capped at 1 GB, address space at {MEMORY_CAP / 2**30:.0f} GiB")
    print(f"{'rows':>12}{'CPU s':>9}{'wall s':>9}{'peak MiB':>10}{'ns CPU per row':>16}")
    out = {}
    for n in counts:
        r = run_job("ours, file to tables", stretched(folder, n), cap=True)
        if r["n"] != n:
            raise SystemExit(f"{r['n']} of {n} rows were counted")
        out[str(n)] = r
        print(
            f"{n:12,}{r['cpu_s']:9.1f}{r['wall_s']:9.1f}{r['peak_mib']:10.0f}{r['cpu_s'] / n * 1e9:16.0f}", flush=True
        )
    return out


def main() -> None:
    """Parse, run, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--growth", type=int, nargs="*", default=[1_000_000, 10_000_000, 80_000_000])
    parser.add_argument("--job")
    parser.add_argument("--path")
    parser.add_argument("--cap", action="store_true")
    given = parser.parse_args()
    if given.job:
        child(given.job, given.path, given.cap)
        return
    results_folder = Path(__file__).parent / "results"
    results_folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=results_folder, prefix="rows-") as folder:
        results = {"rows": given.rows, "compare": compare(Path(folder), given.rows)}
        results["growth"] = growth(Path(folder), given.growth)
    (results_folder / "aggregate.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
