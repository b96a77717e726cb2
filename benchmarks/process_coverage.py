"""Coverage of 90% intervals of `BagGaussianProcess` for the response of other bags, with few bags.

    python benchmarks/process_coverage.py                 # 200 draws of each cell
    python benchmarks/process_coverage.py --bags 25 --trials 50 --first 5000

Bags of 30 rows; responses are a mean, a spread (normal rows) or the shape of a Gamma distribution, with noise of a
fifth of their deviation. New bags and responses in every draw; 30 other bags are predicted. Standard errors are over
draws. Writes benchmarks/results/process_coverage.json.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from run_record import run_record

from sumwise import Bags
from sumwise.distribution import BagGaussianProcess

RESULTS = Path(__file__).parent / "results" / "process_coverage.json"
LEVEL, SIZE, N_TEST, NOISE = 0.9, 30, 30, 0.2
KINDS, BAGS = ("mean", "spread", "shape"), (12, 25, 60)


def drawn(kind, n, rng):
    """Bags of one kind, and their responses."""
    y = rng.uniform(1.0, 3.0, n)
    if kind == "mean":
        rows = [rng.normal(a, 1.0, (SIZE, 2)) for a in y]
    elif kind == "spread":
        rows = [rng.normal(0.0, a, (SIZE, 2)) for a in y]
    else:
        rows = [rng.gamma(a, 1.0 / a, (SIZE, 1)) for a in y]
    return Bags.from_arrays(rows), y + NOISE * rng.normal(0.0, 0.58, n)


def held(kind, n, seed):
    """Share of the other bags whose interval holds the response."""
    rng = np.random.default_rng([seed, n])
    bags, y = drawn(kind, n + N_TEST, rng)
    process = BagGaussianProcess(random_state=0).fit(bags[:n], y[:n])
    low, high = process.predict_interval(bags[n:], LEVEL)
    return float(np.mean((low <= y[n:]) & (y[n:] <= high)))


def summary(cells):
    """The least and the largest coverage, and the fewest draws."""
    found = [c["coverage"] for c in cells]
    return {"least": min(found), "most": max(found), "trials": min(c["trials"] for c in cells)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="seed of the first draw")
    parser.add_argument("--bags", nargs="*", type=int, default=BAGS, help="some of the sizes")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"cells": []}
    for n, kind in ((n, kind) for n in args.bags for kind in KINDS):
        begin = time.process_time()
        each = np.array([held(kind, n, seed) for seed in range(args.first, args.first + args.trials)])
        cell = {
            "response": kind,
            "bags": n,
            "coverage": round(float(each.mean()), 4),
            "error": round(float(each.std(ddof=1) / np.sqrt(len(each))), 4),
            "trials": args.trials,
            "first": args.first,
            "cpu_seconds": round(time.process_time() - begin, 1),
            "commit": run_record()["commit"],
        }
        others = [c for c in kept["cells"] if (c["response"], c["bags"]) != (kind, n)]
        cells = sorted([*others, cell], key=lambda c: (KINDS.index(c["response"]), c["bags"]))
        kept = {"command": "python benchmarks/process_coverage.py", "level": LEVEL, **summary(cells), "cells": cells}
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n")
        print(cell, flush=True)


if __name__ == "__main__":
    main()
