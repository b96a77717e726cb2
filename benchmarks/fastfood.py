"""Fourier features by Fastfood's n log n products against the same frequencies as a dense matrix.

    python benchmarks/fastfood.py          # about twenty CPU seconds

Bags of a hundred rows, ten draws: mean CPU seconds, their ratio on the same draw with its standard error, and the
largest difference of any feature. Writes benchmarks/results/fastfood.json.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
from run_record import run_record

from sumwise.distribution.kernels.fastfood import draw_fastfood, mean_fastfood_features
from sumwise.distribution.kernels.fourier_features import mean_fourier_features

RESULTS = Path(__file__).parent / "results" / "fastfood.json"
CELLS = [(16, 512), (64, 512), (256, 1024), (1024, 2048)]  # columns, frequencies
N_BAGS, SIZE, DRAWS = 10, 100, 10


def timed(function, *given, **named):
    """What it returns, and its CPU seconds."""
    begin = time.process_time()
    out = function(*given, **named)
    return out, time.process_time() - begin


def drawn(d, n, seed):
    """CPU seconds of a dense matrix and of blocks on one draw, the numbers each keeps, and how far they are apart."""
    rng = np.random.default_rng(seed)
    values, offsets = rng.normal(size=(N_BAGS * SIZE, d)) / np.sqrt(d), np.arange(N_BAGS + 1) * SIZE
    blocks = draw_fastfood(d, n, rng=rng)
    of = {"columns": np.arange(d), "centre": np.zeros(d)}
    dense = blocks.dense(d, n)
    slow, plain = timed(mean_fourier_features, values, offsets, None, dense, **of)
    fast, quick = timed(mean_fastfood_features, values, offsets, None, blocks, n, factor=np.ones(d), **of)
    return plain, quick, dense.size, 4 * blocks.signs.size, float(np.abs(fast - slow).max())


def main():
    rows = []
    drawn(*CELLS[0], 0)  # compile
    for d, n in CELLS:
        plain, quick, dense, kept, apart = np.array([drawn(d, n, seed) for seed in range(DRAWS)]).T
        ratios = plain / quick
        row = {"columns": d, "frequencies": n, "draws": DRAWS}
        row |= {"dense_seconds": round(plain.mean(), 4), "fastfood_seconds": round(quick.mean(), 4)}
        row |= {"ratio": round(ratios.mean(), 2), "ratio error": round(ratios.std(ddof=1) / DRAWS**0.5, 2)}
        row |= {"dense_numbers": int(dense[0]), "fastfood_numbers": int(kept[0]), "difference": apart.max()}
        rows.append(row)
        print(row, flush=True)
    kept = {"command": "python benchmarks/fastfood.py", "commit": run_record()["commit"], "seed": 0, "cells": rows}
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
