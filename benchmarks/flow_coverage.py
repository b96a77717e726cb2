"""Errors and coverage of FlowModel in simulated worlds whose individuals move in ways that it isn't told.

    python benchmarks/flow_coverage.py --draws 10            # some minutes of one core

A population of 3,000 moves over a grid of 16 places for ten times and is counted with Poisson noise. FlowModel learns
movement from the counts. Every world has populations of its own; "most likely" are the flows of `map_counts` under the
same mean movement, for comparison. Coverage is that of 90% intervals.

base         constant cost of leaving and scale of distance
varying      the same, and after every step 3% leave and as many enter; flows are of those who are there at both times
season       a wave of leaving, and a drift east and then west
cyclic       the same over a year of twelve times that repeats
two types    a third moves fast and east, two thirds hardly move
burst        nearly everybody stays but for two steps
attraction   places attract, with a standard deviation of one in log-probability
mask, effort, detection: the base world with closed places, effort between .3 and 1 (given), and effort estimated
"""

from __future__ import annotations

import argparse
import json
import subprocess
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from time import process_time

import numpy as np

from sumwise.flows import FlowModel, Places
from sumwise.flows.flow_problem import FlowProblem

ROOT = Path(__file__).parents[1]
SIDE, TIMES, SIZE, LEVEL = 4, 10, 3000, 0.9
WORLDS = ("base", "varying", "season", "cyclic", "two types", "burst", "attraction", "mask", "effort", "detection")
X, Y = (a.ravel().astype(float) for a in np.meshgrid(np.arange(SIDE), np.arange(SIDE)))
PLACES = Places(x=X, y=Y)
WEST = X < SIDE / 2


def moves(stay, scale, drift=0.0, pull=0.0, closed=None):
    """Probabilities of one step (L, L)."""
    scores = -stay * (1 - np.eye(len(X))) - PLACES.moves() / scale + drift * (X[None] - X[:, None]) + pull
    if closed is not None:
        scores = np.where(closed[None], -np.inf, scores)
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def steps_of(world, rng, n_steps):
    """Probabilities of every step of one or two types, and the types' shares."""
    stay, scale = rng.uniform(1.0, 2.5), rng.uniform(0.6, 1.2)
    phase = 2 * np.pi * np.arange(n_steps) / n_steps
    if world in ("season", "cyclic"):
        return [[moves(stay + 1.5 * np.cos(a), scale, 0.7 * np.sin(a)) for a in phase]], [1.0]
    if world == "two types":
        return [[moves(5.0, scale)] * n_steps, [moves(0.5, scale, 0.4)] * n_steps], [2 / 3, 1 / 3]
    if world == "burst":
        when = rng.choice(n_steps, 2, replace=False)
        return [[moves(0.0 if k in when else 4.0, scale) for k in range(n_steps)]], [1.0]
    if world == "attraction":
        return [[moves(stay, scale, pull=rng.normal(size=len(X))[None])] * n_steps], [1.0]
    return [[moves(stay, scale)] * n_steps], [1.0]


def population(world, rng):
    """True counts (T, L), flows (S, L, L) and the mask (T, L) or None."""
    times = 12 if world == "cyclic" else TIMES
    n_steps = times - (world != "cyclic")
    kinds, shares = steps_of(world, rng, n_steps)
    mask = None
    if world == "mask":
        mask = np.ones((times, len(X)), dtype=bool)
        mask[times // 3 : 2 * times // 3, -3:] = False
        kinds = [[moves(2.0, 1.0, closed=~mask[k + 1]) for k in range(n_steps)]]
    flows, first = np.zeros((n_steps, len(X), len(X))), rng.dirichlet(np.full(len(X), 1.5))
    counts = np.zeros((n_steps + 1, len(X)), dtype=int)
    for steps, share in zip(kinds, shares):
        start = first
        for _ in range(20 if world == "cyclic" else 0):  # a year that repeats itself
            for p in steps:
                start = start @ p
        present = rng.multinomial(round(share * SIZE), start)
        for k, p in enumerate(steps):
            counts[k] += present
            table = np.stack([rng.multinomial(m, q) for m, q in zip(present, p)])
            if world == "varying":  # those who leave before the next count are in no flow, and neither are who enter
                table = rng.binomial(table, 0.97)
            flows[k] += table
            present = table.sum(axis=0)
            if world == "varying":
                present = present + rng.multinomial(round(0.03 * SIZE), np.full(len(X), 1 / len(X)))
        counts[n_steps] += present
    return counts[:times], flows, mask


def asked(n_steps, cyclic):
    """Functions by kind: flows between halves, one flow, all who stay at a step, one place, and season sums."""
    n, out = len(X), {}
    east = np.outer(WEST, ~WEST).astype(float)
    for k in range(n_steps):
        key = (k, (k + 1) % n_steps if cyclic else k + 1)
        one = np.zeros((n, n))
        one[k % n, (k + 1) % n] = 1.0
        out["region", k], out["single", k], out["staying", k] = {key: east}, {key: one}, {key: np.eye(n)}
        out["place", k] = {k: np.eye(n)[k % n]}
    for name, table in (("season staying", np.eye(n)), ("season region", east)):
        out[name, 0] = {(k, (k + 1) % n_steps if cyclic else k + 1): table for k in range(n_steps)}
    return out


def value(parts, counts, flows):
    return sum(
        float((w * (flows[key[0]] if isinstance(key, tuple) else counts[key])).sum()) for key, w in parts.items()
    )


def one(world, seed):
    """Rows of (kind, error of the mean, error of the most likely flows, covered, width), probabilities and CPU time."""
    began = process_time()
    rng = np.random.default_rng(seed)
    counts, flows, mask = population(world, rng)
    effort = rng.uniform(0.3, 1.0, (len(counts), 1)) if world in ("effort", "detection") else np.ones((len(counts), 1))
    seen = rng.poisson(effort * counts).astype(float)
    model = FlowModel(
        PLACES,
        size=float(SIZE) if world in ("effort", "detection") else None,
        population="varying" if world == "varying" else "fixed",
        cyclic=world == "cyclic",
        detection="time" if world == "detection" else None,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(seen, mask=mask, effort=effort if world == "effort" else None)
        functions = asked(len(flows), world == "cyclic")
        found = model.interval({str(k): parts for k, parts in functions.items()}, LEVEL)
    problem: FlowProblem = model._problem()
    best = np.stack(problem.flows(problem.solve(model.movements_[0])))
    rows = []
    for k, ((kind, _), parts) in enumerate(functions.items()):
        truth = value(parts, counts, flows)
        likely = value(parts, counts, best)
        covered = found.low[k] <= truth <= found.high[k]
        rows.append((kind, abs(found.values[k] - truth), abs(likely - truth), covered, found.high[k] - found.low[k]))
    return rows, model.scores_, process_time() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", nargs="+", default=WORLDS, choices=WORLDS)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--add", action="store_true", help="keep the other worlds of the file")
    parser.add_argument("--out", default=ROOT / "benchmarks" / "results" / "flow_coverage.json", type=Path)
    given = parser.parse_args()
    seconds, out = 0.0, {}
    for world in given.worlds:
        with ProcessPoolExecutor(given.processes) as pool:
            made = list(pool.map(partial(one, world), range(given.first, given.first + given.draws)))
        rows = [row for part, *_ in made for row in part]
        seconds += sum(cpu for *_, cpu in made)
        kinds, weights = {}, {}
        for kind in dict.fromkeys(row[0] for row in rows):
            own = np.array([row[1:] for row in rows if row[0] == kind], dtype=float)
            names = ("error", "error of the most likely flows", "covered", "width")
            kinds[kind] = dict(zip(names, own.mean(axis=0).round(3).tolist()))
        for _, scores, _ in made:
            for name, p in zip(scores["movement"], scores["probability"]):
                weights[name] = round(weights.get(name, 0.0) + p / given.draws, 3)
        out[world] = {**kinds, "movement": weights, "populations": given.draws, "first seed": given.first}
        print(world, json.dumps(out[world]), flush=True)
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], check=False, capture_output=True, text=True, cwd=ROOT
    ).stdout.strip()
    found = {
        "command": f"python benchmarks/flow_coverage.py --draws {given.draws} --first {given.first}",
        "commit": commit,
        "cpu_s": round(seconds, 1),
        "level": LEVEL,
        "populations": given.draws,
        "individuals": SIZE,
        "worlds": out,
    }
    if given.add:
        before = json.loads(given.out.read_text("utf-8"))
        found["worlds"] = before["worlds"] | out
        found["cpu_s"] = round(found["cpu_s"] + before["cpu_s"], 1)
    given.out.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
