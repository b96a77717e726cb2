"""Where the search of CardinalityClassifier's penalty begins: two priors compared on draws that no table reports.

    python benchmarks/proportions_penalty_starts.py                       # all, ten draws
    python benchmarks/proportions_penalty_starts.py few --part 0 2        # every second setting of a group
    python benchmarks/proportions_penalty_starts.py few --between         # rules that choose between the two starts
    python benchmarks/proportions_penalty_starts.py --show

The settings and their draws are those of `proportions_penalty_rules.py`. "1" begins at the reference penalty, under
which logits vary by about one; "0.32" at a third of it, under which they vary as a logistic variable does. Everything
else is the default. Writes benchmarks/results/proportions_penalty_starts.json.

`--between` keeps the default's search, and takes the nearest good penalty to the reference instead of a third of it
where held-out bags are likelier under the reference: at all ("better"), by more than a standard error of the
difference ("clearly better"), or by more than three in the log-likelihood of all bags ("three nats"). Gains over the
default are paired; "moved" counts the draws in which a rule takes another penalty, "better" those of them that gain.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
import warnings
from pathlib import Path

import numpy as np
from proportions_penalty_rules import draws_of, judged
from run_record import run_record
from sklearn.metrics import log_loss, roc_auc_score

from proportions import table
from sumwise.proportions import CardinalityClassifier, penalty

RESULTS = Path(__file__).parent / "results" / "proportions_penalty_starts.json"
BETWEEN = ("better", "clearly better", "three nats")
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


def reference_is(rule, held_out):
    """Whether held-out bags prefer the reference to a third of it."""
    gap = held_out[penalty.MIDDLE] - held_out[penalty.MIDDLE - 1]
    if rule == "better":
        return gap.mean() > 0.0
    if rule == "clearly better":
        return gap.mean() > gap.std() / np.sqrt(gap.size)
    return gap.sum() > 3.0


def between(data):
    """AUC and log-loss of the default and of each rule that chooses between the two starts."""
    bags, counts, values, labels = data
    nearest, taken = penalty._nearest_good, {}

    def record(held_out, first):
        taken["default"] = nearest(held_out, first)
        for rule in BETWEEN:
            taken[rule] = nearest(held_out, penalty.MIDDLE if reference_is(rule, held_out) else first)
        return taken["default"]

    penalty._nearest_good = record
    clf = CardinalityClassifier().fit(bags, counts)
    penalty._nearest_good = nearest
    shape, steps = np.asarray(clf.penalty_) / penalty.STEPS[taken["default"]], dict(taken)
    by_step = {steps["default"]: judged(clf.predict_proba(values), labels)}
    for step in set(steps.values()) - set(by_step):
        again = CardinalityClassifier(penalty=penalty.STEPS[step] * shape).fit(bags, counts)
        by_step[step] = judged(again.predict_proba(values), labels)
    return {rule: by_step[step] for rule, step in steps.items()}


def between_summary(cells):
    """Mean gain of each rule over the default, its error, and in how many draws it differs."""
    out = {}
    for rule in BETWEEN:
        gaps = [np.array(c["scores"][rule]) - np.array(c["scores"]["default"]) for c in cells]
        every = np.concatenate(gaps)
        row = {"moved": int((every != 0.0).any(axis=1).sum()), "of": len(every)}
        row |= {"AUC better": int((every[:, 0] > 0.0).sum()), "log-loss better": int((every[:, 1] < 0.0).sum())}
        for k, (what, sign) in enumerate((("AUC", 1.0), ("log-loss", -1.0))):
            error = np.sqrt(sum(g[:, k].var(ddof=1) / len(g) for g in gaps)) / len(gaps)
            row |= {what: round(sign * float(np.mean([g[:, k].mean() for g in gaps])), 5)}
            row |= {f"{what} error": round(float(error), 5)}
        out[rule] = row
    return out


def compare_rules(kept, groups, n_draws):
    """Run the rules on the settings of these groups, and keep them beside the starts."""
    cells = []
    for group in groups:
        names, draw = draws_of(group)
        for name in names:
            found = [between(draw(name, k)) for k in range(n_draws)]
            scores = {rule: [each[rule] for each in found] for rule in ("default", *BETWEEN)}
            cells.append({"group": group, "setting": name, "scores": scores})
            print(group, name, {rule: np.mean(v, axis=0).round(4).tolist() for rule, v in scores.items()}, flush=True)
            command = f"python benchmarks/proportions_penalty_starts.py {' '.join(groups)} --between"
            kept["between"] = {"command": command, "commit": run_record()["commit"], "draws": n_draws}
            kept["between"] |= {"settings": len(cells), "summary": between_summary(cells), "cells": cells}
            RESULTS.write_text(json.dumps(kept) + "\n")
    table("Gains over the default", [{"rule": r, **row} for r, row in kept["between"]["summary"].items()])


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
    parser.add_argument("--between", action="store_true", help="compare rules that choose between the starts")
    parser.add_argument("--show", action="store_true", help="only print what was run")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"cells": []}
    if args.between:
        compare_rules(kept, args.groups or ("few", "bundled", "made"), args.draws)
        return
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
