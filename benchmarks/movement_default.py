"""Which default of FlowModel's `movement`? Two ways and the choice between them, on generated populations.

    python benchmarks/movement_default.py --draws 10 --kinds residents wave      # three minutes of one core

Individuals walk on a 6 x 6 grid for 12 times; the model sees Poisson counts by time and place (each individual is
counted with probability .5). Score: mean log probability of where 2,000 individuals are met again after 1 to 6 times,
log(.999 p + .001 / 36), as for banded birds; and the common part of the flows of those who change places. Kinds of
populations were written down before any was scored.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import warnings
from pathlib import Path
from time import process_time

import numpy as np

from sumwise.collective import FlowModel, Places, Tracks
from sumwise.noise import Poisson

ROOT = Path(__file__).parents[1]
SIDE, TIMES, PEOPLE, MET = 6, 12, 20_000, 2_000


def _steps(places, stay, scale, pull=None):
    """Probabilities (L, L) of a step: a cost of leaving, of distance, and a pull (L,) of places."""
    far = places.moves()
    scores = -far / scale - stay * (far > 0) + (0.0 if pull is None else pull)
    made = np.exp(scores - scores.max(axis=1, keepdims=True))
    return made / made.sum(axis=1, keepdims=True)


def _walk(rng, start, steps):
    """Paths (n, T) by one table of probabilities per step."""
    paths = [start]
    for p in steps:
        total = np.cumsum(p, axis=1)
        paths.append((rng.random(len(start))[:, None] > total[paths[-1]]).sum(axis=1).clip(max=p.shape[1] - 1))
    return np.stack(paths, axis=1)


def population(kind, places, rng):
    """Paths (n, T) of all individuals."""
    n, y = PEOPLE, places.y
    anywhere = rng.choice(len(places), size=n, p=rng.dirichlet(np.full(len(places), 2.0)))
    south = rng.choice(len(places), size=n, p=np.exp(-y) / np.exp(-y).sum())
    wave = [1.5 + 3.0 * np.sin(np.pi * (t + 1) / (TIMES - 1)) ** 2 for t in range(TIMES - 1)]
    pulls = [-0.8 * (y - w) ** 2 for w in wave]
    if kind == "residents":  # few leave at a time, anywhere near
        return _walk(rng, anywhere, [_steps(places, 3.5, 0.8)] * (TIMES - 1))
    if kind == "wanderers":  # most leave at every step, no net flow
        return _walk(rng, anywhere, [_steps(places, 0.0, 1.2)] * (TIMES - 1))
    if kind == "wave":  # all go north and come back
        return _walk(rng, south, [_steps(places, 0.5, 1.0, p) for p in pulls])
    if kind == "partial":  # half of them stay all year, the others go north and come back
        going = _walk(rng, south, [_steps(places, 0.5, 1.0, p) for p in pulls])
        stays = rng.random(n) < 0.5
        return np.where(stays[:, None], anywhere[:, None], going)
    if kind == "spread":  # from one corner over the grid
        return _walk(rng, np.zeros(n, dtype=int), [_steps(places, 1.0, 0.7)] * (TIMES - 1))
    # commuters: between home and work and back
    far = _steps(places, 0.0, 1.0, np.log(rng.dirichlet(np.full(len(places), 0.5)) + 1e-3))
    work = _walk(rng, anywhere, [far])[:, 1]
    return np.stack([anywhere if t % 2 == 0 else work for t in range(TIMES)], axis=1)


WAYS = ("distance", "adaptive", "auto")
KINDS = ("residents", "wanderers", "wave", "partial", "spread", "commuters")


def scores(model, paths, flows, rng):
    """Mean log score of individuals that are met again, and the common part of movers."""
    who = rng.choice(len(paths), MET, replace=False)
    first = rng.integers(0, TIMES - 1, MET)
    then = np.minimum(first + rng.integers(1, 7, MET), TIMES - 1)
    tracks = Tracks(paths[who, first].tolist(), first.tolist(), paths[who, then].tolist(), then.tolist())
    p = model.predict_tracks(tracks)
    off = ~np.eye(SIDE * SIDE, dtype=bool)
    found = np.stack([np.asarray(f)[off] for f in model.steps_[0]]) / model.n_
    true = np.stack([f[off] for f in flows]) / PEOPLE
    return float(np.log(0.999 * p + 0.001 / SIDE**2).mean()), float(
        2 * np.minimum(found, true).sum() / (found.sum() + true.sum())
    )


def draw(kind, seed):
    """Scores of both on one population."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    places = Places.grid(SIDE, SIDE)
    paths = population(kind, places, rng)
    counts = np.stack([np.bincount(p, minlength=SIDE * SIDE) for p in paths.T])
    flows = np.zeros((TIMES - 1, SIDE * SIDE, SIDE * SIDE))
    for t in range(TIMES - 1):
        np.add.at(flows[t], (paths[:, t], paths[:, t + 1]), 1.0)
    seen = rng.binomial(counts, 0.5).astype(float)
    out = {"kind": kind, "seed": seed}
    for movement in WAYS:
        began = process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = FlowModel(places, movement, noise=Poisson(0.5), size=PEOPLE, tol=1e-3).fit(seen)
        score, common = scores(model, paths, flows, np.random.default_rng(seed))
        out[movement] = {"score": score, "movers": common, "cpu_s": round(process_time() - began, 1)}
    return out


def summary(rows):
    """Means by kind, and what the others have more than "distance", with standard errors."""
    out = []
    for kind in dict.fromkeys(r["kind"] for r in rows):
        these = [r for r in rows if r["kind"] == kind]
        found = {"kind": kind, "draws": len(these)}
        for what in ("score", "movers"):
            each = np.array([[r[m][what] for m in WAYS] for r in these])
            found[what] = dict(zip(WAYS, np.round(each.mean(axis=0), 4).tolist()))
            for k, way in enumerate(WAYS[1:], 1):
                more = each[:, k] - each[:, 0]
                error = float(more.std(ddof=1) / np.sqrt(len(more))) if len(more) > 1 else None
                found[what][f"{way} above distance"] = round(float(more.mean()), 4)
                found[what][f"se of {way}"] = error if error is None else round(error, 4)
        out.append(found)
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--kinds", nargs="*", default=KINDS, choices=KINDS)
    parser.add_argument("--merge", type=Path, nargs="*", default=[], help="results of other runs to add")
    parser.add_argument("--out", default=ROOT / "benchmarks" / "results" / "movement_default.json", type=Path)
    given = parser.parse_args()
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], check=False, capture_output=True, text=True, cwd=ROOT
    ).stdout.strip()
    rows = [r for path in given.merge for r in json.loads(path.read_text("utf-8"))["rows"]]
    for kind in [None] if given.merge else given.kinds:
        rows += [] if kind is None else [draw(kind, seed) for seed in range(given.draws)]
        found = {"command": "python benchmarks/movement_default.py", "commit": commit}
        found |= {"kinds": summary(rows), "rows": rows}
        given.out.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
        print(found["kinds"][-1], flush=True)


if __name__ == "__main__":
    main()
