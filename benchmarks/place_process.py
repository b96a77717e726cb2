"""A Gaussian process over places inside the collective model (one likelihood), beside two steps.

    python benchmarks/place_process.py                  # ten draws of every setting, about eight CPU minutes
    python benchmarks/place_process.py --settings sparse weeks --draws 2

Birds on a grid of 6 x 6 places over eight weeks, 2,000 of them; a fifth of the birds of an observed cell is seen, on
average. Settings: `sparse` (two cells in five observed), `weeks` (every cell of five weeks), `dense` (four cells in
five), each with moves that the model knows by distance alone, and `known` (as `sparse`, with the true moves). The score
is the share of all birds that are put in a wrong cell. Seeds 3000 to 3009 were used for nothing else; defaults were
set on seeds 0 to 2. Writes benchmarks/results/place_process.json.
"""

# ruff: noqa: E402  (threads are fixed before NumPy is loaded)
from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import argparse
import json
import warnings
from pathlib import Path
from time import process_time

import numpy as np
from run_record import run_record

from sumwise import Table, Tables, synthetic
from sumwise.collective import TreeModel, map_counts, process_counts, smooth_counts
from sumwise.noise import Poisson

RESULTS = Path(__file__).parent / "results" / "place_process.json"
SIDE, WEEKS, BIRDS, RATE = 6, 8, 2000, 0.2
SETTINGS = ("sparse", "weeks", "dense", "known")


def draw(setting, seed):
    """A season, its true counts, what was seen of them, and the model of moves."""
    season = synthetic.birds(SIDE, WEEKS, BIRDS, weights=(1.0, 2.0, 2.0, 2.0), random_state=seed)
    true = np.array([season.nodes[a] for a in season.domain], dtype=float)
    rng = np.random.default_rng(seed)
    if setting == "weeks":
        seen = np.repeat((rng.permutation(WEEKS) < 5)[:, None], SIDE**2, axis=1)
    else:
        seen = rng.random(true.shape) < (0.8 if setting == "dense" else 0.4)
        seen[rng.integers(WEEKS, size=SIDE**2), np.arange(SIDE**2)] = True  # smooth_counts wants each cell once
    y = np.where(seen, rng.poisson(RATE * true), np.nan)
    distance = np.linalg.norm(season.positions[:, None] - season.positions, axis=2)
    moves = season.log_potentials if setting == "known" else dict.fromkeys(season.edges, -distance)
    return season, true, y, TreeModel(season.domain, season.edges, moves)


def estimates(season, y, model):
    """Counts by every method, and CPU seconds."""
    names = list(season.domain)
    made = [Table(a, y[k], noise=Poisson(RATE)) for k, a in enumerate(names)]
    tables = Tables(made, season.domain, n=BIRDS)
    smooth = None

    def rows(fit):
        return np.array([fit.nodes[a] for a in names])

    def smoothed():
        nonlocal smooth
        smooth = smooth_counts(y, season.positions, total=BIRDS)
        return smooth.counts

    works = {
        "model alone": lambda: rows(map_counts(model, tables)),
        "process alone": smoothed,
        "process, then model": lambda: rows(map_counts(model, smooth.tables(names))),
        "one likelihood": lambda: rows(process_counts(model, tables, season.positions).counts),
    }
    found = {}
    for name, work in works.items():
        began = process_time()
        counts = work()
        found[name] = counts, process_time() - began
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--settings", nargs="*", choices=SETTINGS, default=SETTINGS)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--first", type=int, default=3000, help="seed of the first draw")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    for setting in given.settings:
        began, wrong, seconds = process_time(), {}, {}
        for seed in range(given.first, given.first + given.draws):
            season, true, y, model = draw(setting, seed)
            for name, (counts, spent) in estimates(season, y, model).items():
                wrong.setdefault(name, []).append(float(np.abs(counts - true).sum() / (2 * BIRDS * WEEKS)))
                seconds.setdefault(name, []).append(spent)
            print(setting, seed, {name: round(each[-1], 4) for name, each in wrong.items()}, flush=True)
        rows = []
        for name, each in wrong.items():
            error = float(np.std(each, ddof=1) / np.sqrt(len(each))) if len(each) > 1 else None
            row = {"setting": setting, "method": name, "wrong cell": float(np.mean(each)), "se": error}
            rows.append(row | {"draws": len(each), "cpu_s": float(np.mean(seconds[name]))})
        results = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
        results |= run_record(seeds=[given.first, seed])
        others = [row for row in results.get("rows", []) if row["setting"] != setting]
        results["rows"] = sorted([*others, *rows], key=lambda row: SETTINGS.index(row["setting"]))
        results["cpu_s"] = round(results.get("cpu_s", 0.0) + process_time() - began, 1)
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
