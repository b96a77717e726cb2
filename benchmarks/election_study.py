"""The election study of Sun et al. 2017, section V, on data at hand.

    python benchmarks/election_study.py                        # everything (an hour of CPU time)
    python benchmarks/election_study.py accuracy --trials 10   # parts: accuracy, coverage, election
    python benchmarks/election_study.py accuracy --tasks DPHY --sizes 10
    python benchmarks/election_study.py accuracy --tasks race --first 105 --trials 5     # other training sets
    python benchmarks/election_study.py accuracy --tasks race --out PART.json
    python benchmarks/election_study.py --merge a.json b.json    # adds trials of other machines; measures nothing

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
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from run_record import run_record

from sumwise import Bags, datasets, synthetic
from sumwise.metrics import share_scores
from sumwise.proportions import (
    AlternatingMeanMap,
    CardinalityClassifier,
    Covariates,
    MeanEmbeddingClassifier,
    Oracle,
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
LAST_CODES_OF_EDUCATION = (6, 8, 9, 12)  # school, some college, college, postgraduate: Table I of Sun et al. 2017
BAGS_PER_AREA = 20
HEAD = ("hidden", "classes", "bag", "method", "largest class")


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


def race_of(frame):
    """Race in five classes, as exit polls ask: Hispanics of any race are one."""
    names = ["white", "black", "asian", "hispanic", "other"]
    codes = frame["RAC1P"].map({1: 0, 2: 1, 6: 2}).fillna(4).where(frame["HISP"] == 0, 3)
    return pd.Series(pd.Categorical.from_codes(codes.astype(int), names), index=frame.index)


def areas(task):
    """Persons with the hidden attribute as class positions, and the columns that may be looked at."""
    frame = pd.concat([datasets.pums_national().frame, datasets.pums_ma().frame], ignore_index=True)
    columns = [c for c in (*NUMBERS, *CODED) if c != task]
    if task == "education":
        frame = frame[frame["EDU"].notna()]
        hidden = np.searchsorted(LAST_CODES_OF_EDUCATION, frame["EDU"])
        columns.remove("EDU")
    elif task == "race":
        hidden = race_of(frame).cat.codes.to_numpy()
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
    """The models of section V.B.2, each with its own choice of penalty from bags alone, but for one without any."""
    found = {"oracle": Oracle(penalty=1.0), "mean-emb": MeanEmbeddingClassifier(), "AMM": AlternatingMeanMap()}
    found["mean-emb, penalty .01"] = MeanEmbeddingClassifier(penalty=0.01)  # hardly any: the paper names none
    if n_classes == 2:
        return found | {"cardinality": CardinalityClassifier("linear", tol=1e-3)}
    return found | {"cardinality": CardinalityClassifier("linear", tol=1e-3, max_iter=200)}


def kept():
    """What was written so far."""
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def keep(part, found):
    """Add to what was written, which another run may have changed meanwhile."""
    RESULTS.parent.mkdir(exist_ok=True)
    results = kept()
    results[part] = results.get(part, {}) | found
    RESULTS.write_text(json.dumps(results, indent=1) + "\n", "utf-8")


def keep_trial(row, seed, score, spent, commit):
    """Add one trial to its row, in place of one with the same seed, and return the row with means over trials."""
    name = f"{row['hidden']} {row['bag']} {row['method']}"
    row = kept().get("accuracy", {}).get(name, {}) | row
    row["scores"] = dict(sorted((row.get("scores", {}) | {str(seed): [score, round(spent, 2)]}).items()))
    row["commits"] = {k: v for k, v in row.get("commits", {}).items() if k in row["scores"]} | {str(seed): commit}
    scores, seconds = np.array(list(row["scores"].values())).T
    error = float(np.std(scores, ddof=1) / np.sqrt(len(scores))) if len(scores) > 1 else float("nan")
    row |= {"accuracy": float(scores.mean()), "se": error, "trials": len(scores), "cpu_s": float(seconds.mean())}
    keep("accuracy", {name: row})
    return row


def merge(path):
    """Add the trials and elections of another file."""
    other = json.loads(path.read_text("utf-8"))
    for row in other.get("accuracy", {}).values():
        for seed, (score, spent) in row.get("scores", {}).items():
            keep_trial({k: row[k] for k in HEAD}, seed, score, spent, row["commits"][seed])
    for draw, found in other.get("elections", {}).items():
        keep("elections", {draw: kept().get("elections", {}).get(draw, {}) | found})
    keep("election commits", other.get("election commits", {}))


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
                print(
                    f"{task}, bags of {size}, {name}, {first + trial}: {scores[-1]:.4f}, {spent[-1]:.1f} s", flush=True
                )
                row = dict(zip(HEAD, (task, n_classes, size, name, common)))
                if write:
                    row = keep_trial(row, first + trial, scores[-1], spent[-1], run_record()["commit"])
            if not write:
                error = float(np.std(scores, ddof=1) / np.sqrt(trials)) if trials > 1 else float("nan")
                row |= {"accuracy": float(np.mean(scores)), "se": error, "trials": trials}
            rows_found.append(row)
    return rows_found


def one_coverage(task, frame, labels, columns, trial):
    """Whether the intervals of one trial hold the shares of the test rows, their widths and errors: {kind: array}."""
    held = np.random.default_rng(200 + trial).random(len(frame)) < 0.25
    coded = [c for c in CODED if c in columns]
    reduced = Covariates(coded, max_correlation=0.7, n_components=10)
    values = reduced.fit(frame.loc[~held, columns], labels[~held]).transform(frame)
    drawn, _ = draw_bags(frame, ~held, 100, np.random.default_rng(300 + trial))
    bags = Bags(values[drawn], np.arange(0, len(drawn) + 1, 100))
    counts = labels[drawn].reshape(-1, 100).sum(axis=1)
    clf = CardinalityClassifier(tol=1e-3).fit(bags, counts)
    own = CardinalityClassifier(tol=1e-3, random_intercept=True).fit(bags, counts)
    kinds = {"default": clf, "own intercepts": own}
    by = {
        "race": race_of(frame).astype(str),
        "sex": frame["SEX"],
        "age": pd.cut(frame["AGEP"], [-1, 29, 44, 64, 120]).astype(str),
    }
    by.pop(task.lower(), None)  # a group of which all or none have the hidden attribute
    out = {}
    for kind, model in kinds.items():
        for name, column in by.items():
            groups = column[held].to_numpy()
            found = subgroups(model, values[held], {name: groups}, n_draws=200)
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
        "cardinality": CardinalityClassifier(penalty=10.0, tol=1e-3),
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
    both = found[found["share"].notna()].merge(votes, on=columns, suffixes=("", " voted"))
    return share_scores(both["share"], both["share voted"], both["size"])


SCORES = ("groups", "majority", "order", "rmse")


def election(regions, individuals, seeds, only):
    """Table III on generated votes: two-party shares by sex, race and education; each draw is kept at once."""
    for seed in seeds:
        data = synthetic.election(
            regions, individuals, n_classes=3, mean_weight=24, region_effect=0.1, random_state=seed
        )
        for name, model in voters(only).items():
            begin = time.process_time()
            model.fit(data.bags, data.totals)
            spent, found = time.process_time() - begin, {}
            for prediction, level, by in product(
                ("hard", "expected"), ("nation", "state"), ("sex", "race", "education")
            ):
                score = scored(model, data, level, by, prediction)
                found["; ".join((prediction, level, by, name))] = [*(float(score[s]) for s in SCORES), round(spent, 1)]
            keep("elections", {str(seed): kept().get("elections", {}).get(str(seed), {}) | found})
            keep("election commits", {f"{seed} {name}": run_record()["commit"]})
            print(f"election {seed}, {name}: {spent:.0f} CPU s", flush=True)


def election_rows():
    """Means over elections."""
    found = {}
    for _, one in sorted(kept().get("elections", {}).items(), key=lambda item: int(item[0])):
        for key, scores in one.items():
            found.setdefault(key, []).append(scores)
    rows = {}
    for key, scores in found.items():
        mean, n = np.mean(scores, axis=0), len(scores)
        row = dict(zip(("prediction", "level", "by", "method"), key.split("; ")))
        row |= dict(zip((*SCORES, "cpu_s"), map(float, mean)))
        error = float(np.std([s[3] for s in scores], ddof=1) / np.sqrt(n)) if n > 1 else float("nan")
        rows[key] = row | {"se": error, "draws": n}
    return rows


def record_runs():
    """Commands, commits and seeds of both parts, from those of their trials and elections."""
    found = kept()
    made = {
        "accuracy": [pair for row in found.get("accuracy", {}).values() for pair in row.get("commits", {}).items()],
        "election": [(name.split()[0], commit) for name, commit in found.get("election commits", {}).items()],
    }
    options = {"accuracy": "accuracy", "election": "election --individuals 150 --draws 50"}
    for part, pairs in made.items():
        if pairs:
            seeds, commits = sorted({int(seed) for seed, _ in pairs}), sorted({commit for _, commit in pairs})
            record = {"command": f"python benchmarks/election_study.py {options[part]}", "commit": ", ".join(commits)}
            record |= {"seeds": f"{seeds[0]} to {seeds[-1]}"}
            parts = (part,) if part == "accuracy" else (part, "elections", "election commits")
            keep("runs", dict.fromkeys(parts, record))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=["accuracy", "coverage", "election"], metavar="PART")
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=list(TASKS))
    parser.add_argument("--sizes", nargs="+", type=int, default=[10, 100])
    parser.add_argument("--methods", nargs="+", default=None)
    parser.add_argument("--first", type=int, default=100, help="seed of the first training set")
    parser.add_argument("--draws", type=int, default=5, help="elections that are generated")
    parser.add_argument("--first-draw", type=int, default=0, help="seed of the first election")
    parser.add_argument("--merge", type=Path, nargs="+", default=[])
    parser.add_argument("--out", type=Path, help="another file to write to")
    parser.add_argument("--regions", type=int, default=979)
    parser.add_argument("--individuals", type=int, default=1000)
    args = parser.parse_args()
    if args.out:
        globals()["RESULTS"] = args.out
    warnings.simplefilter("ignore", UserWarning)
    for path in args.merge:
        merge(path)
    for part in args.parts if not args.merge else ():
        if part == "accuracy":
            for task in args.tasks:
                accuracy(args.trials, task, args.sizes, args.methods, args.first)
        elif part == "coverage":
            keep("coverage", coverage(args.trials, [task for task in args.tasks if task != "race"]))
        else:
            seeds = range(args.first_draw, args.first_draw + args.draws)
            election(args.regions, args.individuals, seeds, args.methods)
    record_runs()
    if "elections" in kept():
        RESULTS.write_text(json.dumps(kept() | {"election": election_rows()}, indent=1) + "\n", "utf-8")
        table("Table III on generated votes", list(kept()["election"].values()))
    rows = [{k: v for k, v in row.items() if k != "scores"} for row in kept().get("accuracy", {}).values()]
    if rows:
        table("Accuracy on individuals of held-out rows", rows)


if __name__ == "__main__":
    main()
