"""What rules of MaxEntClassifier's sampler are worth for the distribution of x, which a held-out score doesn't show.

Usage: python benchmarks/maxent_variation.py [--draws 10] [--first 0] [--kinds determined correlated survey] writes
benchmarks/results/maxent_variation.json (or --out FILE); --merge FILE ... puts such parts together. Kinds:
"determined", six attributes of Adult one of which determines another (education by name, and its number cut at
deciles); "correlated" and "survey" as in maxent_heuristics.py. Each draw takes half of the rows at random. The figure
is the total variation, a mean over all pairs of attributes, of the model's expected tables from those of the rows that
were counted; exact tables, and tables with Gaussian noise of standard deviation 40. Gains are means over draws of
(variation without the rule) - (variation with it), with their errors; 3,000 chains.
"""

import argparse
import json
import subprocess
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from maxent_heuristics import FIRST, public, rows, summary, switched_off
from private_tables import variation

from sumwise import NotConverged, Table, Tables
from sumwise.maxent import MaxEntClassifier, SolverOptions
from sumwise.noise import Gaussian

KINDS = ("determined", "correlated", "survey")
SIX = ["education", "education_num", "age", "workclass", "occupation", "sex"]
RULES = ("blocks", "jumps", "preconditioning")


def drawn(kind: str, seed: int) -> tuple[pd.DataFrame, list[str]]:
    """Rows of one kind, and their features."""
    if kind != "determined":
        return rows(kind, seed)
    frame, names = public("adult", seed)
    return frame, [n for n in names if n in SIX]


def fitted(tables: Tables, exact: Tables, options: dict, settings: dict) -> float:
    """The variation of a model's expected tables from the exact ones."""
    kept = {place: getattr(*place) for place in settings}
    for (module, name), value in settings.items():
        setattr(module, name, value)
    try:
        given = SolverOptions(n_chains=3_000, **options)
        return float(variation(MaxEntClassifier(options=given, engine="gibbs", random_state=0).fit(tables), exact))
    finally:
        for (module, name), value in kept.items():
            setattr(module, name, value)


def gains(kind: str, draw: int) -> dict[str, float]:
    """What each rule gains on one draw, and the variation with all of them."""
    frame, names = drawn(kind, FIRST + draw)
    half = len(frame) // 2
    exact = Tables.from_frame(frame.iloc[:half], names, label="label")
    rng, noise = np.random.default_rng(draw), Gaussian(40.0)
    made = [Table(t.attributes, noise.sample(t.counts, rng), noise.sample(t.label_sums, rng), noise) for t in exact]
    noisy = Tables(made, exact.domain, n=half, label="label", classes=exact.classes)
    out = {}
    for sort, tables in (("exact", exact), ("noisy", noisy)):
        out[f"{sort}: as it is"] = usual = fitted(tables, exact, {}, {})
        for rule, (_, options, settings) in switched_off().items():
            if any(word in rule for word in RULES):
                out[f"{sort}: {rule}"] = fitted(tables, exact, options, settings) - usual
    return {rule: round(value, 7) for rule, value in out.items()}


def write(path: Path, found: dict, cpu_s: float) -> None:
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    record = {"command": "python benchmarks/maxent_variation.py", "commit": commit.stdout.strip(), "seed": FIRST}
    record |= {"cpu_s": round(cpu_s), "summary": summary(found), "gain": found}
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "maxent_variation.json")
    parser.add_argument("--merge", type=Path, nargs="+", default=[])
    given = parser.parse_args()
    warnings.simplefilter("ignore", NotConverged)
    found: dict = {}
    parts = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(given.merge)]
    for part in parts:
        for rule, by_kind in part["gain"].items():
            for kind, values in by_kind.items():
                found.setdefault(rule, {}).setdefault(kind, []).extend(values)
    if parts:
        write(given.out, found, sum(part["cpu_s"] for part in parts))
        return
    for kind in given.kinds:
        for draw in range(given.first, given.first + given.draws):
            for rule, gain in gains(kind, draw).items():
                found.setdefault(rule, {}).setdefault(kind, []).append(gain)
            write(given.out, found, time.process_time())
            print(kind, draw, f"{time.process_time():.0f} CPU-s", flush=True)


if __name__ == "__main__":
    main()
