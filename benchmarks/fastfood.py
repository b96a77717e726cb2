"""Fourier features by Fastfood's n log n products against the same frequencies as a dense matrix.

    python benchmarks/fastfood.py          # about ten CPU seconds

Bags of a hundred rows; CPU seconds of the quickest of three runs, and the largest difference of any feature. Writes
benchmarks/results/fastfood.json.
"""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import numpy as np

from sumwise.distribution.kernels.fastfood import draw_fastfood, mean_fastfood_waves
from sumwise.distribution.kernels.fourier_features import mean_waves

RESULTS = Path(__file__).parent / "results" / "fastfood.json"
CELLS = [(16, 512), (64, 512), (256, 1024), (1024, 2048)]  # columns, frequencies
N_BAGS, SIZE = 10, 100


def quickest(function, *given, **named):
    """What it returns, and CPU seconds of the quickest of three runs."""
    best = np.inf
    for _ in range(3):
        begin = time.process_time()
        out = function(*given, **named)
        best = min(best, time.process_time() - begin)
    return out, best


def main():
    rng, rows = np.random.default_rng(0), []
    for d, n in CELLS:
        values, offsets = rng.normal(size=(N_BAGS * SIZE, d)) / np.sqrt(d), np.arange(N_BAGS + 1) * SIZE
        blocks = draw_fastfood(d, n, rng=rng)
        of = {"columns": np.arange(d), "centre": np.zeros(d)}
        dense = blocks.dense(d, n)
        slow, plain = quickest(mean_waves, values, offsets, None, dense, **of)
        fast, quick = quickest(mean_fastfood_waves, values, offsets, None, blocks, n, factor=np.ones(d), **of)
        rows.append(
            {
                "columns": d,
                "frequencies": n,
                "dense_seconds": round(plain, 4),
                "fastfood_seconds": round(quick, 4),
                "ratio": round(plain / quick, 1),
                "dense_numbers": dense.size,
                "fastfood_numbers": 4 * blocks.signs.size,
                "difference": float(np.abs(fast - slow).max()),
            }
        )
        print(rows[-1], flush=True)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    kept = {"command": "python benchmarks/fastfood.py", "commit": commit.stdout.strip(), "seed": 0, "cells": rows}
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
