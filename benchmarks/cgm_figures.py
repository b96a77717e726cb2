"""Sun (2019), chapter 2, on small problems with ten draws each: Figures 2.3, 2.4 a to c, 2.5 and 2.8.

    python benchmarks/cgm_figures.py                  # all parts, about three CPU minutes
    python benchmarks/cgm_figures.py methods places   # some; the others keep what the file says

Parts: `exact` (Figure 2.3: the relaxed problem against enumeration), `methods` (Figures 2.4 a, b and 2.5: passes and
CPU seconds until all but 1e-4 of the initial excess is gone, with non-linear belief propagation damped by fixed shares
as in Algorithm 2, and by a search along the way), `averages` (why dual averaging is slow at large weights: the same
with slopes of the loss that are bounded, by clipping or by normal noise, and with averages that forget), `grids`
(Figure 2.4 c), `places` (Figure 2.8: what is learned from noisy moves, and from noisy places), `loopy` (Theorem 5:
grids with and without a junction tree), `sensors` (exact numbers by sensor, beside constrained belief propagation).

The paper's grids are larger (15 x 15, 15 x 14); ratios within a part are what compares. Seeds 2000 to 2009 were used
for nothing else. Times are CPU seconds of one thread. Writes benchmarks/results/cgm_figures.json.
"""

# ruff: noqa: E402  (threads are fixed before NumPy is loaded)
from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import argparse
import json
import warnings
from itertools import pairwise
from pathlib import Path
from time import process_time

import numpy as np
from rivals.collective_forward_backward import collective_forward_backward
from run_record import run_record

from sumwise import Domain, Table, Tables, synthetic
from sumwise.collective import CollectiveEM, FreeTables, GraphModel, LoopyModel, TreeModel, map_counts
from sumwise.collective.kernels.nonlinear_bp import feasible_nlbp
from sumwise.collective.kernels.proximal_counts import Run, rda
from sumwise.collective.observations import observe
from sumwise.noise import Gaussian, Poisson

RESULTS = Path(__file__).parent / "results" / "cgm_figures.json"
SEEDS = list(range(2000, 2010))
ALL_SEEDS = tuple(SEEDS)
SMALL, LARGE = (0.5, 1.0, 1.0, 1.0), (5.0, 10.0, 10.0, 10.0)
SCALES = [10.0, 40.0]  # of the noise of moves
MOST_STEPS = 250  # of EM, as in the paper
SHARE = 1e-4  # of the initial excess that may be left


def season(side, seed, n=1000, steps=20, weights=LARGE):
    """A season of birds and its model."""
    drawn = synthetic.birds(side, steps, n, weights=weights, random_state=seed)
    return drawn, TreeModel(drawn.domain, drawn.edges, drawn.log_potentials)


def timed(function, *args, **options):
    """What a function returns, and its CPU seconds."""
    began = process_time()
    found = function(*args, **options)
    return found, process_time() - began


def spread(values):
    """Mean and standard error over draws."""
    values = np.asarray(values, dtype=float)
    return {
        "mean": float(values.mean()),
        "error": float(values.std(ddof=1) / np.sqrt(len(values))),
        "draws": len(values),
    }


def apart(found, truth, edges):
    """L1 distance of the tables of all edges, relative to the population."""
    total = sum(float(truth.edges[e].sum()) for e in edges)
    return sum(float(np.abs(found.edges[e] - truth.edges[e]).sum()) for e in edges) / total


def exact():
    """Error of the relaxed problem against the mode of the integer tables, by population size."""
    rows = []
    for n in (1, 3, 5, 7):
        mode, mean, slow, fast = [], [], [], []
        for seed in SEEDS:
            drawn, model = season(2, seed, n=n, steps=6)
            whole, seconds = timed(map_counts, model, drawn.tables, method="exact")
            fit, quick = timed(map_counts, model, drawn.tables)
            mode.append(apart(fit, whole, drawn.edges))
            mean.append(apart(fit, whole.mean, drawn.edges))
            slow.append(seconds)
            fast.append(quick)
        rows.append({"n": n, "from mode": spread(mode), "from mean": spread(mean), "exact s": spread(slow),
                     "relaxed s": spread(fast)})  # fmt: skip
    return rows


METHODS = {
    "dual": {},
    "nlbp": {},
    "nlbp, damping 0.05": {"damping": 0.05},
    "nlbp, damping 0.2": {"damping": 0.2},
    "nlbp, damping 0.5": {"damping": 0.5},
    "nlbp-naive": {},
    "rda": {},
    "rda-tuned": {},
    "accelerated-rda": {},
    "mirror": {},
}


def until(fit, optimum, first):
    """Steps and seconds until all but SHARE of the excess of the first point is gone; None where it never is."""
    excess = np.asarray(fit.history["objective"]) - optimum
    feasible = np.asarray(fit.history.get("violation", np.zeros(len(excess)))) <= 1e-3
    hit = np.flatnonzero((np.abs(excess) <= SHARE * (first - optimum)) & feasible)
    return (int(hit[0]), float(fit.history["seconds"][hit[0]])) if len(hit) else (None, None)


def methods(side=5):
    """Passes and seconds of every method on a grid, small and large weights."""
    rows = []
    for weights in (SMALL, LARGE):
        problems = []
        for seed in SEEDS:
            drawn, model = season(side, seed, weights=weights)
            best = map_counts(model, drawn.tables, tol=1e-9).objective
            first = map_counts(model, drawn.tables, method="nlbp", max_iter=1).history["objective"][0]
            problems.append((drawn, model, best, first))
        for name, options in METHODS.items():
            steps, seconds, left = [], [], []
            for drawn, model, best, first in problems:
                limit = 60 if name == "nlbp-naive" else 200
                fit = map_counts(
                    model, drawn.tables, method=name.partition(",")[0], max_iter=limit, tol=1e-7, **options
                )
                at, time = until(fit, best, first)
                left.append(abs(fit.objective - best) / (first - best))
                if at is not None:
                    steps.append(at)
                    seconds.append(time)
            row = {"weights": weights[0], "side": side, "method": name, "reached": len(steps)}
            row |= {"excess left": spread(left)}
            if len(steps) > 1:
                row |= {"steps": spread(steps), "seconds": spread(seconds)}
            print(row, flush=True)
            rows.append(row)
    return rows


CLIP = 5.0  # slopes of the loss beyond which `clipped_rda` cuts; at the optimum they are smaller


def clipped_rda(run):
    """Dual averaging of slopes cut at CLIP."""
    loss = run.loss

    def cut(cells):
        value, gradient = loss(cells)
        return value, np.clip(gradient, -CLIP, CLIP)

    run.loss = cut
    return rda(run)


def forgetting_rda(run):
    """Dual averaging whose average begins anew, with the last mean as its first gradient, after 2, 4, 8, ... steps."""
    mean = np.zeros(run.problem.n_cells)
    beliefs, cells, r = run.infer(mean)
    value, gradient = run.loss(cells)
    done, t = run.record(cells, r + value, beliefs=beliefs), 0
    while not done and run.n_iter < run.max_iter:
        run.n_iter += 1
        t = 2 if run.n_iter > 1 and run.n_iter & (run.n_iter - 1) == 0 else t + 1
        mean = mean + (gradient - mean) / t
        beliefs, cells, r = run.infer(-mean)
        value, gradient = run.loss(cells)
        done = run.record(cells, r + value, beliefs=beliefs)
    return run.finish(done)


AVERAGES = {
    "belief propagation": feasible_nlbp,
    "dual averaging": rda,
    "dual averaging, slopes cut at 5": clipped_rda,
    "dual averaging that forgets": forgetting_rda,
}


def averages(side=5):
    """Steps of dual averaging where slopes of the loss are and are not bounded, and the largest slope at the start."""
    rows = []
    for noise in (Poisson(), Gaussian(10.0)):
        for weights in (SMALL, LARGE):
            found, slopes = {}, []
            for seed in SEEDS:
                drawn, model = season(side, seed, weights=weights)
                made = [Table(t.attributes, t.counts, noise=noise) for t in drawn.tables]
                tables = Tables(made, drawn.domain, n=drawn.tables.n)
                best = map_counts(model, tables, tol=1e-9).objective
                seen = observe(model, tables, None, None)
                for name, solver in AVERAGES.items():
                    run = Run(seen.problem, seen.loss, 1e-9, 200)
                    fit = solver(run)
                    excess = np.abs(np.asarray(fit.history["objective"]) - best) / (run.first - best)
                    hit = np.flatnonzero(excess <= SHARE)
                    found.setdefault(name, []).append((int(hit[0]) if len(hit) else None, float(np.nanmin(excess))))
                first = run.infer(np.zeros(seen.problem.n_cells))[1]
                slopes.append(float(np.abs(seen.loss(first)[1]).max()))
            for name, each in found.items():
                steps = [at for at, _ in each if at is not None]
                row = {"noise": type(noise).__name__, "weights": weights[0], "method": name, "reached": len(steps)}
                row |= {"excess left": spread([left for _, left in each]), "largest slope": float(np.median(slopes))}
                rows.append(row | ({"steps": spread(steps)} if len(steps) > 1 else {}))
                print(rows[-1], flush=True)
    return rows


SIDES = [3, 5, 8, 10, 15, 19]
TIMED = ["dual", "gaussian", "nlbp", "accelerated-rda", "nlbp-naive", "generic"]  # the slowest last


def grids():
    """Seconds by the size of the grid."""
    rows = []
    for side in SIDES:
        for name in TIMED:
            options = {"tol": 1e-5, "max_iter": 200}
            for seed in SEEDS:
                drawn, model = season(side, seed)
                fit, seconds = timed(
                    map_counts, model, drawn.tables, method=name, **options if name != "gaussian" else {}
                )
                row = {"cells": side**2, "commit": run_record()["commit"]}
                row["times"] = {name: {str(seed): [round(seconds, 4), bool(fit.converged)]}}
                rows = keep("grids", [row], 0.0)
                print(side, name, seed, row["times"], flush=True)
    return rows


def joined(old, new):
    """A row of `grids` with the times of both, where these are of one commit, and their means."""
    times = {name: dict(each) for name, each in new["times"].items()}
    if old.get("commit") == new["commit"]:
        for name, each in old["times"].items():
            times[name] = each | times.get(name, {})
    row = {"cells": new["cells"], "commit": new["commit"]}
    for name in sorted(times):
        seconds, reached = zip(*times[name].values())
        if len(seconds) > 1:
            row |= flat({name: spread(seconds)}) | {f"{name}, got there": sum(reached)}
    return row | {"times": times}


def maes(em, morning, theta):
    """Pairwise and node MAE of a model's marginals."""
    found = em.model(theta=theta).marginals()
    pairs = [np.abs(found.edges[e] - morning.edge_marginals[k]).mean() for k, e in enumerate(morning.edges)]
    nodes = [np.abs(found.nodes[a] - morning.node_marginals[k]).mean() for k, a in enumerate(morning.domain)]
    return float(np.mean(pairs)), float(np.mean(nodes))


def places():
    """Pairwise and node MAE, learned from noisy moves and from noisy places (sums of the noisy moves)."""
    rows = []
    for b in SCALES:
        found = {}
        for seed in SEEDS:
            morning = synthetic.mobility((3, 3), 4, 5000, scale=b, random_state=seed)
            for kind, tables in {"moves": morning.edge_tables, "places": morning.node_tables}.items():
                em = CollectiveEM(FreeTables(), max_iter=MOST_STEPS, standard_errors=False, random_state=0).fit(tables)
                found.setdefault(kind, []).append((*maes(em, morning, em.theta_), em.fit_.converged, em.fit_.n_iter))
                if em.baseline_ is not None:
                    found.setdefault("moves, ignoring noise", []).append((*maes(em, morning, em.baseline_), True, 0))
        for kind, each in found.items():
            pair, node, done, steps = (np.array(x, dtype=float) for x in zip(*each))
            less = node - np.array([x[1] for x in found["moves"]])
            rows.append({"b": b, "from": kind, "pairwise MAE": spread(pair), "node MAE": spread(node),
                         "node MAE less that of moves": spread(less), "converged": int(done.sum()),
                         "steps": spread(steps)})  # fmt: skip
            print(rows[-1], flush=True)
    return rows


def loopy():
    """Messages on grids: distance from the junction tree where both run, and a grid where it is refused."""
    rows = []
    for side, levels, strength in ((3, 2, 0.5), (3, 2, 1.5), (4, 3, 0.5), (20, 3, 0.5), (20, 3, 1.5)):
        nodes, edges, rounds, seconds, rest = [], [], [], [], []
        for seed in SEEDS:
            rng = np.random.default_rng(seed)
            names = [[f"v{i}_{j}" for j in range(side)] for i in range(side)]
            domain = Domain({a: levels for row in names for a in row})
            lines = [*names, *map(list, zip(*names))]
            pairs = [p for line in lines for p in pairwise(line)]
            potentials = {p: strength * rng.normal(size=(levels, levels)) for p in pairs}
            drawn = [rng.multinomial(1000, rng.dirichlet(np.full(levels, 5.0))) for _ in list(domain)[::2]]
            seen = [Table(a, y.astype(float), noise=Poisson()) for a, y in zip(list(domain)[::2], drawn)]
            tables = Tables(seen, domain, n=1000)
            fit, time = timed(map_counts, LoopyModel(domain, pairs, potentials), tables, method="nlbp-loopy")
            rounds.append(fit.n_iter)
            seconds.append(time)
            rest.append(fit.history["distance"][-1])
            if side < 20:
                whole = map_counts(GraphModel(domain, pairs, potentials), tables)
                nodes.append(np.mean([np.abs(fit.nodes[a] - whole.nodes[a]).sum() / 1000 for a in domain]))
                edges.append(np.mean([np.abs(fit.edges[e] - whole.table(*e)).sum() / 1000 for e in pairs]))
        row = {"side": side, "levels": levels, "strength": strength}
        row |= {"rounds": spread(rounds), "seconds": spread(seconds), "from rest": spread(rest)}
        rows.append(row | ({"nodes": spread(nodes), "edges": spread(edges)} if nodes else {}))
    return rows


def sensors(side=10, steps=20, n=1000):
    """Exact numbers of people by sensor: our dual, and constrained belief propagation (Singh et al. 2022).

    A person is seen in the own place or, one time in five, in a neighbouring one. Numbers are expected ones, so that
    they can be met exactly. Both run until a millionth of the people is off.
    """
    rows = []
    for name, strength in (("small", SMALL), ("large", LARGE)):
        found = {"constrained belief propagation": [], "dual": [], "apart": [], "sweeps": []}
        for seed in SEEDS:
            season_, model = season(side, seed, n=n, steps=steps, weights=strength)
            first, step, emission, seen = sensed(season_, model, np.random.default_rng(seed), n)
            (moves, sweeps), seconds = timed(collective_forward_backward, first, step, emission, seen)
            hidden, tables = with_sensors(first, step, emission, seen, n)
            fit, ours = timed(map_counts, hidden, tables, tol=1e-6)
            edges = [(f"x{t}", f"x{t + 1}") for t in range(steps - 1)]
            mine = np.array([fit.table(*e) for e in edges])
            for key, value in zip(found, (seconds, ours, np.abs(moves - mine).sum() / mine.sum(), sweeps)):
                found[key].append(value)
        rows.append({"weights": name, **{key: spread(values) for key, values in found.items()}})
        print(rows[-1], flush=True)
    return rows


def sensed(season_, model, rng, n):
    """A chain of places, a table of sensors, and expected numbers by sensor of a season that differs from the chain."""
    tables = model.marginals()
    edge = season_.edges[0]
    first, step = tables.nodes[edge[0]], tables.edges[edge] + 1e-12
    step = step / step.sum(axis=1, keepdims=True)
    apart = np.abs(season_.positions[:, None] - season_.positions[None]).max(axis=2)
    emission = np.where(apart == 0, 0.8, 0.0) + 0.2 * (apart == 1) / (apart == 1).sum(axis=1, keepdims=True)
    shares, seen = rng.dirichlet(np.ones(len(first))), []
    true_step = step * rng.gamma(2.0, size=step.shape)
    for _ in season_.domain:
        seen.append(n * shares @ emission)
        shares = shares @ (true_step / true_step.sum(axis=1, keepdims=True))
    return first, step, emission, np.array(seen)


def with_sensors(first, step, emission, seen, n):
    """The same as a model with a node for each place and each sensor, and exact tables of the sensors."""
    steps = len(seen)
    sizes = {f"{kind}{t}": seen.shape[1] for t in range(steps) for kind in "xo"}
    edges = [(f"x{t}", f"x{t + 1}") for t in range(steps - 1)] + [(f"x{t}", f"o{t}") for t in range(steps)]
    with np.errstate(divide="ignore"):
        logs = {e: np.log(step if e[1][0] == "x" else emission) for e in edges} | {"x0": np.log(first)}
    domain = Domain(sizes)
    return TreeModel(domain, edges, logs), Tables([Table(f"o{t}", seen[t]) for t in range(steps)], domain, n=n)


def flat(row):
    """A row with means under their names and standard errors beside them."""
    out = {}
    for key, value in row.items():
        mean = isinstance(value, dict) and "mean" in value
        out |= {key: value["mean"], f"{key} error": value["error"]} if mean else {key: value}
    return out


PARTS = {
    "exact": exact,
    "methods": methods,
    "averages": averages,
    "grids": grids,
    "places": places,
    "loopy": loopy,
    "sensors": sensors,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], default=[])
    parser.add_argument("--sides", nargs="*", type=int, default=SIDES, help="of the part `grids`; other rows stay")
    parser.add_argument("--scales", nargs="*", type=float, default=SCALES, help="noise of the part `places`")
    parser.add_argument("--methods", nargs="*", choices=TIMED, default=TIMED, help="of the part `grids`")
    parser.add_argument("--seeds", nargs="*", type=int, default=SEEDS, help="of the part `grids`; other draws stay")
    parser.add_argument("--results", type=Path, default=RESULTS, help="file of results in place of the committed one")
    parser.add_argument("--merge", nargs="*", type=Path, default=[], help="`grids` of other machines; measures nothing")
    given = parser.parse_args()
    globals()["RESULTS"] = given.results
    SCALES[:], SIDES[:], TIMED[:], SEEDS[:] = given.scales, given.sides, given.methods, given.seeds
    warnings.simplefilter("ignore")
    for path in given.merge:
        held = json.loads(path.read_text("utf-8"))["grids"]
        keep("grids", held["rows"], held["cpu_s"])
    for name in () if given.merge else given.parts or PARTS:
        rows, seconds = timed(PARTS[name])
        for row in keep(name, rows, seconds):
            print(name, {k: round(v, 5) if isinstance(v, float) else v for k, v in row.items()}, flush=True)


def keep(name, rows, seconds):
    """Write the rows of a part; of `grids` other sides stay, and other draws and methods of the same commit."""
    results = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    rows, made = [flat(row) for row in rows], run_record(seeds=f"{SEEDS[0]} to {SEEDS[-1]}", cpu_s=round(seconds, 1))
    if name == "grids":
        found = {row["cells"]: row for row in results.get(name, {}).get("rows", [])}
        for row in rows:
            found[row["cells"]] = joined(found.get(row["cells"], {}), row)
        rows = [found[cells] for cells in sorted(found)]
        seconds = [each[0] for row in rows for times in row.get("times", {}).values() for each in times.values()]
        made |= {"machine": results.get(name, {}).get("machine", ""), "cpu_s": round(sum(seconds), 1)}
        made["seeds"] = f"{ALL_SEEDS[0]} to {ALL_SEEDS[-1]}"
        made["commit"] = ", ".join(dict.fromkeys(row["commit"] for row in rows))
    results[name] = {**made, "draws": len(ALL_SEEDS), "rows": rows}
    RESULTS.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    return rows


if __name__ == "__main__":
    main()
