"""A batch of 64 populations of 400 cells and 52 weeks on a GPU, against one after another on the CPU.

    python benchmarks/gpu_flows.py                          # two minutes on a machine with a GPU
    python benchmarks/gpu_flows.py --side 6 --weeks 8 --batch 4 --device cpu    # a trial anywhere

Bootstraps share their movement (Poisson counts drawn again); species have a movement each (Gaussian noise). Seconds by
the clock, after one small call each that loads and compiles; both to the same proven gap.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from itertools import pairwise
from pathlib import Path
from time import perf_counter

import numpy as np
import torch

from sumwise import Domain, Table, Tables
from sumwise.collective import Movement, Places, TreeModel, map_counts, map_counts_batch
from sumwise.noise import Gaussian, Poisson

ROOT = Path(__file__).parents[1]
N = 1e5


def season(side, weeks, phase):
    """Expected counts (weeks, cells) of a population that circles over a grid."""
    x, y = (a.ravel() for a in np.meshgrid(np.arange(side), np.arange(side)))
    turn = 2 * np.pi * np.arange(weeks)[:, None] / weeks
    off = (x - side * (0.5 + 0.3 * np.sin(turn + phase))) ** 2 + (y - side * (0.5 + 0.3 * np.cos(turn))) ** 2
    share = np.exp(-off / (0.045 * side**2)) + 0.01
    return N * share / share.sum(axis=1, keepdims=True)


def populations(kind, batch, side, weeks, seed=0):
    """Models (one, or one each) and tables."""
    rng = np.random.default_rng(seed)
    x, y = (a.ravel().astype(float) for a in np.meshgrid(np.arange(side), np.arange(side)))
    places, names = Places(x=x, y=y), [f"t{k}" for k in range(weeks)]
    domain, edges = Domain(dict.fromkeys(names, side * side)), list(pairwise(names))

    def model(stay, scale):
        return TreeModel(domain, edges, dict.fromkeys(edges, Movement(stay, scale).log_moves(places)))

    def tables(phase, noise):
        return Tables(
            [Table(a, noise.sample(m, rng), noise=noise) for a, m in zip(names, season(side, weeks, phase))],
            domain,
            n=N,
        )

    if kind == "bootstraps":
        return model(2.0, 0.7), [tables(0.0, Poisson()) for _ in range(batch)]
    made = [model(s, d) for s, d in zip(rng.uniform(1, 4, batch), rng.uniform(0.5, 1.5, batch))]
    return made, [tables(p, Gaussian(20.0)) for p in rng.uniform(0, 6, batch)]


def compare(kind, given):
    """Seconds of both ways, and how far their answers are apart."""
    models, tables = populations(kind, given.batch, given.side, given.weeks)
    each = models if isinstance(models, list) else [models] * len(tables)
    map_counts(each[0], tables[0], tol=given.tol)
    map_counts_batch(each[:2], tables[:2], tol=given.tol, device=given.device)
    seconds = []
    for _ in range(3):
        began = perf_counter()
        fits = map_counts_batch(models, tables, tol=given.tol, device=given.device)
        seconds.append(perf_counter() - began)
    began = perf_counter()
    alone = [map_counts(m, t, tol=given.tol) for m, t in zip(each, tables)]
    cpu = perf_counter() - began
    apart = [abs(a.objective - b.objective) / abs(b.objective) for a, b in zip(fits, alone)]
    counts = [
        np.abs(np.stack(list(a.nodes.values())) - np.stack(list(b.nodes.values()))).max() for a, b in zip(fits, alone)
    ]
    return {
        "kind": kind,
        "seconds on the device": round(float(np.median(seconds)), 3),
        "seconds of three runs": [round(s, 3) for s in seconds],
        "seconds one after another": round(cpu, 3),
        "times faster": round(cpu / float(np.median(seconds)), 1),
        "certified": int(sum(f.converged for f in fits)),
        "solved alone": int(sum(f.history["solved alone"][0] for f in fits)),
        "largest relative gap": max(f.gap / abs(f.objective) for f in fits),
        "largest relative difference of objectives": max(apart),
        "largest difference of a count, of 100,000": float(max(counts)),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--side", type=int, default=20)
    parser.add_argument("--weeks", type=int, default=52)
    parser.add_argument("--tol", type=float, default=1e-6)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--out", default=ROOT / "benchmarks" / "results" / "gpu_flows.json", type=Path)
    given = parser.parse_args()
    rows = []
    for kind in ("bootstraps", "species"):
        rows.append(compare(kind, given))
        print(rows[-1], flush=True)
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], check=False, capture_output=True, text=True, cwd=ROOT
    ).stdout.strip()
    name = torch.cuda.get_device_name() if given.device.startswith("cuda") else "CPU"
    found = {"command": f"python benchmarks/gpu_flows.py --device {given.device}", "commit": commit, "seed": 0}
    found |= {"device": name, "torch": torch.__version__, "threads on the CPU": torch.get_num_threads()}
    found |= {"batch": given.batch, "cells": given.side**2, "weeks": given.weeks, "tol": given.tol, "rows": rows}
    given.out.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
