"""Commuters between the 62 counties of New York State: flows from totals, against the true flows.

    python benchmarks/commuters.py              # about a minute of one core

Score: common part of commuters, 2 sum min(estimate, truth) / (sum estimate + sum truth). The truth is used for scoring
only; ten draws of a sample or of noise where one is drawn.
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

from sumwise.flows import FlowModel, Places
from sumwise.flows.kernels.raking import raked
from sumwise.noise import Exact, Laplace, Poisson

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("SUMWISE_DATA", ROOT.parent / "shared" / "data")) / "mobility"
DRAWS = 10


def read():
    """Places with areas, and true flows (62, 62)."""
    places = Places.from_geojson(DATA / "ny_counties_2011.geojson", "tile_id")
    flows = pd.read_csv(DATA / "ny_commuting_flows_2011.csv", dtype={"origin": str, "destination": str})
    truth = np.zeros((len(places), len(places)))
    np.add.at(truth, (places.index(flows["origin"]), places.index(flows["destination"])), flows["flow"])
    return places, truth


def common_part(estimate, truth):
    return float(2 * np.minimum(estimate, truth).sum() / (estimate.sum() + truth.sum()))


def off_diagonal(estimate, truth):
    off = ~np.eye(len(truth), dtype=bool)
    return common_part(np.where(off, estimate, 0.0), np.where(off, truth, 0.0))


def estimate(places, totals, noise, n, moves=None):
    """Flows from home to work, and the movement that was learned."""
    model = FlowModel(places, noise=noise, size=n)
    model.fit(np.stack(totals), times=["home", "work"], moves=moves)
    return np.asarray(model.steps_[0][0]), model.movements_[0]


def noisy(places, totals, seed, n):
    """Flows from totals with noise for privacy."""
    rng = np.random.default_rng(seed)
    return estimate(places, [Laplace(100.0).sample(t, rng) for t in totals], Laplace(100.0), n)


def gravity(places, totals):
    """Flows by size and distance alone: a doubly constrained gravity model with the usual power of -2."""
    far = np.maximum(places.moves(), 0.5 * places.unit)
    return raked(far**-2.0, *totals)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default=ROOT / "benchmarks" / "results" / "commuters.json", type=Path)
    given = parser.parse_args()
    places, truth = read()
    plain = Places(lon=places.lon, lat=places.lat, names=places.names)
    n, totals = truth.sum(), [truth.sum(axis=1), truth.sum(axis=0)]
    began, rows = process_time(), []

    def add(name, made):
        scores = np.array([[common_part(x, truth), off_diagonal(x, truth)] for x, _ in made])
        rows.append(
            {
                "data": name,
                "common part": round(float(scores[:, 0].mean()), 4),
                "off the diagonal": round(float(scores[:, 1].mean()), 4),
                "least of draws": round(float(scores[:, 0].min()), 4),
                "draws": len(made),
                "movement": str(made[0][1]),
            }
        )
        print(rows[-1], flush=True)

    add("totals", [estimate(plain, totals, Exact(), n)])
    add("gravity model, power -2", [(gravity(plain, totals), "given")])
    add("totals with Laplace noise of scale 100", [noisy(plain, totals, seed, n) for seed in range(DRAWS)])
    for rate in (0.01, 0.001):
        drawn = [np.random.default_rng(seed).binomial(truth.astype(int), rate).astype(float) for seed in range(DRAWS)]
        ipf = [(raked(sample, *totals), "raked sample") for sample in drawn]
        add(f"iterative proportional fitting of a {rate:.1%} sample", ipf)
        moves = [{("home", "work"): (sample, Poisson(rate))} for sample in drawn]
        add(f"totals and the moves of a {rate:.1%} sample", [estimate(plain, totals, Exact(), n, m) for m in moves])
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], check=False, capture_output=True, text=True, cwd=ROOT
    ).stdout.strip()
    found = {
        "command": "python benchmarks/commuters.py",
        "commit": commit,
        "seeds": list(range(DRAWS)),
        "cpu_s": round(process_time() - began, 1),
        "commuters": n,
        "rows": rows,
    }
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
