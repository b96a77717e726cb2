"""Sampling and learning in collective models: Sun (2019), Table 2.1 and Figures 2.4 d-e and 2.6 to 2.9.

    python benchmarks/collective_learning.py                      # all parts
    python benchmarks/collective_learning.py --parts learning     # one part of those below
    python benchmarks/collective_learning.py --quick              # smaller grids, fewer steps

Parts: `gibbs` (Table 2.1: time for a sampler to be as near to E[n | y] as the most likely counts are), `learning`
(Figures 2.4 d-e: four weights from three years), `esteps` (Figures 2.6, 2.7: every E step, and why dual averaging ends
worse at large weights), `mobility` (Figure 2.8: 15 x 14 cells, a million people, noisy moves or noisy places),
`scatter` (Figure 2.9), `sensitivity` (coarse grids, two species, flocks, small populations), `coverage` (intervals of
flows).

Times are CPU seconds of one thread. Seeds from 1000 on were used for nothing else. Writes
benchmarks/results/collective_learning.json after every part and, with matplotlib, a PNG for `mobility` and `scatter`.
"""

# ruff: noqa: E402  (threads are fixed before NumPy is loaded)
from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np

from sumwise import Domain, Table, Tables, synthetic
from sumwise.collective import (
    CollectiveEM,
    FreeTables,
    LogLinear,
    TreeModel,
    count_intervals,
    map_counts,
    sample_counts,
)
from sumwise.noise import Poisson

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
SEED = 1000
LARGE, SMALL = (5.0, 10.0, 10.0, 10.0), (0.5, 1.0, 1.0, 1.0)
PAPER = {9: (0.9, 161.8), 16: (1.9, 251.6), 25: (3.4, 354.0), 36: (9.7, 768.1), 49: (17.2, 1115.5)}


def show(title, rows):
    """Print rows of a table."""
    print(f"\n== {title}")
    keys = list(dict.fromkeys(k for row in rows for k in row))
    text = [[_cell(row.get(k)) for k in keys] for row in rows]
    width = [max(len(k), *(len(r[i]) for r in text)) for i, k in enumerate(keys)]
    for line in [keys, *text]:
        print("  ".join(x.rjust(w) for x, w in zip(line, width)), flush=True)
    return rows


def _cell(x):
    if x is None:
        return "-"
    return f"{x:.4g}" if isinstance(x, float) else str(x)


def timed(function, *args, **options):
    """What a function returns, and its CPU seconds; warnings of convergence are in the results."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = function(*args, **options)
    return out, time.process_time() - start


def flat(counts, edges):
    """All edge tables as one vector."""
    return np.concatenate([np.asarray(counts.edges[e]).ravel() for e in edges])


def years_of(side, weights, seed, n=1000, n_years=3, steps=20):
    return [synthetic.birds(side, steps, n, weights=weights, random_state=seed + y) for y in range(n_years)]


def learner(years, **options):
    return CollectiveEM(LogLinear([y.features for y in years], start=years[0].log_potentials["t0"]), **options)


def off(weights, truth):
    """The papers' relative error of the weights."""
    truth = np.asarray(truth)
    return float(np.abs(weights - truth).sum() / np.abs(truth).sum())


# --- parts ------------------------------------------------------------------------------------------


def part_gibbs(quick):
    """Seconds until sampled means are as near to a long run's as the most likely counts are (Table 2.1)."""
    rows = []
    draws = 300 if quick else 3000
    for weights in (LARGE, SMALL):
        for side in (3, 4) if quick else (3, 4, 5, 6, 7):
            season = synthetic.birds(side, 20, 1000, weights=weights, random_state=SEED)
            model = TreeModel(season.domain, season.edges, season.log_potentials)
            timed(sample_counts, model, season.tables, draws=4, burn_in=1, random_state=0)  # compiles
            fit, map_seconds = timed(map_counts, model, season.tables)
            reference, _ = timed(sample_counts, model, season.tables, draws=draws, random_state=SEED)
            mean = flat(reference.mean, season.edges)
            noise = flat(reference.sd, season.edges) / np.sqrt(flat(reference.effective_size, season.edges))
            total = mean.sum()
            error = float(np.abs(flat(fit, season.edges) - mean).sum() / total)
            paper = PAPER[side * side]
            row = {"weights": str(weights[0]), "L": side * side, "MAP s": map_seconds, "MAP error": error}
            row |= {"error of the reference": float(0.8 * noise.sum() / total), "papers' Gibbs s": paper[1]}
            rows.append({**row, **_until(model, season, mean, error, paper[1] / 10)})
    return show("sampling until it is as near as MAP (T = 20, M = 1000)", rows)


def _until(model, season, mean, error, budget):
    """Double the draws of a fresh chain until its mean is as near as `error`."""
    draws, spent = 16, 0.0
    while True:
        options = {"draws": draws, "n_chains": 1, "burn_in": 20, "random_state": SEED + 1}
        sample, seconds = timed(sample_counts, model, season.tables, **options)
        reached = float(np.abs(flat(sample.mean, season.edges) - mean).sum() / mean.sum())
        spent = seconds
        if reached <= error or seconds > budget:
            return {"Gibbs s": spent, "Gibbs error": reached, "draws": draws, "a tenth": budget}
        draws *= 2


def part_learning(quick):
    """Relative error of four weights from three years (Figures 2.4 d-e)."""
    rows = []
    cases = [(6, SMALL), (6, LARGE), (10, SMALL), (10, LARGE)]
    for side, weights in cases[:2] if quick else cases:
        for seed in range(1 if quick else 3):
            years = years_of(side, weights, SEED + 10 * seed)
            em, seconds = timed(learner(years, max_iter=60).fit, [y.tables for y in years])
            rises = np.diff(em.fit_.history["objective"])
            row = {"side": side, "weights": str(weights[0]), "seed": SEED + 10 * seed, "cpu s": seconds}
            row |= {"iterations": em.fit_.n_iter, "converged": em.fit_.converged, "relative error": None}
            row["relative error"] = off(em.weights_, weights)
            row |= {"of the first three": off(em.weights_[:3], weights[:3]), "F rose": bool((rises > 0).any())}
            rows.append(row)
    return show("learning four weights from three years (T = 20, M = 1000)", rows)


def part_esteps(quick):
    """Every E step for 40 iterations (Figures 2.6, 2.7), and how far each is from the best tables."""
    rows = []
    steps = ("dual", "nlbp", "nlbp-naive", "accelerated-rda", "mirror", "gaussian")
    cases = [(4, SMALL), (4, LARGE)] if quick else [(4, SMALL), (4, LARGE), (9, SMALL), (9, LARGE)]
    for side, weights in cases:
        years = years_of(side, weights, SEED)
        tables = [y.tables for y in years]
        models = [TreeModel(y.domain, y.edges, y.log_potentials) for y in years]
        best = [timed(map_counts, m, t, tol=1e-9)[0].objective for m, t in zip(models, tables)]
        for step in steps:
            options = {"e_step": step, "max_iter": 10 if quick else 40, "accelerate": False, "e_tol": 1e-4}
            options["e_iter"] = None if step in ("dual", "gaussian") else 50  # as an impatient user would
            em, seconds = timed(learner(years, **options).fit, tables)
            row = {"side": side, "weights": str(weights[0]), "E step": step, "cpu s": seconds}
            row |= {"relative error": off(em.weights_, weights), "F": em.fit_.objective, "iterations": em.fit_.n_iter}
            if step != "gaussian":
                short = [timed(map_counts, m, t, method=step, max_iter=50)[0] for m, t in zip(models, tables)]
                row["E excess, 50 steps"] = float(np.mean([f.objective - b for f, b in zip(short, best)]))
            rows.append(row)
    if not quick:
        years = [synthetic.birds(2, 4, 1000, weights=SMALL, random_state=SEED + y) for y in range(3)]
        for step in ("dual", "generic"):
            em, seconds = timed(learner(years, e_step=step, max_iter=15).fit, [y.tables for y in years])
            row = {"side": 2, "weights": "0.5", "E step": step, "cpu s": seconds, "F": em.fit_.objective}
            rows.append({**row, "relative error": off(em.weights_, SMALL), "iterations": em.fit_.n_iter})
    return show("every E step, three years", rows)


def maes(em, morning, theta):
    """Pairwise and node MAE of a model's marginals."""
    found = em.model(theta=theta).marginals()
    pairs = [np.abs(found.edges[e] - morning.edge_marginals[k]).mean() for k, e in enumerate(morning.edges)]
    nodes = [np.abs(found.nodes[a] - morning.node_marginals[k]).mean() for k, a in enumerate(morning.domain)]
    return float(np.mean(pairs)), float(np.mean(nodes))


def part_mobility(quick, scales=None, iterations=250):
    """Pairwise and node MAE against the noise, from moves and from places (Figure 2.8)."""
    rows = []
    size = ((5, 5), 6, 30_000) if quick else ((15, 14), 10, 1_000_000)
    for b in scales or ((10.0, 50.0) if quick else (1.0, 10.0, 50.0)):
        morning = synthetic.mobility(*size, scale=b, random_state=SEED)
        for kind, tables in (("moves", morning.edge_tables), ("places", morning.node_tables)):
            em = CollectiveEM(FreeTables(), max_iter=20 if quick else iterations, tol=1e-9, random_state=0)
            em, seconds = timed(em.fit, tables)
            pair, node = maes(em, morning, em.theta_)
            row = {"b": b, "evidence": kind, "cpu s": seconds, "iterations": em.fit_.n_iter}
            row |= {
                "pairwise MAE": pair,
                "node MAE": node,
                "F rose": bool((np.diff(em.fit_.history["objective"]) > 0).any()),
            }
            if em.baseline_ is not None:
                row["baseline pairwise"], row["baseline node"] = maes(em, morning, em.baseline_)
            rows.append(row)
            print(row, flush=True)
    draw_mobility(rows)
    return show("mobility: errors of the marginals", rows)


def part_scatter(quick):
    """How near reconstructed moves are to the true ones, after one iteration and at the end (Figure 2.9)."""
    morning = synthetic.mobility((4, 7), 5, 10_000, scale=50.0, random_state=SEED)
    truth = np.concatenate([morning.edge_counts[e].ravel() for e in morning.edges])
    found = {"noisy": np.concatenate([t.counts.ravel() for t in morning.edge_tables])}
    for name, steps in (("after 1 iteration", 1), ("at the end", 30 if quick else 250)):
        em, _ = timed(CollectiveEM(FreeTables(), max_iter=steps).fit, morning.edge_tables)
        found[name] = np.concatenate([em.edges_[0][e].ravel() for e in morning.edges])
    rows = [
        {"counts": name, "mean error": float(np.abs(x - truth).mean()), "least": float(x.min())}
        for name, x in found.items()
    ]
    draw_scatter(truth, found)
    return show("reconstructed moves, 4 x 7, T = 5, M = 10,000, b = 50", rows)


def part_sensitivity(quick):
    """What happens where the model is wrong or the population small (discussed in section 1.1)."""
    rows = []
    years = years_of(6, SMALL, SEED, steps=12)
    em, _ = timed(learner(years, max_iter=60).fit, [y.tables for y in years])
    rows.append({"case": "as the model says", "relative error": off(em.weights_, SMALL)})
    rows += [_coarse(years), _two_species()]
    rows += [_flocks(size) for size in (2, 10)]
    for n in (20, 100, 10_000):
        small = years_of(6, SMALL, SEED, n=n, steps=12)
        em, _ = timed(learner(small, max_iter=60).fit, [y.tables for y in small])
        rows.append({"case": f"M = {n}", "relative error": off(em.weights_, SMALL)})
    return show("sensitivity, 6 x 6, T = 12, M = 1000, three years, weights (0.5, 1, 1, 1)", rows)


def _coarse(years):
    """The same counts in blocks of 2 x 2 cells; distances in widths of the fine cells."""
    fine, coarse = synthetic.birds(6, 12, 10, random_state=0), synthetic.birds(3, 12, 10, random_state=0)
    row, col = np.divmod(np.arange(36), 6)
    block = (row // 2) * 3 + col // 2
    tables, features = [], []
    for year in years:
        domain = Domain(dict.fromkeys(year.domain, 9))
        seen = [Table(t.attributes, np.bincount(block, t.counts, 9), noise=Poisson()) for t in year.tables]
        tables.append(Tables(seen, domain, n=1000))
        f = np.array(synthetic.birds(3, 12, 10, wind=year.wind, random_state=0).features)
        f[..., 0] *= 2.0
        features.append(f)
    start = np.log(np.bincount(block, np.exp(years[0].log_potentials["t0"]), 9))
    em, _ = timed(CollectiveEM(LogLinear(features, start=start), max_iter=60).fit, tables)
    assert fine.positions.shape[0] == 4 * coarse.positions.shape[0]
    return {"case": "grid of 3 x 3 blocks", "relative error": off(em.weights_, SMALL)}


def _two_species():
    """Two species in equal parts, one twice as decided as the other; errors against their mean weights."""
    tables, features = [], []
    for y in range(3):
        one = synthetic.birds(6, 12, 500, weights=SMALL, random_state=SEED + y)
        two = synthetic.birds(6, 12, 500, weights=2 * np.array(SMALL), wind=one.wind, random_state=SEED + 50 + y)
        seen = [Table(a.attributes, a.counts + b.counts, noise=Poisson()) for a, b in zip(one.tables, two.tables)]
        tables.append(Tables(seen, one.domain, n=1000))
        features.append(one.features)
    em, _ = timed(CollectiveEM(LogLinear(features, start=one.log_potentials["t0"]), max_iter=60).fit, tables)
    return {"case": "two species (against the mean)", "relative error": off(em.weights_, 1.5 * np.array(SMALL))}


def _flocks(size):
    """Birds that fly in flocks: 1000 / size independent movers, each counted `size` times."""
    years = years_of(6, SMALL, SEED, n=1000 // size, steps=12)
    rng = np.random.default_rng(SEED)
    tables = []
    for year in years:
        seen = [Table(a, rng.poisson(size * year.nodes[a]), noise=Poisson()) for a in year.domain]
        tables.append(Tables(seen, year.domain, n=1000))
    em, _ = timed(learner(years, max_iter=60).fit, tables)
    return {"case": f"flocks of {size}", "relative error": off(em.weights_, SMALL)}


def part_coverage(quick):
    """How often true flows lie in their intervals."""
    rows = []
    for weights in (SMALL, LARGE):
        for n in (100, 1000):
            hits = {0.8: [], 0.95: []}
            for seed in range(10 if quick else 60):
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
            row = {"weights": str(weights[0]), "M": n, "flows": len(hits[0.8])}
            rows.append({**row, **{f"in {100 * level:.0f}%": float(np.mean(v)) for level, v in hits.items()}})
    return show("coverage of flows between two halves of the map (5 x 5, T = 8)", rows)


# --- figures ----------------------------------------------------------------------------------------


def figure(n):
    """Axes, or None without matplotlib."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        return None, None
    return plt.subplots(1, n, figsize=(4.5 * n, 4), squeeze=False)


def draw_mobility(rows):
    drawn, axes = figure(2)
    if drawn is None:
        return
    for ax, name in zip(axes[0], ("pairwise", "node")):
        for kind, marker in (("moves", "o"), ("places", "s")):
            part = [r for r in rows if r["evidence"] == kind]
            ax.loglog([r["b"] for r in part], [r[f"{name} MAE"] for r in part], marker=marker, label=f"EM from {kind}")
        part = [r for r in rows if f"baseline {name}" in r]
        ax.loglog([r["b"] for r in part], [r[f"baseline {name}"] for r in part], marker="^", label="ignoring the noise")
        ax.set(xlabel="scale of the noise", ylabel=f"{name} MAE")
        ax.legend()
    RESULTS.mkdir(exist_ok=True)
    drawn.savefig(RESULTS / "collective_learning_mobility.png", dpi=120)


def draw_scatter(truth, found):
    drawn, axes = figure(len(found))
    if drawn is None:
        return
    for ax, (name, x) in zip(axes[0], found.items()):
        ax.plot(truth, x, ".", markersize=2)
        ax.axline((0, 0), slope=1, color="0.6", linewidth=0.8)
        ax.set(xlabel="true count", ylabel="count", title=name)
    RESULTS.mkdir(exist_ok=True)
    drawn.savefig(RESULTS / "collective_learning_scatter.png", dpi=120)


PARTS = {
    "gibbs": part_gibbs,
    "learning": part_learning,
    "esteps": part_esteps,
    "mobility": part_mobility,
    "scatter": part_scatter,
    "sensitivity": part_sensitivity,
    "coverage": part_coverage,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", nargs="*", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--scales", nargs="*", type=float, help="noise scales of the part mobility")
    parser.add_argument("--iterations", type=int, default=250, help="EM iterations of the part mobility")
    given = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "collective_learning.json"
    for name in given.parts:
        more = {"scales": given.scales, "iterations": given.iterations} if name == "mobility" else {}
        rows = PARTS[name](given.quick, **more)
        kept = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps({**kept, name: rows}, indent=1, default=float))
    print(f"\nwrote {path.relative_to(HERE.parent)}")


if __name__ == "__main__":
    main()
