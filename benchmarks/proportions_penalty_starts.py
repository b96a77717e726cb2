"""Where the search of CardinalityClassifier's penalty begins: two priors compared on draws that no table reports.

    python benchmarks/proportions_penalty_starts.py                       # all, ten draws
    python benchmarks/proportions_penalty_starts.py few --part 0 2        # every second setting of a group
    python benchmarks/proportions_penalty_starts.py few --between         # rules that choose between the two starts
    python benchmarks/proportions_penalty_starts.py --merge a.json b.json  # adds settings of other machines
    python benchmarks/proportions_penalty_starts.py --show

The settings and their draws are those of `proportions_penalty_rules.py`. "1" begins at the reference penalty, under
which logits vary by about one; "0.32" at a third of it, under which they vary as a logistic variable does. Everything
else is the default. Writes benchmarks/results/proportions_penalty_starts.json.

`--between` takes the nearest good penalty to the reference instead of a third of it where held-out bags are likelier
under the reference: at all ("better"), by more than a standard error of the difference ("clearly better"), or by more
than 3 or 5 in the log-likelihood of all bags ("strong" and "very strong" evidence in Kass and Raftery 1995), or the
last with at most 20 bags only ("default"). Gains are over the same search that never does, and paired; "moved" counts
the draws in which a rule takes another penalty, "better" those of them that gain.
"""

from __future__ import annotations

import argparse
import json
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
BETWEEN = ("better", "clearly better", "strong", "very strong", "default")
NEVER = "always a third"
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
    if rule == "clearly better":
        return gap.mean() > gap.std() / np.sqrt(gap.size)
    if rule == "default" and gap.size > penalty.FEW_BAGS:
        return False
    return gap.sum() > {"better": 0.0, "strong": 3.0, "very strong": 5.0, "default": 5.0, NEVER: np.inf}[rule]


def between(data):
    """AUC and log-loss of each rule that chooses between the two starts."""
    bags, counts, values, labels = data
    likelier, steps = penalty._likelier_prior, {}

    def record(held_out, first):
        for rule in (NEVER, *BETWEEN):
            steps[rule] = penalty._nearest_good(held_out, penalty.MIDDLE if reference_is(rule, held_out) else first)
        return first

    penalty._likelier_prior = record
    clf = CardinalityClassifier().fit(bags, counts)
    penalty._likelier_prior = likelier
    shape = np.asarray(clf.penalty_) / penalty.STEPS[steps[NEVER]]
    by_step = {steps[NEVER]: judged(clf.predict_proba(values), labels)}
    for step in set(steps.values()) - set(by_step):
        again = CardinalityClassifier(penalty=penalty.STEPS[step] * shape).fit(bags, counts)
        by_step[step] = judged(again.predict_proba(values), labels)
    return {rule: by_step[step] for rule, step in steps.items()}


def between_summary(cells):
    """Mean gain of each rule over a third of the reference, its error, and in how many draws it differs."""
    out = {}
    for rule in BETWEEN:
        gaps = [np.array(c["scores"][rule]) - np.array(c["scores"][NEVER]) for c in cells]
        every = np.concatenate(gaps)
        row = {"moved": int((every != 0.0).any(axis=1).sum()), "of": len(every)}
        row |= {"AUC better": int((every[:, 0] > 0.0).sum()), "log-loss better": int((every[:, 1] < 0.0).sum())}
        for k, (what, sign) in enumerate((("AUC", 1.0), ("log-loss", -1.0))):
            error = np.sqrt(sum(g[:, k].var(ddof=1) / len(g) for g in gaps)) / len(gaps)
            row |= {what: round(sign * float(np.mean([g[:, k].mean() for g in gaps])), 5)}
            row |= {f"{what} error": round(float(error), 5)}
        out[rule] = row
    return out


def keep(kept, cells, between, commit, n_draws):
    """Put cells in the place of those of the same settings, of the starts or of the rules between them."""
    held = kept.setdefault("between", {}) if between else kept
    new = {(c["group"], c["setting"]) for c in cells}
    held["cells"] = [c for c in held.get("cells", []) if (c["group"], c["setting"]) not in new] + cells
    command = "python benchmarks/proportions_penalty_starts.py" + " --between" * between
    held |= {"command": command, "commit": commit, "draws": n_draws, "settings": len(held["cells"])}
    held["summary"] = between_summary(held["cells"]) if between else lines(held["cells"])[-1]
    RESULTS.write_text(json.dumps(kept) + "\n", "utf-8")


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
    parser.add_argument("--merge", type=Path, nargs="+", default=[])
    parser.add_argument("--show", action="store_true", help="only print what was run")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    kept = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {"cells": []}
    for path in args.merge:
        other = json.loads(path.read_text("utf-8"))
        for part, between_them in ((other, False), (other.get("between", {}), True)):
            if part.get("cells"):
                keep(kept, part["cells"], between_them, part["commit"], part["draws"])
    measure = between if args.between else scores
    for group in () if args.show or args.merge else args.groups or ("few", "bundled", "made"):
        names, draw = draws_of(group)
        for name in names[args.part[0] :: args.part[1]]:
            begin = time.process_time()
            found = [measure(draw(name, k)) for k in range(args.draws)]
            cell = {"group": group, "setting": name, "cpu_seconds": round(time.process_time() - begin, 1)}
            cell["scores"] = {key: [each[key] for each in found] for key in found[0]}
            keep(kept, [cell], args.between, run_record()["commit"], args.draws)
            means = {key: np.mean(v, axis=0).round(4).tolist() for key, v in cell["scores"].items()}
            print(group, name, means, flush=True)
    if kept["cells"]:
        table("Test AUC and log-loss by where the penalty's search begins", lines(kept["cells"]))
    if "between" in kept:
        rows = [{"rule": r, **row} for r, row in kept["between"]["summary"].items()]
        table("Gains over a search that always begins at a third", rows)


if __name__ == "__main__":
    main()
