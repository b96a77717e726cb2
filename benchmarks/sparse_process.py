"""A Gaussian process over bags that stands on inducing bags: seconds at 20,000 bags, and its error beside the full one.

    python benchmarks/sparse_process.py             # both parts, about eight CPU minutes
    python benchmarks/sparse_process.py beside      # parts: beside (2,000 bags), many (20,000), ten draws each

Bags are `synthetic.gamma` with 100 rows, and bags of two columns whose response is the correlation. Settings are
defaults but for `max_bags`, which decides whether inducing bags are used. Test bags: 1,000. Writes
benchmarks/results/sparse_process.json.
"""

# ruff: noqa: E402  (threads are fixed before NumPy is loaded)
from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from run_record import run_record

from sumwise import Bags, synthetic
from sumwise.distribution import BagGaussianProcess

RESULTS = Path(__file__).parent / "results" / "sparse_process.json"
FIRST, TEST = 900, 1000


def drawn(kind, n, seed):
    """Training and test bags with their responses."""
    if kind == "gamma":
        data = synthetic.gamma(n + TEST, 100, random_state=seed)
        bags, y = data.bags, data.response
    else:
        rng = np.random.default_rng(seed)
        y = rng.uniform(-0.9, 0.9, n + TEST)
        rows = rng.normal(size=(n + TEST, 100, 2))
        rows[:, :, 1] = y[:, None] * rows[:, :, 0] + np.sqrt(1 - y[:, None] ** 2) * rows[:, :, 1]
        bags = Bags(rows.reshape(-1, 2), np.arange(n + TEST + 1) * 100)
    return bags[:n], y[:n], bags[n:], y[n:]


def fitted(data, max_bags):
    """Mean squared error on the test bags, and the CPU seconds of fit and prediction."""
    bags, y, other, truth = data
    begin = time.process_time()
    said = BagGaussianProcess(max_bags=max_bags, random_state=0).fit(bags, y).predict(other)
    return float(np.mean((said - truth) ** 2)), time.process_time() - begin


def beside(draws, kinds):
    """Error with inducing bags relative to the full process, 2,000 bags."""
    for kind in kinds:
        found = []
        for seed in range(FIRST, FIRST + draws):
            data = drawn(kind, 2000, seed)
            found.append([*fitted(data, 2000), *fitted(data, 1999)])
            print(kind, seed, np.round(found[-1], 5), flush=True)
        full, full_s, sparse, sparse_s = np.array(found).T
        gap = sparse / full - 1
        row = {"bags": kind, "n": 2000, "full": float(full.mean()), "inducing": float(sparse.mean())}
        row |= {"relative": float(gap.mean()), "relative error": float(gap.std(ddof=1) / np.sqrt(len(gap)))}
        yield row | {"full s": float(full_s.mean()), "inducing s": float(sparse_s.mean()), "draws": len(gap)}


def many(draws, kinds):
    """Error and seconds of 20,000 bags with all defaults."""
    for kind in kinds:
        found = [fitted(drawn(kind, 20_000, seed), 2000) for seed in range(FIRST, FIRST + draws)]
        errors, seconds = np.array(found).T
        spread = float(errors.std(ddof=1) / np.sqrt(draws))
        row = {"bags": kind, "n": 20_000, "inducing": float(errors.mean()), "inducing error": spread}
        yield row | {"inducing s": float(seconds.mean()), "draws": draws}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=["beside", "many"], metavar="PART")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--kinds", nargs="*", default=["gamma", "correlation"])
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in args.parts:
        for row in {"beside": beside, "many": many}[name](args.draws, args.kinds):
            kept = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {"rows": []}
            left = [r for r in kept["rows"] if (r["bags"], r["n"]) != (row["bags"], row["n"])]
            row["commit"] = run_record()["commit"]
            rows = [*left, row]
            commits = " and ".join(sorted({r["commit"] for r in rows if "commit" in r}))
            made = {"command": "python benchmarks/sparse_process.py", "commit": commits, "seed": FIRST, "rows": rows}
            RESULTS.write_text(json.dumps(made, indent=1) + "\n", "utf-8")
            print(row, flush=True)


if __name__ == "__main__":
    main()
