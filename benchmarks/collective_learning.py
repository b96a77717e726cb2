"""Sampling and learning in collective models: Sun (2019), Table 2.1 and Figures 2.4 d-e and 2.6 to 2.9.

    python benchmarks/collective_learning.py                      # all parts
    python benchmarks/collective_learning.py --parts learning     # one part of those below
    python benchmarks/collective_learning.py --quick              # smaller grids, fewer steps, files of their own

Parts: `gibbs` (Table 2.1: time for a sampler to be as near to E[n | y] as the most likely counts are), `learning`
(Figures 2.4 d-e: four weights from three years), `esteps` (Figures 2.6, 2.7: every E step, and why dual averaging ends
worse at large weights), `rare` and `plugin` (what most likely counts in place of means do to rare moves),
`mobility` (Figure 2.8: 15 x 14 cells, a million people, noisy moves or noisy places), `scatter` (Figure 2.9),
`sensitivity` (coarse grids, two species, flocks, small populations), `coverage` (intervals of flows), `smoothing`
(intervals of smoothed counts).

Times are CPU seconds of one thread. Rivals of the dual are stopped after LIMIT of them (column "stopped by time").
Seeds from 1000 on were used for nothing else. Every row is written to benchmarks/results/collective_learning.json as
soon as it is there (a row of an earlier run with the same settings is replaced), and with matplotlib every figure
becomes a PNG beside it.
"""

# ruff: noqa: E402  (threads are fixed before NumPy is loaded)
from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import argparse
import json
from itertools import product
from pathlib import Path

import numpy as np
from collective_parts.birds import LARGE, SEED, SMALL, flat, learn, timed, years_of
from collective_parts.plugin import plugin, rare
from collective_parts.printing import show
from collective_parts.sensitivity import sensitivity
from collective_parts.smooth_coverage import smooth_coverage
from run_record import run_record

from sumwise import synthetic
from sumwise.collective import CollectiveEM, FreeTables, TreeModel, count_intervals, map_counts, sample_counts

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
LIMIT = 20.0  # CPU seconds for a rival of the dual
GRADIENT = ("nlbp", "nlbp-naive", "rda", "rda-tuned", "accelerated-rda", "mirror")
E_STEPS = ("dual", *GRADIENT, "gaussian", "generic", "gibbs")
FIGURE = ((6, SMALL), (10, LARGE))  # the panels of Figure 2.4 d-e
BEFORE = "4ab3c25e or before"  # of rows that name no commit: it stored the last of them
PAPER = {9: (0.9, 161.8), 16: (1.9, 251.6), 25: (3.4, 354.0), 36: (9.7, 768.1), 49: (17.2, 1115.5)}


def part_gibbs(given):
    """Seconds until sampled means are as near to a long run's as the most likely counts are (Table 2.1)."""
    draws = 300 if given.quick else 1000
    for weights in (w for w in (LARGE, SMALL) if not given.weights or w[0] in given.weights):
        for side, seed in product(given.sides or ((3, 4) if given.quick else (3, 4, 5, 6, 7)), given.seeds):
            season = synthetic.birds(side, 20, 1000, weights=weights, random_state=seed)
            model = TreeModel(season.domain, season.edges, season.log_potentials)
            timed(sample_counts, model, season.tables, draws=4, burn_in=1, random_state=0)  # compiles
            fit, map_seconds = timed(map_counts, model, season.tables)
            reference, _ = timed(sample_counts, model, season.tables, draws=draws, random_state=SEED)
            mean = flat(reference.mean, season.edges)
            noise = flat(reference.sd, season.edges) / np.sqrt(flat(reference.effective_size, season.edges))
            total = mean.sum()
            error = float(np.abs(flat(fit, season.edges) - mean).sum() / total)
            row = {"weights": weights[0], "L": side * side, "seed": seed, "MAP s": map_seconds, "MAP error": error}
            theirs = PAPER[side * side][1]
            row |= {"error of the reference": float(0.8 * noise.sum() / total), "papers' Gibbs s": theirs}
            yield row | _until(model, season, mean, error, theirs * given.budget)


def _until(model, season, mean, error, budget):
    """Double the draws of a fresh chain until its mean is as near as `error`."""
    draws = 16
    while True:
        options = {"draws": draws, "n_chains": 1, "burn_in": 20, "random_state": SEED + 1}
        sample, seconds = timed(sample_counts, model, season.tables, **options)
        reached = float(np.abs(flat(sample.mean, season.edges) - mean).sum() / mean.sum())
        if reached <= error or seconds > budget:
            return {"Gibbs s": seconds, "Gibbs error": reached, "draws": draws, "reached": reached <= error}
        draws *= 2


def part_learning(given):
    """Relative error of four weights from three years (Figures 2.4 d-e): the dual, and the papers' E steps."""
    cases = [(6, SMALL), (6, LARGE)] if given.quick else [(6, SMALL), (6, LARGE), (10, SMALL), (10, LARGE)]
    for side, weights in cases:
        if side not in (given.sides or [side]) or weights[0] not in (given.weights or [weights[0]]):
            continue
        here = {"side": side, "weights": weights[0]}
        for seed in given.seeds if not given.steps else ():
            years = years_of(side, weights, seed)
            row = learn(years, weights, 10 * LIMIT, max_iter=60)
            yield {**here, "seed": seed, "E step": "dual", **row}
        drawn = ("nlbp", "nlbp-naive", "gaussian", "generic") if (side, weights) in FIGURE else ()
        for step, seed in product(given.steps or drawn, given.seeds):
            years = years_of(side, weights, seed)
            row = learn(years, weights, given.limit, e_step=step, max_iter=60, accelerate=False, e_tol=1e-4)
            yield {**here, "seed": seed, "E step": step, **row}


def part_esteps(given):
    """Every E step for 40 iterations (Figures 2.6, 2.7), and how far each is from the best tables."""
    for side in given.sides or ((4,) if given.quick else (4, 9)):
        for weights, seed in product((SMALL, LARGE), given.seeds):
            if given.weights and weights[0] not in given.weights:
                continue
            years = years_of(side, weights, seed)
            models = [TreeModel(y.domain, y.edges, y.log_potentials) for y in years]
            best = [timed(map_counts, m, y.tables, tol=1e-9)[0].objective for m, y in zip(models, years)]
            for step in given.steps or E_STEPS:
                options = {"e_step": step, "max_iter": 10 if given.quick else 40, "accelerate": False, "e_tol": 1e-4}
                if step not in ("dual", "gaussian", "gibbs"):
                    options["e_iter"] = 50  # as an impatient user would
                options |= {"draws": 20, "random_state": 0} if step == "gibbs" else {}
                row = {"side": side, "weights": weights[0], "seed": seed, "E step": step}
                row |= learn(years, weights, given.limit, **options)
                if step not in ("gaussian", "generic", "gibbs"):
                    short = [timed(map_counts, m, y.tables, method=step, max_iter=50)[0] for m, y in zip(models, years)]
                    row["E excess, 50 steps"] = float(np.mean([f.objective - b for f, b in zip(short, best)]))
                yield row
    years = [synthetic.birds(2, 4, 1000, weights=SMALL, random_state=SEED + y) for y in range(3)]
    for step in ("dual", "generic") if not given.steps else ():  # small enough for the general solver to end
        yield {"side": 2, "weights": 0.5, "E step": step, **learn(years, SMALL, 10 * LIMIT, e_step=step, max_iter=15)}


def part_plugin(given):
    """Most likely counts against means in the E step, where a weight hangs on rare flights."""
    yield from plugin(given.quick)


def part_rare(given):
    """The same with one cell, in numbers."""
    yield from rare(given.quick)


def maes(em, morning, theta):
    """Pairwise and node MAE of a model's marginals."""
    found = em.model(theta=theta).marginals()
    pairs = [np.abs(found.edges[e] - morning.edge_marginals[k]).mean() for k, e in enumerate(morning.edges)]
    nodes = [np.abs(found.nodes[a] - morning.node_marginals[k]).mean() for k, a in enumerate(morning.domain)]
    return float(np.mean(pairs)), float(np.mean(nodes))


def part_mobility(given):
    """Pairwise and node MAE against the noise, from moves and from places (Figure 2.8)."""
    size = ((5, 5), 6, 30_000) if given.quick else ((15, 14), 10, 1_000_000)
    for b in given.scales or ((10.0, 50.0) if given.quick else (1.0, 10.0, 50.0)):
        morning = synthetic.mobility(*size, scale=b, random_state=SEED)
        for kind in given.observations:
            tables = morning.edge_tables if kind == "moves" else morning.node_tables
            steps = 20 if given.quick else given.iterations
            em = CollectiveEM(FreeTables(), max_iter=steps, tol=1e-9, random_state=0, verbose=given.verbose)
            em, seconds = timed(em.fit, tables)
            pair, node = maes(em, morning, em.theta_)
            rose = bool((np.diff(em.fit_.history["objective"]) > 0).any())
            row = {"b": b, "observations": kind, "cpu s": seconds, "iterations": em.fit_.n_iter, "F rose": rose}
            row |= {"pairwise MAE": pair, "node MAE": node}
            if em.baseline_ is not None:
                row["baseline pairwise"], row["baseline node"] = maes(em, morning, em.baseline_)
            yield row


def part_scatter(given):
    """How near reconstructed moves are to the true ones, after one iteration and at the end (Figure 2.9).

    The map is half as wide as the large one, and so are homes, works and moves: with the large one's spreads people
    would be nearly everywhere, 13 per move and noise of 71, of which nothing can be learned.
    """
    spreads = {"home_spread": 1.0, "work_spread": 1.0, "move_spread": 0.75}
    morning = synthetic.mobility((4, 7), 5, 10_000, scale=50.0, **spreads, random_state=SEED)
    truth = np.concatenate([morning.edge_counts[e].ravel() for e in morning.edges])
    found = {"noisy": np.concatenate([t.counts.ravel() for t in morning.edge_tables])}
    for name, steps in (("after 1 iteration", 1), ("at the end", 30 if given.quick else 250)):
        em, _ = timed(CollectiveEM(FreeTables(), max_iter=steps).fit, morning.edge_tables)
        found[name] = np.concatenate([em.edges_[0][e].ravel() for e in morning.edges])
    shown = np.argsort(truth, kind="stable")[:: len(truth) // 300]  # as many as a figure holds, of all sizes
    for name, x in found.items():
        row = {"counts": name, "mean error": float(np.abs(x - truth).mean()), "least": float(x.min())}
        points = [[float(truth[k]), round(float(x[k]), 1)] for k in shown]
        yield row | {"correlation": float(np.corrcoef(x, truth)[0, 1]), "points": points}


def part_sensitivity(given):
    """What happens where the model is wrong or the population small (discussed in section 1.1)."""
    yield from sensitivity(given.quick)


def part_coverage(given):
    """How often true flows lie in their intervals."""
    for weights in (SMALL, LARGE):
        for n in (100, 1000):
            hits = {0.8: [], 0.95: []}
            for seed in range(10 if given.quick else 60):
                season = synthetic.birds(5, 8, n, weights=weights, random_state=SEED + seed)
                model = TreeModel(season.domain, season.edges, season.log_potentials)
                north = season.positions[:, 1] >= 2
                flows = {e[0]: {e: np.outer(~north, north)} for e in season.edges}
                for level, hit in hits.items():
                    found, _ = timed(count_intervals, model, season.tables, flows, level=level)
                    truth = [season.edge_counts[e][np.outer(~north, north)].sum() for e in season.edges]
                    busy = found.values > 0.5
                    inside = (found.low - 0.5 <= truth) & (truth <= found.high + 0.5)
                    hit.extend(inside[busy].tolist())
            row = {"weights": weights[0], "M": n, "flows": len(hits[0.8])}
            yield {**row, **{f"in {100 * level:.0f}%": float(np.mean(v)) for level, v in hits.items()}}


def part_smoothing(given):
    """How often true counts lie in the intervals of smoothed ones."""
    yield from smooth_coverage(given.quick)


# Per part: its function, what tells its rows apart, its title.
PARTS = {
    "gibbs": (part_gibbs, ("weights", "L", "seed"), "sampling until it is as near as MAP (T = 20, M = 1000)"),
    "learning": (part_learning, ("side", "weights", "seed", "E step"), "weights from three years (T = 20, M = 1000)"),
    "esteps": (part_esteps, ("side", "weights", "seed", "E step"), "every E step, three years"),
    "rare": (part_rare, ("expected",), "cells with few expected, learned by most likely counts and by means"),
    "plugin": (part_plugin, ("side", "seed", "weights"), "most likely counts or means, weights (5, 10, 10, 10)"),
    "mobility": (part_mobility, ("b", "observations"), "mobility: errors of the marginals"),
    "scatter": (part_scatter, ("counts",), "reconstructed moves, 4 x 7, T = 5, M = 10,000, b = 50"),
    "sensitivity": (part_sensitivity, ("case",), "sensitivity, 6 x 6, T = 12, M = 1000, weights (0.5, 1, 1, 1)"),
    "coverage": (part_coverage, ("weights", "M"), "coverage of flows between two halves of the map (5 x 5, T = 8)"),
    "smoothing": (part_smoothing, ("birds",), "smoothed counts, 12 weeks, two of them missing"),
}


def over_seeds(rows, same, names):
    """Means over seeds of rows that agree in `same`, with standard errors and the number of draws."""
    groups = {}
    for row in rows:
        groups.setdefault(tuple(row[k] for k in same), []).append(row)
    out = []
    for key, each in groups.items():
        row = {**dict(zip(same, key)), "seeds": len(each)}
        for name in names:
            values = [r[name] for r in each if r.get(name) is not None]
            row[name] = float(np.mean(values)) if values else None
            row[f"{name} error"] = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None
        out.append(row)
    return out


SUMMARIES = {
    "gibbs": (
        ("weights", "L"),
        ("MAP s", "MAP error", "Gibbs s", "Gibbs error", "draws", "reached", "error of the reference", "ratio"),
    ),
    "learning": (("side", "weights", "E step"), ("relative error", "cpu s", "iterations", "stopped by time")),
    "esteps": (
        ("side", "weights", "E step"),
        ("relative error", "cpu s", "iterations", "stopped by time", "E excess, 50 steps"),
    ),
}


def summarise(path):
    """Write means over seeds beside the rows."""
    held = json.loads(path.read_text())
    for name in (n for n in PARTS if n in held):
        commits = sorted({r.get("commit", BEFORE) for r in held[name]})
        made = {"command": f"python benchmarks/collective_learning.py {name}", "commit": ", ".join(commits)}
        held.setdefault("runs", {})[name] = made
    for row in held.get("gibbs", []):
        row |= {"ratio": row["Gibbs s"] / row["MAP s"], "reached": row["Gibbs error"] <= row["MAP error"]}
        theirs = {v[1]: v for v in PAPER.values()}[row["papers' Gibbs s"]]
        row["papers' ratio"] = theirs[1] / theirs[0]
    for name, (same, names) in SUMMARIES.items():
        if name in held:
            rows = over_seeds(held[name], same, names)
            theirs = {n: b / a for n, (a, b) in PAPER.items()}
            held[f"{name} means"] = [r | ({"papers' ratio": theirs[r["L"]]} if "L" in r else {}) for r in rows]
    path.write_text(json.dumps(held, indent=1, default=float))


def keep(path, name, row, same):
    """Write a row into the file, in place of one with the same settings; returns all rows of the part."""
    held = json.loads(path.read_text()) if path.exists() else {}
    rows, key = held.setdefault(name, []), [row.get(k) for k in same]
    at = next((i for i, r in enumerate(rows) if [r.get(k) for k in same] == key), len(rows))
    rows[at : at + 1] = [row]
    path.write_text(json.dumps(held, indent=1, default=float))
    return held[name]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", nargs="*", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--sides", nargs="*", type=int, help="sides of the grids of gibbs, learning, esteps")
    parser.add_argument("--weights", nargs="*", type=float, help="5 (large), 0.5 (small); of gibbs, learning, esteps")
    parser.add_argument("--seeds", nargs="*", type=int, default=[SEED], help="of gibbs, learning, esteps")
    parser.add_argument("--budget", type=float, default=0.1, help="of gibbs: stop after this part of the paper's time")
    parser.add_argument("--limit", type=float, default=LIMIT, help="CPU seconds for a rival of the dual")
    parser.add_argument("--results", type=Path, help="file of results in place of the committed one")
    parser.add_argument("--merge", type=Path, nargs="*", default=[], help="files of other machines; measures nothing")
    parser.add_argument("--steps", nargs="*", choices=E_STEPS, help="E steps of esteps, rivals of learning")
    parser.add_argument("--scales", nargs="*", type=float, help="noise scales of mobility")
    parser.add_argument("--observations", nargs="*", choices=["moves", "places"], default=["moves", "places"])
    parser.add_argument("--iterations", type=int, default=250, help="EM iterations of mobility")
    given = parser.parse_args()
    given.folder = RESULTS / "quick" if given.quick else RESULTS
    given.folder.mkdir(parents=True, exist_ok=True)
    path = given.results or given.folder / "collective_learning.json"
    for name in given.parts if not given.merge else ():
        part, same, title = PARTS[name]
        rows = []
        for row in part(given):
            told = (
                f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}"
                for k, v in row.items()
                if k not in ("course", "points")
            )
            print("; ".join(told), flush=True)
            rows = keep(path, name, row | {"commit": run_record()["commit"]}, same)
        show(title, rows)
    for other in given.merge:
        for name, (_, same, _) in PARTS.items():
            for row in json.loads(other.read_text()).get(name, []):
                keep(path, name, row, same)
    summarise(path)
    print(f"\nwrote {path}")


if __name__ == "__main__":
    main()
