"""Cells of the reproduction book again, with seeds that nothing else used: do they agree within their errors?

    python benchmarks/other_seeds.py --pick 12           # twelve at random, each of another table or figure
    python benchmarks/other_seeds.py "Figure 2.3"        # all cells whose names begin so
    python benchmarks/other_seeds.py --list              # which there are
    python benchmarks/other_seeds.py --first 8000 --pick 12 --choice 25    # others, with seeds of their own
    python benchmarks/other_seeds.py --first 9000 --papers 4 --choice 26   # four of each paper, none computed before
    python benchmarks/other_seeds.py --first 9805 --draws 5 "Table 3.3"    # half of a slow cell; halves are pooled

A cell is a stored mean with a standard error. It is computed anew, with as many draws as before, and compared: the
difference in units of its standard error, by the errors of both. Of ten such numbers one beyond 2 is to be expected now
and then, one beyond 3 is not. Left out are seconds, and cells that take more than MOST CPU seconds. Writes
benchmarks/results/other_seeds.json.
"""

# ruff: noqa: E402  (threads are fixed before NumPy is loaded)
from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import argparse
import json
import warnings
from argparse import Namespace
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import NamedTuple

import cgm_figures
import collective_learning
import election_study
import king_covariance
import numpy as np
import place_process
import places_moves
import proportions_coverage
import proportions_named
import sparse_process
import stability
from collective_parts.birds import LARGE, SMALL, learn, years_of
from run_record import run_record

import maxent
from distribution import clouds, gamma, regions
from sumwise import synthetic

HERE = Path(__file__).parent / "results"
FIRST, DRAWS, MOST = 7000, 10, 400.0
SEEDS = range(FIRST, FIRST + DRAWS)


class Cell(NamedTuple):
    """A stored mean, its standard error, and what computes it anew: values over draws, or a mean and its error."""

    name: str
    mean: float
    error: float
    again: Callable[[], list | tuple]


def stored(file, path):
    """Records of a file of results; none if the part isn't there."""
    value = json.loads((HERE / file).read_text("utf-8"))
    for key in path.split("/"):
        value = value.get(key, [])
    return list(value.values()) if isinstance(value, dict) else value


@cache
def chains(part):
    """Rows of a part of cgm_figures with the other seeds."""
    cgm_figures.SEEDS = SEEDS
    return [cgm_figures.flat(row) for row in getattr(cgm_figures, part)()]


def figures() -> Iterator[Cell]:
    """Figures 2.3 to 2.5 and Theorem 5."""
    for title, part, keys, values in (
        ("Figure 2.3", "exact", ("n",), ("from mode", "from mean")),
        ("Figure 2.5", "methods", ("weights", "method"), ("steps",)),
        ("Figure 2.5 again", "averages", ("noise", "weights", "method"), ("steps",)),
        ("Theorem 5", "loopy", ("side", "levels", "strength"), ("rounds", "nodes", "edges")),
    ):
        for row, value in product(stored("cgm_figures.json", f"{part}/rows"), values):
            here = {k: row[k] for k in keys}

            def again(part=part, here=here, value=value):
                new = next(r for r in chains(part) if here.items() <= r.items())
                return new.get(value, np.nan), new.get(f"{value} error", np.nan)

            name = ", ".join(f"{k} {v}" for k, v in here.items())
            yield Cell(f"{title}: {name}: {value}", row.get(value), row.get(f"{value} error"), again)


def wrong_cells(setting, method):
    """Share of birds in a wrong cell."""
    for seed in SEEDS:
        season, true, y, model = place_process.draw(setting, seed)
        counts, _ = place_process.estimates(season, y, model)[method]
        yield np.abs(counts - true).sum() / (2 * place_process.BIRDS * len(true))


def process() -> Iterator[Cell]:
    """Section 1.1: counts by the model alone, by a process alone and by both in one likelihood."""
    for row in stored("place_process.json", "rows"):
        again = partial(wrong_cells, row["setting"], row["method"])
        yield Cell(f"section 1.1: {row['setting']}, {row['method']}", row["wrong cell"], row["se"], again)


def shaky() -> Iterator[Cell]:
    """Section 1.1: assumptions that fail."""
    for study, row in ((s, r) for s in ("distribution", "proportions") for r in stored("stability.json", f"{s}/cells")):
        draws = range(FIRST, FIRST + (20 if study == "distribution" else 40))
        for value in (k for k in row if f"{k}, standard error" in row):
            again = partial(
                lambda f, d, a, v: [f(*a, seed)[v] for seed in d],
                getattr(stability, study), draws, (row["axis"], row["level"]), value,
            )  # fmt: skip
            name = f"dependence, {study}: {row['axis']} {row['level']}: {value}"
            yield Cell(name, row[value], row[f"{value}, standard error"], again)


def weights_learned(side, weights):
    """Relative errors of four weights by the dual."""
    truth = {w[0]: w for w in (SMALL, LARGE)}[weights]
    for k in range(DRAWS):
        yield learn(years_of(side, truth, FIRST + 10 * k), truth, 200.0, max_iter=60)["relative error"]


def gibbs_errors(weights, side):
    """Error of the most likely counts against a long run of a sampler."""
    given = Namespace(quick=False, weights=[weights], sides=[side], seeds=SEEDS, budget=0.001)
    return [row["MAP error"] for row in collective_learning.part_gibbs(given)]


def moves(row):
    """Single-place error less that of moves, paired."""
    found = []
    kinds = ("moves", row["from"]) if row["from"] != "moves, ignoring noise" else ("moves",)
    given = Namespace(plain=0, plain_step="dual", iterations=2000, kinds=kinds, checkpoint=None)
    places_moves.keep = found.extend
    for seed in SEEDS:
        places_moves.fit(row["size"], row["b"], seed, given)
    node = {(f["from"], f["seed"]): f["node MAE"] for f in found}
    return [node[row["from"], seed] - node["moves", seed] for seed in SEEDS]


def learning() -> Iterator[Cell]:
    """Table 2.1, Figures 2.4 d and e and 2.8."""
    for row in stored("collective_learning.json", "learning means"):
        if row["E step"] == "dual" and row["seeds"] == DRAWS:
            name = f"Figure 2.4 d, e: {row['side']} x {row['side']}, weights {row['weights']}: relative error"
            again = partial(weights_learned, row["side"], row["weights"])
            yield Cell(name, row["relative error"], row["relative error error"], again)
    for row in stored("collective_learning.json", "gibbs means"):
        if row["L"] <= 16:
            again = partial(gibbs_errors, row["weights"], round(row["L"] ** 0.5))
            name = f"Table 2.1: weights {row['weights']}, {row['L']} places: error of the most likely counts"
            yield Cell(name, row["MAP error"], row.get("MAP error error"), again)
    for row in stored("places_moves.json", "rows"):
        if (row["size"], row["EM"]) == ("middle", "to the end") and row["from"] != "moves":
            name = f"Figure 2.8: middle, b = {row['b']:g}, {row['from']}: node error less that of moves"
            yield Cell(name, row["node MAE less that of moves"], row["error"], partial(moves, row))


def hidden(row):
    """Accuracy of a hidden attribute from other training sets."""
    (new,) = election_study.accuracy(DRAWS, row["hidden"], [row["bag"]], [row["method"]], first=FIRST, write=False)
    return new["accuracy"], new["se"]


def distances(row):
    """Distance of groups' shares from the truth in other elections."""
    for seed in SEEDS:
        data = synthetic.election(979, 150, n_classes=3, mean_weight=24, region_effect=0.1, random_state=seed)
        model = election_study.voters([row["method"]])[row["method"]].fit(data.bags, data.totals)
        yield float(election_study.scored(model, data, row["level"], row["by"], row["prediction"])["rmse"])


def named_gain(row):
    """The default's gain over a method that the thesis names."""
    proportions_named.few.FIRST = FIRST
    setting = (row["data"], row["bags"], row["size"])
    pair = (proportions_named.METHODS[name] for name in (proportions_named.DEFAULT, row["method"]))
    ours, theirs = ([proportions_named.scores(m, setting, seed)[0] for seed in SEEDS] for m in pair)
    return np.subtract(ours, theirs)


def votes() -> Iterator[Cell]:
    """Section 3.2, Figure 3.5, Table 3.3 on generated votes."""
    for row in stored("election_study.json", "accuracy"):
        if row["cpu_s"] * DRAWS < MOST and row["trials"] == DRAWS:
            name = f"Figure 3.5: {row['hidden']}, bags of {row['bag']}, {row['method']}"
            yield Cell(name, row["accuracy"], row["se"], partial(hidden, row))
    for row in stored("election_study.json", "election"):
        if row["cpu_s"] * DRAWS < MOST:
            name = f"Table 3.3, generated: {row['prediction']}, {row['level']}, {row['by']}, {row['method']}"
            yield Cell(name, row["rmse"], row["se"], partial(distances, row))
    for row in stored("proportions_named.json", "rows"):
        if row["cpu_s"] * DRAWS < MOST and row["gain error"]:
            name = f"section 3.2: {row['data']}, {row['method']}: gain"
            yield Cell(name, row["gain"], row["gain error"], partial(named_gain, row))


def measured(work, keys, value):
    """Values of cells of distribution regression."""
    found = (work(key, "cpu") for key in keys)
    return [f["mse"] / f["bayes"] if value == "over_bayes" else f[value] for f in found]


def bags() -> Iterator[Cell]:
    """Section 1.1's sparse process; Gamma bags, Gaussian populations and generated clouds."""
    for row in stored("sparse_process.json", "rows"):
        if "relative error" in row:

            def again(kind=row["bags"]):
                data = (sparse_process.drawn(kind, 2000, seed) for seed in SEEDS)
                return [sparse_process.fitted(d, 1999)[0] / sparse_process.fitted(d, 2000)[0] - 1 for d in data]

            yield Cell(f"sparse process: {row['bags']}: apart", row["relative"], row["relative error"], again)
    kept = [("gamma", {"rows": 1000}, r) for r in stored("distribution.json", "gamma")]
    kept += [("variable", {"small": r["bags of 5"]}, r) for r in stored("distribution.json", "variable")]
    for part, head, row in kept:
        if row["seeds"] == DRAWS and row["method"] != "DeepSets":
            keys = [head | {"seed": seed, "method": row["method"]} for seed in SEEDS]
            again = partial(measured, getattr(gamma, f"_{part}"), keys, "over_bayes")
            name = f"Gamma bags, {part} {head.get('small', '')}: {row['method']}: error over the best possible"
            yield Cell(name, row["over_bayes"], row["error"], again)
    for row, number in product(stored("distribution.json", "gaussian"), "1234"):
        if row.get("draws") == DRAWS and not row["method"].startswith("DeepSets"):
            keys = [{"experiment": int(number), "bags": 1000, "seed": s, "method": row["method"]} for s in SEEDS]
            again = partial(measured, regions._judge, keys, "mse")
            yield Cell(
                f"section 5.1.2: population {number}, {row['method']}", row[number], row[f"{number} error"], again
            )
    for row in stored("distribution.json", "clouds"):
        if row["data"] == "shapes" and row["method"] != "DeepSets" and row.get("100 runs") == DRAWS:
            keys = [{"data": "shapes", "points": 100, "bags": 2000, "method": row["method"], "seed": s} for s in SEEDS]
            work = lambda key, device: clouds._classify(key, (2000, 500), device, "")  # noqa: E731
            again = partial(measured, work, keys, "accuracy")
            yield Cell(f"Figure 4.5: shapes, 100 points, {row['method']}", row["100"], row["100 error"], again)


def king_gaps(row, key):
    """Gain of a full covariance."""
    cell = (row["units"], king_covariance.CELLS[row["truth"]])
    full, equal = ([king_covariance.errors(*cell, s, c)[key] for s in SEEDS] for c in ("full", "equal"))
    return np.subtract(full, equal)


def hashed_less(cross):
    """What hashing a cross costs."""
    row = next(r for r in maxent.hashed(SEEDS) if r["cross"] == cross)
    return row["less than whole"], row["error"]


def nearest_gap(kind):
    """Rows' score less that of tables."""
    found = (maxent.nearest_draw(kind, seed) for seed in SEEDS)
    return [r["skyline"] - r["maxent"] for r in found]


def tables() -> Iterator[Cell]:
    """King's covariance; hashed crosses and generated rows beside Criteo's."""
    for row, key in product(stored("king_covariance.json", "rows"), ("share", "unit")):
        name = f"section 3.3.3: {row['truth']}, {row['units']} units: gain about {key}s"
        yield Cell(name, row[f"{key}_gap"], row[f"{key}_gap_error"], partial(king_gaps, row, key))
    for row in stored("maxent.json", "hashed"):
        yield Cell(f"hashed: {row['cross']}", row["less than whole"], row["error"], partial(hashed_less, row["cross"]))
    for row in stored("maxent.json", "nearest"):
        yield Cell(
            f"Table 4, generated: {row['data']}: gap", row["gap"], row["gap error"], partial(nearest_gap, row["data"])
        )


def step_errors(row):
    """Relative errors of four weights by one E step of Figures 2.6 and 2.7."""
    truth = {w[0]: w for w in (SMALL, LARGE)}[row["weights"]]
    options = {"e_step": row["E step"], "max_iter": 40, "accelerate": False, "e_tol": 1e-4}
    options |= {} if row["E step"] in ("dual", "gaussian") else {"e_iter": 50}
    for k in range(DRAWS):
        yield learn(years_of(row["side"], truth, FIRST + 10 * k), truth, 30.0, **options)["relative error"]


def by_chains(row):
    """Test scores of Figure 1 with other seeds of the chains."""
    task = maxent.load(row["data"], "width")
    options = maxent.SolverOptions(n_chains=row["chains"], max_iter=150, tol=0.0)
    for seed in SEEDS:
        yield maxent.score(maxent.fitted(maxent.MaxEntClassifier(options=options, random_state=seed), task)[0], task)


def auc_of_few(cell, method):
    """AUC of a method on other draws of bags."""
    setting = (cell["data"], cell["bags"], cell["size"])
    few = proportions_named.few
    for seed in range(FIRST, FIRST + len(cell["scores"][method])):
        bags, counts, values, labels = few.draw(setting, seed)
        chance = few.METHODS[method]().fit(bags, counts).predict_proba(values)[:, 1]
        yield float(few.roc_auc_score(labels, chance))


def inside(case, trials):
    """Share of intervals that contain the truth, by simulation."""
    for seed in range(FIRST, FIRST + trials):
        yield float(np.nanmean(proportions_coverage.CASES[case](case, seed)))


def scores() -> Iterator[Cell]:
    """Figures 2.6 and 2.7; numbers of chains on Adult and Bank; few bags of real data; coverage of intervals."""
    for row in stored("collective_learning.json", "esteps means"):
        if row["seeds"] == DRAWS and not row["stopped by time"] and row["cpu s"] * DRAWS < MOST:
            name = f"Figures 2.6, 2.7: {row['side']} x {row['side']}, weights {row['weights']}, {row['E step']}"
            yield Cell(name, row["relative error"], row["relative error error"], partial(step_errors, row))
    for row in stored("maxent.json", "gibbs"):
        if row["seeds"] == DRAWS and row["cpu_s"] * DRAWS < MOST:
            name = f"Figure 1 of 003: {row['data']}, {row['chains']} chains: NLLH"
            yield Cell(name, row["NLLH"], row["se"], partial(by_chains, row))
    for cell, method in product(stored("proportions_few_bags.json", "cells"), proportions_named.few.METHODS):
        found = cgm_figures.spread([auc for auc, _ in cell["scores"][method]])
        name = f"few bags: {cell['data']}, {cell['bags']} of {cell['size']}, {method}: AUC"
        yield Cell(name, found["mean"], found["error"], partial(auc_of_few, cell, method))
    for case, row in json.loads((HERE / "proportions_coverage.json").read_text("utf-8"))["cases"].items():
        if row["cpu_seconds"] < MOST:
            again = partial(inside, case, row["trials"])
            yield Cell(f"coverage of 90% intervals: {case}", row["coverage"], row["error"], again)


PAPERS = {  # beginnings of names, by the page whose experiment they recompute; all others are the thesis's alone (000)
    "001": ("Figure 2.3", "Figure 2.4", "Figure 2.5", "Figure 2.8", "Theorem 5"),
    "002": ("Figure 3.5", "Table 3.3", "few bags", "coverage"),
    "003": ("Figure 1 of 003", "hashed", "Table 4, generated"),
    "004": ("Gamma bags", "section 5.1.2", "section 3.3.3"),
}


def paper(name):
    """The page of a cell."""
    return next((page for page, starts in PAPERS.items() if name.startswith(starts)), "000")


def cells() -> list[Cell]:
    """All cells with a mean and an error, by name."""
    parts = (figures, process, shaky, learning, votes, bags, tables, scores)
    found = [cell for part in parts for cell in part() if cell.mean is not None and cell.error]
    return sorted(found, key=lambda cell: cell.name)


def picked(found, n, rng):
    """Cells at random: of each table or figure one, before a second of any."""
    order = [found[k] for k in rng.permutation(len(found))]
    rank, seen = {}, {}
    for cell in order:
        title = cell.name.partition(":")[0]
        rank[cell.name] = seen[title] = seen.get(title, -1) + 1
    return sorted(order, key=lambda cell: rank[cell.name])[:n]


def of_each_paper(found, n, rng):
    """So many cells of each paper that no other seeds computed before."""
    path = HERE / "other_seeds.json"
    before = {row["cell"] for row in json.loads(path.read_text("utf-8"))["rows"] if row["first seed"] != FIRST}
    new = [cell for cell in found if cell.name not in before]
    return [cell for page in ("000", *PAPERS) for cell in picked([c for c in new if paper(c.name) == page], n, rng)]


def beside(cell):
    """A cell's stored and new mean with errors, and how far apart they are."""
    new = cell.again()
    found = {"paper": paper(cell.name), "cell": cell.name, "stored": cell.mean, "stored error": cell.error}
    found |= {"first seed": FIRST, "commit": run_record()["commit"]}
    if isinstance(new, tuple):
        found = compared(found, *new)
    else:
        values = [float(value) for value in new]
        seeds = range(FIRST, FIRST + len(values))
        found = of_values(found | {"values": dict(zip(map(str, seeds), values))})
    print({k: round(v, 5) if isinstance(v, float) else v for k, v in found.items()}, flush=True)
    return found


def compared(row, mean, error):
    """A row with its new mean and error, and how far that is from the stored one."""
    apart = float(abs(mean - row["stored"]) / np.hypot(row["stored error"], error))
    return row | {"again": mean, "again error": error, "errors apart": apart}


def of_values(row):
    """A row with the mean and error of its values."""
    spread = cgm_figures.spread(list(row["values"].values()))
    return compared(row, spread["mean"], spread["error"])


def pooled(row, kept):
    """A row of some seeds together with stored ones of the same cell and the same ten seeds, and what is left."""
    ten = row["first seed"] // 10
    same = [r for r in kept if "values" in r and (r["cell"], r["first seed"] // 10) == (row["cell"], ten)]
    if "values" not in row or not same:
        return row, [r for r in kept if (r["cell"], r["first seed"]) != (row["cell"], row["first seed"])]
    values = {seed: value for r in (*same, row) for seed, value in r["values"].items()}
    commits = ", ".join(sorted({name for r in (*same, row) for name in r["commit"].split(", ")}))
    values = dict(sorted(values.items(), key=lambda item: int(item[0])))
    joined = row | {"values": values, "first seed": min(map(int, values)), "commit": commits}
    return of_values(joined), [r for r in kept if r not in same]


def keep(rows):
    """Write rows, in place of those of the same cells and seeds."""
    path = HERE / "other_seeds.json"
    kept = json.loads(path.read_text("utf-8"))["rows"] if path.exists() else []
    for row in rows:
        joined, kept = pooled(row, kept)
        kept.append(joined)
    rows = [{"paper": paper(row["cell"])} | row for row in kept]
    largest = max(row["errors apart"] for row in rows)
    firsts, commits = ({str(r[k]) for r in rows if k in r} for k in ("first seed", "commit"))
    made = {
        "command": "python benchmarks/other_seeds.py --first 9000 --papers 4 --choice 26 (seeds from 9000 on; "
        "those from 7000: --pick 14; from 8000: --first 8000 NAME ...)",
        "seeds": "from " + ", ".join(sorted(firsts | {"7000"})),
    }
    made |= {"commit": ", ".join(sorted(commits | {"4ab3c25e or before"})), "cells": len(rows)}
    made |= {"largest": largest, "beyond two": sum(row["errors apart"] > 2 for row in rows), "rows": rows}
    path.write_text(json.dumps(made, indent=1) + "\n", "utf-8")


def use_seeds(first, draws):
    """Draw with these seeds."""
    global FIRST, SEEDS
    FIRST, SEEDS = first, range(first, first + draws)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="beginnings of cells' names")
    parser.add_argument("--pick", type=int, default=0, help="so many cells at random")
    parser.add_argument("--papers", type=int, default=0, help="so many cells of each paper, none computed before")
    parser.add_argument("--first", type=int, default=FIRST, help="first seed of the draws")
    parser.add_argument("--draws", type=int, default=DRAWS, help="part of the ten draws, for a cell that takes long")
    parser.add_argument("--choice", type=int, default=24, help="seed of that choice")
    parser.add_argument("--part", type=int, nargs=2, default=(0, 1), metavar=("K", "OF"), help="every OF-th of them")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--merge", nargs="*", type=Path, default=[], help="files of other machines")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    use_seeds(given.first, given.draws)
    for path in given.merge:
        keep(json.loads(path.read_text("utf-8"))["rows"])
    found = cells()
    chosen = [c for c in found if c.name.startswith(tuple(given.names))] if given.names else []
    if given.pick:
        chosen = picked(found, given.pick, np.random.default_rng(given.choice))
    if given.papers:
        chosen = of_each_paper(found, given.papers, np.random.default_rng(given.choice))
    for cell in chosen[given.part[0] :: given.part[1]] if not given.list else ():
        keep([beside(cell)])
    if given.list:
        print("\n".join(cell.name for cell in chosen or found))


if __name__ == "__main__":
    main()
