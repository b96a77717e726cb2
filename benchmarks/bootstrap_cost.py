"""CPU seconds of a bootstrap of 20 beside those of the fit, on Adult.

Usage: python benchmarks/bootstrap_cost.py [--repeats 3] writes benchmarks/results/bootstrap_cost.json. Fourteen
attributes, numbers in ten bins of equal width, default settings, one thread; fits and bootstraps alternate, each with a
seed of its own, after one of each that compiles.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
import warnings
from pathlib import Path

import numpy as np

from maxent import load
from sumwise import NotConverged
from sumwise.maxent import MaxEntClassifier, SolverOptions

RESULTS = Path(__file__).parent / "results" / "bootstrap_cost.json"
REFITS = 20


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    warnings.simplefilter("ignore", NotConverged)
    tables, lines = load("adult", "width").tables, []
    MaxEntClassifier(options=SolverOptions(max_iter=3)).fit(tables).bootstrap(tables, n=2)
    for seed in range(asked.repeats):
        begin = time.process_time()
        model = MaxEntClassifier(random_state=seed).fit(tables)
        between = time.process_time()
        model.bootstrap(tables, n=REFITS, random_state=seed)
        fit, refits = between - begin, time.process_time() - between
        lines.append({"seed": seed, "fit_cpu_s": round(fit, 2), "bootstrap_cpu_s": round(refits, 2)})
        print(lines[-1], flush=True)
    ratios = [line["bootstrap_cpu_s"] / line["fit_cpu_s"] for line in lines]
    commit = subprocess.check_output(["git", "rev-parse", "--short", "HEAD"], text=True).strip()
    facts = {"command": "python benchmarks/bootstrap_cost.py", "commit": commit, "seed": "0 on", "draws": len(lines)}
    facts |= {"fits": round(float(np.mean(ratios)), 2), "fits_largest": round(max(ratios), 2), "lines": lines}
    RESULTS.write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
