"""The election study of Sun et al. 2017, section V, on data at hand.

    python benchmarks/election_study.py                        # everything (an hour of CPU time)
    python benchmarks/election_study.py accuracy --trials 10   # parts: accuracy, coverage, election
    python benchmarks/election_study.py accuracy --tasks DPHY --sizes 10

accuracy: section V.B on areas (PUMAs) of the American Community Survey. One attribute is hidden; rows are drawn with
    replacement by survey weight into bags of one area; test rows are never drawn for training; attributes that
    correlate with the hidden one by more than 0.7 are left out; 50 principal components. Mean accuracy on the test
    rows, with standard errors over trials, each of which draws another training set. The paper hides DIS, WKL and ANC,
    which these excerpts lack: here DPHY and SEX (2 classes), OWN_RENT (3), education (SCHL in 4) and race (RAC1P in 5).
    There are 25 areas, not 979, so each gives several bags.
coverage: intervals of subgroup shares there, against the truth.
election: section V.C on `synthetic.election` at the paper's size, 979 regions of 1,000 individuals who carry survey
    weights, with a non-voter class: the three scores of Table III against the true two-party shares of the nation and
    of every state, averaged over several elections (one alone says little: the error by sex varies fivefold).

Prints tables and writes benchmarks/results/election_study.json. CPU seconds, both cores together.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from sumwise import Bags, datasets, synthetic
from sumwise.metrics import compare_polls, share_scores
from sumwise.proportions import (
    AlternatingMeanMap,
    CardinalityClassifier,
    Covariates,
    MeanEmbeddingClassifier,
    Oracle,
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
TASKS = {"DPHY": 2, "SEX": 2, "OWN_RENT": 3, "education": 4, "race": 5}
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
    elif task == "race":
        hidden = datasets.coarse_race(frame["RAC1P"], frame["HISP"], 0).cat.codes.to_numpy()
        columns = [c for c in columns if c not in ("RAC1P", "HISP")]
    else:
        frame = frame[frame[task].notna()]
        hidden = frame[task].astype("category").cat.codes.to_numpy()
    return frame.reset_index(drop=True), hidden.astype(int), columns


def draw_bags(frame, usable, size, rng):
    """Rows of bags of one area each, drawn with replacement by weight from the usable rows, and the bags' areas."""
    rows, names = [], []
    for name, part in frame[usable].groupby("PUMA", sort=True):
        weight = part["PWGTP"].to_numpy(float)
        rows.append(rng.choice(part.index.to_numpy(), size=BAGS_PER_AREA * size, p=weight / weight.sum()))
        names += [name] * BAGS_PER_AREA
    return np.concatenate(rows), names


def methods(n_classes, size):
    """The models of section V.B.2, each with its own choice of penalty from bags alone."""
    found = {"oracle": Oracle(penalty=1.0), "mean-emb": MeanEmbeddingClassifier(), "AMM": AlternatingMeanMap()}
    if n_classes == 2:
        return found | {"cardinality": CardinalityClassifier(tol=1e-3)}
    settings = {"tol": 1e-3, "max_iter": 200}
    return found | {
        "card-exact": CardinalityClassifier(multiclass="exact", **settings),
        "card-ovr": CardinalityClassifier(multiclass="ovr", **settings),
    }


def kept():
    """What was written so far."""
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def keep(part, found):
    """Add to what was written, which another run may have changed meanwhile."""
    RESULTS.parent.mkdir(exist_ok=True)
    results = kept()
    results[part] = results.get(part, {}) | found
    RESULTS.write_text(json.dumps(results, indent=1))


def accuracy(trials, task, sizes, only, first=100, write=True):
    """Accuracy of one hidden attribute: bag size, method; training sets are drawn from seed `first` on."""
    frame, hidden, columns = areas(task)
    n_classes = TASKS[task]
    rng = np.random.default_rng(0)
    held = rng.random(len(frame)) < 0.25
    weight = frame["PWGTP"].to_numpy(float)
    test = rng.choice(np.flatnonzero(held), size=10_000, p=weight[held] / weight[held].sum())
    prepared = Covariates([c for c in CODED if c in columns], max_correlation=0.7, n_components=50)
    values = prepared.fit(frame.loc[~held, columns], hidden[~held]).transform(frame)
    print(f"\n{task}: left out as telling: {prepared.dropped_}")
    common = float(np.bincount(hidden[test]).max() / len(test))
    rows_found = []
    for size in sizes:
        for name, model in methods(n_classes, size).items():
            if only and name not in only:
                continue
            scores, spent = [], []
            for trial in range(trials):
                rows, _ = draw_bags(frame, ~held, size, np.random.default_rng(first + trial))
                bags = Bags(values[rows], np.arange(0, len(rows) + 1, size))
                counts = np.eye(n_classes, dtype=int)[hidden[rows]].reshape(-1, size, n_classes).sum(axis=1)
                target = label_bags(bags, hidden[rows]) if name == "oracle" else counts
                begin = time.process_time()
                predicted = model.fit(bags, target).predict(values[test])
                spent.append(time.process_time() - begin)
                scores.append(float((predicted == hidden[test]).mean()))
            error = float(np.std(scores, ddof=1) / np.sqrt(trials)) if trials > 1 else float("nan")
            row = {"hidden": task, "classes": n_classes, "bag": size, "method": name}
            row |= {"accuracy": float(np.mean(scores)), "se": error, "largest class": common}
            row |= {"trials": trials, "cpu_s": float(np.mean(spent))}
            rows_found.append(row)
            if write:
                keep("accuracy", {f"{task} {size} {name}": row})
            table(f"{task}, bags of {size}: {name}", [row])
    return rows_found


def one_coverage(task, frame, labels, columns, trial):
    """Whether the intervals of one trial hold the shares of the test rows, their widths and errors: {kind: array}."""
    held = np.random.default_rng(200 + trial).random(len(frame)) < 0.25
    coded = [c for c in CODED if c in columns]
    reduced = Covariates(coded, max_correlation=0.7, n_components=10)
    values = reduced.fit(frame.loc[~held, columns], labels[~held]).transform(frame)
    drawn, names = draw_bags(frame, ~held, 100, np.random.default_rng(300 + trial))
    bags = Bags(values[drawn], np.arange(0, len(drawn) + 1, 100))
    counts = labels[drawn].reshape(-1, 100).sum(axis=1)
    clf = CardinalityClassifier(tol=1e-3).fit(bags, counts)
    own = CardinalityClassifier(tol=1e-3, random_intercept=True).fit(bags, counts)
    kinds = {
        "default": (clf, covariance(clf, bags, counts)),
        "groups are areas": (clf, covariance(clf, bags, counts, groups=names)),
        "own intercepts, groups are areas": (own, covariance(own, bags, counts, groups=names)),
    }
    by = {
        "race": datasets.coarse_race(frame["RAC1P"], frame["HISP"], 0).astype(str),
        "sex": frame["SEX"],
        "age": pd.cut(frame["AGEP"], [-1, 29, 44, 64, 120]).astype(str),
    }
    by.pop(task.lower(), None)  # a group of which all or none have the hidden attribute
    out = {}
    for kind, (model, sure) in kinds.items():
        for name, column in by.items():
            groups = column[held].to_numpy()
            told = replace(sure, n_draws=200)
            found = subgroups(model, values[held], {name: groups}, uncertainty=told, realised=True)
            low, high = (side[:, 1] for side in found.interval())
            true = np.array([labels[held][groups == g].mean() for g in found.groups[name]])
            inside, error = (low <= true) & (true <= high), np.abs(found.shares[:, 1] - true)
            out.setdefault(kind, []).append(np.column_stack([inside, high - low, error]))
    return {kind: np.concatenate(found) for kind, found in out.items()}


def coverage(trials, tasks):
    """Coverage of 95% intervals of shares of subgroups of the test rows, where the truth is known."""
    rows = {}
    for task in tasks:
        frame, hidden, columns = areas(task)
        labels = hidden if TASKS[task] == 2 else (hidden >= TASKS[task] // 2).astype(int)
        trial = [one_coverage(task, frame, labels, columns, t) for t in range(trials)]
        for kind in trial[0]:
            found = np.concatenate([t[kind] for t in trial])
            covered, width, error = found.mean(axis=0)
            row = {"hidden": task, "kind": kind, "coverage": float(covered), "width": float(width)}
            rows[f"{task} {kind}"] = row | {"mean error": float(error), "intervals": len(found)}
        table(task, [row for row in rows.values() if row["hidden"] == task])
    return rows


def voters(only):
    """The models of section V.C. With so many rows the penalty hardly matters, and a search would take long."""
    found = {
        "mean-emb": MeanEmbeddingClassifier(),
        "card-ovr": CardinalityClassifier(multiclass="ovr", penalty=10.0, tol=1e-3),
        "AMM": AlternatingMeanMap(penalty=10.0),
    }
    return {name: model for name, model in found.items() if not only or name in only}


def scored(model, data, level, by, prediction):
    """The three scores of one model by one attribute, of the nation or of every state, against the true votes."""
    columns = [by] if level == "nation" else ["state", by]
    people = data.frame()
    votes = data.shares(*columns)
    votes = votes.assign(share=votes["D"] / (votes["D"] + votes["R"]), size=votes["people"] * (votes["D"] + votes["R"]))
    groups = {name: people[name] for name in columns}
    found = subgroups(model, data.bags, groups, classes=data.classes, prediction=prediction).two_party("D", "R")
    beside = compare_polls(found[found["share"].notna()], votes, on=columns, missing="drop")
    return share_scores(beside["predicted"], beside["polled"], beside["weight"])


def election(regions, individuals, draws, only):
    """Table III on generated votes: two-party shares by sex, race and education, over several elections."""
    found, spent = {}, {}
    for seed in range(draws):
        data = synthetic.election(
            regions, individuals, n_classes=3, mean_weight=24, region_effect=0.1, random_state=seed
        )
        for name, model in voters(only).items():
            begin = time.process_time()
            model.fit(data.bags, data.totals)
            spent.setdefault(name, []).append(time.process_time() - begin)
            for prediction in ("hard", "expected"):
                for level, by in product(("nation", "state"), ("sex", "race", "education")):
                    key = (prediction, level, by, name)
                    found.setdefault(key, []).append(scored(model, data, level, by, prediction))
            print(f"election {seed}, {name}: {spent[name][-1]:.0f} CPU s", flush=True)
    rows = {}
    for key, scores in found.items():
        prediction, level, by, name = key
        mean = {score: float(np.mean([s[score] for s in scores])) for score in scores[0]}
        error = float(np.std([s["rmse"] for s in scores], ddof=1) / np.sqrt(draws)) if draws > 1 else float("nan")
        row = {"prediction": prediction, "level": level, "by": by, "method": name} | mean
        rows[" ".join(key)] = row | {"se": error, "draws": draws, "cpu_s": float(np.mean(spent[name]))}
    title = f"Table III on {regions} regions of {individuals:,} generated individuals"
    table(title, [rows[" ".join(key)] for key in sorted(found)])
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=["accuracy", "coverage", "election"], metavar="PART")
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=list(TASKS))
    parser.add_argument("--sizes", nargs="+", type=int, default=[10, 100])
    parser.add_argument("--methods", nargs="+", default=None)
    parser.add_argument("--draws", type=int, default=5, help="elections that are generated")
    parser.add_argument("--regions", type=int, default=979)
    parser.add_argument("--individuals", type=int, default=1000)
    args = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    for part in args.parts:
        if part == "accuracy":
            for task in args.tasks:
                accuracy(args.trials, task, args.sizes, args.methods)
        elif part == "coverage":
            keep("coverage", coverage(args.trials, [task for task in args.tasks if task != "race"]))
        else:
            keep("election", election(args.regions, args.individuals, args.draws, args.methods))
    rows = list(kept().get("accuracy", {}).values())
    if rows:
        table("Accuracy on individuals of held-out rows", rows)


if __name__ == "__main__":
    main()
