"""Responses of individuals from sums of bags: `AggregateRegressor` beside a regression of bag means, and of rows.

    python benchmarks/proportions_sums.py                 # three data sets, ten draws each (about a minute of CPU time)

Hours worked per week on Adult (bags are random rows of one occupation), the decile of personal income and the number
of own children on the American Community Survey (bags are random rows of one area; children are Poisson counts). Bags
have 5 to 40 members. Scores are R squared of the responses of 2,000 other individuals: of the regression on rows, that
no method on sums can expect to beat, of a ridge regression of bag means on means of features (penalty by
cross-validation), and of the likelihood of the sums, alone, with networks added (`hidden=(32,)`), and with noise
(`noisy`: a standard deviation of twice that of one response; the mean regression can't know it). Writes
benchmarks/results/proportions_sums.json.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from run_record import run_record
from sklearn.linear_model import PoissonRegressor, RidgeCV
from sklearn.metrics import r2_score

from proportions import adult_people, puma_people, survey_adults, table
from sumwise import Bags, datasets
from sumwise.features import Features
from sumwise.noise import Gaussian
from sumwise.proportions import AggregateRegressor

RESULTS = Path(__file__).parent / "results" / "proportions_sums.json"
SETS = ("hours", "income", "children")
N_BAGS, N_TEST = 80, 2000
PENALTIES = 10.0 ** np.arange(-2.0, 3.1)


@cache
def people(name):
    """Standardised features, responses and groups of individuals."""
    if name == "hours":
        values, _, groups = adult_people()[:3]
        response = datasets.adult().train["hours_per_week"].to_numpy(dtype=float)
        scaled = (response - response.mean()) / response.std()
        related = np.abs(values.T @ scaled) / len(values) > 0.99  # the response itself among the features
        return values[:, ~related], response, groups
    features, _, groups = puma_people()
    frame = survey_adults()
    column = {"income": "PINCP_DECILE", "children": "NOC"}[name]
    response = pd.to_numeric(frame[column], errors="coerce").to_numpy(dtype=float)
    known = ~np.isnan(response)
    features = features.drop(columns=[column, "NPF"] if name == "children" else [column])
    rows = Bags.from_frame(features.assign(all=0, EDU=frame["EDU"].astype(str)), bag="all")
    values = Features.learn(rows).matrix(rows)
    values = (values - values.mean(axis=0)) / np.where(values.std(axis=0) > 1, values.std(axis=0), 1.0)
    kept = (values != 0).mean(axis=0) > 0.01
    return values[known][:, kept], response[known], groups[known]


def draw(name, seed):
    """Bags of the rows of one group each, the responses of their members, and other rows."""
    values, response, groups = people(name)
    rng = np.random.default_rng(seed)
    test = rng.choice(len(values), N_TEST, replace=False)
    free = np.setdiff1d(np.arange(len(values)), test)
    ids = np.unique(groups)
    chosen = []
    for _ in range(N_BAGS):
        pool = free[groups[free] == rng.choice(ids)]
        chosen.append(rng.choice(pool, min(int(rng.integers(5, 41)), len(pool)), replace=False))
    offsets = np.concatenate([[0], np.cumsum([len(c) for c in chosen])])
    rows = np.concatenate(chosen)
    return Bags(values[rows], offsets), response[rows], values[test], response[test], rng


def one(name, seed):
    """R squared of every method in one draw."""
    bags, y, test_values, truth, rng = draw(name, seed)
    totals = np.add.reduceat(y, bags.offsets[:-1])
    noisy = totals + rng.normal(0, 2 * y.std(), len(bags))
    kind = "poisson" if name == "children" else "gaussian"
    means = np.add.reduceat(bags.values, bags.offsets[:-1], axis=0) / bags.sizes[:, None]
    rows = PoissonRegressor(alpha=1e-2, max_iter=500) if kind == "poisson" else RidgeCV(PENALTIES)
    return {
        "rows": r2_score(truth, rows.fit(bags.values, y).predict(test_values)),
        "bag means": r2_score(truth, RidgeCV(PENALTIES).fit(means, totals / bags.sizes).predict(test_values)),
        "sums": r2_score(truth, AggregateRegressor(kind).fit(bags, totals).predict(test_values)),
        "networks": r2_score(truth, AggregateRegressor(kind, hidden=(32,)).fit(bags, totals).predict(test_values)),
        "bag means, noisy": r2_score(truth, RidgeCV(PENALTIES).fit(means, noisy / bags.sizes).predict(test_values)),
        "sums, noisy": r2_score(
            truth, AggregateRegressor(kind, noise=Gaussian(2 * y.std())).fit(bags, noisy).predict(test_values)
        ),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=10)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    lines, kept = [], {}
    for name in SETS:
        begin = time.process_time()
        found = [one(name, seed) for seed in range(args.draws)]
        scores = {m: np.array([f[m] for f in found]) for m in found[0]}
        means = {m: float(v.mean()) for m, v in scores.items()}
        kept[name] = {"scores": found, "means": means, "cpu_seconds": round(time.process_time() - begin, 1)}
        gap = scores["sums"] - scores["bag means"]
        line = {"data": name} | means
        lines.append(line | {"gain": float(gap.mean()), "error": float(gap.std(ddof=1) / np.sqrt(len(gap)))})
    table(f"R squared of individuals, mean of {args.draws} draws; gain of sums over bag means", lines)
    record = {"command": "python benchmarks/proportions_sums.py", "commit": run_record()["commit"], "sets": kept}
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
