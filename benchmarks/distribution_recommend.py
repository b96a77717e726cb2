"""Whether `recommend` finds the best method: the one it names, fitted, beside every single candidate, paired.

    python benchmarks/distribution_recommend.py                      # all sets, ten draws
    python benchmarks/distribution_recommend.py gamma musk1 --draws 3
    python benchmarks/distribution_recommend.py --single --first 600  # two single methods on three sets, no candidates
    python benchmarks/distribution_recommend.py --show

Regression: the shape of Gamma distributions, entropies of rotated and of correlated Gaussians (`synthetic`), and areas
of the American Community Survey cut into bags of 60 people, whose mean income decile is predicted from columns without
income. Classification: the multiple-instance sets Musk 1 and Elephant, and generated bags of which one instance
decides. Sets that no rule was chosen on: the weight of one direction in a covariance (rank1), poverty in the same
areas, shares of high incomes in bags of one occupation (Adult), bags of handwritten digits with a nine among them,
ModelNet10 clouds of 64 points, and generated bags that need instances of two kinds. Sets that were first run when
everything was chosen: bags of people of whom one has a high income (Adult) or a disability (the survey), and of flowers
of which one is of a third species. Three quarters of the bags are trained on. Scores are R squared or accuracy on the
others. Candidates are those of `recommend` itself, gradient boosting on bag features among them; DeepSets, which is
tried from 300 bags on, is left out for its time. Beside the candidates, of classes: `BagLogistic` at its defaults, and
kernel ridge regression on 0 and 1 ("others" in the file).
Writes benchmarks/results/distribution_recommend.json.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from functools import cache
from pathlib import Path

import numpy as np
from run_record import run_record
from sklearn.base import clone

from proportions import adult_people, puma_people, table
from sumwise import Bags, datasets, synthetic
from sumwise.distribution import BagKernelRidge, BagLogistic, recommend
from sumwise.distribution.candidates import default_candidates
from sumwise.features import Features

RESULTS = Path(__file__).parent / "results" / "distribution_recommend.json"
FIRST = 500
TASKS = {
    "gamma": "regression",
    "rotation": "regression",
    "correlation": "regression",
    "areas": "regression",
    "musk1": "classification",
    "elephant": "classification",
    "one instance": "classification",
    "rank1": "regression",
    "areas, poverty": "regression",
    "occupations": "regression",
    "digits": "classification",
    "clouds": "classification",
    "two kinds": "classification",
    "one earner": "classification",
    "one disabled": "classification",
    "one flower": "classification",
}


@cache
def area_rows():
    """Features as numbers, income deciles and areas."""
    features, _, groups = puma_people()
    income = np.asarray(features["PINCP_DECILE"].replace("?", "0").replace("N", "0"), dtype=float)
    rows = Bags.from_frame(features.drop(columns=["PINCP_DECILE"]).assign(all=0), bag="all")
    values = Features.learn(rows).matrix(rows)
    return values[:, (values != 0).mean(axis=0) > 0.02], income, groups


def one_instance(rng):
    """Bags of 8 instances of 5 columns; the class is whether one of them lies far out in the first two columns."""
    rows = rng.normal(size=(240, 8, 5))
    labels = rng.integers(0, 2, 240)
    rows[labels == 1, 0, :2] += 2.5
    return Bags.from_arrays(list(rows)), labels


def cut(values, y, groups, size, rng):
    """Bags of `size` rows of one group each, at most ten of a group, and their mean responses."""
    order = rng.permutation(len(groups))
    order = order[np.argsort(groups[order], kind="stable")]
    parts = [p for g in np.unique(groups) for p in np.split(order[groups[order] == g], range(size, 10 * size, size))]
    parts = [p[:size] for p in parts if len(p) >= size]
    return Bags.from_arrays([values[p] for p in parts]), np.array([y[p].mean() for p in parts])


@cache
def poverty_rows():
    """Features without money, income to poverty ratios and areas."""
    import pandas as pd

    features, _, groups = puma_people()
    frame = pd.concat([datasets.pums_national().frame, datasets.pums_ma().frame], ignore_index=True)
    frame = frame[frame["EDU"].notna() & (frame["AGEP"] >= 25)]
    rows = Bags.from_frame(features.drop(columns=["PINCP_DECILE"]).assign(all=0), bag="all")
    values = Features.learn(rows).matrix(rows)
    ratio = pd.to_numeric(frame["POVPIP"], errors="coerce").fillna(0).to_numpy()
    return values[:, (values != 0).mean(axis=0) > 0.02], ratio, groups


@cache
def occupation_rows():
    """Adult's features that a third of a percent of people have, who earns more, and occupations."""
    values, labels, groups, *_ = adult_people()
    return values[:, (values != 0).mean(axis=0) > 0.02], labels, groups


def digit_bags(rng):
    """Bags of ten images; the class is whether one of them is a nine."""
    from sklearn.datasets import load_digits

    x, digit = load_digits(return_X_y=True)
    labels = rng.integers(0, 2, 200)
    rows = rng.choice(np.flatnonzero(digit != 9), (200, 10))
    rows[labels == 1, 0] = rng.choice(np.flatnonzero(digit == 9), (labels == 1).sum())
    return Bags.from_arrays(list(x[rows])), labels


@cache
def cloud_rows():
    """The first 64 points of every cloud of four classes."""
    real = datasets.modelnet10()
    kept = np.flatnonzero(np.isin(real.y, np.unique(real.y)[:4]))
    return np.stack([real.bags[int(k)][:64] for k in kept]), real.y[kept]


def two_kinds(rng):
    """Bags of 10 instances of 4 columns; class 1 has one far out in column 0 and one in column 1, class 0 only one."""
    rows, labels = rng.normal(size=(240, 10, 4)), rng.integers(0, 2, 240)
    side = rng.integers(0, 2, 240)
    rows[np.arange(240), 0, side] += 4.0
    rows[np.arange(240), 1, 1 - side] += 4.0 * labels
    return Bags.from_arrays(list(rows)), labels


def with_one(values, wanted, n_bags, sizes, rng):
    """Bags of rows that are not wanted; those of class 1 have one that is in place of the first."""
    labels, parts, others, ones = rng.integers(0, 2, n_bags), [], np.flatnonzero(~wanted), np.flatnonzero(wanted)
    for label in labels:
        rows = rng.choice(others, rng.integers(*sizes))
        rows[0] = rng.choice(ones) if label else rows[0]
        parts.append(values[rows])
    return Bags.from_arrays(parts), labels


@cache
def disability_rows():
    """The survey's features but for disabilities, and who has difficulty walking."""
    import pandas as pd

    frame = pd.concat([datasets.pums_national().frame, datasets.pums_ma().frame], ignore_index=True)
    frame = frame[frame["AGEP"] >= 25]
    columns = ["AGEP", "SEX", "MSP", "HISP", "RAC1P", "NOC", "NPF", "HOUSING_TYPE", "OWN_RENT", "PINCP_DECILE", "EDU"]
    rows = Bags.from_frame(frame[columns].assign(all=0), bag="all")
    values = Features.learn(rows).matrix(rows)
    walks = pd.to_numeric(frame["DPHY"], errors="coerce").to_numpy()
    return values[:, (values != 0).mean(axis=0) > 0.02], walks == 1


def one_of(name, rng):
    """Bags of which one row decides, made of given data."""
    if name == "one earner":
        values, rich, _ = occupation_rows()
        return with_one(values, rich == 1, 240, (4, 9), rng)
    if name == "one disabled":
        return with_one(*disability_rows(), 240, (4, 9), rng)
    from sklearn.datasets import load_iris

    flowers, species = load_iris(return_X_y=True)
    return with_one(flowers, species == 2, 160, (6, 13), rng)


def data_of(name, seed):
    """Bags and their responses or classes, in an order of the draw's own."""
    rng = np.random.default_rng(seed)
    if name == "gamma":
        made = synthetic.gamma(200, 40, random_state=seed)
        return made.bags, made.response
    if name in ("rotation", "correlation", "rank1"):
        made = synthetic.statistics(name, 200, 100, random_state=seed)
        return made.bags, made.response
    cuts = {"areas": (area_rows, 60), "areas, poverty": (poverty_rows, 40), "occupations": (occupation_rows, 50)}
    if name in cuts:
        made, size = cuts[name]
        bags, y = cut(*made(), size, rng)
    elif name == "digits":
        bags, y = digit_bags(rng)
    elif name == "clouds":
        points, y = cloud_rows()
        some = rng.permutation(len(y))[:240]
        bags, y = Bags.from_arrays(list(points[some])), y[some]
    elif name == "two kinds":
        bags, y = two_kinds(rng)
    elif name == "one instance":
        bags, y = one_instance(rng)
    elif name in ("one earner", "one disabled", "one flower"):
        bags, y = one_of(name, rng)
    else:
        bags, y = getattr(datasets, name)()
    order = rng.permutation(len(bags))
    return bags[order], y[order]


def beside(bags, y, new, truth):
    """Accuracy of two single methods that are not candidates."""
    classes, codes = np.unique(y, return_inverse=True)
    ridge = BagKernelRidge(random_state=0).fit(bags, np.eye(len(classes))[codes])
    return {
        "BagLogistic": round(float(BagLogistic(random_state=0).fit(bags, y).score(new, truth)), 5),
        "kernel ridge on 0 and 1": round(float(np.mean(classes[ridge.predict(new).argmax(axis=1)] == truth)), 5),
    }


def single(name, seeds):
    """Accuracy of the two single methods on one set, and their difference with its error."""
    found = []
    for seed in seeds:
        bags, y = data_of(name, seed)
        n = 3 * len(bags) // 4
        found.append(beside(bags[:n], y[:n], bags[n:], y[n:]))
    scores = {method: [each[method] for each in found] for method in found[0]}
    gain = np.subtract(scores["BagLogistic"], scores["kernel ridge on 0 and 1"])
    cell = {method: float(np.mean(each)) for method, each in scores.items()}
    cell |= {"gain": float(gain.mean()), "error": float(gain.std(ddof=1) / np.sqrt(len(gain)))}
    print(name, cell, flush=True)
    return cell | {"scores": scores, "seeds": list(seeds), **run_record()}


def measured(name, seed):
    """Scores of what was recommended and of every candidate in one draw."""
    task, begin = TASKS[name], time.process_time()
    bags, y = data_of(name, seed)
    n = 3 * len(bags) // 4
    candidates = {n: c for n, c in default_candidates(bags[:n], task, seed)[0].items() if n != "DeepSets"}
    advice = recommend(bags[:n], y[:n], task=task, candidates=candidates, random_state=seed)
    found = {}
    for method, candidate in candidates.items():
        score = clone(candidate).fit(bags[:n], y[:n]).score(bags[n:], y[n:])
        found[method] = round(float(score), 5)
    taken = found.get(advice.best)
    if taken is None:  # an average of several
        taken = round(float(advice.estimator.fit(bags[:n], y[:n]).score(bags[n:], y[n:])), 5)
    found["recommended"] = taken
    others = beside(bags[:n], y[:n], bags[n:], y[n:]) if task == "classification" else {}
    seconds = round(time.process_time() - begin, 1)
    print(name, seed, advice.best, found["recommended"], f"{seconds:.0f} CPU-s", flush=True)
    folds = {method: np.round(each, 4).tolist() for method, each in advice.scores.items()}
    return {
        "seed": seed,
        "taken": advice.best,
        "scores": found,
        "folds": folds,
        "others": others,
        "cpu_seconds": seconds,
    }


def joined(name, draws):
    """The draws of one set as lists, method by method; methods that some draws lack are left out."""
    draws = sorted(draws, key=lambda d: d["seed"])
    methods = [m for m in draws[0]["scores"] if all(m in d["scores"] for d in draws)]
    return {
        "data": name, "task": TASKS[name], "draws": draws,
        "scores": {m: [d["scores"][m] for d in draws] for m in methods},
    }  # fmt: skip


def lines(cells):
    """One row per set: the recommended method's score beside the best single one's, paired."""
    out = []
    for cell in cells:
        scores = {m: np.array(v) for m, v in cell["scores"].items()}
        ours = scores.pop("recommended")
        full = {m: v for m, v in scores.items() if len(v) == len(ours)}
        best = max(full, key=lambda m, full=full: full[m].mean())
        gap = ours - full[best]
        error = float(gap.std(ddof=1) / np.sqrt(len(gap))) if len(gap) > 1 else float("nan")
        verdict = (
            "best or equal" if gap.mean() >= 0 else ("within one error" if gap.mean() >= -error - 1e-9 else "behind")
        )
        out.append(
            {
                "data": cell["data"], "draws": len(ours), "recommended": float(ours.mean()), "best single": best,
                "its score": float(full[best].mean()), "gain": float(gap.mean()), "error": error, "": verdict,
            }
        )  # fmt: skip
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", metavar="SET", help=", ".join(TASKS))
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--first", type=int, default=FIRST, help="seed of the first draw, to share draws out")
    parser.add_argument("--merge", type=Path, nargs="*", default=[], help="adds draws of other machines")
    parser.add_argument("--single", action="store_true", help="only the two single methods")
    parser.add_argument("--show", action="store_true", help="only print what was run")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"cells": []}
    cells = {cell["data"]: cell for cell in kept["cells"]}
    for cell in (c for path in args.merge for c in json.loads(path.read_text("utf-8"))["cells"] if "draws" in c):
        before = {d["seed"]: d for d in cells.get(cell["data"], {}).get("draws", [])}
        drawn = before | {d["seed"]: d for d in cell["draws"]}
        cells[cell["data"]] = joined(cell["data"], list(drawn.values()))
    if args.merge:
        kept |= {"cells": list(cells.values()), "summary": {row["data"]: row for row in lines(cells.values())}}
        RESULTS.write_text(json.dumps(kept) + "\n")
    if args.single:
        seeds = range(args.first, args.first + args.draws)
        for name in args.sets or ("one earner", "one disabled", "one flower"):
            kept.setdefault("single", {})[name] = single(name, seeds)
            RESULTS.write_text(json.dumps(kept) + "\n")
        return
    for name in () if args.show or args.merge else args.sets or TASKS:
        for seed in range(args.first, args.first + args.draws):
            draw = measured(name, seed) | {"commit": run_record()["commit"]}
            before = [d for d in cells.get(name, {}).get("draws", []) if d["seed"] != seed]
            cells[name] = joined(name, [*before, draw])
            kept |= {"command": "python benchmarks/distribution_recommend.py", "cells": list(cells.values())}
            kept["summary"] = {row["data"]: row for row in lines(kept["cells"])}
            RESULTS.write_text(json.dumps(kept) + "\n")
    table("Score of the recommended method and of the best single one", lines(kept["cells"]))


if __name__ == "__main__":
    main()
