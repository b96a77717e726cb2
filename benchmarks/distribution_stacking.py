"""`BagStacking` beside every single method: scores on bags that were not trained on, paired.

    python benchmarks/distribution_stacking.py                      # all sets, ten draws
    python benchmarks/distribution_stacking.py gamma musk1 --draws 3 --out part.json
    python benchmarks/distribution_stacking.py --merge part.json    # adds draws of other machines
    python benchmarks/distribution_stacking.py --show

Regression: the shape of Gamma distributions, entropies of rotated and of correlated Gaussians (`synthetic`), skewness,
and areas of the American Community Survey cut into bags of 60 people, whose mean income decile is predicted from
columns without income. Classification: the multiple-instance sets Musk 1 and Elephant, and generated bags of which one
instance decides. Then sets that nothing was chosen on when methods were picked one at a time: the weight of one
direction in a covariance (rank1), poverty in the same areas, shares of high incomes in bags of one occupation (Adult),
bags of handwritten digits with a nine among them, ModelNet10 clouds of 64 points, generated bags that need instances of
two kinds, bags of people of whom one has a high income (Adult) or a disability (the survey), and of flowers of which
one is of a third species. Three quarters of the bags are trained on; scores are R squared or accuracy on the others, so
a constant has 0 or the share of the most common class.
Writes benchmarks/results/distribution_stacking.json.
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
from sumwise.distribution import BagStacking
from sumwise.distribution.candidates import default_candidates
from sumwise.features import Features

RESULTS = Path(__file__).parent / "results" / "distribution_stacking.json"
FIRST = 500
TASKS = {
    "gamma": "regression",
    "rotation": "regression",
    "correlation": "regression",
    "skewness": "regression",
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


def skewed(rng):
    """Bags of 100 rows of mean 0 and variance 1 whose skewness is the response; one more column is noise."""
    y = rng.uniform(0.2, 2.0, 200)
    shape = 4 / y**2
    rows = (rng.gamma(shape[:, None], size=(200, 100)) - shape[:, None]) / np.sqrt(shape[:, None])
    return Bags.from_arrays(list(np.stack([rows, rng.normal(size=rows.shape)], axis=2))), y


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
    if name == "skewness":
        return skewed(rng)
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


def measured(name, seed):
    """Scores of the average, of every single method and of a constant in one draw."""
    task = TASKS[name]
    bags, y = data_of(name, seed)
    n = 3 * len(bags) // 4
    begin = time.process_time()
    model = BagStacking(task=task).fit(bags[:n], y[:n])
    seconds = time.process_time() - begin
    scores = {"average": model.score(bags[n:], y[n:]), "constant": 0.0}
    if task == "classification":
        labels, counts = np.unique(y[:n], return_counts=True)
        scores["constant"] = float(np.mean(y[n:] == labels[counts.argmax()]))
    for method, candidate in default_candidates(bags[:n], task, seed).items():
        scores[method] = clone(candidate).fit(bags[:n], y[:n]).score(bags[n:], y[n:])
    coverage = None
    if task == "regression":
        low, high = model.predict_interval(bags[n:], 0.9)
        coverage = float(np.mean((low <= y[n:]) & (y[n:] <= high)))
    print(name, seed, round(float(scores["average"]), 4), f"{seconds:.0f} CPU-s", flush=True)
    rounded = {method: round(float(score), 5) for method, score in scores.items()}
    weights = {method: round(w, 3) for method, w in model.weights_.items() if w > 0}
    return {"data": name, "seed": seed, "scores": rounded, "weights": weights, "coverage": coverage,
            "cpu_seconds": round(seconds, 1), "commit": run_record()["commit"]}  # fmt: skip


def lines(draws):
    """One row per set: the average's score beside that of the best single method, paired."""
    out = []
    for name in TASKS:
        own = [d for d in draws if d["data"] == name]
        if not own:
            continue
        scores = {m: np.array([d["scores"][m] for d in own]) for m in own[0]["scores"]}
        ours, constant = scores.pop("average"), scores.pop("constant")
        best = max(scores, key=lambda m, scores=scores: scores[m].mean())
        gap = ours - scores[best]
        out.append(
            {
                "data": name, "draws": len(own), "average": float(ours.mean()), "best single": best,
                "its score": float(scores[best].mean()), "gain": float(gap.mean()),
                "error": float(gap.std(ddof=1) / np.sqrt(len(gap))) if len(gap) > 1 else None,
                "constant": float(constant.mean()),
                "coverage of 90%": None if own[0]["coverage"] is None else float(np.mean([d["coverage"] for d in own])),
                "CPU seconds": float(np.mean([d["cpu_seconds"] for d in own])),
            }
        )  # fmt: skip
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", metavar="SET", help=", ".join(TASKS))
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--first", type=int, default=FIRST, help="seed of the first draw")
    parser.add_argument("--merge", type=Path, nargs="*", default=[], help="adds draws of other machines")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--show", action="store_true", help="only print what was run")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    every = [args.out, *args.merge]
    stored = [d for path in every if path.exists() for d in json.loads(path.read_text("utf-8"))["draws"]]
    draws = {(d["data"], d["seed"]): d for d in stored}
    jobs = (
        [] if args.show or args.merge else [(n, args.first + k) for n in args.sets or TASKS for k in range(args.draws)]
    )
    for name, seed in jobs:
        draws[name, seed] = measured(name, seed)
    ordered = [draws[key] for key in sorted(draws)]
    summary = {row["data"]: row for row in lines(ordered)}
    kept = {"command": "python benchmarks/distribution_stacking.py", "summary": summary, "draws": ordered}
    args.out.write_text(json.dumps(kept) + "\n")
    table("Score of the average and of the best single method", lines(ordered))


if __name__ == "__main__":
    main()
