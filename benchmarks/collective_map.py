"""Most likely counts of a population: every method's speed, accuracy and proof.

    python benchmarks/collective_map.py                    # all parts, some minutes
    python benchmarks/collective_map.py --parts table      # one part of those below
    python benchmarks/collective_map.py --quick            # smaller grids

Parts: `table` (Poisson and Gaussian node counts on 15 x 15 and 19 x 19, T = 20, n = 1000), `laplace` (edges, 15 x 14,
T = 10, n = 1,000,000), `local` (100 x 100 cells, moves within 2 cells, T = 52), `birdflow` (squared error + distance -
entropy), `exact` (Sun 2019, Figure 2.3), `course` (Figures 2.4 a, b and 2.5), `grids` (Figure 2.4 c).

All times are CPU seconds of one thread (OMP_NUM_THREADS=1 is set here); compare ratios within one run. Where
../shared/peers/bench_mbi.py is there, its problems are used; where SUMWISE_MBI_PYTHON names an interpreter that has
`mbi`, that rival runs too. Writes benchmarks/results/collective_map.json and, with matplotlib, a PNG beside it.
"""

# ruff: noqa: E402  (threads are fixed before NumPy is loaded)
from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np
from collective_parts.printing import show
from run_record import run_record

HERE = Path(__file__).resolve().parent
PEER = HERE.parent.parent / "shared" / "peers" / "bench_mbi.py"
RESULTS = HERE / "results"


def chain(theta, start=None):
    """A TreeModel of a chain with edge log-potentials theta (T - 1, L, L)."""
    from sumwise import Domain
    from sumwise.collective import TreeModel

    names = [f"t{i:02d}" for i in range(len(theta) + 1)]
    edges = list(pairwise(names))
    domain = Domain({names[0]: theta[0].shape[0], **{b: t.shape[1] for (_, b), t in zip(edges, theta)}})
    potentials = dict(zip(edges, theta))
    if start is not None:
        potentials[names[0]] = start
    return TreeModel(domain, edges, potentials)


def birds(side, steps=20, n=1000, seed=0):
    """(theta, poisson counts, gaussian counts): the peer's problem where it is there, else our generator's."""
    if PEER.exists():
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/problem.npz"
            call = [sys.executable, str(PEER), "--side", str(side), "--T", str(steps), "--M", str(n)]
            subprocess.run([*call, "--seed", str(seed), "--dump", path], check=True, capture_output=True)
            with np.load(path) as data:
                return data["theta"], data["y_pois"], data["y_gauss"]
    from sumwise import synthetic

    season = synthetic.birds(side, steps, n, random_state=seed)
    theta = np.stack([season.log_potentials[e] for e in season.edges])
    theta[0] += season.log_potentials["t0"][:, None]
    nodes = np.stack(list(season.nodes.values()))
    noisy = nodes + np.random.default_rng(seed).standard_normal(nodes.shape)
    return theta, np.stack([t.counts for t in season.tables]), noisy


def node_tables(model, y, noise, n):
    """One table per node."""
    from sumwise import Table, Tables

    return Tables([Table(a, v, noise=noise) for a, v in zip(model.domain, y)], model.domain, n=n)


def timed(model, tables, method="dual", **options):
    """A fit, with its CPU and wall seconds."""
    from sumwise.collective import map_counts

    cpu, wall = time.process_time(), time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = map_counts(model, tables, method=method, **options)
    return fit, time.process_time() - cpu, time.perf_counter() - wall


def reached(history, optimum, share):
    """First entry of a history whose objective has lost all but `share` of its initial excess: (index, seconds)."""
    excess = np.asarray(history["objective"]) - optimum
    hit = np.flatnonzero(excess <= share * excess[0])
    return (int(hit[0]), float(history["seconds"][hit[0]])) if len(hit) else (None, None)


# --- parts ------------------------------------------------------------------------------------------


def part_table(quick):
    """Poisson and Gaussian node counts: time to 1e-4 of the initial excess, and certified to 1e-6."""
    from sumwise.noise import Gaussian, Poisson

    rows = []
    for side in (5, 10) if quick else (10, 15, 19):
        theta, poisson, gauss = birds(side)
        model = chain(theta)
        for name, y, noise in (("poisson", poisson, Poisson()), ("gaussian", gauss, Gaussian(1.0))):
            tables = node_tables(model, y, noise, 1000)
            best = timed(model, tables, tol=1e-10)[0]
            fit, cpu, wall = timed(model, tables, tol=1e-6)
            _, seconds = reached(fit.history, best.objective, 1e-4)
            proven = np.flatnonzero(fit.history["gap"] <= 1e-4 * abs(fit.objective))
            at = int(proven[0]) if len(proven) else len(fit.history["gap"]) - 1
            rows.append(
                {
                    "side": side,
                    "noise": name,
                    "method": "dual",
                    "s to 1e-4": seconds,
                    "s to gap 1e-6": cpu,
                    "wall": wall,
                    "relative gap": float(fit.gap / abs(fit.objective)),
                    "evaluations to gap 1e-4": int(fit.history["passes"][at]),
                    "products to gap 1e-4": int(fit.history["products"][at]),
                }
            )
            fit, cpu, wall = timed(model, tables, "mirror", tol=1e-4, max_iter=400)
            _, seconds = reached(fit.history, best.objective, 1e-4)
            rows.append({"side": side, "noise": name, "method": "mirror", "s to 1e-4": seconds, "wall": wall})
        rows += mbi_rows(side)
    return show("node counts, T = 20, n = 1000", rows)


def mbi_rows(side):
    """The rival, where it is installed."""
    python = os.environ.get("SUMWISE_MBI_PYTHON")
    if not python or not PEER.exists():
        print("mbi is not compared: set SUMWISE_MBI_PYTHON to an interpreter that has it, beside ../shared/peers.")
        return []
    rows = []
    for step in (None, "0.1"):
        with tempfile.TemporaryDirectory() as folder:
            call = [python, str(PEER), "--side", str(side), "--problem", "D", "--estimator", "md", "--stop", "drop"]
            call += ["--budget", "60", *(["--alpha0", step] if step else [])]
            done = subprocess.run(call, capture_output=True, text=True, cwd=folder, check=False)
        lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
        if not lines:
            print(f"mbi failed: {done.stderr.strip().splitlines()[-1:]}")
            continue
        got = json.loads(lines[-1])
        hit = got.get("it_drop")
        seconds = hit * got["cpu_ms"] / 1e3 if hit else None
        name = "mbi, tuned step" if step else "mbi"
        row = {"side": side, "noise": "poisson", "method": name, "s to 1e-4": seconds}
        rows.append({**row, "compilation": got["compile_cpu_s"]})
    return rows


def mobility(b, steps=10, n=1_000_000, shape=(15, 14)):
    """Commuters on a grid: (model, noisy transition tables) with Laplace noise of scale b."""
    from sumwise import Table, Tables
    from sumwise.noise import Laplace

    rows, cols = shape
    r, c = np.divmod(np.arange(rows * cols), cols)
    place = np.stack([c, r], axis=1).astype(float)
    apart = ((place[:, None] - place) ** 2).sum(axis=-1)
    theta = np.repeat((-apart / (2 * 1.5**2))[None], steps - 1, axis=0)
    theta[0] += (-((place - [cols - 3, rows - 3]) ** 2).sum(axis=1) / 18.0)[:, None]
    theta[-1] += -((place - [2, 2]) ** 2).sum(axis=1) / 18.0
    model = chain(theta)
    truth = model.sample_tables(n, random_state=0)
    rng = np.random.default_rng(1)
    noise = Laplace(b)
    return model, Tables(
        [Table(e, noise.sample(truth.edges[e], rng), noise=noise) for e in model.edges], model.domain, n
    )


def part_laplace(quick):
    """Laplace noise on every transition."""
    rows = []
    for b in (1.0, 50.0):
        model, tables = mobility(b, *((5, 10_000, (6, 6)) if quick else ()))
        fit, cpu, wall = timed(model, tables)
        excess = float(fit.history["objective"][0] - fit.objective)
        passes, products = int(fit.history["passes"][-1]), int(fit.history["products"][-1])
        row = {"b": b, "cpu s": cpu, "wall": wall, "gap / initial excess": fit.gap / excess, "passes": passes}
        rows.append({**row, "products": products, "converged": fit.converged})
    return show("Laplace noise on edges, 15 x 14, T = 10, n = 1,000,000", rows)


def part_local(quick):
    """Sparse moves on a large grid."""
    from sumwise import synthetic
    from sumwise.collective import TreeModel

    side, steps = (30, 10) if quick else (100, 52)
    season = synthetic.birds(side, steps, 100_000, reach=2.83, weights=(0.5, 1, 1, 1), random_state=0)
    cpu = time.process_time()
    model = TreeModel(season.domain, season.edges, season.log_potentials)
    built = time.process_time() - cpu
    fit, cpu, wall = timed(model, season.tables)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    row = {"cells": side * side, "T": steps, "model s": built, "MAP s": cpu, "wall": wall}
    row |= {"relative gap": fit.gap / abs(fit.objective), "largest memory GiB (whole run)": memory}
    return show("moves within 2 cells", [row])


def part_birdflow(quick):
    """BirdFlow's loss: squared error + distance - entropy of a chain, in shares (its default weights)."""
    from sumwise.collective import Energy, map_counts
    from sumwise.noise import Gaussian

    side, steps = (6, 8) if quick else (15, 20)
    _, counts, _ = birds(side, steps)
    y = counts / counts.sum(axis=1, keepdims=True)
    r, c = np.divmod(np.arange(side * side), side)
    apart = np.hypot(r[:, None] - r, c[:, None] - c) ** 0.4
    distance, entropy = 0.005, 0.0001
    model = chain(np.repeat((-distance / entropy * apart)[None], steps - 1, axis=0))
    # |z - y|^2 + ... - entropy * H, divided by the entropy's weight, is eq. (2.7) with a Gaussian noise.
    tables = node_tables(model, y, Gaussian(float(np.sqrt(entropy / 2))), 1.0)
    fit, cpu, wall = timed(model, tables)
    constant = y.size * np.log(np.sqrt(entropy / 2) * np.sqrt(2 * np.pi))
    loss = entropy * (fit.objective - constant)
    rows = [{"method": "dual", "loss": loss, "gap": entropy * fit.gap, "cpu s": cpu, "wall": wall}]

    def square(at):
        return lambda z: (float(((z - at) ** 2).sum()) / entropy, 2.0 * (z - at) / entropy)

    energies = [Energy(a, square(v)) for a, v in zip(model.domain, y)]
    cpu = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own = map_counts(model, None, n=1.0, method="mirror", energy=energies, tol=1e-4, max_iter=600)
    cpu = time.process_time() - cpu
    rows.append(
        {"method": "mirror, as an energy", "loss": entropy * own.objective, "gap": entropy * own.gap, "cpu s": cpu}
    )
    rows += adam_rows(y, apart, distance, entropy, loss)
    return show("BirdFlow's loss", rows)


def adam_rows(y, apart, distance, entropy, optimum):
    """600 Adam steps on the logits of a chain, as BirdFlow trains (torch)."""
    try:
        import torch
    except ImportError:
        print("Adam is not compared: torch isn't installed.")
        return []
    torch.set_num_threads(1)
    target, moves = torch.as_tensor(y), torch.as_tensor(apart)
    start = torch.zeros(y.shape[1], dtype=torch.float64, requires_grad=True)
    step = torch.zeros(len(y) - 1, *apart.shape, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.Adam([start, step], lr=0.1)
    cpu = time.process_time()
    for _ in range(600):
        z = torch.softmax(start, 0)
        loss = ((z - target[0]) ** 2).sum() + entropy * (z * torch.log(z)).sum()
        for t in range(len(y) - 1):
            logs = torch.log_softmax(step[t], 1)
            flow = z[:, None] * torch.exp(logs)
            loss = loss + distance * (flow * moves).sum() + entropy * (flow * logs).sum()
            z = flow.sum(0)
            loss = loss + ((z - target[t + 1]) ** 2).sum()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    value = float(loss.detach())
    cpu = time.process_time() - cpu
    return [
        {"method": "600 Adam steps", "loss": value, "above the optimum": (value - optimum) / abs(optimum), "cpu s": cpu}
    ]


def part_exact(quick):
    """Relative error of the relaxed MAP against exact inference (Figure 2.3)."""
    rows = []
    for n in (1, 3, 5) if quick else (1, 2, 3, 4, 5, 6, 7, 8):
        theta, counts, _ = birds(2, 6, n, seed=n)
        model = chain(theta)
        from sumwise.noise import Poisson

        tables = node_tables(model, counts, Poisson(), n)
        exact, slow, _ = timed(model, tables, "exact")
        fit, fast, _ = timed(model, tables)
        total = sum(exact.edges[e].sum() for e in model.edges)
        mode = sum(np.abs(fit.edges[e] - exact.edges[e]).sum() for e in model.edges) / total
        mean = sum(np.abs(fit.edges[e] - exact.mean.edges[e]).sum() for e in model.edges) / total
        row = {"n": n, "against the mode": float(mode), "against the mean": float(mean)}
        rows.append({**row, "exact cpu s": slow, "dual cpu s": fast})
    return show("relaxed MAP against exact inference, L = 4, T = 6", rows)


METHODS = ("dual", "nlbp", "nlbp-naive", "rda", "rda-tuned", "accelerated-rda", "mirror", "generic", "gaussian")


def part_course(quick):
    """How every algorithm converges in objective and constraint violation (Figures 2.4 a, b and 2.5)."""
    from sumwise.noise import Poisson

    rows, courses = [], {}
    for side in (5,) if quick else (10, 15):
        theta, counts, _ = birds(side)
        model = chain(theta)
        tables = node_tables(model, counts, Poisson(), 1000)
        best = timed(model, tables, tol=1e-10)[0]
        for method in METHODS:
            steps = {"nlbp-naive": 60, "generic": 100}.get(method, 150)
            fit, cpu, _ = timed(model, tables, method, max_iter=steps)
            excess = best.history["objective"][0] - best.objective
            if "seconds" in fit.history and method != "gaussian":
                course = {k: np.asarray(fit.history[k]).tolist() for k in ("objective", "violation", "seconds")}
                courses[f"{side} {method}"] = {**course, "optimum": best.objective}
            left = (fit.objective - best.objective) / excess if method != "gaussian" else None
            negative = min(float(fit.edges[e].min()) for e in model.edges)
            row = {"side": side, "method": method, "steps": fit.n_iter, "cpu s": cpu, "excess left": left}
            row |= {"s to 1e-2": None, "s to 1e-4": None, "violation": fit.violation, "least count": negative}
            if method != "gaussian":
                row["s to 1e-2"] = reached(fit.history, best.objective, 1e-2)[1]
                row["s to 1e-4"] = reached(fit.history, best.objective, 1e-4)[1]
            rows.append(row)
    draw(courses)
    show("course of every algorithm, T = 20, n = 1000", rows)
    return {"rows": rows, "lines": [lines(name, course) for name, course in courses.items()]}


def lines(name, course):
    """What is left of the excess, and the violated constraints, against CPU seconds: pairs, for the book."""
    side, method = name.split(" ", 1)
    excess = np.array(course["objective"]) - course["optimum"]
    at = [float(f"{s:.3g}") for s in course["seconds"]]
    left = {"excess": np.maximum(excess / excess[0], 1e-9), "violation": course["violation"]}
    pairs = {k: [[s, float(f"{v:.3g}")] for s, v in zip(at, values) if np.isfinite(v)] for k, values in left.items()}
    return {"side": int(side), "method": method, **pairs}


def part_grids(quick):
    """Time to 1e-4 of the initial excess against the grid (Figure 2.4 c)."""
    from sumwise.noise import Poisson

    rows = []
    for side in (3, 5) if quick else (3, 5, 8, 10, 12, 15, 19):
        theta, counts, _ = birds(side)
        model = chain(theta)
        tables = node_tables(model, counts, Poisson(), 1000)
        best = timed(model, tables, tol=1e-10)[0]
        row = {"side": side, "cells": side * side}
        for method in ("dual", "mirror", "accelerated-rda", "nlbp", "generic"):
            if method == "generic" and side > 10:
                continue  # one fit takes a minute
            fit = timed(model, tables, method, tol=1e-5, max_iter=150)[0]
            row[method] = reached(fit.history, best.objective, 1e-4)[1]
        rows.append(row)
    return show("CPU seconds to 1e-4 of the initial excess", rows)


def draw(courses):
    """The convergence figure, where matplotlib is installed."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        return
    sides = sorted({name.split(" ", 1)[0] for name in courses}, key=int)
    figure, axes = plt.subplots(2, len(sides), figsize=(6 * len(sides), 8), squeeze=False)
    for column, side in enumerate(sides):
        for name, course in courses.items():
            if name.split(" ", 1)[0] == side:
                seconds = np.maximum(course["seconds"], 1e-4)
                excess = np.maximum(np.array(course["objective"]) - course["optimum"], 1e-9)
                axes[0, column].loglog(seconds, excess, label=name.split(" ", 1)[1])
                axes[1, column].loglog(seconds, np.maximum(course["violation"], 1e-12))
        axes[0, column].set(title=f"{side} x {side}", ylabel="objective above the optimum")
        axes[1, column].set(xlabel="CPU seconds", ylabel="constraint violation")
        axes[0, column].legend(fontsize=8)
    RESULTS.mkdir(exist_ok=True)
    figure.savefig(RESULTS / "collective_map.png", dpi=120)
    plt.close(figure)


PARTS = {
    "table": part_table,
    "laplace": part_laplace,
    "local": part_local,
    "birdflow": part_birdflow,
    "exact": part_exact,
    "course": part_course,
    "grids": part_grids,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", nargs="*", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    results = {name: PARTS[name](given.quick) for name in given.parts}
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "collective_map.json"
    kept = json.loads(path.read_text()) if path.exists() else {}
    runs = kept.get("runs", {}) | dict.fromkeys(results, run_record(seeds="0"))
    path.write_text(json.dumps({**kept, **results, "runs": runs}, indent=1, default=float))
    print(f"\nwrote {path.relative_to(HERE.parent)}")


if __name__ == "__main__":
    main()
