"""Cells of the reproduction book again, with seeds that nothing else used: do they agree within their errors?

    python benchmarks/other_seeds.py             # all, about four CPU minutes
    python benchmarks/other_seeds.py exact       # parts: gamma, exact, methods, loopy, process, accuracy

Each part computes some stored cells anew, with as many draws as before, and compares means: the difference in units of
its standard error, by the errors of both. Of ten such numbers one beyond 2 is to be expected now and then, one beyond 3
is not. Writes benchmarks/results/other_seeds.json.
"""

# ruff: noqa: E402  (threads are fixed before NumPy is loaded)
from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import argparse
import json
import warnings
from pathlib import Path

import cgm_figures
import election_study
import numpy as np
import place_process
from distribution.gamma import _gamma as one_gamma

from sumwise.collective import map_counts

HERE = Path(__file__).parent / "results"
FIRST = 7000
SEEDS = range(FIRST, FIRST + 10)


def stored(file, path):
    """Rows of a file of results."""
    value = json.loads((HERE / file).read_text("utf-8"))
    for key in path.split("/"):
        value = value[key]
    return list(value.values()) if isinstance(value, dict) else value


def row(rows, **wanted):
    """The row with these values."""
    return next(r for r in rows if all(r.get(k.replace("_", " ")) == v for k, v in wanted.items()))


def beside(cell, before, after):
    """A cell's stored and new mean with errors, and how far apart they are."""
    error = float(np.hypot(before[1], after[1]))
    apart = abs(after[0] - before[0]) / error if error else 0.0
    found = {"cell": cell, "stored": before[0], "stored error": before[1], "again": after[0], "again error": after[1]}
    print(found | {"errors apart": round(apart, 2)}, flush=True)
    return found | {"errors apart": apart}


def exact():
    """Figure 2.3: error against the mode and the mean of enumeration."""
    cgm_figures.SEEDS = SEEDS
    old, new = stored("cgm_figures.json", "exact/rows"), [cgm_figures.flat(r) for r in cgm_figures.exact()]
    for n, name in ((3, "from mode"), (5, "from mode"), (7, "from mode"), (7, "from mean")):
        pair = [(r[name], r[f"{name} error"]) for r in (row(old, n=n), row(new, n=n))]
        yield beside(f"Figure 2.3, M = {n}, {name}", *pair)


def methods():
    """Figures 2.4 and 2.5: steps of two methods."""
    old = stored("cgm_figures.json", "methods/rows")
    for weights, name in ((cgm_figures.LARGE, "dual"), (cgm_figures.SMALL, "nlbp")):
        steps = []
        for seed in SEEDS:
            drawn, model = cgm_figures.season(5, seed, weights=weights)
            best = map_counts(model, drawn.tables, tol=1e-9).objective
            first = map_counts(model, drawn.tables, method="nlbp", max_iter=1).history["objective"][0]
            fit = map_counts(model, drawn.tables, method=name, max_iter=200, tol=1e-7)
            steps.append(cgm_figures.until(fit, best, first)[0])
        new, was = cgm_figures.spread(steps), row(old, weights=weights[0], method=name)
        yield beside(
            f"Figure 2.5, weights {weights[0]:g}, {name}: steps", (was["steps"], was["steps error"]),
            (new["mean"], new["error"]),
        )  # fmt: skip


def loopy():
    """Theorem 5: distance from the junction tree, and rounds."""
    cgm_figures.SEEDS = SEEDS
    old, new = stored("cgm_figures.json", "loopy/rows"), [cgm_figures.flat(r) for r in cgm_figures.loopy()]
    for side, strength, name in ((3, 1.5, "edges"), (4, 0.5, "nodes"), (20, 0.5, "rounds")):
        pair = [(r[name], r[f"{name} error"]) for r in (row(t, side=side, strength=strength) for t in (old, new))]
        yield beside(f"Theorem 5, side {side}, strength {strength:g}: {name}", *pair)


def process():
    """Counts by the model alone, by a process alone and by both in one likelihood."""
    wrong = {}
    for seed in SEEDS:
        season, true, y, model = place_process.draw("sparse", seed)
        for name, (counts, _) in place_process.estimates(season, y, model).items():
            wrong.setdefault(name, []).append(np.abs(counts - true).sum() / (2 * place_process.BIRDS * len(true)))
    for was in stored("place_process.json", "rows"):
        if was["setting"] == "sparse" and was["method"] in ("process alone", "one likelihood"):
            new = cgm_figures.spread(wrong[was["method"]])
            pair = (was["wrong cell"], was["se"]), (new["mean"], new["error"])
            yield beside(f"section 1.1, sparse, {was['method']}", *pair)


def accuracy():
    """Figure 3.5: other training sets."""
    old = stored("election_study.json", "accuracy")
    for task, method in (
        ("SEX", "mean-emb"),
        ("SEX", "cardinality"),
        ("DPHY", "cardinality"),
        ("education", "mean-emb"),
    ):
        (new,) = election_study.accuracy(10, task, [10], [method], first=FIRST, write=False)
        was = row(old, hidden=task, bag=10, method=method)
        yield beside(
            f"Figure 3.5, {task}, bags of 10, {method}", (was["accuracy"], was["se"]), (new["accuracy"], new["se"])
        )


def gamma():
    """Section 5.1.1 of Lemus Gonzalez: error over the best possible, by two methods."""
    old = stored("distribution.json", "gamma")
    for method in ("moments", "W1 kernel"):
        found = [one_gamma({"rows": 1000, "seed": seed, "method": method}, "cpu") for seed in SEEDS]
        new, was = cgm_figures.spread([f["mse"] / f["bayes"] for f in found]), row(old, method=method)
        pair = (was["over_bayes"], was["error"]), (new["mean"], new["error"])
        yield beside(f"Gamma bags, {method}: error over the best possible", *pair)


PARTS = {"gamma": gamma, "exact": exact, "methods": methods, "loopy": loopy, "process": process, "accuracy": accuracy}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], default=[])
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    path = HERE / "other_seeds.json"
    results = json.loads(path.read_text("utf-8")) if path.exists() else {"rows": []}
    for name in given.parts or PARTS:
        for found in PARTS[name]():
            rows = [r for r in results["rows"] if r["cell"] != found["cell"]]
            results = {"command": "python benchmarks/other_seeds.py", "seed": FIRST, "rows": [*rows, found]}
            path.write_text(json.dumps(results, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
