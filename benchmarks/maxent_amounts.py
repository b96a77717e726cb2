"""Expected amounts from tables of sums, against the same regression on the rows: error, and coverage of intervals.

Usage: python benchmarks/maxent_amounts.py [--draws 200] [--first 0] [--families poisson gaussian] [--part FILE] writes
benchmarks/results/maxent_amounts.json, or a part of it; --merge FILE ... puts parts together. Each draw has a truth of
its own (seeds from 5000; the prior of effects was settled on seeds 2000 to 2009): four attributes (4, 3, 5 and 4
levels) from `synthetic.rows`, effects of levels and pairs drawn from normal distributions, 6,000 people; Poisson
counts, or normal amounts with standard deviation 1.5. Tables are exact, or have the noise of a release (drawn here by
seed): Laplace at epsilon 1 and 5, Gaussian at epsilon 1 and delta 1e-6. Errors are root mean squares over 2,000 other
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

FIRST, N, OTHERS, SIZES = 5000, 6_000, 2_000, [4, 3, 5, 4]
RELEASES = {"laplace 1": ("laplace", 1.0), "laplace 5": ("laplace", 5.0), "gaussian 1": ("gaussian", 1.0)}
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
    designs = [cell_design(lay, f[names].to_numpy()) for f in (people, others)]
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
    for kind in ("exact", *RELEASES):
        mechanism, epsilon = RELEASES.get(kind, ("", 0.0))
        tables = simulated_release(exact, epsilon, mechanism, seed) if mechanism else exact
        model = MaxEntRegressor(family, random_state=seed).fit(tables)
        low, high = model.predict_interval(others)
        out[f"{kind}_error"] = np.sqrt(np.mean((model.predict(others) - truth) ** 2))
        out[f"{kind}_coverage"] = np.mean((low <= truth) & (truth <= high))
        out[f"{kind}_width"] = np.mean(high - low)
        if kind == "exact":
            out["rows_error"] = np.sqrt(np.mean((by_rows(model, people, others) - truth) ** 2))
    out["mean_error"] = np.std(truth)
    return {k: round(float(v), 4) for k, v in out.items()}


def write(path: Path, draws: dict[str, list[dict]], cpu_s: float, command: str, whole: bool = True) -> None:
    """Means with their errors, and, unless parts are put together, all draws."""
    summary = {
        f: {k: {"mean": round(float(np.mean(v)), 4), "error": round(float(np.std(v, ddof=1) / np.sqrt(len(v))), 4)}
            for k, v in {k: [d[k] for d in found] for k in found[0]}.items()} | {"draws": len(found)}
        for f, found in draws.items() if len(found) > 1
    }  # fmt: skip
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    record = {"command": command, "commit": commit.stdout.strip(), "seed": FIRST, "cpu_s": round(cpu_s)}
    found = {**record, "summary": summary} | ({"draws": draws} if whole else {})
    path.write_text(json.dumps(found, indent=None if whole else 1) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--families", nargs="+", default=list(RANGES), choices=list(RANGES))
    parser.add_argument("--part", type=Path)
    parser.add_argument("--merge", type=Path, nargs="+")
    given = parser.parse_args()
    path = Path(__file__).parent / "results" / "maxent_amounts.json"
    begin, cpu_s, draws = time.process_time(), 0.0, {}
    if given.merge:
        for part in (json.loads(p.read_text(encoding="utf-8")) for p in sorted(given.merge)):
            cpu_s += part["cpu_s"]
            for family, found in part["draws"].items():
                draws.setdefault(family, []).extend(found)
        write(path, draws, cpu_s, "python benchmarks/maxent_amounts.py, in parts", whole=False)
        return
    for family in given.families:
        for seed in range(given.first, given.first + given.draws):
            draws.setdefault(family, []).append(drawn(family, seed))
            command = f"python benchmarks/maxent_amounts.py --draws {given.draws}"
            write(given.part or path, draws, time.process_time() - begin, command)
        found = draws[family]
        print(family, {k: round(float(np.mean([d[k] for d in found])), 3) for k in found[0]}, flush=True)


if __name__ == "__main__":
    main()
