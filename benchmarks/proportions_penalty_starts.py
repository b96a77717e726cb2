"""Where the search of CardinalityClassifier's penalty begins: two priors compared on draws that no table reports.

    python benchmarks/proportions_penalty_starts.py                       # all, ten draws
    python benchmarks/proportions_penalty_starts.py few --part 0 2        # every second setting of a group
    python benchmarks/proportions_penalty_starts.py --show

The settings and their draws are those of `proportions_penalty_rules.py`. "1" begins at the reference penalty, under
which logits vary by about one; "0.32" at a third of it, under which they vary as a logistic variable does. Everything
else is the default. Writes benchmarks/results/proportions_penalty_starts.json.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
import warnings
from pathlib import Path

import numpy as np
from proportions_penalty_rules import draws_of
from sklearn.metrics import log_loss, roc_auc_score

from proportions import table
from sumwise.proportions import CardinalityClassifier, penalty

RESULTS = Path(__file__).parent / "results" / "proportions_penalty_starts.json"
STARTS = {"1": penalty.MIDDLE, "0.32": penalty.MIDDLE - 1}


def scores(data):
    """AUC and log-loss from either start."""
    bags, counts, values, labels = data
    found = {}
    for name, step in STARTS.items():
        penalty.FIRST = step
        probs = np.clip(CardinalityClassifier().fit(bags, counts).predict_proba(values), 1e-6, None)
        probs = probs / probs.sum(axis=1, keepdims=True)
        by = {"multi_class": "ovr"} if probs.shape[1] > 2 else {}
        auc = roc_auc_score(labels, probs if by else probs[:, 1], **by)
        found[name] = [round(float(auc), 5), round(float(log_loss(labels, probs)), 5)]
    return found


def lines(cells):
    """Means of every setting, of each group, and of all settings."""
    rows = [
        {"group": c["group"], "setting": c["setting"]}
        | {
            f"{what} {name}": float(np.mean([pair[k] for pair in c["scores"][name]]))
            for k, what in enumerate(("AUC", "log-loss"))
            for name in STARTS
        }
        for c in cells
    ]
    groups = [(g, [r for r in rows if r["group"] == g]) for g in dict.fromkeys(r["group"] for r in rows)]
    for group, part in [*groups, ("all", rows)]:
        mean = {key: float(np.mean([r[key] for r in part])) for key in part[0] if key not in ("group", "setting")}
        rows = [*rows, {"group": group, "setting": "mean", **mean}]
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("groups", nargs="*", help="few, bundled, made")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--part", type=int, nargs=2, default=(0, 1), help="first setting, and every how many")
    parser.add_argument("--show", action="store_true", help="only print what was run")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"cells": []}
    for group in () if args.show else args.groups or ("few", "bundled", "made"):
        names, draw = draws_of(group)
        for name in names[args.part[0] :: args.part[1]]:
            begin = time.process_time()
            found = [scores(draw(name, k)) for k in range(args.draws)]
            seconds = round(time.process_time() - begin, 1)
            cell = {"group": group, "setting": name, "cpu_seconds": seconds}
            cell["scores"] = {start: [each[start] for each in found] for start in STARTS}
            kept["cells"] = [c for c in kept["cells"] if (c["group"], c["setting"]) != (group, name)] + [cell]
            commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
            kept |= {"command": "python benchmarks/proportions_penalty_starts.py", "commit": commit.stdout.strip()}
            kept |= {"draws": args.draws, "summary": lines(kept["cells"])[-1]}
            RESULTS.write_text(json.dumps(kept) + "\n")
    table("Test AUC and log-loss by where the penalty's search begins", lines(kept["cells"]))


if __name__ == "__main__":
    main()
