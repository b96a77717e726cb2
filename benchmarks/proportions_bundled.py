"""Label proportions on data sets that come with scikit-learn: the default beside other methods and individual labels.

    python benchmarks/proportions_bundled.py                      # all, twenty draws (about six minutes of CPU time)
    python benchmarks/proportions_bundled.py cancer wine --seeds 10
    python benchmarks/proportions_bundled.py --show

Bags are random, or sorted along a random direction of the features with noise, so that they differ. Every method has
its default settings, chosen from bags alone; features are as they come, since their units change nothing. Prints test
AUC (mean over classes, one against the rest) and log-loss with the paired gain over the best other method, and writes
all draws to benchmarks/results/proportions_bundled.json.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
from run_record import run_record
from sklearn import datasets
from sklearn.metrics import log_loss, roc_auc_score

from proportions import table
from sumwise import Bags
from sumwise import proportions as p

RESULTS = Path(__file__).parent / "results" / "proportions_bundled.json"
METHODS = {
    "cardinality": p.CardinalityClassifier,
    "mean embedding": p.MeanEmbeddingClassifier,
    "proportion loss": p.ProportionLossClassifier,
    "central limit": p.CentralLimitClassifier,
}
SIZES = {"cancer": (5, 20, 60), "wine": (5, 20), "digits": (20, 100), "made": (20, 100)}


def rows_of(name):
    """Features and labels of a set."""
    if name == "cancer":
        return datasets.load_breast_cancer(return_X_y=True)
    if name == "wine":
        return datasets.load_wine(return_X_y=True)
    if name == "digits":
        values, digit = datasets.load_digits(return_X_y=True)
        return values, (digit < 5).astype(int)
    return datasets.make_classification(3000, 30, n_informative=8, n_redundant=5, weights=[0.8], random_state=0)


def draw(values, labels, size, kind, rng):
    """Bags and class counts of seven tenths of the rows, their labels, and the other rows."""
    order = rng.permutation(len(labels))
    train, test = np.split(order, [int(0.7 * len(order))])
    if kind == "sorted":
        along = (values[train] / (values.std(axis=0) + 1e-9)) @ rng.normal(size=values.shape[1])
        train = train[np.argsort(along / along.std() + rng.normal(size=len(train)))]
    train = train[: len(train) // size * size]
    bags = Bags(values[train], np.arange(0, len(train) + 1, size))
    counts = (labels[train, None] == np.arange(labels.max() + 1)).reshape(len(bags), size, -1).sum(axis=1)
    return bags, counts, labels[train], values[test], labels[test]


def loss(model, values, labels):
    probs = np.clip(model.predict_proba(values), 1e-6, None)
    return log_loss(labels, probs / probs.sum(axis=1, keepdims=True))


def auc(model, values, labels):
    probs = model.predict_proba(values)
    if probs.shape[1] == 2:
        return roc_auc_score(labels, probs[:, 1])
    return roc_auc_score(labels, probs / probs.sum(axis=1, keepdims=True), multi_class="ovr")


def cell(name, kind, size, seeds):
    """Test AUC and log-loss of every method in every draw."""
    values, labels = rows_of(name)
    found: dict[str, list] = {}
    losses: dict[str, list] = {}
    for seed in range(seeds):
        bags, counts, own, test_values, truth = draw(values, labels, size, kind, np.random.default_rng(seed))
        given = counts[:, 1] if counts.shape[1] == 2 else counts
        for method, make in METHODS.items():
            if method == "central limit" and counts.shape[1] > 2:
                continue  # for two classes
            _record(method, make().fit(bags, given), test_values, truth, found, losses)
        _record("oracle", p.Oracle(penalty=1.0).fit(bags, p.label_bags(bags, own)), test_values, truth, found, losses)
    return {"data": name, "bags": kind, "size": size, "scores": found, "losses": losses}


def _record(method, model, values, labels, scores, losses):
    scores.setdefault(method, []).append(round(float(auc(model, values, labels)), 5))
    losses.setdefault(method, []).append(round(float(loss(model, values, labels)), 5))


def lines(cells, which="scores"):
    """Means, and the paired gain of the default over the best other method, in AUC or ("losses") in log-loss."""
    out, sign = [], 1.0 if which == "scores" else -1.0
    for one in cells:
        scores = {m: sign * np.array(v) for m, v in one[which].items()}
        others = [m for m in scores if m not in ("cardinality", "oracle")]
        best = max(others, key=lambda m, scores=scores: scores[m].mean())
        gap = scores["cardinality"] - scores[best]
        row = {"data": one["data"], "bags": one["bags"], "size": one["size"]}
        row |= {m: sign * float(scores[m].mean()) if m in scores else float("nan") for m in (*METHODS, "oracle")}
        gain, error = float(gap.mean()), float(gap.std(ddof=1) / np.sqrt(len(gap)))
        verdict = "best" if gain >= 0 else ("within one error" if gain >= -error else "behind")
        out.append(row | {"gain": gain, "error": error, "": verdict})
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=list(SIZES), metavar="SET", help=", ".join(SIZES))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--show", action="store_true", help="only print what was run")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    done = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"cells": []}
    for name in () if args.show else args.sets:
        made = [cell(name, kind, size, args.seeds) for kind in ("random", "sorted") for size in SIZES[name]]
        done["cells"] = [one for one in done["cells"] if one["data"] != name] + made
        done |= {"command": "python benchmarks/proportions_bundled.py", "commit": run_record()["commit"]}
        done["seeds"] = args.seeds
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(done) + "\n")
        print(name, flush=True)
    table(f"Test AUC, mean of {args.seeds} draws", lines(done["cells"]))
    table(f"Log-loss, mean of {args.seeds} draws", lines([c for c in done["cells"] if "losses" in c], "losses"))


if __name__ == "__main__":
    main()
