"""Label proportions since the papers, on Adult: bags by features (LLP-Bench), and bags that are chosen (PriorBoost).

    python benchmarks/proportions_since.py                            # all, about half an hour of one core
    python benchmarks/proportions_since.py features --groupings 0 1 2 --results part.json      # some groupings
    python benchmarks/proportions_since.py chosen --sizes 8 --seeds 0 1 --results part.json     # some draws
    python benchmarks/proportions_since.py --merge part.json ...      # parts together

features: the protocol of LLP-Bench (Brahmbhatt et al. 2023), whose own data (Criteo) we don't have. A bag is the
people with one value of two categorical attributes; bags of 50 to 2,500 people are kept, and pairs of attributes whose
bags hold at least 30% of all people. Models learn from four fifths of the bags and are scored on the people of the
rest. Other methods have the best of three penalties by their score on the test rows, which favours them.

chosen: PriorBoost (Javanmard et al. 2024; rivals/prior_boost.py), where the learner chooses who is in a bag. Four
stages; its model, our likelihood on its bags, and both on random bags of the same size, scored on the test rows.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from rivals.prior_boost import in_stages, on_shares
from run_record import run_record
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score

from proportions import _others, adult_people, encode, make_bags
from sumwise import Bags, datasets
from sumwise.proportions import CardinalityClassifier

RESULTS = Path(__file__).parent / "results" / "proportions_since.json"
LEAST, MOST, HELD = 50, 2500, 0.3  # LLP-Bench's: people in a bag, and share of all people that bags must hold
FOLDS, STAGES = 5, 4


def groupings():
    """All of Adult, and the pairs of attributes whose bags hold enough people, each with a bag or -1 per person."""
    data = datasets.adult()
    frame = pd.concat([data.train, data.test], ignore_index=True).drop(columns=data.label)
    labels = np.concatenate([data.y_train, data.y_test])
    found = {}
    for pair in combinations([c for c in frame if not pd.api.types.is_numeric_dtype(frame[c])], 2):
        bag = frame.groupby(list(pair), observed=True, dropna=False).ngroup().to_numpy()
        sizes = np.bincount(bag)[bag]
        bag = np.where((sizes >= LEAST) & (sizes <= MOST), bag, -1)
        if (bag >= 0).mean() >= HELD:
            found[" and ".join(pair)] = bag
    return frame, labels, found


def features(given):
    """AUC of models that learned from bags by features, on people of other bags."""
    frame, labels, found = groupings()
    rows = []
    for name in [list(found)[k] for k in given.groupings or range(len(found))]:
        kept = np.unique(found[name][found[name] >= 0])
        part = np.full(found[name].max() + 2, -1)  # the last place is of people in no bag
        part[np.random.default_rng(0).permutation(kept)] = np.arange(len(kept)) % FOLDS
        fold = part[found[name]]
        for k in range(FOLDS):
            train, test = np.flatnonzero((fold >= 0) & (fold != k)), np.flatnonzero(fold == k)
            train = train[np.argsort(found[name][train], kind="stable")]
            values, others = encode(frame.iloc[train], frame.iloc[test], ("fnlwgt",))
            starts = np.flatnonzero(np.diff(found[name][train], prepend=-1))
            bags = Bags(values, np.append(starts, len(train)))
            counts = np.add.reduceat(labels[train], starts)
            row = {"bags by": name, "fold": k, "bags": len(bags), "overall share": 0.5}
            begin = time.process_time()
            row["sumwise"] = auc_of(CardinalityClassifier().fit(bags, counts), others, labels[test])
            row["cpu_s"] = time.process_time() - begin
            for method, scores in _others(bags, counts, others).items():
                row[method] = max(roc_auc_score(labels[test], s) for s in scores)
            row["rows"] = auc_of(LogisticRegression(max_iter=1000).fit(values, labels[train]), others, labels[test])
            rows.append(row)
            print({k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()}, flush=True)
    return rows


def auc_of(model, values, labels):
    """Of the second class."""
    return roc_auc_score(labels, model.predict_proba(values)[:, 1])


def chosen(given):
    """AUC and log-loss of models that learned from random bags, and from bags that a model chose."""
    values, labels, _, test, truth = adult_people()
    rows = []
    for size in given.sizes:
        for seed in given.seeds:
            random, counts = make_bags(values, labels, size, seed, whole=True)
            bags, sums, boosted = in_stages(values, labels, size, STAGES, np.random.default_rng(seed))
            models = {
                "random bags, shares as labels": on_shares(random, counts),
                "random bags, sumwise": CardinalityClassifier().fit(random, counts),
                "chosen bags, PriorBoost": boosted,
                "chosen bags, sumwise": CardinalityClassifier().fit(bags, sums),
                "rows": LogisticRegression(max_iter=1000).fit(values, labels),
            }
            for name, model in models.items():
                p = model.predict_proba(test)[:, 1]
                row = {"size": size, "seed": seed, "method": name, "AUC": float(roc_auc_score(truth, p))}
                rows.append(row | {"log-loss": float(log_loss(truth, p))})
            share = np.full(len(truth), labels.mean())
            rows.append({"size": size, "seed": seed, "method": "overall share", "AUC": 0.5,
                         "log-loss": float(log_loss(truth, share))})  # fmt: skip
            print([(r["method"], round(r["AUC"], 4)) for r in rows[-6:]], flush=True)
    return rows


def summed(held):
    """Means: by pair of attributes, and by size and method, with standard errors of the difference from ours."""
    if rows := held.get("features"):
        frame = pd.DataFrame(rows)
        methods = ["overall share", "mean embedding", "proportion loss", "sumwise", "rows"]
        means = frame.groupby("bags by", sort=False)[["bags", *methods, "cpu_s"]].mean().reset_index()
        means["folds"] = frame.groupby("bags by", sort=False).size().to_numpy()
        every = {"bags by": "all folds", **frame[["bags", *methods, "cpu_s"]].mean(), "folds": len(frame)}
        held["features means"] = [*means.to_dict("records"), every]
        gains = {m: frame["sumwise"] - frame[m] for m in methods if m != "sumwise"}
        held["features gains"] = [
            {"method": m, "sumwise minus": float(g.mean()), "error": float(g.std() / np.sqrt(len(g))),
             "ahead": int((g > 0).sum()), "folds": len(g)} for m, g in gains.items()
        ]  # fmt: skip
    if rows := held.get("chosen"):
        wide = pd.DataFrame(rows).pivot_table(index=["size", "seed"], columns="method", values=["AUC", "log-loss"])
        out = []
        for size, part in wide.groupby(level="size"):
            for method in dict.fromkeys(r["method"] for r in rows):
                less = part["AUC"]["random bags, sumwise"] - part["AUC"][method]
                out.append({
                    "size": int(size), "method": method, "AUC": float(part["AUC"][method].mean()),
                    "log-loss": float(part["log-loss"][method].mean()),
                    "sumwise on random bags, minus": float(less.mean()),
                    "error": float(less.std() / np.sqrt(len(less))), "draws": len(less),
                })  # fmt: skip
        held["chosen means"] = out
    return held


PARTS = {"features": (features, ("bags by", "fold")), "chosen": (chosen, ("size", "seed", "method"))}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], default=[])
    parser.add_argument("--groupings", nargs="*", type=int, help="of features: some of the pairs of attributes")
    parser.add_argument("--sizes", nargs="*", type=int, default=[8, 32, 128], help="of chosen: people in a bag")
    parser.add_argument("--seeds", nargs="*", type=int, default=list(range(10)), help="of chosen")
    parser.add_argument("--results", type=Path, default=RESULTS, help="file of results in place of the committed one")
    parser.add_argument("--merge", type=Path, nargs="*", default=[], help="files of parts; measures nothing")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    held = json.loads(given.results.read_text("utf-8")) if given.results.exists() else {}
    new = [json.loads(path.read_text("utf-8")) for path in given.merge]
    for name in () if given.merge else given.parts or PARTS:
        new.append({name: PARTS[name][0](given), "runs": {name: run_record(seeds="0 on")}})
    for part in new:
        for name, (_, keys) in PARTS.items():
            rows = {tuple(r[k] for k in keys): r for r in [*held.get(name, []), *part.get(name, [])]}
            held |= {name: list(rows.values())} if rows else {}
        held["runs"] = held.get("runs", {}) | part["runs"]
    given.results.write_text(json.dumps(summed(held), indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
