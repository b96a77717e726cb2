"""Random hard instances of most likely flows, against an independent convex solver (cvxpy with Clarabel).

    python benchmarks/hard_flows.py           # about two minutes of one core
    python benchmarks/hard_flows.py --other   # other kinds: gaps, noise of its own for every cell, steep moves

The instances are those of tests/hard_counts.py (tight noise, totals that contradict each other, zeros, Poisson counts
far from the population). Both answers are put into the same formula for the objective, in plain NumPy; an answer of
cvxpy counts where its solver calls it optimal and it meets its constraints.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import warnings
from itertools import pairwise
from pathlib import Path
from time import process_time

import cvxpy as cp
import numpy as np
from scipy.special import gammaln, rel_entr

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from hard_counts import hard_instance, other_instance  # noqa: E402
from sumwise import DataError  # noqa: E402
from sumwise.collective import map_counts  # noqa: E402
from sumwise.noise import Exact, Gaussian, Poisson  # noqa: E402

SECONDS = 30  # by the clock, for one instance of cvxpy
FEASIBLE = 1e-6  # of the population: an answer that misses its own constraints by more may well be lower
SAME = 1e-5  # of the objective: what an interior-point solver reaches on these


def loss(table, z):
    """-log p(y | z) in plain formulas; infinite where exact counts are missed."""
    noise, seen = table.noise, ~np.isnan(table.counts)
    y, z = table.counts[seen], z[seen]
    if isinstance(noise, Exact):
        return 0.0
    if isinstance(noise, Poisson):
        rate, safe = np.broadcast_to(noise.rate, seen.shape)[seen], np.maximum(z, 1e-300)
        return float((rate * z - np.where(y > 0, y * np.log(rate * safe), 0.0) + gammaln(y + 1)).sum())
    scale = np.broadcast_to(noise.scale, seen.shape)[seen]
    if isinstance(noise, Gaussian):
        return float((0.5 * ((y - z) / scale) ** 2).sum())
    return float((np.abs(y - z) / scale).sum())


def objective(names, moves, tables, flows, n):
    """Conditional relative entropies of the steps, minus log-potentials, plus the losses; constants left out."""
    first = flows[0].sum(axis=1)
    value = rel_entr(first, n).sum()
    parts = {(names[0],): first, **{(a, b): f for a, b, f in zip(names, names[1:], flows)}}
    for name, logs, flow in zip(names[1:], moves, flows):
        allowed = np.isfinite(logs)
        value += rel_entr(flow, flow.sum(axis=1, keepdims=True)).sum() - (flow[allowed] * logs[allowed]).sum()
        parts[(name,)] = flow.sum(axis=0)
    return value + sum(loss(t, np.maximum(parts[tuple(t.attributes)], 0.0)) for t in tables)


def by_cvxpy(names, moves, tables, n):
    """Flows of the convex program, in units of the population; None where the solver doesn't call them optimal."""
    size = len(moves[0])
    flows = [cp.Variable((size, size), nonneg=True) for _ in moves]
    nodes = [cp.sum(flows[0], axis=1), *(cp.sum(f, axis=0) for f in flows)]
    limits = [cp.sum(flows[0]) == 1]
    limits += [cp.sum(b, axis=1) == cp.sum(a, axis=0) for a, b in pairwise(flows)]
    value = -cp.sum(cp.entr(nodes[0]))
    for logs, flow in zip(moves, flows):
        closed = ~np.isfinite(logs)
        limits += [cp.multiply(closed.astype(float), flow) == 0] if closed.any() else []
        value += cp.sum(cp.rel_entr(flow, cp.sum(flow, axis=1, keepdims=True) @ np.ones((1, size))))
        value -= cp.sum(cp.multiply(np.where(closed, 0.0, logs), flow))
    for t in tables:
        k, seen = names.index(t.attributes[0]), np.flatnonzero(~np.isnan(t.counts.ravel()))
        z = (nodes[k] if t.counts.ndim == 1 else cp.vec(flows[k], order="C"))[seen]
        y = t.counts.ravel()[seen]
        if isinstance(t.noise, Exact):
            limits.append(z == y / n)
        elif isinstance(t.noise, Poisson):
            rate = np.broadcast_to(t.noise.rate, t.counts.shape).ravel()[seen]
            value += cp.sum(cp.multiply(rate, z))
            value -= cp.sum(cp.multiply(y[y > 0] / n, cp.log(z[np.flatnonzero(y > 0)]))) if (y > 0).any() else 0.0
        else:
            scale = np.broadcast_to(t.noise.scale, t.counts.shape).ravel()[seen]
            if isinstance(t.noise, Gaussian):
                value += 0.5 * n * cp.sum_squares(cp.multiply(1 / scale, z - y / n))
            else:
                value += cp.sum(cp.multiply(1 / scale, cp.abs(z - y / n)))
    problem = cp.Problem(cp.Minimize(value), limits)
    try:
        problem.solve(solver=cp.CLARABEL, time_limit=SECONDS)
    except cp.SolverError:
        return None
    if problem.status != "optimal":
        return None
    found = [np.where(np.isfinite(logs), np.maximum(f.value, 0.0), 0.0) for logs, f in zip(moves, flows)]
    if any(_ruled_out(t, names, found) for t in tables):
        return None
    off = [abs(f.sum() - 1) for f in found] + [np.abs(b.sum(axis=1) - a.sum(axis=0)).max() for a, b in pairwise(found)]
    return [n * f for f in found] if max(off) <= FEASIBLE else None


def _ruled_out(table, names, flows):
    """Whether a Poisson count above zero is seen where no move leads: its likelihood is zero."""
    k = names.index(table.attributes[0])
    z = flows[k] if table.counts.ndim == 2 else flows[k].sum(axis=1) if k < len(flows) else flows[-1].sum(axis=0)
    return isinstance(table.noise, Poisson) and bool(((table.counts > 0) & (z == 0)).any())


def compare(make, seed, both):
    """One instance: how our objective differs from the other solver's, relative to its size."""
    model, tables, n = make(seed)
    names = list(model.domain)
    moves = [np.asarray(model.log_potentials[e], dtype=float) for e in pairwise(names)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            fit = map_counts(model, tables, n)
        except DataError:
            solved = {"solved by cvxpy": by_cvxpy(names, moves, tables, n) is not None} if both else {}
            return {"seed": seed, "ours": "refused"} | solved
        ours = objective(names, moves, tables, [np.asarray(fit.edges[e]) for e in pairwise(names)], n)
        other = by_cvxpy(names, moves, tables, n) if both else None
    found = {
        "seed": seed,
        "ours": "certified" if fit.converged else "warned",
        "relative gap": fit.gap / abs(fit.objective),
    }
    if other is not None:
        theirs = objective(names, moves, tables, other, n)
        found["ours above theirs"] = (ours - theirs) / max(abs(theirs), abs(fit.objective))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--instances", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="seeds before it are taken from the file of results")
    parser.add_argument("--compared", type=int, default=200, help="seeds before it are solved by cvxpy too")
    parser.add_argument("--other", action="store_true")
    given, began = parser.parse_args(), process_time()
    make, name = (other_instance, "hard_flows_other") if given.other else (hard_instance, "hard_flows")
    path = ROOT / "benchmarks" / "results" / f"{name}.json"
    kept = [r for r in json.loads(path.read_text("utf-8"))["rows"] if r["seed"] < given.first] if given.first else []
    rows = [*kept, *(compare(make, seed, seed < given.compared) for seed in range(given.first, given.instances))]
    both = np.array([r["ours above theirs"] for r in rows if "ours above theirs" in r])
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], check=False, capture_output=True, text=True, cwd=ROOT
    ).stdout.strip()
    found = {
        "command": f"python benchmarks/hard_flows.py --first {given.first} --instances {given.instances}"
        + f" --compared {given.compared}"
        + " --other" * given.other,
        "commit": commit,
        "cpu_s": round(process_time() - began, 1),
        "instances": len(rows),
        "certified": sum(r["ours"] == "certified" for r in rows),
        "warned": sum(r["ours"] == "warned" for r in rows),
        "refused": sum(r["ours"] == "refused" for r in rows),
        "refused but solved by cvxpy": sum(r.get("solved by cvxpy", False) for r in rows),
        "given to cvxpy": sum(r["seed"] < given.compared for r in rows),
        "solved by cvxpy too": len(both),
        "same objective": int((np.abs(both) <= SAME).sum()),
        "ours lower": int((both < -SAME).sum()),
        "ours higher": int((both > SAME).sum()),
        "largest excess of ours": float(both.max(initial=-1.0)),
        "rows": rows,
    }
    print({k: v for k, v in found.items() if k != "rows"})
    path.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
