"""Intervals of probabilities and of expected tables: how often they hold the truth, by privacy loss.

Usage: python benchmarks/maxent_intervals.py [--draws 10] [--refits 30] writes benchmarks/results/maxent_intervals.json.
Models of four attributes are drawn; people are drawn from each and counted in all six pairs; tables are exact, or have
geometric or Gaussian noise of the scale that epsilon asks for (six tables of counts and label sums; delta 1e-6). Truths
are the model's probabilities, and its expected counts of every attribute, every pair, and every three attributes.
"""

import argparse
import json
import subprocess
import time
import warnings
from itertools import combinations
from pathlib import Path

import numpy as np

from sumwise import NotConverged, Table, Tables, synthetic
from sumwise.maxent import MaxEntClassifier
from sumwise.noise import Exact, Gaussian, Geometric

SIZES, PEOPLE, N_TABLES = [3, 4, 5, 3], 8_000, 6
EPSILONS = (0.3, 1.0, 5.0)
FIRST = 400  # seed of the first draw; constants of the method were settled on others


def noises() -> dict[str, object]:
    """Noise by name."""
    out: dict[str, object] = {"exact": Exact()}
    for epsilon in EPSILONS:
        out[f"geometric, epsilon {epsilon:g}"] = Geometric(2 * N_TABLES / epsilon)
        out[f"Gaussian, epsilon {epsilon:g}"] = Gaussian(np.sqrt(2 * N_TABLES * 2 * np.log(1.25e6)) / epsilon)
    return out


def drawn(seed: int, noise, n_refits: int) -> dict[str, list]:
    """Whether intervals of one draw hold the truth, by kind of question."""
    base = synthetic.rows(100_000, sizes=SIZES, rate=0.3, correlation=0.4, random_state=seed).tables()
    truth = MaxEntClassifier(0.5, 0.5, random_state=seed).fit(base)
    names = list(base.domain.attributes)
    exact = Tables.from_frame(truth.sample(PEOPLE, random_state=seed), names, label=base.label, domain=base.domain)
    rng, tables = np.random.default_rng(seed), exact
    if not isinstance(noise, Exact):
        made = [Table(t.attributes, noise.sample(t.counts, rng), noise.sample(t.label_sums, rng), noise) for t in exact]
        tables = Tables(made, exact.domain, n=PEOPLE, label=exact.label, classes=exact.classes)
    model = MaxEntClassifier(random_state=seed).fit(tables).bootstrap(tables, n=n_refits, random_state=seed)
    people = truth.sample(500, random_state=1000 + seed)
    real = truth.predict_proba(people)[:, 1]
    low, high = (end[:, 1] for end in model.predict_interval(people))
    out = {"probabilities": [np.mean((low <= real) & (real <= high))]}
    for order, kind in ((1, "attributes"), (2, "pairs"), (3, "triples")):
        for asked in combinations(names, order):
            wanted = truth.expected(asked).values * (PEOPLE / truth.n_)
            out.setdefault(kind, []).append(float(np.mean(model.expected(asked).covers(wanted))))
    return {kind: float(np.mean(v)) for kind, v in out.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--refits", type=int, default=30)
    given = parser.parse_args()
    warnings.simplefilter("ignore", NotConverged)
    begin, rows = time.process_time(), []
    for name, noise in noises().items():
        found = [drawn(FIRST + s, noise, given.refits) for s in range(given.draws)]
        row = {"noise": name, "draws": given.draws}
        for kind in found[0]:
            values = np.array([f[kind] for f in found])
            row[kind] = round(float(values.mean()), 4)
            row[f"{kind}, standard error"] = round(float(values.std(ddof=1) / np.sqrt(len(values))), 4)
        rows.append(row)
        print(row, f"{time.process_time() - begin:.0f} CPU-s", flush=True)
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], check=True, capture_output=True, text=True
    ).stdout.strip()
    record = {
        "command": f"python benchmarks/maxent_intervals.py --draws {given.draws} --refits {given.refits}",
        "commit": commit, "seed": FIRST, "cpu_s": round(time.process_time() - begin), "level": 0.95, "rows": rows,
    }  # fmt: skip
    path = Path(__file__).parent / "results" / "maxent_intervals.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
