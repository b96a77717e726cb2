"""What each heuristic of EcologicalEM is worth on data it was not chosen on.

    python benchmarks/ecological_heuristics.py --every 1

All were chosen on the contests of New Zealand 2005 and 2011 and Scotland 2007 (sumwise.ecological.calibration). Here
each is left out in turn on New Zealand 2002, 2008 and 2014, and on the precincts of senc: the mean error index (percent
of people in a wrong cell) for those that move estimates, and coverage of 95% intervals for those that widen them.
Writes benchmarks/results/ecological_heuristics.json.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from sumwise import datasets
from sumwise.datasets import Election
from sumwise.ecological import EcologicalEM, calibration, error_index
from sumwise.ecological.calibration import REPORTED_ON

RESULTS = Path(__file__).parent / "results" / "ecological_heuristics.json"
POINT = {
    "as it is": {},
    "determinant of weight 1 instead of 1.3": {"determinant": 1.0},
    "no determinant": {"determinant": 0.0},
    "no pseudo-count": {"prior": 0.0},
    "no overdispersion": {"dispersion": 0.0},
    "multinomial EM": {"method": "multinomial"},
}
WIDTH = {
    "as it is": {},
    "no variants": {"CHOICE": 0.0},
    "no error of small groups": {"GROUP": 0.0},
    "no error of any group": {"SHARE": 0.0},
    "no model error at all": {"GROUP": 0.0, "SHARE": 0.0, "CHOICE": 0.0},
    "no factor of 1.12": {"SCALE": 1.0},
}


def cases(every: int) -> dict[str, list]:
    """Contests of each data set that nothing was chosen on."""
    found: dict[str, list] = {name: [] for name in REPORTED_ON}
    for contest in datasets.contests():
        if contest.dataset in found:
            found[contest.dataset].append(contest)
    senc = datasets.senc()
    return {name: some[::every] for name, some in found.items()} | {
        "senc": [Election("senc", senc.margins, total=senc.total)]
    }


def points(data: dict[str, list]) -> list[dict]:
    rows, usual = [], {}
    for what, changes in POINT.items():
        row: dict = {"left out": what}
        for name, contests in data.items():
            indices = [
                error_index(EcologicalEM(n_groups=0, **changes).fit(c.margins).total_, c.total) for c in contests
            ]
            row[name] = float(np.mean(indices))
            lost = np.array(indices) - np.array(usual.setdefault(name, indices))
            if len(lost) > 1 and changes:  # paired over contests
                row[f"{name}, difference"] = float(lost.mean())
                row[f"{name}, error"] = float(lost.std(ddof=1) / np.sqrt(len(lost)))
        rows.append(row)
    return rows


def widths(data: dict[str, list]) -> list[dict]:
    fitted = {name: [(EcologicalEM().fit(c.margins), c) for c in contests] for name, contests in data.items()}
    rows = []
    for what, changes in WIDTH.items():
        before = {key: getattr(calibration, key) for key in changes}
        for key, value in changes.items():
            setattr(calibration, key, value)
        try:
            row: dict = {"left out": what}
            for name, pairs in fitted.items():
                inside = []
                for est, contest in pairs:
                    fit = EcologicalEM().fit(contest.margins) if changes else est
                    low, high = fit.interval(0.95)
                    true = contest.total / np.maximum(contest.total.sum(axis=1, keepdims=True), 1e-300)
                    inside.append(((low <= true + 1e-12) & (true <= high + 1e-12)).ravel())
                row[name] = float(np.concatenate(inside).mean())
        finally:
            for key, value in before.items():
                setattr(calibration, key, value)
        rows.append(row)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--every", type=int, default=1, help="take every k-th contest; intervals every 4k-th")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    begin = time.process_time()
    data = cases(asked.every)
    EcologicalEM().fit(data["senc"][0].margins)
    result = {"index": points(data), "coverage": widths({k: v[::4] for k, v in data.items()})}
    for name, rows in result.items():
        print(f"\n{name}\n{pd.DataFrame(rows).to_string(index=False, float_format='%.4f')}")
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False, cwd=RESULTS.parent.parent
    ).stdout.strip()
    facts = {"command": f"benchmarks/ecological_heuristics.py --every {asked.every}", "commit": commit}
    facts |= {"contests": {k: len(v) for k, v in data.items()}, "CPU seconds": time.process_time() - begin}
    RESULTS.write_text(json.dumps(facts | result, indent=1, default=float) + "\n")


if __name__ == "__main__":
    main()
