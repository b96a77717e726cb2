"""Coverage, width and interval score of EcologicalEM: contests with known cells, simulated slopes, pooled contests.

    python benchmarks/ecological_intervals.py [--every 3] [--draws 24]
    python benchmarks/ecological_intervals.py elections --slice 0 4 --to PART.json    # a quarter of its tables
    python benchmarks/ecological_intervals.py --merge PART.json ...                   # all parts of a run

"elections": the 386 contests as they are and merged to seven shapes (the largest groups and candidates against the
rest), each election scored with the median slope (`contextual_error.TAU`) that had the best interval score on the other
five. "ten units": the same with units merged to ten. "census": 2 x 2 tables of areas from people. "slopes": simulated
units whose groups' shares change with composition by slopes that are a group's own or shared by all. "pooled":
contests of an election fitted together, without and with the learned correction. "loyalty": simulated elections in
which groups keep to their own party by .45, .75 or .95. Writes benchmarks/results/ecological_intervals.json.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from run_record import run_record

from ecological import against_rest
from sumwise import Contests, Margins, datasets
from sumwise.ecological import EcologicalEM, contextual_error, error_index
from sumwise.ecological.kernels.batched_raking import compiled_kernels

RESULTS = Path(__file__).parent / "results" / "ecological_intervals.json"
SHAPES = {"2 x 2": (1, 1), "2 x 3": (1, 2), "2 x all": (1, None), "all x 2": (None, 1)}
SHAPES |= {"3 x 2": (2, 1), "3 x 3": (2, 2), "4 x 4": (3, 3), "all": (None, None)}
TAUS = (0.07, 0.085, 0.1, 0.12)
SLOPES = (0.0, 0.15, 0.3, 0.5)
UNITS = (10, 50, 300, 3000)


def folded(contest, seed):
    """The contest as tables of several shapes: name, margins and the true table."""
    first = np.random.default_rng(seed).integers(min(3, len(contest.total)))
    by_size = [np.argsort(-contest.total.sum(axis=1 - side)) for side in (0, 1)]
    groups = np.roll(by_size[0], -first)
    for name, (n_rows, n_cols) in SHAPES.items():
        x, t, cells = contest.margins.rows, contest.margins.cols, contest.total
        if n_rows:
            x, cells = against_rest(x, groups[:n_rows]), against_rest(cells.T, groups[:n_rows]).T
        if n_cols:
            t, cells = against_rest(t, by_size[1][:n_cols]), against_rest(cells, by_size[1][:n_cols])
        yield name, Margins(x, t), cells


def scored(est, truth, **facts):
    """One row: coverage, width and score of the 95% intervals of a fit."""
    low, high = est.interval(0.95)
    missed = np.maximum(low - truth, 0) + np.maximum(truth - high, 0)
    score = (high - low + 2 / 0.05 * missed).mean()
    return {**facts, "coverage": (missed < 1e-9).mean(), "width": (high - low).mean(), "score": score}


def shares(total):
    return total / np.maximum(total.sum(axis=1, keepdims=True), 1e-300)


def with_median_slope(tau):
    contextual_error.TAU = tau
    contextual_error.TAUS = tau * np.exp(contextual_error.TAU_SPREAD * np.linspace(-3.0, 5.0, 17))


def elections(every, part=(0, 1)):
    """Every table of one part of several, with intervals by each of `TAUS`."""
    tables = [t for k, c in enumerate(datasets.contests()) for t in ((c.dataset, *part) for part in folded(c, k))]
    own = contextual_error.TAU
    for dataset, shape, margins, total in tables[::every][part[0] :: part[1]]:
        est = EcologicalEM().fit(margins)
        for tau in sorted({*TAUS, own}):
            with_median_slope(tau)
            est._store_errors(est._data(margins[margins.totals > 0]))
            yield scored(est, shares(total), source=dataset, shape=shape, tau=tau)
        with_median_slope(own)


def left_out(rows):
    """The rows of every election by the tau that scored best on the others."""
    parts, chosen = [], {}
    for name in rows["source"].unique():
        others = rows[rows["source"] != name].groupby("tau")["score"].mean()
        chosen[name] = float(others.idxmin())
        parts.append(rows[(rows["source"] == name) & (rows["tau"] == chosen[name])])
    return pd.concat(parts), chosen


def ten_units(every):
    for k, contest in enumerate(datasets.contests()[::every]):
        share = contest.margins.rows[:, 0] / np.maximum(contest.margins.totals, 1)
        order = np.argsort(share) if k % 2 else np.random.default_rng(k).permutation(len(share))
        merged = np.zeros((10, len(share)))
        merged[np.arange(len(share)) * 10 // len(share), order] = 1
        for shape, margins, total in itertools.islice(folded(contest, k), None, None, 3):
            est = EcologicalEM().fit(Margins(merged @ margins.rows, merged @ margins.cols))
            yield scored(est, shares(total), source="by composition" if k % 2 else "at random", shape=shape)


def census():
    people = datasets.pums_national().frame
    facts = {"black": people["RAC1P"] == 2, "hispanic": people["HISP"] > 0, "65 or older": people["AGEP"] >= 65}
    facts |= {"renter": people["OWN_RENT"] == 2, "poor": people["POVPIP"] < 150, "never married": people["MSP"] == 6}
    facts |= {"degree": people["EDU"] >= 10}
    for (group, x), (outcome, y) in itertools.permutations(facts.items(), 2):
        cells = pd.crosstab(people["PUMA"], [x, y]).to_numpy(float)[:, ::-1].reshape(-1, 2, 2)
        est = EcologicalEM().fit(Margins(cells.sum(axis=2), cells.sum(axis=1)))
        yield scored(est, shares(cells.sum(axis=0)), source=f"{group}, {outcome}", shape="2 x 2")


def with_slopes(n_rows, n_cols, slope, kind, n_units, seed):
    """Units whose groups' shares change with the first group's share of the unit; margins, and the true table."""
    rng = np.random.default_rng([seed, n_rows, n_cols, round(100 * slope), len(kind), n_units])
    mean = rng.dirichlet([4.0] * n_rows)
    composition = rng.dirichlet(rng.uniform(1.5, 6) * mean, n_units)
    rows = np.array([rng.multinomial(n, p) for n, p in zip(rng.integers(300, 1500, n_units), composition)])
    share = rng.dirichlet([1.5] * n_cols, n_rows)

    def drawn(n):
        d = rng.normal(0, slope, (n, n_cols))
        return (d - d.mean(axis=1, keepdims=True)) * np.sqrt(n_cols / (n_cols - 1))

    own, shared = drawn(n_rows), np.repeat(drawn(1), n_rows, axis=0)
    slopes = own if kind == "own" else shared
    z = rows[:, 0] / rows.sum(axis=1) - rows[:, 0].sum() / rows.sum()
    p = np.clip(share + z[:, None, None] * slopes, 0.004, None)
    unit = rng.gamma(80 * p / p.sum(axis=2, keepdims=True))
    cells = np.array([[rng.multinomial(n, q / q.sum()) for n, q in zip(r, u)] for r, u in zip(rows, unit)])
    return Margins(rows, cells.sum(axis=1)), cells.sum(axis=0)


def slopes(draws, part=(0, 1)):
    """Simulated tables of four shapes; those with 3,000 units take as long as many others, and have few draws."""
    done = itertools.count()
    shapes = ((2, 2), (2, 3), (3, 3), (4, 5))
    for (n_rows, n_cols), kind, slope, n in itertools.product(shapes, ("own", "shared"), SLOPES, UNITS):
        for seed in range(draws if n < 1000 else max(draws // 6, 1)):
            if next(done) % part[1] != part[0]:
                continue
            margins, total = with_slopes(n_rows, n_cols, slope, kind, n, 1000 + seed)
            est = EcologicalEM().fit(margins)
            yield scored(est, shares(total), source=kind, shape=f"{n_rows} x {n_cols}", slope=slope, units=n)


def pooled():
    """Errors and intervals of whole elections, by what is borrowed."""
    known = list(datasets.contests())
    contests = Contests(
        {k: c.margins for k, c in enumerate(known)}, elections={k: c.dataset for k, c in enumerate(known)}
    )
    alone = {k: EcologicalEM().fit(c.margins) for k, c in enumerate(known)}
    for name, correction in (("alone", None), ("pooled", False), ("corrected", "auto")):
        fits = alone if correction is None else EcologicalEM(correction=correction).fit(contests).contests_
        for k, contest in enumerate(known):
            est = fits[k]
            index = error_index(est.total_, contest.total)
            facts = {"source": contest.dataset, "shape": name, "how": getattr(est, "pooling_", "alone")}
            yield scored(est, shares(contest.total), index=index, **facts)


def loyalty(draws, part=(0, 1)):
    """Elections of twelve contests with three parties, whose voters keep to their party by a common loyalty."""
    for level, seed in list(itertools.product((0.45, 0.75, 0.95), range(draws)))[part[0] :: part[1]]:
        rng = np.random.default_rng([seed, round(100 * level)])
        contests, truth = {}, {}
        for k in range(12):
            n_units, own = int(rng.integers(30, 80)), level * np.eye(3) + (1 - level) * rng.dirichlet([2.0] * 3, 3)
            composition = rng.dirichlet(rng.uniform(3, 12) * rng.dirichlet([5.0] * 3), n_units)
            rows = np.array([rng.multinomial(n, p) for n, p in zip(rng.integers(300, 1500, n_units), composition)])
            unit = rng.gamma(60 * np.clip(own, 0.01, None), size=(n_units, 3, 3))
            cells = np.array([[rng.multinomial(n, q / q.sum()) for n, q in zip(r, u)] for r, u in zip(rows, unit)])
            names = {"row_names": ["A", "B", "C"], "col_names": ["A", "B", "C"]}
            contests[k], truth[k] = Margins(rows, cells.sum(axis=1), **names), cells.sum(axis=0)
        for name, correction in (("pooled", False), ("corrected", "auto")):
            fit = EcologicalEM(correction=correction).fit(Contests(contests))
            for k, est in fit.contests_.items():
                index = error_index(est.total_, truth[k])
                yield scored(est, shares(truth[k]), source=str(level), shape=name, how=est.pooling_, index=index)


def means(rows, by):
    columns = [c for c in ("coverage", "width", "score", "index") if c in rows]
    found = {
        str(k): {c: round(float(v), 4) for c, v in row.items()}
        for k, row in rows.groupby(by)[columns].mean().iterrows()
    }
    return found | {"all": {c: round(float(v), 4) for c, v in rows[columns].mean().items()}, "tables": len(rows)}


PARTS = {
    "elections": lambda asked: elections(asked.every, asked.slice),
    "ten units": lambda asked: ten_units(max(asked.every, 2)),
    "census": lambda asked: census(),
    "slopes": lambda asked: slopes(asked.draws, asked.slice),
    "pooled": lambda asked: pooled(),
    "loyalty": lambda asked: loyalty(max(asked.draws // 6, 2), asked.slice),
}


def measure(asked):
    """Rows of the parts that are asked for, with the run's facts."""
    begin, rows = time.process_time(), {}
    with compiled_kernels():
        for name in asked.parts or PARTS:
            rows[name] = list(PARTS[name](asked))
    facts = {"commit": run_record()["commit"], "one in": asked.every, "draws": asked.draws}
    return facts | {"median slope": contextual_error.TAU, "CPU seconds": time.process_time() - begin, "rows": rows}


def summary(runs):
    """What is written, from the rows of all parts of a run."""
    found = {"command": "benchmarks/ecological_intervals.py"}
    found |= {key: runs[0][key] for key in ("one in", "draws", "median slope")}
    found["commit"] = ", ".join(dict.fromkeys(run["commit"] for run in runs))
    parts = {name: pd.DataFrame([row for run in runs for row in run["rows"].get(name, [])]) for name in PARTS}
    parts = {name: rows for name, rows in parts.items() if len(rows)}
    if "elections" in parts:
        rows = parts["elections"]
        best, chosen = left_out(rows)
        own = rows[rows["tau"] == contextual_error.TAU]
        found["elections left out"] = {"median slope": chosen, **means(best, "source")}
        found["elections"] = {by: means(own, by) for by in ("source", "shape")} | {"tau": means(rows, "tau")}
    for name, by in (("ten units", "source"), ("census", "shape")):
        if name in parts:
            found[name] = means(parts[name], by)
    if "slopes" in parts:
        rows = parts["slopes"]
        found["slopes"] = {kind: means(part, ["slope"]) for kind, part in rows.groupby("source")}
        found["slopes"] |= {"all": means(rows, ["slope"])}
        own = rows[rows["source"] == "own"]
        found["slopes"] |= {str(s): means(part, ["slope"]) for by in ("shape", "units") for s, part in own.groupby(by)}
    for name in ("pooled", "loyalty"):
        if name in parts:
            found[name] = {way: means(part, "source") for way, part in parts[name].groupby("shape")}
            found[name]["how"] = {str(k): int(n) for k, n in parts[name].groupby(["shape", "how"]).size().items()}
    return found | {"CPU seconds": sum(run["CPU seconds"] for run in runs)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", help="all by default: " + ", ".join(PARTS))
    parser.add_argument("--every", type=int, default=1, help="of the merged tables, one in so many")
    parser.add_argument("--draws", type=int, default=24)
    parser.add_argument("--slice", type=int, nargs=2, default=(0, 1), help="which of how many parts of the tables")
    parser.add_argument("--to", type=Path, help="where to write a part's rows")
    parser.add_argument("--merge", type=Path, nargs="*")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    runs = [json.loads(part.read_text("utf-8")) for part in asked.merge or []] or [measure(asked)]
    if asked.to:
        asked.to.write_text(json.dumps(runs[0], default=float) + "\n")
        return
    found = (json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}) | summary(runs)
    RESULTS.write_text(json.dumps(found, indent=1, default=float) + "\n")
    print(json.dumps(found, indent=1, default=float))


if __name__ == "__main__":
    main()
