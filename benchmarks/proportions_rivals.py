"""Label proportions: every method on the same bags, with standard errors over seeds.

    python benchmarks/proportions_rivals.py                          # all sections (hours); resumes where it stopped
    python benchmarks/proportions_rivals.py random occupation --sizes 100 1000 --seconds 1200
    python benchmarks/proportions_rivals.py franco puma --methods cardinality "proportion loss"
    python benchmarks/proportions_rivals.py --show                   # only the tables of what was run

Sections: random and occupation (Adult in bags of 10, 100, 1,000; test AUC), franco (published bag assignments of Adult
beside the published runs; accuracy on held-out rows), puma (areas of the American Community Survey, bachelor's degree;
test AUC). Every method runs with its default settings, chosen from bags alone. Each fit is written to
benchmarks/results/proportions_rivals.json as soon as it is done, and not run again; `--seconds` bounds one call.
Sections whose data are absent are skipped, with a line.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from proportions import adult_people, make_bags, puma_people, puma_split
from sumwise import proportions as p
from sumwise.errors import DataError, NotConverged

RESULTS = Path(__file__).parent / "results" / "proportions_rivals.json"
OURS = "cardinality"
METHODS = {
    "oracle": p.Oracle(),
    OURS: p.CardinalityClassifier(),
    "own intercepts": p.CardinalityClassifier(random_intercept=True),
    "mean embedding": p.MeanEmbeddingClassifier(),
    "mean map": p.MeanMap(),
    "Laplacian mean map": p.MeanMap(laplacian=True),
    "AMM min": p.AlternatingMeanMap(),  # with two classes also hard EM
    "AMM max": p.AlternatingMeanMap(variant="max"),
    "proportion loss": p.ProportionLossClassifier(),
    "easy LLP": p.EasyLLP(),
    "central limit": p.CentralLimitClassifier(),
    "inverse calibration": p.InverseCalibration(),
    "DLLP": p.ProportionLossNetwork(),
    "MixBag": p.MixBag(),
    "network": p.CardinalityNetwork(),
    "network, own intercepts": p.CardinalityNetwork(random_intercept=True),
}
NETWORKS, NEURAL = ("network", "network, own intercepts"), ("DLLP", "MixBag")
LINEAR = [m for m in METHODS if m not in ("oracle", OURS, "own intercepts", *NETWORKS, *NEURAL)]
FRANCO = (
    "simple-large-not-equal-close",
    "simple-large-not-equal-far",
    "hard-large-not-equal-close",
    "hard-large-not-equal-far",
    "intermediate-large-not-equal-far",
)


class Cell:
    """One setting: gives bags, counts, individual labels and a score for each seed."""

    def __init__(self, name, make):
        self.name, self.make = name, make


def adult_cells(sizes, by_occupation):
    values, labels, groups, test_values, test_labels = adult_people()
    for size in sizes:

        def make(seed, size=size):
            by = groups if by_occupation else None
            bags, counts = make_bags(values, labels, size, seed, by)
            marks, _ = make_bags(labels[:, None].astype(float), labels, size, seed, by)
            return bags, counts, marks.values[:, 0], lambda m: _auc(m, test_values, test_labels)

        yield Cell(f"{'occupation' if by_occupation else 'random'} {size}", make)


def franco_cells(sizes):
    from sumwise import datasets

    for name in datasets.franco_variants():
        short = name.split("-global")[0]
        if short not in FRANCO:
            continue

        def make(seed, name=name):
            data = datasets.franco(name)
            mask = np.random.default_rng(seed).random(data.bags.n_rows) < 0.75
            counts = np.bincount(data.bags.bag_index[mask], data.labels[mask], minlength=len(data.bags))
            rest, truth = data.bags.values[~mask], data.labels[~mask]
            return data.bags.subset(mask), counts, data.labels[mask], lambda m: float(np.mean(m.predict(rest) == truth))

        yield Cell(short, make)


def puma_cells(sizes):
    people = puma_people()

    def make(seed):
        bags, counts, values, truth = puma_split(people, seed)
        features, labels, groups = people
        test = np.random.default_rng(seed).random(len(features)) < 0.3
        own, _ = make_bags(labels[~test][:, None].astype(float), labels[~test], len(features), seed, groups[~test])
        return bags, counts, own.values[:, 0], lambda m: _auc(m, values, truth)

    yield Cell("puma, bachelor's degree", make)


SECTIONS = {
    "random": lambda sizes: adult_cells(sizes, False),
    "occupation": lambda sizes: adult_cells(sizes, True),
    "franco": franco_cells,
    "puma": puma_cells,
}


def _auc(model, values, truth):
    return float(roc_auc_score(truth, model.predict_proba(values)[:, 1]))


def run(cell: Cell, method, seed):
    """Fit one method: score, CPU seconds, whether it converged."""
    bags, counts, labels, score = cell.make(seed)
    model = clone(METHODS[method])
    begin = time.process_time()
    model.fit(bags, labels if method == "oracle" else counts)
    spent = time.process_time() - begin
    return {"score": score(model), "cpu_s": spent, "converged": bool(model.fit_.converged)}


def summary(done, cell):
    """Mean and standard error of each method in one cell."""
    out = {}
    for method in METHODS:
        scores = [v["score"] for k, v in done.items() if k.startswith(f"{cell}|{method}|")]
        if scores:
            error = float(np.std(scores, ddof=1) / np.sqrt(len(scores))) if len(scores) > 1 else float("nan")
            out[method] = (float(np.mean(scores)), error, len(scores))
    return out


def published(cell):
    """Best mean accuracy of each published method on a variant, over its settings."""
    from sumwise import datasets

    runs = datasets.franco_published()
    runs = runs[runs["dataset"].str.startswith(f"adult-{cell}-")]
    by = runs.groupby(["model", "loss", "split_method"], dropna=False)["accuracy_test"].mean()
    return by.groupby("model").max().round(3).to_dict()


def show(done):
    """The tables: one row per method and cell, and whether ours is best or within one standard error of it."""
    for cell in dict.fromkeys(key.split("|")[0] for key in done):
        found = summary(done, cell)
        print(f"\n{cell}")
        for method, (mean, error, n) in sorted(found.items(), key=lambda item: -item[1][0]):
            print(f"  {method:24s} {mean:.4f}  se {error:.4f}  seeds {n}")
        if cell in FRANCO:
            print(f"  published, best setting of each: {published(cell)}")
        verdict(found, [OURS], LINEAR)
        verdict(found, NETWORKS, NEURAL)


def verdict(found, ours, rivals):
    """Say whether ours (the better of them) is best, or within one standard error of the best rival of its kind."""
    mine, theirs = ([m for m in names if m in found] for names in (ours, rivals))
    if mine and theirs:
        one, other = (max(names, key=lambda m: found[m][0]) for names in (mine, theirs))
        short = found[other][0] - found[one][0]
        margin = max(np.nan_to_num(found[m][1]) for m in (one, other))
        word = "best" if short <= 0 else ("within one standard error" if short <= margin else "behind")
        print(f"  {one} is {word}: {-short:+.4f} against {other}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sections", nargs="*", default=list(SECTIONS), metavar="SECTION", help=", ".join(SECTIONS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--sizes", type=int, nargs="*", default=[10, 100, 1000])
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so many seconds")
    parser.add_argument("--show", action="store_true", help="only print what was run")
    args = parser.parse_args()
    begin = time.monotonic()
    warnings.simplefilter("ignore", UserWarning)
    warnings.simplefilter("ignore", NotConverged)
    RESULTS.parent.mkdir(exist_ok=True)
    for section in [] if args.show else args.sections:
        try:
            cells = list(SECTIONS[section](args.sizes))
        except DataError as error:
            print(f"{section}: skipped. {error}")
            continue
        for cell, method, seed in ((c, m, s) for c in cells for m in args.methods for s in range(args.seeds)):
            done = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
            key = f"{cell.name}|{method}|{seed}"
            if key in done or time.monotonic() - begin > args.seconds:
                continue
            found = run(cell, method, seed)
            print(f"{key} {found['score']:.4f} {found['cpu_s']:.1f} CPU s", flush=True)
            done = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
            RESULTS.write_text(json.dumps(done | {key: found}, indent=1))
    show(json.loads(RESULTS.read_text()) if RESULTS.exists() else {})


if __name__ == "__main__":
    main()
