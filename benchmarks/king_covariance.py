"""King's multivariate strategy with one correlation between rows, or with one for every two shares.

    python benchmarks/king_covariance.py [--draws 10]
    python benchmarks/king_covariance.py --only correlated 400 --out PART.json     # one row
    python benchmarks/king_covariance.py --merge PART.json ...

Generated units: three groups, two outcomes, shares from a truncated normal whose correlations are .75, -.5 and -.2, or
all 0. Writes benchmarks/results/king_covariance.json: errors of shares and units, paired over draws.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from run_record import run_record

from sumwise import Margins
from sumwise.ecological import King

RESULTS = Path(__file__).parent / "results" / "king_covariance.json"
MEAN, SD = np.array([0.6, 0.4, 0.3]), np.array([0.15, 0.12, 0.15])
CORRELATED = np.array([[1, 0.75, -0.5], [0.75, 1, -0.2], [-0.5, -0.2, 1]])
CELLS = {"correlated": CORRELATED, "uncorrelated": np.eye(3)}


def units(n: int, correlation: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """True shares and composition of n units."""
    rng = np.random.default_rng(seed)
    drawn = rng.multivariate_normal(MEAN, correlation * np.outer(SD, SD), 3 * n)
    drawn = drawn[((drawn > 0) & (drawn < 1)).all(axis=1)][:n]
    return drawn, rng.dirichlet([1.2] * 3, len(drawn))


def errors(n: int, correlation: np.ndarray, seed: int, covariance: str) -> dict[str, float]:
    """Mean error of the overall shares and root mean squared error of units' shares, weighted by people."""
    b, x = units(n, correlation, seed)
    t = (x * b).sum(axis=1)
    began = time.process_time()
    est = King(strategy={"equal": "multivariate"}.get(covariance, covariance), n_draws=100, max_iter=160)
    est.fit(Margins(1000 * x, 1000 * np.column_stack([t, 1 - t])))
    true = (x * b).sum(axis=0) / x.sum(axis=0)
    unit = np.sqrt((x * (est.cells_[:, :, 0] - b) ** 2).sum() / x.sum())
    spent = time.process_time() - began
    return {"share": float(np.abs(est.shares_[:, 0] - true).mean()), "unit": float(unit), "cpu_s": spent}


def main() -> None:
    """Run all cells and write the result."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--only", nargs=2, help="correlated or uncorrelated, and the number of units")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--merge", type=Path, nargs="*", default=[])
    asked = parser.parse_args()
    draws = asked.draws
    if asked.merge:
        runs = [json.loads(part.read_text("utf-8")) for part in asked.merge]
        record = runs[0] | {"rows": [row for run in runs for row in run["rows"]]}
        asked.out.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
        return
    warnings.simplefilter("ignore")
    about = run_record()
    table = []
    for name, correlation in CELLS.items():
        for n in (100, 400):
            if asked.only and asked.only != [name, str(n)]:
                continue
            with ProcessPoolExecutor(asked.jobs) as pool:
                made = {
                    c: list(pool.map(errors, *zip(*[(n, correlation, seed, c) for seed in range(draws)])))
                    for c in ("equal", "full")
                }
            row = {"truth": name, "units": n, "draws": draws}
            for key in ("share", "unit"):
                gap = np.array([a[key] - b[key] for a, b in zip(made["full"], made["equal"])])
                row |= {f"{key}_{c}": float(np.mean([m[key] for m in made[c]])) for c in made}
                row |= {f"{key}_gap": float(gap.mean()), f"{key}_gap_error": float(gap.std(ddof=1) / draws**0.5)}
            row["cpu_s"] = {c: float(np.mean([m["cpu_s"] for m in made[c]])) for c in made}
            table.append(row)
            record = {**about, "seed": f"0 to {draws - 1}", "rows": table}
            asked.out.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
            print({k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()}, flush=True)


if __name__ == "__main__":
    main()
