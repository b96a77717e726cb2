"""Expected amounts from tables of sums, against the same regression on the rows: error, and coverage of intervals.

Usage: python benchmarks/maxent_amounts.py [--draws 10] writes benchmarks/results/maxent_amounts.json. Each draw has a
truth of its own: four attributes (4, 3, 5 and 4 levels) from `synthetic.rows`, effects of levels and pairs drawn from
normal distributions, 6,000 people; Poisson counts, or normal amounts with standard deviation 1.5. Tables are exact, or
have Laplace noise as a release at epsilon 1 has (drawn here by seed). Errors are root mean squares over 2,000 other
people of the expected amount against the true one, `rows` being the generalised linear model with the same indicators
and penalties that sees every row; `mean` predicts the overall mean. Coverage is of 95% intervals of expected amounts.
"""

import argparse
import json
import subprocess
import time
from itertools import combinations
from pathlib import Path

import numpy as np
from simulated_release import simulated_release

from sumwise import synthetic
from sumwise.maxent import MaxEntRegressor, amount_tables
from sumwise.maxent.kernels.amount_glm import FAMILIES, Targets, fit_glm
from sumwise.maxent.kernels.table_logistic import cell_design

FIRST, N, OTHERS, SIZES = 500, 6_000, 2_000, [4, 3, 5, 4]
RANGES = {"poisson": (0.0, 40.0), "gaussian": (-12.0, 12.0)}


def world(family: str, seed: int) -> tuple:
    """People with amounts, other people, and their true expected amounts."""
    rng = np.random.default_rng(seed)
    made = synthetic.rows(N + OTHERS, sizes=SIZES, correlation=0.4, random_state=seed)
    frame, names = made.frame(), list(made.domain.attributes)
    codes = frame[names].to_numpy()
    eta = np.full(len(codes), 0.3)
    for a, size in enumerate(SIZES):
        eta += rng.normal(0, 0.3, size)[codes[:, a]]
    for a, b in combinations(range(len(SIZES)), 2):
        eta += rng.normal(0, 0.15, (SIZES[a], SIZES[b]))[codes[:, a], codes[:, b]]
    truth = np.exp(eta) if family == "poisson" else eta
    amounts = rng.poisson(truth) if family == "poisson" else rng.normal(truth, 1.5)
    frame = frame[names].assign(amount=amounts)
    return made.domain, frame.iloc[:N], frame.iloc[N:], truth[N:]


def by_rows(model: MaxEntRegressor, people, others) -> np.ndarray:
    """Expected amounts of others by the regression on rows."""
    lay, names = model.x_model_.model_.layout, list(model.domain_.attributes)
    designs = [cell_design(f[names].to_numpy(), lay.terms, lay.term_starts, lay.levels) for f in (people, others)]
    y = np.clip(people["amount"].to_numpy(dtype=float), *model.range_)
    unit = np.var(y) if model.family == "gaussian" else 1.0
    orders = np.repeat([len(t) for t in lay.terms], np.diff(lay.term_starts))
    penalty = np.array(model.penalty_theta_)[np.minimum(orders, 2) - 1] / unit
    targets = Targets(designs[0].T @ y, float(y.sum()), penalty)
    theta, offset, *_ = fit_glm(designs[0], np.ones(len(y)), targets, model.family, model.dispersion_)
    return FAMILIES[model.family].mean(designs[1] @ theta + offset)


def drawn(family: str, seed: int) -> dict[str, float]:
    """Errors and coverage of one draw."""
    domain, people, others, truth = world(family, FIRST + seed)
    names = list(domain.attributes)
    exact = amount_tables(people, names, "amount", *RANGES[family], domain=domain)
    out = {}
    for kind, tables in (("exact", exact), ("released", simulated_release(exact, 1.0, "laplace", seed))):
        model = MaxEntRegressor(family, random_state=seed).fit(tables)
        low, high = model.predict_interval(others)
        out[f"{kind}_error"] = np.sqrt(np.mean((model.predict(others) - truth) ** 2))
        out[f"{kind}_coverage"] = np.mean((low <= truth) & (truth <= high))
        out[f"{kind}_width"] = np.mean(high - low)
        if kind == "exact":
            out["rows_error"] = np.sqrt(np.mean((by_rows(model, people, others) - truth) ** 2))
    out["mean_error"] = np.std(truth)
    return {k: round(float(v), 4) for k, v in out.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=10)
    given = parser.parse_args()
    begin, draws = time.process_time(), {}
    for family in RANGES:
        draws[family] = [drawn(family, seed) for seed in range(given.draws)]
        print(
            family, {k: round(float(np.mean([d[k] for d in draws[family]])), 3) for k in draws[family][0]}, flush=True
        )
    summary = {
        f: {k: {"mean": round(float(np.mean(v)), 4), "error": round(float(np.std(v, ddof=1) / np.sqrt(len(v))), 4)}
            for k, v in {k: [d[k] for d in found] for k in found[0]}.items()}
        for f, found in draws.items()
    }  # fmt: skip
    commit = subprocess.check_output(["git", "rev-parse", "--short", "HEAD"], text=True).strip()
    facts = {"command": f"python benchmarks/maxent_amounts.py --draws {given.draws}", "commit": commit, "seed": FIRST}
    record = {**facts, "cpu_s": round(time.process_time() - begin), "summary": summary, "draws": draws}
    path = Path(__file__).parent / "results" / "maxent_amounts.json"
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
