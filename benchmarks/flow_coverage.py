"""How often FlowModel's 90% intervals cover true flows and abundances, under noise of a known strength.

    python benchmarks/flow_coverage.py --rows laplace:0.3 poisson:1       # some minutes of one core
    python benchmarks/flow_coverage.py --merge PART ...                   # all parts as one file of results

A population of 2,400 moves over a grid of 16 places for six times by a movement of its own. Counts have noise whose
standard deviation is a share of the mean count (or Poisson noise); FlowModel gets the noise, and the movement or
nothing about it. Flows and abundances are grouped by their true size. With "changing", the movement is another at every
step, which FlowModel does not know; with "sampled", one in twenty moves was seen.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import warnings
from pathlib import Path
from time import process_time

import numpy as np

from sumwise.collective import FlowModel, Movement, Places
from sumwise.errors import DataError
from sumwise.noise import Gaussian, Laplace, Poisson

ROOT = Path(__file__).parents[1]
SIDE, TIMES, SIZE, LEVEL = 4, 6, 2400, 0.9
SAMPLED = 0.05
KNOWN = ("given", "learned", "changing", "sampled")
GROUPS = {"below 1": (0.0, 1.0), "1 to 10": (1.0, 10.0), "10 to 50": (10.0, 50.0), "50 or more": (50.0, np.inf)}


def population(rng, changing=False):
    """Places, the (first) movement of the individuals, and true flows (steps, places, places)."""
    x, y = (a.ravel().astype(float) for a in np.meshgrid(np.arange(SIDE), np.arange(SIDE)))
    places = Places(x=x, y=y)
    movement = Movement(float(rng.uniform(0.5, 2.5)), float(rng.uniform(0.5, 1.2)))
    chance = np.exp(movement.log_moves(places))
    here = rng.multinomial(SIZE, rng.dirichlet(np.full(len(x), 1.5)))
    flows = []
    for _ in range(TIMES - 1):
        if changing and flows:
            now = Movement(movement.stay + float(rng.normal(0.0, 0.3)), movement.scale * float(rng.uniform(0.75, 1.3)))
            chance = np.exp(now.log_moves(places))
        flows.append(np.stack([rng.multinomial(m, p / p.sum()) for m, p in zip(here, chance)]))
        here = flows[-1].sum(axis=0)
    return places, movement, np.stack(flows)


def noise_of(name, strength):
    """The noise of that strength, of the mean count."""
    sd = strength * SIZE / SIDE**2
    return {"gaussian": Gaussian(sd), "laplace": Laplace(sd / np.sqrt(2)), "poisson": Poisson()}[name]


def one(seed, noise, known):
    """Whether each asked function is covered: rows of (kind, true size, covered, width)."""
    rng = np.random.default_rng(seed)
    places, movement, flows = population(rng, known == "changing")
    n_places = len(places)
    nodes = np.concatenate([flows[:1].sum(axis=2), flows.sum(axis=1)])
    counts = noise.sample(nodes.astype(float), rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        moves = None
        if known == "sampled":
            moves = {(t, t + 1): (rng.poisson(SAMPLED * f), Poisson(SAMPLED)) for t, f in enumerate(flows)}
        model = FlowModel(places, movement if known == "given" else "auto", noise=noise).fit(counts, moves=moves)
        functions, truth = {}, []
        for t in range(TIMES):
            for k in rng.choice(n_places, 4, replace=False):
                functions[f"{t} at {k}"] = {model.times_[t]: np.eye(n_places)[k]}
                truth.append(("abundance", nodes[t, k]))
        for t in range(TIMES - 1):
            for i, j in zip(*np.divmod(rng.choice(n_places**2, 8, replace=False), n_places)):
                weights = np.zeros((n_places, n_places))
                weights[i, j] = 1.0
                functions[f"{t} from {i} to {j}"] = {(model.times_[t], model.times_[t + 1]): weights}
                truth.append(("flow" if i != j else "staying", flows[t, i, j]))
            if known == "sampled":  # sums have no intervals there
                continue
            half = (np.arange(n_places) % SIDE) < SIDE // 2
            functions[f"{t} across"] = {(model.times_[t], model.times_[t + 1]): np.outer(half, ~half) * 1.0}
            truth.append(("region", flows[t][half][:, ~half].sum()))
            functions[f"{t} staying"] = {(model.times_[t], model.times_[t + 1]): np.eye(n_places)}
            truth.append(("all staying", np.trace(flows[t])))
        found = model.interval(functions, level=LEVEL)
    return [(k, v, lo <= v <= hi, hi - lo) for (k, v), lo, hi in zip(truth, found.low, found.high, strict=True)]


def part(given):
    """Some rows, written as they come."""
    rows, began = [], process_time()
    for asked in given.rows:
        name, strength = asked.split(":")
        noise = noise_of(name, float(strength))
        for known in given.movement:
            each, refused = [], 0
            for seed in range(given.first, given.first + given.draws):
                try:
                    each.append(one(seed, noise, known))
                except DataError as error:
                    refused += 1
                    print(seed, error, flush=True)
                if len(each) % 20 == 19 or len(each) + refused == given.draws:
                    entry = {"noise": name, "strength": float(strength), "movement": known, "first seed": given.first}
                    entry |= {"simulations": len(each), "refused": refused} | summary(each)
                    found = {"cpu_s": round(process_time() - began, 1), "rows": [*rows, entry]}
                    given.out.write_text(json.dumps(found), "utf-8")
            rows.append(entry)
            print(json.dumps(rows[-1]), flush=True)


def summary(each):
    """Coverage by kind and true size, each simulation one draw for the standard error."""
    out = {}
    flat = [(s, *row) for s, rows in enumerate(each) for row in rows]
    for kind in ("abundance", "flow", "staying", "region", "all staying"):
        for group, (low, high) in {"all": (-1.0, np.inf), **GROUPS}.items():
            some = [(s, hit, width) for s, k, v, hit, width in flat if k == kind and low <= v < high]
            if len(some) < 50:
                continue
            hits = np.array([hit for _, hit, _ in some], dtype=float)
            by = np.array([s for s, _, _ in some])
            means = np.bincount(by, hits)[np.unique(by)] / np.bincount(by)[np.unique(by)]
            out[f"{kind}, {group}"] = {
                "covered": round(float(hits.mean()), 4),
                "se": round(float(means.std(ddof=1) / np.sqrt(len(means))), 4),
                "width": round(float(np.median([w for _, _, w in some])), 2),
                "n": len(some),
            }
    return out


def merge(paths):
    """All parts as one file; rows of the same kind from other seeds are one row."""
    read = [json.loads(p.read_text("utf-8")) for p in paths]
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], check=False, capture_output=True, text=True, cwd=ROOT
    ).stdout.strip()
    rows = {}
    for row in (row for r in read for row in r["rows"]):
        key = (row["noise"], row["strength"], KNOWN.index(row["movement"]))
        rows[key] = row if key not in rows else joined(rows[key], row)
    found = {"command": "python benchmarks/flow_coverage.py", "commit": commit, "level": LEVEL}
    apart = KNOWN.index("changing")  # the model's assumption does not hold: a table of its own
    found |= {"cpu_s": round(sum(r["cpu_s"] for r in read), 1)}
    found |= {"rows": [rows[k] for k in sorted(rows) if k[2] != apart]}
    found |= {"changing": [rows[k] for k in sorted(rows) if k[2] == apart]}
    (ROOT / "benchmarks" / "results" / "flow_coverage.json").write_text(json.dumps(found, indent=1) + "\n", "utf-8")


def joined(one, other):
    """Two rows as one; widths are means of medians."""
    out = {k: one[k] + other[k] if k in ("simulations", "refused") else v for k, v in one.items()}
    out["first seed"] = min(one["first seed"], other["first seed"])
    for k in one.keys() & other.keys():
        if isinstance(one[k], dict):
            n = np.array([one[k]["n"], other[k]["n"]])
            mean = {a: float(n @ [one[k][a], other[k][a]] / n.sum()) for a in ("covered", "width")}
            error = float(np.sqrt(((n / n.sum()) ** 2) @ np.square([one[k]["se"], other[k]["se"]])))
            out[k] = {"covered": round(mean["covered"], 4), "se": round(error, 4)}
            out[k] |= {"width": round(mean["width"], 2), "n": int(n.sum())}
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="*", default=["laplace:0.3"], help="noise:strength, of the mean count")
    parser.add_argument("--movement", nargs="*", default=["given", "learned"], choices=KNOWN)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "flow_coverage_part.json")
    parser.add_argument("--merge", type=Path, nargs="*")
    given = parser.parse_args()
    if given.merge:
        merge(given.merge)
    else:
        part(given)


if __name__ == "__main__":
    main()
