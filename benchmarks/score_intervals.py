"""How often the 95% intervals of scores among a report's findings cover: AUC, R squared, mean absolute error.

    python benchmarks/score_intervals.py                    # some 15 minutes of one core; --only and --merge for parts
    python benchmarks/score_intervals.py --simulations 20   # to try

AUC: scores of two classes with a known area, 1,000 simulations a row. R squared and mean absolute error: ten-fold
predictions of BagRidge over bags, as the report makes them; the truth is the score of the model fitted to all bags, on
1,000 fresh ones; 400 simulations a row by default (the committed file: 200).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import warnings
from pathlib import Path
from time import process_time

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

from sumwise import Bags
from sumwise.diagnostics import cross_predict
from sumwise.distribution import BagRidge, MomentEmbedding
from sumwise.metrics import auc_interval, mean_error_interval, r_squared_interval

ROOT = Path(__file__).parents[1]
OUT = ROOT / "benchmarks" / "results" / "score_intervals.json"
LEVELS = np.arange(5)


def two_classes(kind, area):
    """A function that draws scores of a class (0 or 1), n of them, with this area between the classes."""
    if kind == "five levels":
        zero = np.exp(-LEVELS) / np.exp(-LEVELS).sum()
        wins = (LEVELS[:, None] > LEVELS) + 0.5 * (LEVELS[:, None] == LEVELS)

        def one(slope):
            return np.exp(slope * LEVELS) / np.exp(slope * LEVELS).sum()

        positive = one(brentq(lambda slope: one(slope) @ wins @ zero - area, -3, 12))
        return lambda label, n, rng: rng.choice(5, n, p=positive if label else zero).astype(float)
    spread = 2.0 if kind == "spreads differ" else 1.0
    shift = norm.ppf(area) * np.hypot(1.0, spread)
    return lambda label, n, rng: rng.normal(shift, spread, n) if label else rng.normal(size=n)


def auc_rows(simulations):
    """Coverage and mean width for every kind of scores, number of rows, share of positives and area."""
    for kind in ("normal", "spreads differ", "five levels"):
        for n, share in ((40, 0.1), (40, 0.4), (100, 0.1), (100, 0.4), (1000, 0.1)):
            for area in (0.6, 0.8, 0.95, 0.99):
                rng, draw, held, width = np.random.default_rng(7), two_classes(kind, area), [], []
                for _ in range(simulations):
                    ones = min(max(rng.binomial(n, share), 1), n - 1)
                    labels = np.repeat([1, 0], [ones, n - ones])
                    scores = np.concatenate([draw(1, ones, rng), draw(0, n - ones, rng)])
                    low, high = auc_interval(labels, norm.cdf(scores / 8))
                    held.append(low <= area <= high)
                    width.append(high - low)
                yield {
                    "score": "AUC",
                    "data": kind,
                    "rows": n,
                    "positives": share,
                    "truth": area,
                    "coverage": float(np.mean(held)),
                    "width": float(np.mean(width)),
                    "simulations": simulations,
                }


def bags_of(n, noise, tails, rng):
    """Bags of 20 samples with 3 features, and responses with normal or heavy-tailed noise."""
    means = rng.normal(size=(n, 3))
    values = means[:, None, :] + rng.normal(size=(n, 20, 3))
    error = rng.normal(size=n) if tails == "normal" else rng.standard_t(4, n) / np.sqrt(2)
    return Bags.from_arrays(list(values)), means @ [1.0, -0.5, 0.0] + noise * error


def bag_rows(n, simulations, seed):
    """Coverage of both scores for every noise and kind of tails."""
    for noise in (0.3, 1.0, 4.0):
        for tails in ("normal", "Student t"):
            rng, held, width, needed = np.random.default_rng(seed), [], [], []
            for _ in range(simulations):
                bags, y = bags_of(n, noise, tails, rng)
                model = BagRidge(embedding=MomentEmbedding())
                found = cross_predict(model, bags, y, 10, 0).reshape(n)
                new, truth = bags_of(1000, noise, tails, rng)
                error = model.fit(bags, y).predict(new) - truth
                ends = r_squared_interval(y, found), mean_error_interval(found - y)
                right = 1 - (error**2).mean() / truth.var(), np.abs(error).mean()
                held.append([low <= value <= high for (low, high), value in zip(ends, right, strict=True)])
                width.append([high - low for low, high in ends])
                lost = (1 - ends[0][1], 1 - ends[0][0], 1 - right[0]), (*ends[1], right[1])
                needed.append([abs(2 * np.log(v) - np.log(a * b)) / np.log(b / a) for a, b, v in lost])
            for k, score in enumerate(("R squared", "mean absolute error")):
                yield {
                    "score": score,
                    "data": tails,
                    "bags": n,
                    "noise": noise,
                    "coverage": float(np.mean(held, axis=0)[k]),
                    "width": float(np.mean(width, axis=0)[k]),
                    "factor for 95%": float(np.quantile(needed, 0.95, axis=0)[k]),
                    "simulations": simulations,
                }


def written(rows, seconds, out):
    """Write the rows with the lowest coverage of every score."""
    run = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    lowest = {s: min(r["coverage"] for r in rows if r["score"] == s) for s in {r["score"] for r in rows}}
    record = {"command": "python benchmarks/score_intervals.py --only PART --out PART.json, then --merge"}
    record |= {"commit": run.stdout.strip(), "level": 0.95, "cpu_seconds": round(seconds, 1)}
    Path(out).write_text(json.dumps(record | {"lowest": dict(sorted(lowest.items())), "rows": rows}, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--simulations", type=int, help="instead of 1,000 and 400")
    parser.add_argument("--only", choices=["auc", "24", "60", "150"], help="AUC, or so many bags")
    parser.add_argument("--seed", type=int, default=12, help="of the bags; 11 is what constants were chosen on")
    parser.add_argument("--out", default=str(OUT))
    parser.add_argument("--merge", nargs="+", help="files of parts")
    given, start, rows = parser.parse_args(), process_time(), []
    if given.merge:
        parts = [json.loads(Path(file).read_text()) for file in given.merge]
        written([row for part in parts for row in part["rows"]], sum(p["cpu_seconds"] for p in parts), given.out)
        return
    sources = [auc_rows(given.simulations or 1000)] if given.only in (None, "auc") else []
    sizes = [24, 60, 150] if given.only is None else [] if given.only == "auc" else [int(given.only)]
    sources += [bag_rows(n, given.simulations or 400, given.seed) for n in sizes]
    for source in sources:
        for row in source:
            print(row, flush=True)
            rows.append(row)
            written(rows, process_time() - start, given.out)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
