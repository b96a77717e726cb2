"""Coverage of 90% intervals of `BagGaussianProcess` for the response of other bags, with few bags.

    python benchmarks/process_coverage.py                 # 200 draws of each cell
    python benchmarks/process_coverage.py --trials 50

Bags of 30 rows; responses are a mean, a spread (normal rows) or the shape of a Gamma distribution, with noise of a
fifth of their deviation. New bags and responses in every draw; 30 other bags are predicted. Standard errors are over
draws. Writes benchmarks/results/process_coverage.json.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
import warnings
from pathlib import Path

import numpy as np

from sumwise import Bags
from sumwise.distribution import BagGaussianProcess

RESULTS = Path(__file__).parent / "results" / "process_coverage.json"
LEVEL, SIZE, N_TEST, NOISE = 0.9, 30, 30, 0.2


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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="seed of the first draw")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    rows, begin = [], time.process_time()
    for kind in ("mean", "spread", "shape"):
        for n in (12, 25, 60):
            each = np.array([held(kind, n, seed) for seed in range(args.first, args.first + args.trials)])
            error = each.std(ddof=1) / np.sqrt(len(each))
            rows.append(
                {"response": kind, "bags": n, "coverage": round(float(each.mean()), 4), "error": round(float(error), 4)}
            )
            print(rows[-1], f"{time.process_time() - begin:.0f} CPU-s", flush=True)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    kept = {
        "command": f"python benchmarks/process_coverage.py --trials {args.trials} --first {args.first}",
        "commit": commit.stdout.strip(),
        "level": LEVEL,
        "trials": args.trials,
        "cpu_seconds": round(time.process_time() - begin, 1),
        "cells": rows,
    }
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
