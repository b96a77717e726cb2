"""Tables that no setting was chosen on: contests merged at random, contests with sides swapped, and a census.

    python benchmarks/ecological_unseen.py --seeds 0 15 --to PART.json   # some of them, by four methods
    python benchmarks/ecological_unseen.py --merge PART.json ...         # all parts

"merged": a contest as it was counted (up to 26 groups and 15 candidates), groups and candidates merged at random to
between two and five of each. "swapped": the same with candidates as groups and parties as outcomes. "census": people of
areas by two attributes with known individuals, two to five groups and outcomes. The elections are those that weights
and widths of intervals were chosen on, since there are no others with known cells; the tables are not. Writes
benchmarks/results/ecological_unseen.json.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from run_record import run_record

from sumwise import Margins, datasets
from sumwise.ecological import EcologicalEM, Goodman, King, MultinomialDirichlet, error_index
from sumwise.errors import DataError

RESULTS = Path(__file__).parent / "results" / "ecological_unseen.json"
KINDS = ("merged", "swapped", "census")
METHODS = (EcologicalEM(), Goodman(constrained=True), King(n_draws=200), MultinomialDirichlet())


def merging(size, rng):
    """A random merge of `size` options into two to five, as a 0/1 matrix (size, k)."""
    k = int(rng.integers(2, min(6, size + 1))) if size > 2 else 2
    part = np.concatenate([np.arange(k), rng.integers(0, k, size - k)])
    return np.eye(k)[rng.permutation(part)]


def attributes(people):
    """Categorical attributes of people in the census."""
    age = pd.cut(people["AGEP"], [-1, 24, 44, 64, 200], labels=False)
    race = people["RAC1P"].map({1: 0, 2: 1, 6: 2}).fillna(3)
    poor = pd.cut(people["POVPIP"].fillna(500), [-1, 100, 250, 1000], labels=False)
    school = pd.cut(people["EDU"], [-1, 7, 9, 100], labels=False)
    return [race, age, people["OWN_RENT"].fillna(0), poor, school, people["MSP"].fillna(0)]


def table(kind, seed):
    """Margins and the true table."""
    rng = np.random.default_rng(seed)
    if kind == "census":
        people = datasets.pums_national().frame
        one, two = rng.choice(6, 2, replace=False)
        found = attributes(people)
        a, b = (pd.factorize(found[k])[0] for k in (one, two))
        area = pd.factorize(people["PUMA"])[0]
        cells = np.zeros((area.max() + 1, a.max() + 1, b.max() + 1))
        np.add.at(cells, (area, a, b), 1.0)
        rows, cols, total = cells.sum(axis=2), cells.sum(axis=1), cells.sum(axis=0)
    else:
        known = datasets.contests(merged=False)
        contest = known[rng.integers(len(known))]
        rows, cols, total = contest.margins.rows, contest.margins.cols, contest.total
        if kind == "swapped":
            rows, cols, total = cols, rows, total.T
    g, o = merging(rows.shape[1], rng), merging(cols.shape[1], rng)
    return Margins(rows @ g, cols @ o), g.T @ total @ o


def measure(seeds, to):
    rows, commit = [], run_record()["commit"]
    for seed in range(*seeds):
        kind = KINDS[seed % 3]
        m, total = table(kind, seed)
        truth = total / total.sum(axis=1, keepdims=True)
        for method in METHODS:
            begin = time.process_time()
            est = method.fit(m)
            row = {"kind": kind, "seed": seed, "shape": f"{m.n_rows} x {m.n_cols}", "method": type(method).__name__}
            row["commit"] = commit
            try:
                low, high = est.interval(0.95)
            except DataError as error:  # chains that don't agree have no interval
                rows.append(row | {"refused": str(error)})
                continue
            row |= {"index": error_index(est.total_, total), "width": float((high - low).mean())}
            row["covered"] = float(((low <= truth + 1e-9) & (truth <= high + 1e-9)).mean())
            rows.append(row | {"CPU seconds": time.process_time() - begin})
        to.write_text(json.dumps(rows))


def merge(files):
    rows = [row for file in files for row in json.loads(file.read_text())]
    refused = {str(row["seed"]): f"{row['method']}: {row['refused']}" for row in rows if "refused" in row}
    frame = pd.DataFrame([row for row in rows if str(row["seed"]) not in refused])  # the same tables for every method
    numbers = ["index", "covered", "width", "CPU seconds"]
    wide = frame.pivot_table(index="seed", columns="method", values="index")
    gap = wide.sub(wide["EcologicalEM"], axis=0).drop(columns="EcologicalEM")
    found = {
        kind: part.groupby("method")[numbers].mean().assign(tables=part["seed"].nunique()).to_dict("index")
        for kind, part in [*frame.groupby("kind"), ("all", frame)]
    }
    smaller = {name: float((gap[name] > 0).mean()) for name in gap}
    ahead = {name: [float(gap[name].mean()), float(gap[name].sem())] for name in gap}
    facts = {
        "command": "benchmarks/ecological_unseen.py",
        "commit": ", ".join(dict.fromkeys(row["commit"] for row in rows)),
        "seeds": int(frame["seed"].nunique()),
        "left out": refused,
    }
    facts |= {"result": found, "EcologicalEM smaller in": smaller, "index less EcologicalEM's, and its error": ahead}
    RESULTS.write_text(json.dumps(facts, indent=1) + "\n")
    print(json.dumps(facts, indent=1))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 15))
    parser.add_argument("--to", type=Path, default=Path("part.json"))
    parser.add_argument("--merge", type=Path, nargs="*")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if asked.merge:
        merge(asked.merge)
    else:
        measure(asked.seeds, asked.to)


if __name__ == "__main__":
    main()
