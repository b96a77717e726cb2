"""Intervals from few units of much the same composition: real contests with their units merged at random.

    python benchmarks/ecological_few_units.py          # writes benchmarks/results/ecological_few_units.json

Merged units are composed more alike, and there are fewer, while the true table of the contest stays the same. Intervals
are scored by how far units identify shares (`calibration.information`), with the widening for few units and without, on
the elections that it was chosen on (with other merges) and on the others.
"""

from __future__ import annotations

import json
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from run_record import run_record

from sumwise import Margins, datasets
from sumwise.ecological import EcologicalEM, calibration

RESULTS = Path(__file__).parent / "results" / "ecological_few_units.json"
MERGED, SEED = (3, 6, 12, 25), 19
SCORES = ("with", "without", "width with", "width without")
EDGES = [0, 0.01, 0.02, 0.04, 0.08, 0.15, 0.3, np.inf]


def merged(margins, k, rng):
    """About one unit for every k of them, each of units drawn at random."""
    n = max(len(margins) // k, margins.n_rows + 2)
    to = rng.permutation(np.arange(len(margins)) % n)
    rows, cols = np.zeros((n, margins.n_rows)), np.zeros((n, margins.n_cols))
    np.add.at(rows, to, margins.rows)
    np.add.at(cols, to, margins.cols)
    return Margins(rows[rows.sum(axis=1) > 0], cols[rows.sum(axis=1) > 0])


def intervals(est, margins, widened):
    """Ends of 95% intervals, with the widening for few units or without."""
    factor = calibration.few_units_factor(margins.rows)
    sd = est.standard_errors_ if widened else est.standard_errors_ / factor
    return calibration.beta_interval(est.shares_, sd, 0.95, est.lower_bound_, est.upper_bound_)


def cells():
    rng = np.random.default_rng(SEED)
    for j, contest in enumerate(datasets.contests()):
        margins = merged(contest.margins, MERGED[j % len(MERGED)], rng)
        est = EcologicalEM().fit(margins)
        truth = contest.total / contest.total.sum(axis=1, keepdims=True)
        found = {"information": calibration.information(margins.rows), "units": len(margins), "contest": j}
        found["half"] = "chosen on" if contest.dataset in calibration.CHOSEN_ON else "others"
        for name, widened in (("with", True), ("without", False)):
            low, high = intervals(est, margins, widened)
            found[name] = ((truth >= low - 1e-9) & (truth <= high + 1e-9)).ravel()
            found[f"width {name}"] = (high - low).ravel()
        yield pd.DataFrame(found)


def table(frame):
    def row(part):
        scores = {
            name: round(float(part[name].mean()), 3) for name in ("with", "without", "width with", "width without")
        }
        return {
            "contests": int(part["contest"].nunique()),
            "mean units": round(float(part["units"].mean()), 1),
        } | scores

    groups = frame.groupby(pd.cut(frame["information"], EDGES), observed=True)
    return {f"{i.left:g} to {i.right:g}": row(part) for i, part in groups} | {"all": row(frame)}


def main():
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame = pd.concat(cells())
    out = {"command": "python benchmarks/ecological_few_units.py", "seed": SEED}
    commit = run_record()["commit"]
    out["commit"] = commit
    out["coverage"] = {half: table(part) for half, part in frame.groupby("half")}
    out["cpu_seconds"] = round(time.process_time() - start, 1)
    RESULTS.write_text(json.dumps(out, indent=1) + "\n")
    print(json.dumps(out["coverage"], indent=1))


if __name__ == "__main__":
    main()
