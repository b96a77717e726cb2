"""How each family grows: CPU seconds and memory of a fit with its defaults at four sizes, and fitted exponents.

    python benchmarks/growth.py                    # all, about six CPU minutes
    python benchmarks/growth.py ecological levels  # some; the others keep what the file says
    python benchmarks/growth.py --between          # sizes around every switch between methods: growth_between.json
    python benchmarks/growth.py king --repeats 3 --out a.json; python benchmarks/growth.py --merge a.json
    python benchmarks/growth.py --show             # what the file says

Every size runs in a process of its own on one thread, after a small fit of the same kind that loads what was compiled;
where it had to compile, it runs again.
Memory is the largest resident size during the fit, less what was resident before it (data, packages): `VmHWM` of
/proc/self/status after a reset, so that it needs Linux. Exponents are slopes of log seconds (bytes) on the log of the
size over the larger three sizes. Seconds and bytes are medians of the repeats; `spread` is the largest over the
smallest seconds. Writes benchmarks/results/growth.json, from which docs/explanation/scale.md quotes.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from run_record import run_record

RESULTS = Path(__file__).parent / "results" / "growth.json"
BETWEEN = Path(__file__).parent / "results" / "growth_between.json"
HOUR, ROOM = 3600.0, 20e9  # what a fit may take on this machine, in CPU seconds and bytes
BEYOND = {
    "ecological": "slower in proportion",
    "king": "slower in proportion; memory holds draws of every precinct",
    "proportions": "fewer rows, or a part of the bags",
    "bag_size": 'slower in proportion; `engine="spark"`',
    "ridge": "slower in proportion",
    "kernel_ridge": "landmarks from 2,048 bags on; refused with the size where similarities don't fit",
    "process": "inducing bags from 2,000 on; refused with the size where similarities don't fit",
    "network": "slower in proportion; refused with the size",
    "deep_sets": "slower in proportion; memory is that of the largest step",
    "flows": "slower in proportion until memory is full",
    "dense_flows": "refused with the size; give moves as sparse matrices",
    "features": 'quadratic in features; `device="cuda"` or `engine="spark"`',
    "levels": "large pairs are listed by their filled cells; refused with the size",
    "dense_levels": "refused with the size; count by filled cells, merge or hash levels",
    "rows": "memory levels off; slower in proportion",
    "large_pairs": "memory is that of the tables; slower in proportion to rows",
    "problem_pairs": "as above",
    "many_levels": "large pairs are counted by their filled cells; refused with the size",
    "order": "in proportion to the number of tables; refused with the size",
}
"""What a user meets beyond the sizes of the table."""


def ecological(n: int) -> Callable[[], Any]:
    """Precincts with three groups and three parties: the default method of the family."""
    from sumwise import synthetic
    from sumwise.ecological import EcologicalEM

    margins = synthetic.precincts(n, n_rows=3, n_cols=3, random_state=0).margins
    return lambda: EcologicalEM().fit(margins)


def king(n: int) -> Callable[[], Any]:
    """Precincts with two groups and two parties."""
    from sumwise import synthetic
    from sumwise.ecological import King

    margins = synthetic.precincts(n, random_state=0).margins
    return lambda: King(random_state=0).fit(margins)


def proportions(n: int) -> Callable[[], Any]:
    """Bags of 100 with 11 features, a penalty chosen by the data."""
    from sumwise.proportions import CardinalityClassifier

    bags, counts = labelled_bags(n, 100)
    return lambda: CardinalityClassifier().fit(bags, counts)


def bag_size(n: int) -> Callable[[], Any]:
    """One hundred bags of n individuals."""
    from sumwise.proportions import CardinalityClassifier

    bags, counts = labelled_bags(100, n)
    return lambda: CardinalityClassifier(penalty=1.0).fit(bags, counts)


def ridge(n: int) -> Callable[[], Any]:
    """Bags of 100 with two columns."""
    from sumwise.distribution import BagRidge

    bags, y = bags_with_response(n)
    return lambda: BagRidge().fit(bags, y)


def kernel_ridge(n: int) -> Callable[[], Any]:
    """The same bags."""
    from sumwise.distribution import BagKernelRidge

    bags, y = bags_with_response(n)
    return lambda: BagKernelRidge(random_state=0).fit(bags, y)


def process(n: int) -> Callable[[], Any]:
    """The same bags."""
    from sumwise.distribution import BagGaussianProcess

    bags, y = bags_with_response(n)
    return lambda: BagGaussianProcess(random_state=0).fit(bags, y)


def network(n: int) -> Callable[[], Any]:
    """Bags of 100 with ten features: three epochs of two networks with 64 units, beside the linear part."""
    from sumwise.proportions import CardinalityNetwork

    bags, counts = labelled_bags(n, 100)
    return lambda: CardinalityNetwork((64,), max_epochs=3, n_members=2).fit(bags, counts)


def deep_sets(n: int) -> Callable[[], Any]:
    """Bags of 100 with two columns: three epochs."""
    from sumwise.distribution import DeepSets

    bags, y = bags_with_response(n)
    return lambda: DeepSets(max_epochs=3, random_state=0).fit(bags, y)


def flows(n: int) -> Callable[[], Any]:
    """A year of 52 weeks on n cells, moves to the eight neighbours."""
    from sumwise.flows import Movement, Places
    from sumwise.flows.flow_problem import FlowProblem
    from sumwise.noise import Gaussian

    side, weeks, people = round(np.sqrt(n)), 52, 1e7
    places = Places.grid(side, side, reach=1.5)
    y, x = np.mgrid[:side, :side] / side
    counts = []
    for t in range(weeks):
        centre = 0.4 + 0.1 * (0.5 - 0.5 * np.cos(2 * np.pi * t / weeks))
        density = np.exp(-((y - (1 - centre)) ** 2 + 0.3 * (x - 0.5) ** 2) / 0.02) + 1e-4
        counts.append((people * density / density.sum()).ravel())
    seen = np.array(counts) + np.random.default_rng(0).normal(size=(weeks, side**2)) * 20
    return lambda: FlowProblem(places, places.moves(), seen, Gaussian(20.0), people, tol=1e-4).solve(Movement(1, 1))


def dense_flows(n: int) -> Callable[[], Any]:
    """Ten times with n states each, any move allowed."""
    from sumwise import synthetic
    from sumwise.collective import TreeModel, map_counts

    season = synthetic.birds(round(np.sqrt(n)), 10, 100_000, random_state=0)

    def fit() -> list:
        found = map_counts(TreeModel(season.domain, season.edges, season.log_potentials), season.tables)
        return [found.edges[edge] for edge in season.edges]

    return fit


def levels(n: int) -> Callable[[], Any]:
    """Two features of n levels and four of ten, in 400,000 rows: ten steps."""
    from sumwise import Tables
    from sumwise.maxent import MaxEntClassifier
    from sumwise.maxent.options import SolverOptions

    counted = Tables.from_frame(columns(400_000, [n, n, 10, 10, 10, 10]), [f"x{i}" for i in range(6)], label="label")
    return lambda: MaxEntClassifier(options=SolverOptions(max_iter=10), random_state=0).fit(counted)


def features(n: int) -> Callable[[], Any]:
    """n features of ten levels, in 200,000 rows."""
    from sumwise import synthetic
    from sumwise.maxent import MaxEntClassifier

    counted = synthetic.rows(200_000, sizes=[10] * n, rate=0.1, random_state=0).tables()
    return lambda: MaxEntClassifier(random_state=0).fit(counted)


def rows(n: int) -> Callable[[], Any]:
    """n rows of ten attributes in a Parquet file: all pairs with label sums."""
    from sumwise.aggregate import aggregate

    path = parquet(n, [10, 10, 20, 20, 30, 30, 50, 50, 100, 100])
    return lambda: aggregate(path, [f"x{i}" for i in range(10)], label="label", threads=1)


def large_pairs(n: int) -> Callable[[], Any]:
    """n rows of four attributes of 2,000 levels: all pairs in full, 24 million cells."""
    from sumwise.aggregate import aggregate

    path = parquet(n, [2_000] * 4)
    return lambda: aggregate(path, [f"x{i}" for i in range(4)], label="label", threads=1)


def problem_pairs(n: int) -> Callable[[], Any]:
    """n rows of three attributes of 5,000 levels: all pairs in full, 75 million cells."""
    from sumwise.aggregate import aggregate

    path = parquet(n, [5_000] * 3)
    return lambda: aggregate(path, [f"x{i}" for i in range(3)], label="label", threads=1)


def order(n: int) -> Callable[[], Any]:
    """n attributes of four levels in 50,000 rows: all triples."""
    from sumwise.aggregate import aggregate

    path = parquet(50_000, [4] * n)
    return lambda: aggregate(path, [f"x{i}" for i in range(n)], label="label", order=3, threads=1)


def many_levels(n: int) -> Callable[[], Any]:
    """Eight attributes of n levels in 300,000 rows: all pairs with label sums, large ones by their filled cells."""
    from sumwise.aggregate import aggregate

    path = parquet(300_000, [n] * 8)
    return lambda: aggregate(path, [f"x{i}" for i in range(8)], label="label", threads=1)


def labelled_bags(n: int, size: int) -> tuple[Any, Any]:
    """Bags whose intercepts vary, ten features."""
    from sumwise import Bags

    rng = np.random.default_rng(0)
    values = rng.normal(size=(n * size, 10)) + np.repeat(rng.normal(0, 0.5, (n, 10)), size, axis=0)
    labels = rng.random(n * size) < 1 / (1 + np.exp(-values @ np.linspace(-1, 1, 10)))
    return Bags(values, np.arange(0, n * size + 1, size)), labels.reshape(n, size).sum(axis=1)


def bags_with_response(n: int) -> tuple[Any, Any]:
    """Two columns; the response is their correlation, with noise."""
    from sumwise import Bags

    rng = np.random.default_rng(0)
    y = rng.uniform(-0.9, 0.9, n)
    values = rng.normal(size=(n, 100, 2))
    values[..., 1] = y[:, None] * values[..., 0] + np.sqrt(1 - y[:, None] ** 2) * values[..., 1]
    return Bags(values.reshape(-1, 2), np.arange(0, 100 * n + 1, 100)), y + rng.normal(0, 0.05, n)


def parquet(n: int, sizes: list[int]) -> str:
    """These columns in a temporary file."""
    import tempfile

    import pyarrow.parquet as pq

    path = os.path.join(tempfile.mkdtemp(), "rows.parquet")
    pq.write_table(columns(n, sizes), path)
    return path


def columns(n: int, sizes: list[int]) -> Any:
    """Independent uniform columns x0, x1, ... and a label."""
    import pyarrow as pa

    rng = np.random.default_rng(0)
    made = {f"x{i}": rng.integers(0, s, n, dtype=np.int32) for i, s in enumerate(sizes)}
    return pa.table(made | {"label": (rng.random(n) < 0.1).astype(np.int32)})


FAMILIES: dict[str, tuple[Callable[[int], Callable[[], Any]], str, tuple[int, ...]]] = {
    "ecological": (ecological, "precincts", (8_000, 32_000, 128_000, 1_000_000)),
    "king": (king, "precincts", (500, 2_000, 8_000, 32_000)),
    "proportions": (proportions, "bags of 100", (250, 1_000, 4_000, 16_000)),
    "bag_size": (bag_size, "members of each of 100 bags", (250, 1_000, 4_000, 16_000)),
    "ridge": (ridge, "bags of 100", (500, 2_000, 8_000, 32_000)),
    "kernel_ridge": (kernel_ridge, "bags of 100", (500, 2_000, 8_000, 32_000)),
    "process": (process, "bags of 100", (500, 2_000, 8_000, 32_000)),
    "network": (network, "bags of 100, three epochs", (125, 500, 2_000, 8_000)),
    "deep_sets": (deep_sets, "bags of 100, three epochs", (500, 2_000, 8_000, 32_000)),
    "flows": (flows, "places", (400, 1_600, 6_400, 25_600)),
    "dense_flows": (dense_flows, "places, any move", (64, 256, 576, 1_024)),
    "features": (features, "features of 10 levels", (5, 10, 20, 40)),
    "levels": (levels, "levels of two features", (300, 1_000, 3_000, 10_000)),
    "dense_levels": (levels, "levels of two features, all cells", (100, 300, 500, 700)),
    "rows": (rows, "rows", (125_000, 500_000, 2_000_000, 8_000_000)),
    "large_pairs": (large_pairs, "rows, pairs of 4 million cells", (1_000_000, 2_000_000, 4_000_000, 16_000_000)),
    "problem_pairs": (problem_pairs, "rows, pairs of 25 million cells", (8_000_000, 16_000_000)),
    "many_levels": (many_levels, "levels of eight attributes", (375, 750, 1_500, 3_000)),
    "order": (order, "attributes, all triples", (10, 20, 30, 40)),
}


SWITCHES: dict[str, tuple[int, ...]] = {
    "ecological": (1, 10, 220, 225, 1_000, 3_900, 4_100, 10_000),
    "proportions": (90, 210, 1_900),
    "kernel_ridge": (900, 1_100, 2_000, 2_100, 3_900, 4_100, 8_100, 8_300, 16_000),
    "process": (900, 1_100, 1_990, 2_010, 3_900, 4_100, 8_100, 8_300, 16_000),
    "levels": (400, 550, 700, 740, 780, 900, 1_200, 1_400, 1_700, 2_000, 5_000, 7_000, 14_000),
    "many_levels": (750, 900, 1_000, 1_100, 1_300, 1_500, 2_000, 4_000),
    "order": (20, 25, 28, 30, 35, 40, 45),
}
"""Sizes between and beyond those of the table, on both sides of every switch between methods."""


def measure(name: str, size: int) -> dict[str, float]:
    """CPU seconds and bytes of one fit in this process."""
    make, _, sizes = FAMILIES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        make(max(sizes[0] // 4, 4) if name != "dense_flows" else 16)()  # loads what was compiled
        fit = make(size)
        ctypes.CDLL(None).malloc_trim(0)  # what making the data freed isn't resident any more
        resident = status("VmRSS")
        Path("/proc/self/clear_refs").write_text("5", "ascii")
        began = process_time()
        kept = fit()
        seconds = process_time() - began
    del kept
    return {"size": size, "cpu_s": round(seconds, 3), "bytes": status("VmHWM") - resident, "before": resident}


def status(field: str) -> int:
    """A size of this process in bytes."""
    with open("/proc/self/status", encoding="ascii") as lines:
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith(f"{field}:"))


def alone(name: str, size: int) -> dict[str, float]:
    """Measure one size in a process of its own, on one thread."""
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    command = [sys.executable, __file__, "--one", name, str(size)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **one}, check=False)
    if done.returncode:
        raise SystemExit(f"{name} at {size} failed:\n{done.stderr[-3000:]}")
    if "compiles its kernels" in done.stderr:  # this size needs others than the small fit; they are kept now
        return alone(name, size)
    return json.loads(done.stdout.strip().split("\n")[-1])


def repeated(name: str, size: int, repeats: int) -> dict[str, float]:
    """Medians of so many measurements, and how far apart the seconds were."""
    runs = [alone(name, size) for _ in range(repeats)]
    middle = {key: float(np.median([run[key] for run in runs])) for key in ("cpu_s", "bytes", "before")}
    seconds = [run["cpu_s"] for run in runs]
    spread = {"repeats": repeats, "spread": round(max(seconds) / max(min(seconds), 1e-3), 2)}
    return {"size": size, **middle, **spread}


def machine() -> str:
    """The processor and how many cores it has."""
    with open("/proc/cpuinfo", encoding="ascii") as lines:
        name = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "unknown")
    return f"{name}, {os.cpu_count()} cores"


def run(name: str, sizes: tuple[int, ...], repeats: int, out: Path, facts: dict[str, str]) -> None:
    """Measure one family; what is known is written after every size, so that a run that is cut short keeps it."""
    for size in sizes:
        found = repeated(name, size, repeats) | {"machine": machine(), "commit": facts["commit"]}
        print(name, found, flush=True)
        results = read(out) | {**facts, "seed": 0, "threads": 1}
        merge(results, {"families": {name: {"grows": FAMILIES[name][1], "measured": [found]}}})
        out.write_text(json.dumps(results, indent=1) + "\n", "utf-8")


def read(path: Path) -> dict[str, Any]:
    """What a file says; nothing where there is none."""
    return json.loads(path.read_text("utf-8")) if path.exists() else {"families": {}}


def merge(results: dict[str, Any], more: dict[str, Any]) -> None:
    """Put what was measured into results, in the place of the same sizes, and what follows from it."""
    for name, part in more["families"].items():
        known = results["families"].setdefault(name, {"measured": []})
        measured = {m["size"]: m for m in [*known["measured"], *part["measured"]]}
        known["measured"] = found = [measured[size] for size in sorted(measured)]
        for before, after in pairwise(found):  # by how much more the cost grew than the size
            after["step"] = round(after["cpu_s"] / max(before["cpu_s"], 0.01) / (after["size"] / before["size"]), 2)
        for m in found:
            m["mib"] = m["bytes"] / 2**20
        results["families"][name] = known | summarised(name, FAMILIES[name][1], found)
    runs = [m for part in results["families"].values() for m in part["measured"]]
    results["commit"] = ", ".join(sorted({m.get("commit", "unknown") for m in runs}))


def exponent(found: list[dict[str, float]], what: str) -> float:
    """Slope of log `what` on log size over the larger three sizes."""
    if len(found) < 2:
        return 1.0
    x, y = (np.log([max(f[key], 1e-3) for f in found[-3:]]) for key in ("size", what))
    return round(float(np.polyfit(x, y, 1)[0]), 2)


def show(results: dict[str, Any]) -> None:
    """Print the table."""
    for name, found in results["families"].items():
        times = " / ".join(f"{m['cpu_s']:.2g}" for m in found["measured"])
        memory = " / ".join(f"{m['bytes'] / 2**20:,.0f}" for m in found["measured"])
        sizes = " / ".join(f"{m['size']:,}" for m in found["measured"])
        grown = f"{times:<24} ^{found['time']:<5} {memory} MiB ^{found['memory']}"
        print(f"{name:<13} {found['grows']:<28} {sizes:<32} {grown}")


def summarised(name: str, grows: str, found: list[dict[str, float]]) -> dict[str, Any]:
    """What was measured of a family, exponents, and the largest size that an hour or this machine's memory allows."""
    slopes = {"time": exponent(found, "cpu_s"), "memory": exponent(found, "bytes")}
    last, reach = found[-1], {}
    for what, slope, most in (("cpu_s", "time", HOUR), ("bytes", "memory", ROOM)):
        reach[what] = last["size"] * (most / max(last[what], 1e-3)) ** (1 / max(slopes[slope], 1.0))
    limit = min(reach, key=reach.__getitem__)
    largest = float(f"{max(reach[limit], last['size']):.1e}")
    return {
        "grows": grows,
        "measured": found,
        **slopes,
        "largest": largest,
        "limit": {"cpu_s": "an hour", "bytes": "20 GB"}[limit],
        "beyond": BEYOND[name],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", choices=[[], *FAMILIES], default=[])
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--between", action="store_true")
    parser.add_argument("--sizes", type=int, nargs="+", help="these sizes alone")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--out", type=Path, help="where to write, for parts that are measured elsewhere")
    parser.add_argument("--merge", type=Path, nargs="+", default=[], help="files that --out wrote")
    parser.add_argument("--commit", help="of the code that is measured, where this isn't a checkout of it")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(given.one[0], int(given.one[1]))))
        return
    kind = "--between" if given.between else ""
    out = given.out or {"": RESULTS, "--between": BETWEEN}[kind]
    sizes = {"": {name: found[2] for name, found in FAMILIES.items()}, "--between": SWITCHES}[kind]
    for part in given.merge:
        results = read(out)
        merge(results, read(part))
        out.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    for name in () if given.show or given.merge else given.names or sizes:
        wanted = tuple(given.sizes or sizes[name])
        facts = {
            "command": f"python benchmarks/growth.py {kind}".strip(),
            "commit": given.commit or run_record()["commit"],
        }
        run(name, wanted, given.repeats, out, facts)
    results = read(out)
    show(results)


if __name__ == "__main__":
    main()
