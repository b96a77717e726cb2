"""Figure 2.8 of Sun (2019) at the paper's size, to convergence: L-BFGS over the parameters, E steps by torch.

    python benchmarks/places_direct.py --device cuda --kinds moves --scales 10     # ten draws, minutes on a GPU
    python benchmarks/places_direct.py --kinds places "places, own noise" --round 200 --steps 3000   # half an hour, CPU
    python benchmarks/places_direct.py --size middle --draws 1                     # a trial anywhere

EM closes about z / (z + 2 b^2) of the distance in an iteration (places_moves.py), so that its 250 iterations end well
before its fixed point. Here F(theta) = n log Z(theta) + max over lambda of [<lambda, y> - n log Z(theta + lambda)] is
minimised over theta by L-BFGS. The inner problem is the dual of the E step (2.7): |lambda| <= 1 / b for Laplace noise,
a penalty of v lambda^2 / 2 for normal noise of variance v; accelerated projected gradients with the metric of the
expected counts solve it, and the gap between both sides is known exactly. A fit has converged when ten iterations gain
less than 1e-5 of all that was gained. With `--round` L-BFGS starts again every so many steps, scaled by the expected
counts of the time, since those of a random start say nothing about the solution's; a fit has converged when a whole
round lowers F, a log-likelihood, by less than 1. Fits go to benchmarks/results/places_moves.json, as those of
places_moves.py.
"""

# ruff: noqa: E402  (threads are fixed before NumPy is loaded)
from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import argparse
import warnings
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import places_moves
import torch
from scipy.optimize import minimize

from sumwise import synthetic
from sumwise.collective import FreeTables
from sumwise.collective.realisations import read_realisations
from sumwise.noise import Laplace

GAP, MOST_GAP, SHARE, INNER, GAINED, BACK = 2e-3, 1.0, 0.01, 400, 1e-5, 10
ROUND_GAP, ROUND_MOST_GAP, ROUND_GAIN = 1e-4, 0.02, 1.0
KINDS = ("moves", "places", "places, own noise")


class Chain(NamedTuple):
    """log Z of a chain, and its marginals of nodes (T, L) and of edges (T - 1, L, L)."""

    log_z: torch.Tensor
    nodes: torch.Tensor
    edges: torch.Tensor


def chain(first, last, moves) -> Chain:
    """Marginals of ``phi_1 prod_t psi_t phi_T``, from log-potentials; `moves` are (T - 1, L, L).

    Ten steps of tables whose largest entry is one stay far within the range of doubles, so that nothing is scaled.
    """
    tops = moves.amax(dim=(1, 2), keepdim=True)
    tables, ends = torch.exp(moves - tops), (first.max(), last.max())
    ahead, behind = [torch.exp(first - ends[0])], [torch.exp(last - ends[1])]
    for table in tables:
        ahead.append(ahead[-1] @ table)
    for table in tables.flip(0):
        behind.append(table @ behind[-1])
    ahead, behind = torch.stack(ahead), torch.stack(behind[::-1])
    whole = ahead[-1] @ behind[-1]
    edges = tables * (ahead[:-1, :, None] * behind[1:, None, :] / whole)
    return Chain(whole.log() + tops.sum() + ends[0] + ends[1], ahead * behind / whole, edges)


def shared_chain(first, last, move, dual) -> Chain:
    """The same with one table for all steps and duals on the nodes; in place of the edges stands their sum (1, L, L).

    Nothing of size (T - 1, L, L) is built: a step of places costs about a tenth of one of moves.
    """
    top, tops = move.max(), dual.amax(dim=1, keepdim=True)
    ends = (first.max(), last.max())
    table, weights = torch.exp(move - top), torch.exp(dual - tops)
    ahead, behind = [torch.exp(first - ends[0]) * weights[0]], [torch.exp(last - ends[1])]
    for weight in weights[1:]:
        ahead.append((ahead[-1] @ table) * weight)
    for weight in weights[1:].flip(0):
        behind.append(table @ (weight * behind[-1]))
    ahead, behind = torch.stack(ahead), torch.stack(behind[::-1])
    whole = ahead[-1] @ behind[-1]
    edges = table * (ahead[:-1].T @ (weights[1:] * behind[1:])) / whole
    log_z = whole.log() + (len(dual) - 1) * top + tops.sum() + ends[0] + ends[1]
    return Chain(log_z, ahead * behind / whole, edges[None])


class Observed(NamedTuple):
    """Noisy tables of edges or of nodes, with Laplace noise of scale `b` or normal noise of variance `v`."""

    y: torch.Tensor
    on_edges: bool
    n: float
    b: float = 0.0
    v: float = 0.0

    def tables(self, theta, dual) -> Chain:
        """The chain with the duals added to its log-potentials."""
        first, last, move = split(theta, self.y.shape[1])
        if self.on_edges:
            return chain(first, last, move.expand(len(self.y), *move.shape) + dual)
        return shared_chain(first, last, move, dual)

    def counts(self, found):
        """Expected counts of what is observed."""
        return self.n * (found.edges if self.on_edges else found.nodes)

    def allowed(self, dual):
        """The nearest duals that the noise allows."""
        return dual.clamp(-1 / self.b, 1 / self.b) if self.b else dual

    def value(self, found, dual):
        """The dual of the E step."""
        return float((dual * self.y).sum() - 0.5 * self.v * (dual**2).sum() - self.n * found.log_z)

    def gap(self, found, dual):
        """How far it is below the primal at the same tables."""
        rest = self.y - self.counts(found)
        if self.b:
            return float((rest.abs() / self.b - dual * rest).sum())
        return float(((rest - self.v * dual) ** 2).sum() / (2 * self.v))


def split(theta, size):
    """First, last and moves."""
    return theta[:size], theta[size : 2 * size], theta[2 * size :].reshape(size, size)


def e_step(seen: Observed, theta, dual, enough=GAP) -> tuple[torch.Tensor, Chain, float, int]:
    """Accelerated projected gradients with restarts: the duals, the chain at them, the gap, and the steps taken."""
    ahead, speed, length = dual, 1.0, len(seen.y)
    best, taken = (ahead, seen.tables(theta, ahead), np.inf), 0
    while taken < INNER:
        taken += 1
        found = best[1] if taken == 1 else seen.tables(theta, ahead)
        gap = seen.gap(found, ahead)
        if gap < best[2]:
            best = (ahead, found, gap)
        if gap <= enough:
            break
        z = seen.counts(found)
        new = seen.allowed(ahead + (seen.y - z - seen.v * ahead) / (length * z + seen.v + 1e-9))
        restart = bool(((ahead - new) * (new - dual) * z).sum() > 0)
        speed, before = (1.0, 1.0) if restart else (0.5 * (1 + (1 + 4 * speed**2) ** 0.5), speed)
        ahead, dual = seen.allowed(new + ((before - 1) / speed) * (new - dual)), new
    return best[0], best[1], best[2], taken


class Done(Exception):
    """The last iterations gained next to nothing."""


def minimised(seen: Observed, theta, steps, penalty=0.01, gaps=(GAP, MOST_GAP)):
    """L-BFGS on F; returns parameters, whether it converged, and the course (seconds, F, inner steps)."""
    began, course = perf_counter(), []
    put = lambda x: torch.as_tensor(x, dtype=torch.float64, device=seen.y.device)  # noqa: E731
    state: dict[str, Any] = {"dual": torch.zeros_like(seen.y), "best": (np.inf, theta), "kept": []}

    def statistics(found):
        return seen.n * torch.cat([found.nodes[0], found.nodes[-1], found.edges.sum(0).ravel()])

    first = statistics(seen.tables(put(theta), state["dual"])).cpu().numpy()
    noise = 2 * seen.b**2 if seen.on_edges else 0.0
    known = first**2 / (first + noise)
    scale = np.sqrt(seen.n / (known + 0.01 + 1e-3 * known.mean()))

    def loss(u):
        theta = put(u * scale)
        kept = state["kept"]
        gained = kept[-2] - kept[-1] if len(kept) > 1 else np.inf
        enough = min(max(SHARE * gained, gaps[0]), gaps[1])  # of what the last iteration gained
        dual, found, gap, inner = e_step(seen, theta, state["dual"], enough)
        state["dual"] = dual
        plain = seen.tables(theta, torch.zeros_like(dual))
        value = float(seen.n * plain.log_z) + seen.value(found, dual) + 0.5 * penalty * float(theta @ theta)
        slope = statistics(plain) - statistics(found) + penalty * theta
        if not np.isfinite(value):  # a step so long that probabilities underflow: the line search shortens it
            return 1e3, np.zeros_like(u)
        if value < state["best"][0]:
            state["best"] = (value, u * scale)
        course.append((round(perf_counter() - began, 1), value, inner, gap))
        return value / seen.n, slope.cpu().numpy() * scale / seen.n

    def watch(_):
        kept = state["kept"]
        kept.append(state["best"][0])
        if len(kept) == steps // 2:
            state["half"] = state["best"][1]
        if len(kept) > BACK and kept[-1 - BACK] - kept[-1] <= GAINED * (course[0][1] - kept[-1]):
            raise Done

    options = {"maxiter": steps, "maxfun": 2 * steps, "maxcor": 30, "ftol": 0.0, "gtol": 0.0}
    done = False
    try:
        minimize(loss, theta / scale, jac=True, method="L-BFGS-B", callback=watch, options=options)
    except Done:
        done = True
    return state["best"][1], done, course, state.get("half")


def in_rounds(seen: Observed, theta, steps, each):
    """The same in rounds of `each` steps, until one lowers F by less than 1."""
    course, passed, began, done = [], [], perf_counter(), False
    while len(course) < steps and not done:
        theta, _, part, _ = minimised(seen, theta, each, gaps=(ROUND_GAP, ROUND_MOST_GAP))
        spent = round(perf_counter() - began, 1)
        course += [(spent, *c[1:]) for c in part]
        passed.append(theta)
        done = part[0][1] - min(c[1] for c in part) < ROUND_GAIN
    return theta, done, course, passed[len(passed) // 2 - 1] if len(passed) > 1 else None


def observed(tables, kind, device) -> Observed:
    """What a kind of evidence is to the solver."""
    y = torch.as_tensor(np.stack([t.counts for t in tables]), dtype=torch.float64, device=device)
    noise = next(iter(tables)).noise
    if isinstance(noise, Laplace):
        return Observed(y, kind == "moves", float(tables.n), b=float(noise.scale))
    return Observed(y, kind == "moves", float(tables.n), v=float(noise.scale) ** 2)


def errors(seen, theta, morning):
    """Pairwise and node MAE."""
    first, last, move = split(torch.as_tensor(theta, dtype=torch.float64, device=seen.y.device), seen.y.shape[1])
    found = chain(first, last, move.expand(len(morning.edge_marginals), *move.shape))
    edges, nodes = found.edges.cpu().numpy(), found.nodes.cpu().numpy()
    pair = [np.abs(edges[k] - p).mean() for k, p in enumerate(morning.edge_marginals)]
    node = [np.abs(nodes[k] - p).mean() for k, p in enumerate(morning.node_marginals)]
    return {"pairwise MAE": float(np.mean(pair)), "node MAE": float(np.mean(node))}


def fit(size, b, seed, kind, given):
    """One fit, kept at once."""
    morning = synthetic.mobility(*places_moves.SIZES[size], scale=b, random_state=seed)
    tables = places_moves.evidence(morning, b, seed)[kind]
    data, parameters = read_realisations(tables), FreeTables()
    start = parameters.ignoring_noise(data) if kind == "moves" else parameters.first(data, np.random.default_rng(0))
    seen = observed(tables, kind, given.device)
    if given.round:
        theta, done, course, half = in_rounds(seen, start, given.steps, given.round)
    else:
        theta, done, course, half = minimised(seen, start, given.steps)
    head = {"size": size, "plain": 0, "step": "torch", "b": b, "seed": seed}
    fits: list[dict] = [head | {"from": kind} | errors(seen, theta, morning)]
    fits[0] |= {"converged": done, "steps": len(course), "cpu_s": course[-1][0], "F": course[-1][1]}
    fits[0] |= {"inner": float(np.mean([c[2] for c in course])), "largest gap": max(c[3] for c in course)}
    if half is not None:
        fits[0] |= {f"{name}, half of the steps": x for name, x in errors(seen, half, morning).items()}
    if kind == "moves":
        base = head | {"from": "moves, ignoring noise"} | errors(seen, start, morning)
        fits.append(base | {"converged": True, "steps": 0, "cpu_s": 0.0})
    for one in fits:
        print(one, flush=True)
    places_moves.keep(fits)


def main():
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--size", choices=list(places_moves.SIZES), default="paper")
    parser.add_argument("--scales", nargs="*", type=float, default=[10.0, 50.0])
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--first", type=int, default=4000, help="seed of the first draw")
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=KINDS)
    parser.add_argument("--steps", type=int, default=300, help="most iterations of L-BFGS")
    parser.add_argument("--round", type=int, default=0, help="steps of a round; 0: one run of L-BFGS")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--results", type=Path, help="file of results in place of the committed one")
    given = parser.parse_args()
    places_moves.RESULTS = given.results or places_moves.RESULTS
    warnings.simplefilter("ignore")
    for seed in range(given.first, given.first + given.draws):
        for b in given.scales:
            for kind in given.kinds:
                fit(given.size, b, seed, kind, given)


if __name__ == "__main__":
    main()
