"""The election study of Sun et al. 2017, section V, on data at hand.

    python benchmarks/election_study.py                        # everything
    python benchmarks/election_study.py accuracy --trials 10   # parts: accuracy, coverage, election
    python benchmarks/election_study.py accuracy --tasks DPHY --sizes 10

accuracy: section V.B on areas (PUMAs) of the American Community Survey. One attribute is hidden; rows are drawn with
    replacement by survey weight into bags of one area; test rows are never drawn for training; attributes that
    correlate with the hidden one by more than 0.7 are left out; 50 principal components. Mean accuracy on the test
    rows, with standard errors over trials, each of which draws another training set. The paper hides DIS, WKL and ANC,
    which these excerpts lack: here DPHY and SEX (2 classes), OWN_RENT (3) and education (4). There are 25 areas, not
    979, so each gives several bags.
coverage: intervals of subgroup shares there, against the truth.
election: section V.C on `synthetic.election` at the paper's size, 979 regions of 1,000 individuals with a non-voter
    class: the three scores of Table III against the true two-party shares of the nation.

Prints tables and writes benchmarks/results/election_study.json. CPU seconds, both cores together.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from sumwise import Bags, datasets, synthetic
from sumwise.metrics import share_scores
from sumwise.proportions import (
    AlternatingMeanMap,
    CardinalityClassifier,
    Covariates,
    MeanEmbeddingClassifier,
    Oracle,
    apportion,
    covariance,
    label_bags,
    subgroups,
)

RESULTS = Path(__file__).parent / "results" / "election_study.json"
CODED = [
    "SEX", "MSP", "HISP", "RAC1P", "HOUSING_TYPE", "OWN_RENT", "INDP_CAT", "EDU", "DVET", "DREM", "DPHY",
    "DEYE", "DEAR",
]  # fmt: skip
NUMBERS = ["AGEP", "NOC", "NPF", "DENSITY", "PINCP", "POVPIP"]
TASKS = {"DPHY": 2, "SEX": 2, "OWN_RENT": 3, "education": 4}
BAGS_PER_AREA = 20


def table(title, rows):
    """Print rows of equal keys as a table, and return them."""
    print(f"\n{title}")
    widths = {k: max(len(k), *(len(_shown(r[k])) for r in rows)) for k in rows[0]}
    print("  ".join(k.rjust(w) for k, w in widths.items()))
    for r in rows:
        print("  ".join(_shown(r[k]).rjust(w) for k, w in widths.items()), flush=True)
    return rows


def _shown(x):
    return f"{x:.4f}" if isinstance(x, float) else str(x)


def areas(task):
    """Persons with the hidden attribute as class positions, and the columns that may be looked at."""
    frame = pd.concat([datasets.pums_national().frame, datasets.pums_ma().frame], ignore_index=True)
    columns = [c for c in (*NUMBERS, *CODED) if c != task]
    if task == "education":
        frame = frame[frame["EDU"].notna()]
        hidden = datasets.coarse_education(frame["EDU"], "EDU").cat.codes.to_numpy()
        columns.remove("EDU")
    else:
        frame = frame[frame[task].notna()]
        hidden = frame[task].astype("category").cat.codes.to_numpy()
    return frame.reset_index(drop=True), hidden.astype(int), columns


def draw_bags(frame, usable, size, rng):
    """Rows of bags of one area each, drawn with replacement by weight from the usable rows."""
    rows = []
    for _, part in frame[usable].groupby("PUMA", sort=True):
        weight = part["PWGTP"].to_numpy(float)
        rows.append(rng.choice(part.index.to_numpy(), size=BAGS_PER_AREA * size, p=weight / weight.sum()))
    return np.concatenate(rows)


def methods(n_classes):
    """The models of section V.B.2, each with its own choice of penalty from bags alone."""
    found = {"oracle": Oracle(penalty=1.0), "mean-emb": MeanEmbeddingClassifier(), "AMM": AlternatingMeanMap()}
    if n_classes == 2:
        return found | {"cardinality": CardinalityClassifier(tol=1e-3)}
    settings = {"tol": 1e-3, "max_iter": 200}
    return found | {
        "card-exact": CardinalityClassifier(multiclass="exact", **settings),
        "card-ovr": CardinalityClassifier(multiclass="ovr", **settings),
    }


def accuracy(trials, tasks, sizes, only):
    """Accuracy table: task, bag size, method."""
    out = {}
    for task in tasks:
        frame, hidden, columns = areas(task)
        n_classes = TASKS[task]
        coded = [c for c in CODED if c in columns]
        rng = np.random.default_rng(0)
        held = rng.random(len(frame)) < 0.25
        weight = frame["PWGTP"].to_numpy(float)
        test = rng.choice(np.flatnonzero(held), size=10_000, p=weight[held] / weight[held].sum())
        prepared = Covariates(coded, max_correlation=0.7, n_components=50).fit(frame.loc[~held, columns], hidden[~held])
        print(f"\n{task}: left out as telling: {prepared.dropped_}")
        values = prepared.transform(frame)
        for size in sizes:
            scores, spent = {}, {}
            for trial in range(trials):
                rows = draw_bags(frame, ~held, size, np.random.default_rng(100 + trial))
                bags = Bags(values[rows], np.arange(0, len(rows) + 1, size))
                counts = np.eye(n_classes, dtype=int)[hidden[rows]].reshape(-1, size, n_classes).sum(axis=1)
                for name, model in methods(n_classes).items():
                    if only and name not in only:
                        continue
                    begin = time.process_time()
                    target = label_bags(bags, hidden[rows]) if name == "oracle" else counts
                    predicted = model.fit(bags, target).predict(values[test])
                    spent.setdefault(name, []).append(time.process_time() - begin)
                    scores.setdefault(name, []).append(float((predicted == hidden[test]).mean()))
            common = float(np.bincount(hidden[test]).max() / len(test))
            part = []
            for name, found in scores.items():
                error = float(np.std(found, ddof=1) / np.sqrt(len(found))) if len(found) > 1 else float("nan")
                row = {"hidden": task, "classes": n_classes, "bag": size, "method": name}
                row |= {"accuracy": float(np.mean(found)), "se": error, "largest class": common}
                part.append(row | {"trials": len(found), "cpu_s": float(np.mean(spent[name]))})
            out[f"{task} {size}"] = table(f"{task}, bags of {size}", part)
    return {"accuracy": out}


def one_coverage(frame, labels, columns, kind, trial):
    """Whether the intervals of one trial hold the shares of the test rows, and their widths."""
    held = np.random.default_rng(200 + trial).random(len(frame)) < 0.25
    coded = [c for c in CODED if c in columns]
    reduced = Covariates(coded, max_correlation=0.7, n_components=10)
    values = reduced.fit(frame.loc[~held, columns], labels[~held]).transform(frame)
    drawn = draw_bags(frame, ~held, 100, np.random.default_rng(300 + trial))
    bags = Bags(values[drawn], np.arange(0, len(drawn) + 1, 100))
    counts = labels[drawn].reshape(-1, 100).sum(axis=1)
    clf = CardinalityClassifier(random_intercept=kind == "own intercepts", tol=1e-3).fit(bags, counts)
    sure = covariance(clf, bags, counts, "sandwich" if kind == "sandwich" else "observed")
    by = {
        "race": datasets.coarse_race(frame["RAC1P"], frame["HISP"], 0).astype(str),
        "sex": frame["SEX"],
        "age": pd.cut(frame["AGEP"], [-1, 29, 44, 64, 120]).astype(str),
    }
    out = []
    for name, column in by.items():
        groups = column[held].to_numpy()
        found = subgroups(clf, values[held], {name: groups}, uncertainty=sure, realised=True)
        low, high = (side[:, 1] for side in found.interval())
        true = np.array([labels[held][groups == g].mean() for g in found.groups[name]])
        out.append(np.column_stack([(low <= true) & (true <= high), high - low, np.abs(found.shares[:, 1] - true)]))
    return np.concatenate(out)


def coverage(trials, tasks):
    """Coverage of 95% intervals of shares of subgroups of the test rows, where the truth is known."""
    rows = []
    for task in tasks:
        frame, hidden, columns = areas(task)
        labels = hidden if TASKS[task] == 2 else (hidden >= TASKS[task] - 2).astype(int)
        for kind in ("observed", "sandwich", "own intercepts"):
            found = np.concatenate([one_coverage(frame, labels, columns, kind, t) for t in range(trials)])
            covered, width, error = found.mean(axis=0)
            row = {"hidden": task, "kind": kind, "coverage": float(covered), "width": float(width)}
            rows.append(row | {"mean error": float(error), "intervals": len(found)})
            table(f"{task}, {kind}", rows[-1:])
    return {"coverage": table("Coverage on areas, 95% intervals of realised shares", rows)}


def election(regions, individuals, seed=0):
    """Table III on generated votes: national two-party shares by sex, race and education."""
    data = synthetic.election(regions, individuals, n_classes=3, mean_weight=24, region_effect=0.1, random_state=seed)
    rows = Bags(data.bags.values, data.bags.offsets)  # drawn for the region's people
    counts = apportion(data.totals, data.bags.sizes)
    models = {  # with so many rows the penalty hardly matters, and a search would take hours
        "mean-emb": MeanEmbeddingClassifier(),
        "card-ovr": CardinalityClassifier(multiclass="ovr", penalty=10.0, tol=1e-3),
        "AMM": AlternatingMeanMap(penalty=10.0),
    }
    people = data.frame()
    out = []
    for name, model in models.items():
        begin = time.process_time()
        model.fit(rows, counts)
        spent = time.process_time() - begin
        for by in ("sex", "race", "education"):
            votes = data.shares(by)
            truth = (votes["D"] / (votes["D"] + votes["R"])).to_numpy()
            sizes = (votes["people"] * (votes["D"] + votes["R"])).to_numpy()
            for prediction in ("hard", "expected"):
                groups = {by: people[by]}
                found = subgroups(model, data.bags, groups, classes=data.classes, prediction=prediction)
                scores = share_scores(found.two_party("D", "R")["share"], truth, sizes)
                out.append({"by": by, "method": name, "prediction": prediction, **scores, "cpu_s": float(spent)})
        table(f"{name}", out[-6:])
    out = sorted(out, key=lambda r: (r["prediction"], r["by"]))
    return {"election": table(f"Table III on {regions} regions of {individuals:,} generated individuals", out)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=["accuracy", "coverage", "election"], metavar="PART")
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=list(TASKS))
    parser.add_argument("--sizes", nargs="+", type=int, default=[10, 100])
    parser.add_argument("--methods", nargs="+", default=None)
    parser.add_argument("--regions", type=int, default=979)
    parser.add_argument("--individuals", type=int, default=1000)
    args = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for part in args.parts:
        if part == "accuracy":
            found = accuracy(args.trials, args.tasks, args.sizes, args.methods)
            results["accuracy"] = results.get("accuracy", {}) | found["accuracy"]
        elif part == "coverage":
            results |= coverage(args.trials, args.tasks)
        else:
            results |= election(args.regions, args.individuals)
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(results, indent=1))
    rows = [row for part in results.get("accuracy", {}).values() for row in part]
    if rows:
        table("Accuracy on individuals of held-out rows", rows)


if __name__ == "__main__":
    main()
