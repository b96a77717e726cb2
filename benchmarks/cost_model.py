"""What internet scale would cost: CPU hours, memory, network, machines and hours, from measured constants.

    python benchmarks/cost_model.py      # seconds; reads benchmarks/results/growth.json

For each problem the seconds and bytes of the largest run in growth.json are scaled by the fitted exponents (at least 1)
to the size asked for, and the same rule is checked against the three smaller runs: `check` is predicted over measured.
Counting goes by seconds of a row and a pair beside those of the cells; one of its checks has pairs of 5,000 levels.
What is assumed and not measured stands in ASSUMED. Writes benchmarks/results/cost_model.json, from which
docs/explanation/scale.md quotes.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from run_record import run_record

RESULTS = Path(__file__).parent / "results"
ASSUMED = {
    "cores of a machine": 16,
    "memory of a machine, GB": 64,
    "network of a machine, GB/s": 1.25,
    "disk or object store, GB/s": 1.0,
    "bytes of a coded value in Parquet": 2,
    "share of cores at work": 0.7,
    "memory that may be used": 0.75,
    "Spark against the local engine": 1.5,
    "evaluations of a likelihood in a fit": 60,
}


def scaled(family: dict[str, Any], size: float, what: str, exponent: str) -> float:
    """Seconds or bytes at a size: those of the largest run times a power of the ratio of sizes."""
    last = family["measured"][-1]
    return last[what] * (size / last["size"]) ** max(family[exponent], 1.0)


def check(family: dict[str, Any]) -> list[float]:
    """Predicted over measured seconds at the three smaller sizes."""
    return [round(scaled(family, m["size"], "cpu_s", "time") / m["cpu_s"], 2) for m in family["measured"][:-1]]


def cluster(cpu_s: float, n_bytes: float, read: float = 0.0, sent: float = 0.0) -> dict[str, Any]:
    """Machines for the memory, or for the hour if that takes more; hours, machine-hours, and what takes longest.

    read: bytes from disk by all machines together; sent: bytes through the busiest network card.
    """
    usable = ASSUMED["memory of a machine, GB"] * 1e9 * ASSUMED["memory that may be used"]
    speed = ASSUMED["cores of a machine"] * ASSUMED["share of cores at work"]
    for_memory = max(1, math.ceil(n_bytes / usable))
    machines = max(for_memory, math.ceil(cpu_s / speed / 3600))
    parts = {
        "CPU": cpu_s / (machines * speed),
        "reading": read / (machines * ASSUMED["disk or object store, GB/s"] * 1e9),
        "network of one machine": sent / (ASSUMED["network of a machine, GB/s"] * 1e9),
    }
    hours = sum(parts.values()) / 3600
    fits = for_memory == 1 or machines > for_memory or hours >= 0.5
    most = max(parts, key=parts.__getitem__) if fits else "memory"
    return {
        "cpu_hours": cpu_s / 3600,
        "memory_gb": n_bytes / 1e9,
        "machines": machines,
        "hours": hours,
        "machine_hours": machines * hours,
        "bottleneck": most,
    }


def counting(families: dict[str, Any], n: float = 1e10, features: int = 50, levels: int = 5000) -> dict[str, Any]:
    """All pairs of 50 features of 5,000 levels in ten billion rows, each machine with some of the pairs."""
    each, _ = counting_costs(families)
    pairs = features * (features - 1) // 2
    tables = 40.0 * pairs * levels**2  # a cell is counted by 40 bytes; there are more rows than cells
    read = n * features * ASSUMED["bytes of a coded value in Parquet"]
    found = cluster(each * n * pairs * ASSUMED["Spark against the local engine"], tables, read, tables / pairs)
    return found | {"pairs": pairs, "cells": pairs * levels**2, "seconds of a row and a pair": each}


def counting_costs(families: dict[str, Any]) -> tuple[float, float]:
    """Seconds of a row and a pair, and of all cells, by the two largest runs over pairs of 4 million cells."""
    *_, one, other = families["large_pairs"]["measured"]
    each = (other["cpu_s"] - one["cpu_s"]) / (other["size"] - one["size"])
    return each / 6, max(other["cpu_s"] - each * other["size"], 0.0)


def counting_check(families: dict[str, Any]) -> list[float]:
    """Predicted over measured seconds: fewer rows, and three attributes of 5,000 levels, as in the problem itself."""
    each, fixed = counting_costs(families)
    smaller = [(6 * each * m["size"] + fixed) / m["cpu_s"] for m in families["large_pairs"]["measured"][:-2]]
    wide = [
        (3 * each * m["size"] + fixed * 3 * 5_000**2 / (6 * 2_000**2)) / m["cpu_s"]
        for m in families["problem_pairs"]["measured"]
    ]
    return [round(ratio, 2) for ratio in [*smaller, *wide]]


def training(families: dict[str, Any], features: int = 50, levels: int = 5000, steps: int = 150) -> dict[str, Any]:
    """The maximum entropy model of these pairs: 96 numbers for every cell (maxent/trainers.py), sums to one driver."""
    run = families["dense_levels"]["measured"][-1]
    each = run["cpu_s"] / 10 / dense_cells(run["size"])  # seconds of a step and a cell, chains included
    wanted = features * (features - 1) // 2 * levels**2
    found = cluster(each * wanted * steps, 96 * 8.0 * wanted, 0.0, 2 * 8.0 * wanted * steps)
    return found | {"cells": wanted, "seconds of a step and a cell": each}


def dense_cells(levels: int) -> int:
    """Cells of all pairs of two features of many levels and four of ten."""
    return levels**2 + 8 * 10 * levels + 6 * 100


def training_check(families: dict[str, Any]) -> list[float]:
    """Predicted over measured seconds of smaller tables, in proportion to their cells."""
    *smaller, last = families["dense_levels"]["measured"]
    each = last["cpu_s"] / dense_cells(last["size"])
    return [round(each * dense_cells(m["size"]) / m["cpu_s"], 2) for m in smaller]


def ecological(families: dict[str, Any], n: float = 1e6) -> dict[str, Any]:
    """One million precincts with three groups and three parties, on one machine."""
    family = families["ecological"]
    seconds, n_bytes = scaled(family, n, "cpu_s", "time"), scaled(family, n, "bytes", "memory")
    return {"cpu_hours": seconds / 3600, "cpu_s": seconds, "memory_gb": n_bytes / 1e9, "machines": 1,
            "hours": seconds / 3600, "machine_hours": seconds / 3600, "bottleneck": "CPU of one core"}  # fmt: skip


def bags(families: dict[str, Any], n: float = 1e9, features: int = 10) -> dict[str, Any]:
    """A billion members of bags: the likelihood is evaluated where the bags lie, gradients are a few hundred bytes."""
    last = families["bag_size"]["measured"][-1]
    seconds = last["cpu_s"] / (100 * last["size"]) * n * ASSUMED["Spark against the local engine"]
    rows = 8.0 * n * features
    sent = 8.0 * (features + 1) * ASSUMED["evaluations of a likelihood in a fit"]
    return cluster(seconds, 2 * rows, rows, sent)


def places(families: dict[str, Any], n: float = 1e7) -> dict[str, Any]:
    """Ten million places over 52 weeks with moves to neighbours: one problem, which must lie on one machine today."""
    family = families["flows"]
    seconds, n_bytes = scaled(family, n, "cpu_s", "time"), scaled(family, n, "bytes", "memory")
    return {"cpu_hours": seconds / 3600, "memory_gb": n_bytes / 1e9, "machines": 1, "hours": seconds / 3600,
            "machine_hours": seconds / 3600, "bottleneck": "memory of one machine"}  # fmt: skip


def main() -> None:
    families = json.loads((RESULTS / "growth.json").read_text("utf-8"))["families"]
    problems = {
        "counting": (counting(families), counting_check(families)),
        "training": (training(families), training_check(families)),
        "ecological": (ecological(families), check(families["ecological"])),
        "bags": (bags(families), check(families["bag_size"])),
        "places": (places(families), check(families["flows"])),
    }
    found = {name: {**cost, "check": ratios} for name, (cost, ratios) in problems.items()}
    made = run_record(seed="nothing is drawn") | {"from": "growth.json"}
    out = made | {"assumed": ASSUMED, "problems": found}
    (RESULTS / "cost_model.json").write_text(json.dumps(out, indent=1) + "\n", "utf-8")
    for name, cost in found.items():
        facts = ", ".join(f"{k} {v:.3g}" if isinstance(v, float) else f"{k} {v}" for k, v in cost.items())
        print(f"{name}: {facts}")


if __name__ == "__main__":
    main()
