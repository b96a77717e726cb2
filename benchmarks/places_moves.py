"""Figure 2.8 of Sun (2019): what is learned of a model from noisy moves, and from noisy places.

    python benchmarks/places_moves.py                               # small and middle, ten draws, twenty CPU minutes
    python benchmarks/places_moves.py --size paper --scales 10 --draws 1     # 15 x 14 places, T = 10, a million people
    python benchmarks/places_moves.py --size middle --plain 250     # EM as in the paper: 250 plain iterations
    python benchmarks/places_moves.py --observed                    # errors of noisy places as they are
    python benchmarks/places_moves.py --merge a.json b.json         # adds fits of other machines; measures nothing

Noisy moves have Laplace noise of scale b. Noisy places are their sums, whose noise is about normal with variance
2 L b^2: `places` states that, and `places, as Laplace` states Laplace noise of scale b on sums scaled to n people,
which is wrong by a factor of sqrt(L) and may be what the paper did (it doesn't say). `places, own noise` reads the
paper otherwise: every true count of a place gets Laplace noise of scale b of its own, sqrt(L) times smaller than that
of a sum. `moves, ignoring noise` is the paper's baseline. With `--plain` EM is the paper's: so many iterations without
acceleration, from the baseline for moves and from random tables for places; with `--plain-step nlbp` its E step is 50
rounds of belief propagation (Algorithm 2), which doesn't settle at the kinks of Laplace noise.
Else EM runs until an iteration lowers F by less than 1e-6 of all that was gained, twice in a row, at most
`--iterations`; whether it got there is counted. collective_parts/places_em.py is the same EM
for all draws at once, on a GPU.
`--observed` measures noisy places as they are, without a fit. Seeds 4000 on were used for nothing else.
Every fit is written to benchmarks/results/places_moves.json as soon
as it is there.
"""

# ruff: noqa: E402  (threads are fixed before NumPy is loaded)
from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import argparse
import json
import warnings
from itertools import product
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from cgm_figures import maes
from run_record import run_record

from sumwise import Table, Tables, synthetic
from sumwise.collective import CollectiveEM, FreeTables
from sumwise.noise import Laplace

RESULTS = Path(__file__).parent / "results" / "places_moves.json"
SIZES = {
    "small": ((3, 3), 4, 5_000),
    "middle": ((6, 5), 5, 140_000),
    "large": ((10, 9), 8, 430_000),
    "paper": ((15, 14), 10, 1_000_000),
}
TOL = 1e-6
SAME = ("size", "plain", "step", "b", "seed", "from")
HALF = "node MAE, half of the steps"
KINDS = ("moves", "places", "places, own noise", "places, as Laplace")
MADE = (
    "python benchmarks/places_moves.py --size middle large; --plain 250; collective_parts/places_em.py --device cuda "
    "(size paper; --plain 250); below their F: collective_parts/places_direct.py --device cuda --size middle paper"
)


def kept() -> dict[str, Any]:
    """What was written so far."""
    return json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {"fits": []}


def keep(fits):
    """Add fits, in place of those with the same settings, and write the means."""
    results = kept()
    for fit in fits:
        fit.setdefault("commit", run_record()["commit"])
        others = [f for f in results["fits"] if [f[k] for k in SAME] != [fit[k] for k in SAME]]
        results["fits"] = [*others, fit]
    results["fits"].sort(key=lambda f: [str(f[k]) for k in SAME])
    results["rows"] = rows(results["fits"])
    commits = ", ".join(sorted({f["commit"] for f in results["fits"]}))
    made = {"command": MADE, "commit": commits, "seeds": "4000 to 4009"}
    results["runs"] = results.get("runs", {}) | {"rows": made, "fits": made}
    write(results)


def write(results):
    """Fits have one line each."""
    lines = ",\n".join(json.dumps(fit) for fit in results.pop("fits"))
    text = json.dumps(results, indent=1)[:-2] + f',\n "fits": [\n{lines}\n]\n}}\n'
    RESULTS.write_text(text, "utf-8")


def same(fit):
    """Size, iterations, step and noise of a fit."""
    return tuple(fit[k] for k in SAME[:4])


def rows(fits):
    """Means over draws, with the paired difference from moves."""
    out = []
    settings = {same(f) for f in fits}
    for size, plain, step, b in sorted(settings, key=lambda k: (list(SIZES).index(k[0]), *k[1:])):
        here = [f for f in fits if same(f) == (size, plain, step, b)]
        node = {f["seed"]: f["node MAE"] for f in fits if (*same(f), f["from"]) == (size, 0, "torch", b, "moves")}
        node |= {f["seed"]: f["node MAE"] for f in here if f["from"] == "moves"}  # else those by L-BFGS
        for kind in dict.fromkeys(f["from"] for f in here):
            mine = [f for f in here if f["from"] == kind]
            less = [f["node MAE"] - node[f["seed"]] for f in mine if f["seed"] in node]
            ended = "to the end" if any(f["converged"] for f in mine) else f"{mine[0]['steps']} iterations"
            ended = "direct" if step == "torch" else ended
            row = {"size": size, "EM": f"{plain} plain, {step}" if plain else ended, "b": b, "from": kind}
            row["draws"] = len(mine)
            row |= {name: float(np.mean([f[name] for f in mine])) for name in ("pairwise MAE", "node MAE", "cpu_s")}
            row["node MAE less that of moves"] = float(np.mean(less)) if less else None
            row["error"] = float(np.std(less, ddof=1) / np.sqrt(len(less))) if len(less) > 1 else None
            half = [f["node MAE"] / f[HALF] - 1 for f in mine if HALF in f]
            row["since half of the steps"] = float(np.mean(half)) if half else None
            row["steps"] = float(np.mean([f["steps"] for f in mine]))
            late = [f["gained by a hundred steps"] for f in mine if "gained by a hundred steps" in f]
            row["most gained by a hundred steps"] = max(late) if late else None
            out.append(row | {"converged": sum(f["converged"] for f in mine)})
    return out


def evidence(morning, b, seed):
    """What is observed, by kind."""
    n, rng = morning.node_tables.n, np.random.default_rng(seed + 10_000)
    names = list(morning.domain)
    as_laplace = [Table(t.attributes, t.counts * (n / t.counts.sum()), noise=Laplace(b)) for t in morning.node_tables]
    first = [morning.edge_counts[e].sum(axis=1) for e in morning.edges]
    true = [*first, morning.edge_counts[morning.edges[-1]].sum(axis=0)]
    own = [Table([a], Laplace(b).sample(z, random_state=rng), noise=Laplace(b)) for a, z in zip(names, true)]
    return {
        "moves": morning.edge_tables,
        "places": morning.node_tables,
        "places, own noise": Tables(own, morning.domain, n=n),
        "places, as Laplace": Tables(as_laplace, morning.domain, n=n),
    }


def observed(draws):
    """Node MAE of the noisy places as they are, without any fit: what a fit comes to that lowers F to 0.

    F is at least 0, its dual with lambda = 0, and it is 0 (but for the penalty) where the places are as observed.
    """
    results, out = kept(), []
    moves = [f for f in results["fits"] if f["from"] == "moves" and f["step"] in ("dual", "torch")]
    moves.sort(key=lambda f: (f["converged"], f["step"] == "torch"))  # the last one counts: converged, direct, others
    fits = {(f["size"], f["b"], f["seed"]): f["node MAE"] for f in moves}
    for size, b in (*product(("middle", "large", "paper"), (10.0, 50.0)), ("paper", 100.0), ("paper", 400.0)):
        errors: dict[str, list[float]] = {}
        for seed in draws:
            morning = synthetic.mobility(*SIZES[size], scale=b, random_state=seed)
            for kind, tables in evidence(morning, b, seed).items():
                if kind in ("places", "places, own noise"):
                    shares = np.stack([t.counts for t in tables]) / tables.n
                    errors.setdefault(kind, []).append(float(np.abs(shares - morning.node_marginals).mean()))
        for kind, each in errors.items():
            less = [x - fits[size, b, seed] for x, seed in zip(each, draws) if (size, b, seed) in fits]
            row = {"size": size, "b": b, "from": kind, "node MAE": float(np.mean(each)), "draws": len(each)}
            row["node MAE less that of moves"] = float(np.mean(less)) if less else None
            row["error"] = float(np.std(less, ddof=1) / np.sqrt(len(less))) if len(less) > 1 else None
            print(row, flush=True)
            out.append(row)
    results["observed"] = out
    results["runs"]["observed"] = run_record(seeds=f"{draws[0]} to {draws[-1]}")
    write(results)


def fit(size, b, seed, given):
    """Fit by every kind of evidence; each is kept at once."""
    morning = synthetic.mobility(*SIZES[size], scale=b, random_state=seed)
    plain: dict[str, Any] = {"accelerate": False, "tol": 1e-12} if given.plain else {"tol": TOL}
    plain |= {"standard_errors": False, "random_state": 0}
    if given.plain and given.plain_step == "nlbp":
        plain |= {"e_step": "nlbp", "e_iter": 50}
    for kind, tables in evidence(morning, b, seed).items():
        if kind not in given.kinds:
            continue
        began = process_time()
        em = CollectiveEM(
            FreeTables(), max_iter=given.plain or given.iterations, **plain,
            checkpoint=given.checkpoint and given.checkpoint / f"{size}-{b:g}-{seed}-{kind.replace(', ', '-')}.zip",
        )  # fmt: skip
        em.fit(tables)
        spent = process_time() - began
        found = [(kind, em.theta_, bool(em.fit_.converged), em.fit_.n_iter, spent)]
        if em.baseline_ is not None:
            found.append(("moves, ignoring noise", em.baseline_, True, 0, 0.0))
        fits = []
        for name, theta, done, steps, seconds in found:
            pair, node = maes(em, morning, theta)
            one = {"size": size, "plain": given.plain, "b": b, "seed": seed, "from": name}
            one["step"] = given.plain_step if given.plain else "dual"
            one |= {"pairwise MAE": pair, "node MAE": node}
            fits.append(one | {"converged": done, "steps": steps, "cpu_s": round(seconds, 1)})
            if steps:
                fits[-1]["F and constants"] = float(em.fit_.objective)  # n log n and those of the noise
            print(fits[-1], flush=True)
        keep(fits)


def main():
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--size", nargs="*", choices=list(SIZES), default=["small", "middle"])
    parser.add_argument("--scales", nargs="*", type=float, default=[10.0, 50.0])
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--first", type=int, default=4000, help="seed of the first draw")
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=KINDS)
    parser.add_argument("--iterations", type=int, default=2000)
    parser.add_argument("--plain", type=int, default=0, help="iterations of EM as in the paper; 0: to convergence")
    parser.add_argument("--plain-step", choices=["dual", "nlbp"], default="dual")
    parser.add_argument("--checkpoint", type=Path, help="folder, from which a fit that was stopped goes on")
    parser.add_argument("--observed", action="store_true", help="only the errors of noisy places as they are")
    parser.add_argument("--results", type=Path, help="file of results in place of the committed one")
    parser.add_argument("--merge", type=Path, nargs="+", default=[])
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    globals()["RESULTS"] = given.results or RESULTS
    if given.observed:
        observed(range(given.first, given.first + given.draws))
        return
    for path in given.merge:
        keep(json.loads(path.read_text("utf-8"))["fits"])
    for size in given.size if not given.merge else ():
        for seed in range(given.first, given.first + given.draws):
            for b in given.scales:
                fit(size, b, seed, given)


if __name__ == "__main__":
    main()
