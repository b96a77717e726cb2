"""How training grows: seconds and memory of one iteration against chains, features, levels and Spark executors.

Usage: python benchmarks/scale.py [--engine cpu|cuda|spark|paper ...] [--json PATH]

`cpu` is the Numba engine (one thread, CPU seconds), `cuda` the GPU engine (device events; needs NumPy and torch alone),
`spark` the Numba engine on a standalone cluster of one and of two workers that is started here (wall seconds; memory
is the driver's), `paper` one sweep of a few chains at the shape of the paper's largest training. On the CPU every
setting runs in a process of its own, so that its largest resident memory is its own; the GPU's is what torch allocated
at most. Exponents are slopes of log time (memory) on the log of what grows, over the larger half of the settings, where
fixed costs no longer show. Prints a table last.
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

import numpy as np

HERE = Path(__file__).parent
BASE = {"chains": 10_000, "features": 10, "levels": 30, "executors": 1}
GROWTH = {
    "cpu": {
        "chains": (10_000, 30_000, 100_000, 300_000, 1_000_000),
        "features": (5, 10, 20, 40),
        "levels": (10, 30, 100, 300),
    },
    "cuda": {
        "chains": (10_000, 100_000, 300_000, 1_000_000),
        "features": (5, 10, 20, 40),
        "levels": (10, 30, 100, 300, 1000),
    },
    "spark": {"executors": (1, 2)},
    "paper": {"chains": (500, 1000, 2000)},
}
PAPER = (2, 3, 5, 8, 12, 18, 25, 35, 45, 55, 65, 100, *[900] * 7)
LARGE = {"cuda": {"chains": 1_000_000, "levels": 100}, "spark": {"chains": 200_000}}  # base of the larger machines


def cpu(setting: dict) -> dict[str, float]:
    """CPU seconds of a sweep with its expected tables, and of the update."""
    from sumwise import synthetic
    from sumwise.maxent.engines import Gibbs
    from sumwise.maxent.training import StepOptions, by_steps, start

    found, chains = _problem(synthetic, setting)
    engine, state = Gibbs(found, chains, (), 1), start(found)
    options = StepOptions(_penalties(found), tol=0.0)
    swept, real = [0.0], engine.moments

    def moments(parameters):
        begin = time.process_time()
        out = real(parameters)
        swept[0] += time.process_time() - begin
        return out

    engine.moments = moments  # type: ignore[method-assign]
    by_steps(found, engine, options, state, lambda now: True)  # compile, or load what was compiled
    swept[0], begin, n = 0.0, time.process_time(), 3
    by_steps(found, engine, options, state, lambda now: now.n_iter >= n + 1)
    return {"seconds": (time.process_time() - begin) / n, "of it sweeps": swept[0] / n, "GiB": resident()}


def cuda(setting: dict) -> dict[str, float]:
    """Seconds of an iteration on the device."""
    import torch
    from gpu_maxent import Training, milliseconds

    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    training = Training([setting["levels"]] * setting["features"], 1_000_000, setting["chains"], 0, "cuda")
    sweeps = milliseconds(lambda: training.sweep(training.cells()), "cuda")
    whole = milliseconds(training.step, "cuda")
    return {"seconds": whole / 1e3, "of it sweeps": sweeps / 1e3, "GiB": torch.cuda.max_memory_allocated() / 2**30}


def spark(setting: dict) -> dict[str, float]:
    """Wall seconds of a sweep with its expected tables on a cluster of one-core workers."""
    sys.path.insert(0, str(HERE.parent / "tests"))
    from spark_cluster import Cluster
    from sumwise import synthetic
    from sumwise.maxent.on_spark import SparkGibbs
    from sumwise.maxent.training import start

    found, chains = _problem(synthetic, setting)
    parameters = start(found).parameters
    with tempfile.TemporaryDirectory() as folder, Cluster(Path(folder), setting["executors"]) as cluster:
        engine = SparkGibbs(found, chains, (), cluster.master, True)
        try:
            for _ in range(3):
                engine.moments(parameters)  # starts executors and loads what was compiled
            begin, n = time.perf_counter(), 5
            for _ in range(n):
                engine.moments(parameters)
            seconds = (time.perf_counter() - begin) / n
        finally:
            engine.close()
    return {"seconds": seconds, "of it sweeps": seconds, "GiB": resident()}


def paper(setting: dict) -> dict[str, float]:
    """CPU seconds of a sweep at the paper's shape; features and levels of the setting are not used."""
    from itertools import combinations

    from sumwise.maxent.kernels import gibbs
    from sumwise.maxent.kernels.loglinear import layout

    rng, lay = np.random.default_rng(0), layout(PAPER, list(combinations(range(len(PAPER)), 2)))
    weights = rng.normal(0, 0.1, (2, lay.n_cells))
    sums, plan = np.zeros((1, lay.n_cells, 2)), gibbs.plan(lay)
    tables = gibbs.sweep_tables(plan, weights, weights[:1])
    chains = gibbs.draw_chains(setting["chains"], [np.full(s, 1 / s) for s in PAPER], 2, rng)
    gibbs.sweep_once(gibbs.Chains(*(a[:10] for a in chains)), plan, tables, np.zeros(2), sums)  # compile
    begin = time.process_time()
    gibbs.sweep_once(chains, plan, tables, np.zeros(2), sums)
    seconds = time.process_time() - begin
    return {"seconds": seconds, "of it sweeps": seconds, "GiB": resident()}


def _problem(synthetic, setting: dict):
    from sumwise.maxent.kernels import gibbs
    from sumwise.maxent.sufficient_statistics import sufficient_statistics

    sizes = [setting["levels"]] * setting["features"]
    found = sufficient_statistics(
        synthetic.rows(200_000, sizes=sizes, rate=0.1, correlation=0.2, random_state=0).tables()
    )
    margins = [found.margin(a) for a in range(len(sizes))]
    return found, gibbs.draw_chains(setting["chains"], margins, 2, np.random.default_rng(0))


def _penalties(found):
    from sumwise.maxent.kernels.contrastive import Moments

    return Moments(np.ones(found.layout.n_params), np.full(found.data.sums.shape, 48.0))


def resident() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def alone(engine: str, setting: dict) -> dict[str, float]:
    """Measure one setting: in a process of its own, but on the GPU, whose kernels would be compiled anew."""
    if engine == "cuda":
        return cuda(setting)
    command = [sys.executable, __file__, "--one", engine, json.dumps(setting)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise SystemExit(f"{engine} {setting} failed:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.strip().split("\n")[-1])


def exponent(x, y) -> float:
    """Slope of log y on log x over the larger half."""
    keep = len(x) // 2 if len(x) > 2 else 0
    return float(np.polyfit(np.log(x[keep:]), np.log(y[keep:]), 1)[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--engine", nargs="+", choices=list(GROWTH), default=["cpu", "spark"])
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--json", default=str(HERE / "results" / "scale.json"))
    given = parser.parse_args()
    if given.one:
        print(json.dumps(globals()[given.one[0]](json.loads(given.one[1]))))
        return
    rows, slopes = [], []
    for engine in given.engine:
        base = BASE | LARGE.get(engine, {})
        for what, values in GROWTH[engine].items():
            measured = [alone(engine, base | {what: v}) for v in values]
            for v, m in zip(values, measured):
                rows.append({"engine": engine, "what": what, "value": v, **m})
                print(json.dumps(rows[-1]), flush=True)
            times, memory = ([m[k] for m in measured] for k in ("seconds", "GiB"))
            at = {k: v for k, v in base.items() if k != what and (engine == "spark" or k != "executors")}
            slopes.append({"engine": engine, "what": what, "time": exponent(values, times), "at": at})
            slopes[-1]["memory"] = exponent(values, memory)
    path = Path(given.json)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"rows": rows, "exponents": slopes}, indent=1))
    print(f"{'engine':<7} {'what':<10} {'value':>9} {'ms':>10} {'sweeps, ms':>11} {'GiB':>7}")
    for r in rows:
        values = f"{r['value']:>9} {1e3 * r['seconds']:>10.1f} {1e3 * r['of it sweeps']:>11.1f} {r['GiB']:>7.2f}"
        print(f"{r['engine']:<7} {r['what']:<10} {values}")
    print(f"\n{'engine':<7} {'what':<10} {'time ~':>7} {'memory ~':>9}  at")
    for s in slopes:
        print(f"{s['engine']:<7} {s['what']:<10} {s['time']:>7.2f} {s['memory']:>9.2f}  {s['at']}")


if __name__ == "__main__":
    main()
