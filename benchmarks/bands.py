"""Banded red-winged blackbirds: are flows from abundance true? Log scores of birds that were met again.

    python benchmarks/bands.py                  # all rows, about four minutes of one core
    python benchmarks/bands.py --bands FILE     # another file of banded birds, same columns
    python benchmarks/bands.py --parts alone fixed --out part.json       # some of the rows
    python benchmarks/bands.py --merge part.json other.json               # all rows, from parts

Score: mean over birds of log(.999 p + .001 / 337), p the model's probability of the cell where a bird was met again,
for birds met again after 14 to 240 days and 2 to 34 weeks of the year later. Whatever is chosen on bands is chosen on
nine tenths of the birds and scored on the rest.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd
from rivals.schroedinger_bridge import refined

from sumwise.flows import FlowModel, Movement, Places, Tracks
from sumwise.flows.movement_search import SCALES, STAYS, mixture_weights

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("SUMWISE_DATA", ROOT.parent / "shared" / "data")) / "birds"
FOLDS = 10


def read(path):
    """Places, abundance (52, 337) and the birds that count: their tracks and the steps between."""
    cells = pd.read_csv(DATA / "rewbla_cells.csv")
    abundance = pd.read_csv(DATA / "rewbla_abundance.csv.gz").iloc[:, 1:].to_numpy().T
    places = Places(lon=cells["lon"], lat=cells["lat"], names=cells["cell"].tolist())
    birds = pd.read_csv(path)
    first, second = (places.nearest(birds[f"lon_{k}"], birds[f"lat_{k}"]) for k in ("from", "to"))
    weeks = [np.minimum((pd.to_datetime(birds[f"date_{k}"]).dt.day_of_year - 1) // 7, 51) for k in ("from", "to")]
    steps = (weeks[1] - weeks[0]) % 52
    kept = birds["days"].between(14, 240) & steps.between(2, 34)
    columns = [np.asarray(c)[kept].tolist() for c in (first, weeks[0], second, weeks[1])]
    return places, abundance, Tracks(*columns), steps[kept].to_numpy()


def log_score(p, n=337):
    return np.log(0.999 * p + 0.001 / n)


def row(name, p, tracks, steps, **more):
    """Scores of all birds, of long intervals, and of those that moved or stayed, with standard errors."""
    scores = log_score(np.asarray(p))
    moved = np.array(tracks.from_place) != np.array(tracks.to_place)
    out = {"method": name}
    parts = {
        "all": moved | ~moved,
        "2 to 7": steps < 8,
        "8 to 15": (steps >= 8) & (steps < 16),
        "16 or more": steps >= 16,
    }
    for part, chosen in (parts | {"moved": moved, "stayed": ~moved}).items():
        values = scores[chosen]
        error = float(values.std(ddof=1) / np.sqrt(len(values)))
        out[part] = {"score": round(float(values.mean()), 4), "se": round(error, 4), "birds": int(chosen.sum())}
    return out | more


def rival_steps():
    """Transitions of BirdFlow's own flows."""
    flows = pd.read_parquet(DATA / "rewbla_birdflow_marginals.parquet")
    steps = []
    for week in range(1, 53):
        part = flows[flows["week"] == week]
        table = np.zeros((337, 337))
        table[part["origin"], part["destination"]] = part["share"]
        sums = table.sum(axis=1, keepdims=True)
        steps.append(np.where(sums > 0, table / np.where(sums > 0, sums, 1.0), np.eye(337)))
    return steps


def chained(steps, tracks):
    """Probabilities of the second places, by transitions of each week."""
    out = []
    for i, a, j, b in zip(tracks.from_place, tracks.from_time, tracks.to_place, tracks.to_time):
        at = np.eye(337)[i]
        for k in range((b - a) % 52):
            at = at @ steps[(a + k) % 52]
        out.append(at[j])
    return np.array(out)


def of_grid(places, abundance, tracks, returning=False, **options):
    """Probabilities (birds, candidates) under every movement of the default grid, given the return if asked."""
    grid = [Movement(stay, scale * places.unit) for stay in STAYS for scale in SCALES]
    columns = []
    for movement in grid:
        flow = FlowModel(places, movement, cyclic=True, **options).fit(abundance)
        columns.append(flow.predict_tracks(tracks, returning))
    return grid, np.column_stack(columns)


def crossed(n, seed=0):
    """Folds of birds."""
    order = np.random.default_rng(seed).permutation(n)
    return [order[k::FOLDS] for k in range(FOLDS)]


def one_chosen(p):
    """Cross-validated: the one movement that scores best on the other birds."""
    out = np.empty(len(p))
    for fold in crossed(len(p)):
        rest = np.setdiff1d(np.arange(len(p)), fold)
        out[fold] = p[fold, int(np.argmax(log_score(p[rest]).mean(axis=0)))]
    return out


def mixed(p):
    """Cross-validated: types of movement weighted by the likelihood of the other birds, as ``fit(tracks=)`` does."""
    out = np.empty(len(p))
    for fold in crossed(len(p)):
        rest = np.setdiff1d(np.arange(len(p)), fold)
        out[fold] = p[fold] @ mixture_weights(p[rest])
    return out


def baselines(places, abundance, tracks):
    """What needs no model, and BirdFlow."""
    stays = (np.array(tracks.from_place) == np.array(tracks.to_place)).astype(float)
    last = abundance[np.array(tracks.to_time), np.array(tracks.to_place)]
    yield "abundance of the week alone", last, {}
    yield "staying (.8) and abundance, share chosen on all birds", 0.8 * stays + 0.2 * last, {}
    yield "BirdFlow's own flows", chained(rival_steps(), tracks), {}


def bridges(places, abundance, tracks):
    """Schrödinger bridges between weeks, whose reference is learned from abundance (rivals/schroedinger_bridge.py)."""
    shares, squares = abundance / abundance.sum(axis=1, keepdims=True), places.separations() ** 2
    for kind, may_rest in (("random walk", False), ("random walk with rest", True)):
        start = process_time()
        tables, learned = refined(shares, squares, may_rest)
        steps = [np.where(t.sum(axis=1, keepdims=True) > 0, t / np.maximum(t.sum(axis=1, keepdims=True), 1e-300),
                          np.eye(len(t))) for t in tables]  # fmt: skip
        yield f"Schrödinger bridges, learned {kind}", chained(steps, tracks), {
            "cpu_s": round(process_time() - start, 1), "learned": learned
        }  # fmt: skip


def alone(places, abundance, tracks):
    """Movement learned from abundance, no band seen."""
    kinds = {"fixed population": {}, "varying population": {"population": "varying"}}
    for kind, options in kinds.items():
        start = process_time()
        flow = FlowModel(places, cyclic=True, **options).fit(abundance)
        errors = flow.scores_.loc[flow.scores_["chosen"], "error"].tolist()
        more = {"movement": str(flow.movements_[0]), "error of left-out weeks": errors[0]}
        p = flow.predict_tracks(tracks)
        yield f"abundance alone, {kind}", p, {"cpu_s": round(process_time() - start, 1), **more}


def chosen(kind):
    """Two numbers chosen on bands, and bands in the likelihood, for one kind of population."""
    options = {"fixed": {}, "varying": {"population": "varying", "turnover": 0.05}}[kind]

    def part(places, abundance, tracks):
        grid, table = of_grid(places, abundance, tracks, **options)
        yield f"stay and scale chosen on bands, {kind} population", one_chosen(table), {}
        weights = mixture_weights(table)
        kept = {str(m): round(float(w), 3) for m, w in zip(grid, weights) if w >= 0.02}
        yield f"bands in the likelihood, {kind} population", mixed(table), {"weights_on_all_birds": kept}

    return part


def returned(places, abundance, tracks):
    """Birds that come back after a year: movement and probabilities given their return."""
    grid, table = of_grid(places, abundance, tracks, returning=True)
    yield "stay and scale chosen on bands, given the return", one_chosen(table), {}
    weights = mixture_weights(table)
    kept = {str(m): round(float(w), 3) for m, w in zip(grid, weights) if w >= 0.02}
    yield "bands in the likelihood, given the return", mixed(table), {"weights_on_all_birds": kept}


PARTS = {
    "baselines": baselines,
    "alone": alone,
    "fixed": chosen("fixed"),
    "varying": chosen("varying"),
    "returning": returned,
    "bridges": bridges,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bands", default=DATA / "rewbla_bands.csv.gz", type=Path)
    parser.add_argument("--out", default=ROOT / "benchmarks" / "results" / "bands.json", type=Path)
    parser.add_argument("--parts", nargs="*", default=list(PARTS), choices=list(PARTS))
    parser.add_argument("--merge", nargs="*", type=Path, help="results of parts, in the order of the table")
    given = parser.parse_args()
    if given.merge:
        parts = [json.loads(path.read_text("utf-8")) for path in given.merge]
        found = parts[0] | {"cpu_s": round(sum(p["cpu_s"] for p in parts), 1)}
        found["rows"] = [r for p in parts for r in p["rows"]]
        given.out.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
        return
    places, abundance, tracks, steps = read(given.bands)
    began, rows = process_time(), []
    for part in given.parts:
        for name, p, more in PARTS[part](places, abundance, tracks):
            rows.append(row(name, p, tracks, steps, **more))
            r = rows[-1]
            shown = "  ".join(
                f"{k} {r[k]['score']:.3f} ({r[k]['se']:.3f})" for k in ("all", "16 or more", "moved", "stayed")
            )
            print(f"{name:58s} {shown}", flush=True)
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], check=False, capture_output=True, text=True, cwd=ROOT
    ).stdout.strip()
    found = {
        "command": "python benchmarks/bands.py",
        "commit": commit,
        "seed": 0,
        "cpu_s": round(process_time() - began, 1),
        "birds": len(tracks),
        "rows": rows,
    }
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
