"""Figure 2.8 of Sun (2019) at the paper's size: L-BFGS over the parameters, ten draws at once, E steps by torch.

    python places_direct.py --device cuda --kinds moves --round 50      # ten draws, minutes on a GPU
    python places_direct.py --device cuda --kinds places "places, own noise" --round 1
    python places_direct.py --size middle --draws 2 --seconds 60        # a trial anywhere

EM closes about z / (z + 2 b^2) of the distance in an iteration (places_moves.py), so that its 250 iterations end well
before its fixed point. Here F(theta) = n log Z(theta) + max over lambda of [<lambda, y> - n log Z(theta + lambda)] is
minimised over theta by L-BFGS, for all draws and scales of a kind in one batch. The inner problem is the dual of the
E step (2.7): |lambda| <= 1 / b for Laplace noise, a penalty of v lambda^2 / 2 for normal noise of variance v;
accelerated projected gradients with the metric of the expected counts solve it, and the gap between both sides is known
exactly. The first Hessian of L-BFGS, renewed every `--round` steps, is the observed information: for moves it is nearly
diagonal; for places, of which there are far fewer than parameters, it is that of Gauss and Newton, by Woodbury's
identity, damped as Levenberg and Marquardt do. With a round of one step, no pairs of L-BFGS are left.

A fit has converged when F, a log-likelihood, falls by less than one in a hundred steps (at the rate of the last
twenty). From places alone that matters: the likelihood hardly depends on which moves led from one week's places to the
next, so that errors go on changing with the last units of F. Fits go to benchmarks/results/places_moves.json, as those
of places_moves.py.
"""

# ruff: noqa: E402  (threads are fixed before NumPy is loaded)
from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1])]
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import argparse
import warnings
from itertools import product
from time import perf_counter
from typing import NamedTuple

import numpy as np
import places_moves
import torch

from sumwise import synthetic
from sumwise.collective import FreeTables
from sumwise.collective.realisations import read_realisations
from sumwise.noise import Laplace

GAP, MOST_GAP, SHARE, INNER, GAINED, BACK = 2e-3, 1.0, 0.05, 400, 0.2, 20
MEMORY, TRIES, DESCENT, NOTED = 30, 8, 1e-4, 50  # pairs of L-BFGS; steps tried; Armijo's share; steps between notes
PENALTY = 0.01  # of FreeTables
TINY, LITTLE = 1e-300, 1e-3  # damping, a share of true counts' information, that no longer slows a fit
KINDS = ("moves", "places", "places, own noise")


class Chain(NamedTuple):
    """log Z of chains (n), and their marginals of nodes (n, T, L) and of edges (n, T - 1, L, L)."""

    log_z: torch.Tensor
    nodes: torch.Tensor
    edges: torch.Tensor


def chain(first, last, moves) -> Chain:
    """Marginals of ``phi_1 prod_t psi_t phi_T``, from log-potentials; `moves` are (n, T - 1, L, L).

    Ten steps of tables whose largest entry is one stay far within the range of doubles, so that nothing is scaled.
    """
    tops = moves.amax(dim=(2, 3), keepdim=True)
    tables = torch.exp(moves - tops)
    ends = first.amax(1, keepdim=True), last.amax(1, keepdim=True)
    ahead, behind = [torch.exp(first - ends[0])], [torch.exp(last - ends[1])]
    for t in range(tables.shape[1]):
        ahead.append(torch.bmm(ahead[-1][:, None], tables[:, t])[:, 0])
    for t in reversed(range(tables.shape[1])):
        behind.append(torch.bmm(tables[:, t], behind[-1][:, :, None])[:, :, 0])
    forward, backward = torch.stack(ahead, 1), torch.stack(behind[::-1], 1)
    whole = (forward[:, -1] * backward[:, -1]).sum(1)
    edges = tables * (forward[:, :-1, :, None] / whole[:, None, None, None]) * backward[:, 1:, None, :]
    log_z = whole.log() + tops.sum(dim=(1, 2, 3)) + ends[0][:, 0] + ends[1][:, 0]
    return Chain(log_z, forward * backward / whole[:, None, None], edges)


def shared_chain(first, last, move, dual) -> Chain:
    """The same with one table for all steps and duals on the nodes; the edges are their sum over steps (n, 1, L, L).

    Nothing of size (T - 1, L, L) is built: a step of places costs about a tenth of one of moves.
    """
    top, tops = move.amax(dim=(1, 2), keepdim=True), dual.amax(dim=2, keepdim=True)
    ends = first.amax(1, keepdim=True), last.amax(1, keepdim=True)
    table, weights = torch.exp(move - top), torch.exp(dual - tops)
    ahead, behind = [torch.exp(first - ends[0]) * weights[:, 0]], [torch.exp(last - ends[1])]
    for t in range(1, dual.shape[1]):
        ahead.append(torch.bmm(ahead[-1][:, None], table)[:, 0] * weights[:, t])
    for t in reversed(range(1, dual.shape[1])):
        behind.append(torch.bmm(table, (weights[:, t] * behind[-1])[:, :, None])[:, :, 0])
    forward, backward = torch.stack(ahead, 1), torch.stack(behind[::-1], 1)
    whole = (forward[:, -1] * backward[:, -1]).sum(1)
    pairs = torch.bmm(forward[:, :-1].transpose(1, 2), weights[:, 1:] * backward[:, 1:])
    edges = table * pairs / whole[:, None, None]
    log_z = whole.log() + (dual.shape[1] - 1) * top[:, 0, 0] + tops.sum(dim=(1, 2)) + ends[0][:, 0] + ends[1][:, 0]
    return Chain(log_z, forward * backward / whole[:, None, None], edges[:, None])


class Observed(NamedTuple):
    """Noisy tables of edges or of nodes of several problems; Laplace noise of scales `b`, or normal of variances `v`.

    Scales have the shape of `y` with ones in place of all axes but the first.
    """

    y: torch.Tensor
    n: float
    b: torch.Tensor | None = None
    v: torch.Tensor | None = None

    @property
    def on_edges(self):
        return self.y.dim() == 4

    @property
    def variance(self):
        """Of the noise."""
        return 2 * self.b**2 if self.v is None else self.v

    def tables(self, theta, dual) -> Chain:
        """The chains with the duals added to their log-potentials."""
        first, last, move = split(theta, self.y.shape[2])
        return chain(first, last, move[:, None] + dual) if self.on_edges else shared_chain(first, last, move, dual)

    def counts(self, found):
        """Expected counts of what is observed."""
        return self.n * (found.edges if self.on_edges else found.nodes)

    def allowed(self, dual):
        """The nearest duals that the noise allows."""
        return dual if self.b is None else torch.minimum(torch.maximum(dual, -1 / self.b), 1 / self.b)

    def value(self, found, dual):
        """The duals of the E steps."""
        value = total(dual * self.y) - self.n * found.log_z
        return value if self.v is None else value - 0.5 * total(self.v * dual**2)

    def gap(self, z, dual):
        """How far they are below the primals at the same tables."""
        rest = self.y - z
        if self.v is None:
            return total(rest.abs() / self.b - dual * rest)
        return total((rest - self.v * dual) ** 2 / (2 * self.v))

    def ahead(self, dual, z):
        """A projected gradient step in the metric of the expected counts."""
        steps, v = self.y.shape[1], 0.0 if self.v is None else self.v
        return self.allowed(dual + (self.y - z - v * dual) / (steps * z + v + 1e-9))


def total(x):
    """Sums of each problem."""
    return x.flatten(1).sum(1)


def over(mask, new, old):
    """New where the mask of problems says so."""
    return torch.where(mask.view(-1, *[1] * (new.dim() - 1)), new, old)


def split(theta, size):
    """First, last and moves."""
    return theta[:, :size], theta[:, size : 2 * size], theta[:, 2 * size :].view(-1, size, size)


def e_steps(seen: Observed, theta, dual, enough) -> tuple[torch.Tensor, Chain, torch.Tensor, int]:
    """Accelerated projected gradients with restarts: the duals, the chains at them, the gaps, and the steps taken."""
    ahead, speed = dual, torch.ones(len(dual), dtype=dual.dtype, device=dual.device)
    going, taken = torch.ones_like(speed, dtype=torch.bool), 0
    while True:
        found = seen.tables(theta, ahead)
        z = seen.counts(found)
        gap = seen.gap(z, ahead)
        going = going & (gap > enough)
        if taken >= INNER or (taken % 4 == 0 and not bool(going.any())):
            return ahead, found, gap, taken
        taken += 1
        new = seen.ahead(ahead, z)
        restart = total((ahead - new) * (new - dual) * z) > 0
        before = torch.where(restart, torch.ones_like(speed), speed)
        speed = torch.where(restart, torch.ones_like(speed), 0.5 * (1 + (1 + 4 * speed**2).sqrt()))
        share = ((before - 1) / speed).view(-1, *[1] * (new.dim() - 1))
        ahead, dual = over(going, seen.allowed(new + share * (new - dual)), ahead), over(going, new, dual)


def gauss_newton(seen: Observed, theta, nodes, weights):
    """A function that solves ``(D + G' R^-1 G) x = slope``, of counts of places y ~ N(n p, R).

    R is the covariance of the noisy counts of all places and times, n Cov(x) + V; G, their covariances with the
    statistics of the parameters, is how their means depend on these; D is the penalty and, far from the solution, a
    share of what true counts would say (Levenberg and Marquardt). By Woodbury's identity one Cholesky factor of
    R + G D^-1 G', of as many rows as counts, is all that is needed.
    """
    n, steps, size = nodes.shape
    _, last, move = split(theta, size)
    table = torch.exp(move - move.amax(dim=(1, 2), keepdim=True))
    behind = [torch.exp(last - last.amax(1, keepdim=True))]
    for _ in range(steps - 1):
        behind.append((table @ behind[-1][:, :, None])[:, :, 0])
        behind[-1] = behind[-1] / behind[-1].amax(1, keepdim=True)
    behind.reverse()
    rows = [table * behind[t + 1][:, None] for t in range(steps - 1)]
    rows = [row / row.sum(2, keepdim=True).clamp_min(TINY) for row in rows]  # transitions given the place before
    pairs = {}  # P(x_s, x_t)
    for s in range(steps):
        pairs[s, s] = torch.diag_embed(nodes[:, s])
        for t in range(s + 1, steps):
            pairs[s, t] = pairs[s, t - 1] @ rows[t - 1]
            pairs[t, s] = pairs[s, t].transpose(1, 2)
    spread = torch.cat([torch.cat([pairs[s, t] for t in range(steps)], 2) for s in range(steps)], 1)
    flat = nodes.flatten(1)
    spread -= flat[:, :, None] * flat[:, None]
    slopes = torch.empty(n, steps * size, 2 * size + size**2, dtype=theta.dtype, device=theta.device)
    slopes[:, :, :size], slopes[:, :, size : 2 * size] = spread[:, :, :size], spread[:, :, -size:]
    moves = slopes[:, :, 2 * size :].view(n, steps, size, size, size)
    moves[:] = 0
    for s in range(steps - 1):
        pair = pairs[s, s + 1]
        given = nodes[:, s + 1].clamp_min(TINY)
        for t in range(steps):
            if t <= s:
                moves[:, t].addcmul_(pairs[t, s][:, :, :, None], rows[s][:, None])
            else:
                later = pairs[t, s + 1] / given[:, None]  # P(x_t | x_{s + 1}), columns by x_{s + 1}
                moves[:, t].addcmul_(later[:, :, None], pair[:, None])
            moves[:, t].addcmul_(nodes[:, t, :, None, None], pair[:, None], value=-1)
    slopes *= seen.n
    noise = seen.variance.expand_as(seen.y).flatten(1)
    root = weights.rsqrt()
    slopes *= root[:, None]
    inner = seen.n * spread + torch.diag_embed(noise) + slopes @ slopes.transpose(1, 2)
    factor = torch.linalg.cholesky(inner + torch.diag_embed(1e-13 * inner.diagonal(dim1=1, dim2=2)))

    def solve(x):
        x = x * root
        known = torch.cholesky_solve(slopes @ x[:, :, None], factor)
        return (x - (slopes.transpose(1, 2) @ known)[:, :, 0]) * root

    return solve


class Search:
    """L-BFGS on F for all problems of a batch; those that have converged wait for the others."""

    def __init__(self, seen: Observed, theta: torch.Tensor, damping: float = 1.0) -> None:
        self.seen, self.theta = seen, theta
        self.dual = torch.zeros_like(seen.y)
        self.enough = torch.full((len(theta),), MOST_GAP, dtype=theta.dtype, device=theta.device)
        self.damping = torch.full_like(self.enough, damping)
        self.value, self.slope = self.evaluated(theta)
        self.rescale()
        self.first, self.values = self.value, [self.value]
        self.done = torch.zeros_like(self.value, dtype=torch.bool)

    def statistics(self, found):
        """Expected counts of the parameters."""
        return self.seen.n * torch.cat([found.nodes[:, 0], found.nodes[:, -1], found.edges.sum(1).flatten(1)], 1)

    def rescale(self):
        """Forget the pairs, and take the observed information at the present parameters as the first Hessian."""
        found = self.seen.tables(self.theta, torch.zeros_like(self.dual))
        self.pairs: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = []
        self.scale, self.solve = torch.ones_like(self.theta), None
        if self.seen.on_edges:  # nearly diagonal: of z people under noise of variance v, z^2 / (z + v) is known
            z, v = self.seen.counts(found), self.seen.variance
            begin, end = z[:, 0].sum(2), z[:, -1].sum(1)
            known = [x**2 / (x + v[:, 0, 0]) for x in (begin, end)] + [(z**2 / (z + v)).sum(1).flatten(1)]
            steep = (self.slope - PENALTY * self.theta).abs()  # the curvature of c exp(theta), of cells nearly empty
            self.scale = (torch.cat(known, 1) + PENALTY + steep).rsqrt()
        else:
            weights = PENALTY + self.damping[:, None] * self.statistics(found)
            self.solve = gauss_newton(self.seen, self.theta, found.nodes, weights)

    def evaluated(self, theta):
        """F and its gradient (envelope theorem)."""
        self.dual, found, self.gap, self.inner = e_steps(self.seen, theta, self.dual, self.enough)
        plain = self.seen.tables(theta, torch.zeros_like(self.dual))
        value = self.seen.n * plain.log_z + self.seen.value(found, self.dual) + 0.5 * PENALTY * (theta**2).sum(1)
        return value, self.statistics(plain) - self.statistics(found) + PENALTY * theta

    def newton(self, slope):
        """The inverse of the first Hessian times slopes, both in scaled parameters."""
        return slope * self.gamma[:, None] if self.solve is None else self.solve(slope)

    def direction(self, slope):
        """Two loops over the pairs, in scaled parameters."""
        q, alphas = slope.clone(), []
        self.gamma = torch.ones_like(self.value)
        self.decrement = 0.5 * (slope * self.newton(slope)).sum(1)
        for s, y, rho in reversed(self.pairs):
            alphas.append(rho * (s * q).sum(1))
            q -= alphas[-1][:, None] * y
        if self.pairs and self.solve is None:
            s, y, rho = self.pairs[-1]
            gamma = 1 / (rho * (y * y).sum(1)).clamp_min(1e-300)
            self.gamma = torch.where((rho > 0) & torch.isfinite(gamma), gamma, self.gamma)
        q = self.newton(q)
        for (s, y, rho), alpha in zip(self.pairs, reversed(alphas)):
            q += (alpha - rho * (y * q).sum(1))[:, None] * s
        return -q

    def step(self):
        """One step of every problem that goes on, by backtracking."""
        slope = self.slope * self.scale
        way = self.direction(slope)
        uphill = (way * slope).sum(1) >= 0
        way = over(uphill, -self.newton(slope), way) if bool(uphill.any()) else way
        falls, length = (way * slope).sum(1), torch.ones_like(self.value)
        taken, theta, value, new_slope = self.done.clone(), self.theta, self.value, self.slope
        tried = theta
        for _ in range(TRIES):
            tried = over(taken, theta, self.theta + length[:, None] * way * self.scale)
            found, slopes = self.evaluated(tried)
            good = ~taken & (found <= self.value + DESCENT * length * falls + self.enough)
            theta, value, new_slope = over(good, tried, theta), over(good, found, value), over(good, slopes, new_slope)
            taken = taken | good
            if bool(taken.all()):
                break
            length = torch.where(taken, length, 0.4 * length)
        self.damping = torch.where(length < 1, 3 * self.damping, 0.5 * self.damping).clamp(1e-12, 1.0)
        s, y = (theta - self.theta) / self.scale, (new_slope - self.slope) * self.scale
        curved = (s * y).sum(1)
        fit = curved > 1e-10 * (y * y).sum(1).sqrt() * (s * s).sum(1).sqrt()
        rho = torch.where(fit, 1 / torch.where(fit, curved, torch.ones_like(curved)), torch.zeros_like(curved))
        self.pairs = [*self.pairs[-MEMORY + 1 :], (s, y, rho)]
        gained = self.value - value
        self.enough = (SHARE * gained).clamp(GAP, MOST_GAP)
        self.theta, self.value, self.slope = theta, value, new_slope
        self.values.append(torch.minimum(value, self.values[-1]))
        if len(self.values) > BACK:
            late = self.values[-1 - BACK] - self.values[-1]
            free = self.damping < LITTLE if self.solve else torch.ones_like(self.done)
            self.done = self.done | (free & (late <= GAINED))


def observed(tables, device) -> Observed:
    """What the tables of several problems are to the solver."""
    y = np.stack([np.stack([t.counts for t in each]) for each in tables])
    noises = [next(iter(each)).noise for each in tables]
    scale = torch.as_tensor([float(noise.scale) for noise in noises], dtype=torch.float64, device=device)
    scale = scale.view(-1, *[1] * (y.ndim - 1))
    y = torch.as_tensor(y, dtype=torch.float64, device=device)
    laplace = isinstance(noises[0], Laplace)
    return Observed(y, float(tables[0].n), b=scale if laplace else None, v=None if laplace else scale**2)


def errors(theta, mornings, device):
    """Pairwise and node MAE of each problem."""
    out, size = [], len(mornings[0].node_marginals[0])
    for one, morning in zip(theta, mornings):
        first, last, move = split(one[None], size)
        found = chain(first, last, move[:, None].expand(1, len(morning.edge_marginals), size, size))
        edges, nodes = found.edges[0].cpu().numpy(), found.nodes[0].cpu().numpy()
        pair = [np.abs(edges[k] - p).mean() for k, p in enumerate(morning.edge_marginals)]
        node = [np.abs(nodes[k] - p).mean() for k, p in enumerate(morning.node_marginals)]
        out.append({"pairwise MAE": float(np.mean(pair)), "node MAE": float(np.mean(node))})
    return out


def fit(kind, given):
    """All draws and scales of a kind; kept every NOTED steps."""
    heads = [
        {"size": given.size, "plain": 0, "step": "torch", "b": b, "seed": seed, "from": kind}
        for seed, b in product(range(given.first, given.first + given.draws), given.scales)
    ]
    size = places_moves.SIZES[given.size]
    mornings = [synthetic.mobility(*size, scale=h["b"], random_state=h["seed"]) for h in heads]
    tables = [places_moves.evidence(m, h["b"], h["seed"])[kind] for m, h in zip(mornings, heads)]
    starts, parameters = [], FreeTables()
    for each in tables:
        data = read_realisations(each)
        rng = np.random.default_rng(0)
        starts.append(parameters.ignoring_noise(data) if kind == "moves" else parameters.first(data, rng))
    seen = observed(tables, given.device)
    theta = torch.as_tensor(np.stack(starts), dtype=torch.float64, device=given.device)
    if kind == "moves":
        base = [h | {"from": "moves, ignoring noise", "converged": True, "steps": 0, "cpu_s": 0.0} for h in heads]
        places_moves.keep([b | e for b, e in zip(base, errors(theta, mornings, given.device))])
    state = given.state and given.state / f"{given.size}-{kind.replace(', ', '-')}.npy"
    ahead = bool(state and state.exists())
    if ahead:
        theta = torch.as_tensor(np.load(state), dtype=torch.float64, device=given.device)
    search, began, course = Search(seen, theta, LITTLE if ahead else 1.0), perf_counter(), []
    steps = [0] * len(heads)
    while len(search.values) <= given.steps and perf_counter() - began < given.seconds:
        going = (~search.done).tolist()
        steps = [k + g for k, g in zip(steps, going)]
        search.step()
        n = len(search.values) - 1
        if given.round and n % given.round == 0:
            search.rescale()
        if n % NOTED == 0 or bool(search.done.all()):
            course.append((steps.copy(), errors(search.theta, mornings, given.device)))
            keep(heads, search, course, perf_counter() - began)
            if state:
                np.save(state, search.theta.cpu().numpy().astype(np.float32))
        if bool(search.done.all()):
            break
    course.append((steps.copy(), errors(search.theta, mornings, given.device)))
    keep(heads, search, course, perf_counter() - began)


def keep(heads, search, course, seconds):
    """Write the fits as they are now; half of the steps is the nearest note before it."""
    fits = []
    back = (search.values[-1 - min(BACK, len(search.values) - 1)] - search.values[-1]) * 100 / BACK
    for k, (head, now) in enumerate(zip(heads, course[-1][1])):
        steps = course[-1][0][k]
        one = head | now | {"converged": bool(search.done[k]), "steps": steps, "cpu_s": round(seconds / len(heads), 1)}
        one |= {"F": float(search.values[-1][k]), "gained": float(search.first[k] - search.values[-1][k])}
        one |= {"gained by a hundred steps": float(back[k]), "largest gap": float(search.gap[k])}
        one["decrement"] = float(search.decrement[k])
        half = [e[k] for at, e in course if at[k] <= steps / 2]
        if half:
            one |= {f"{name}, half of the steps": x for name, x in half[-1].items()}
        fits.append(one)
    places_moves.keep(fits)
    print(
        f"{seconds:.0f} s, {len(search.values) - 1} steps, {int(search.done.sum())} of {len(heads)} converged, "
        f"last F {float(search.values[-1][0]):.2f}, decrements up to {search.decrement.max():.3g}, "
        f"a hundred steps {back.max():.3g}, E steps {search.inner}; {fits[0]}",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--size", choices=list(places_moves.SIZES), default="paper")
    parser.add_argument("--scales", nargs="*", type=float, default=[10.0, 50.0])
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--first", type=int, default=4000, help="seed of the first draw")
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=KINDS)
    parser.add_argument("--steps", type=int, default=20_000, help="most steps of L-BFGS")
    parser.add_argument("--seconds", type=float, default=300.0, help="most seconds of a kind")
    parser.add_argument("--round", type=int, default=0, help="steps of a round; 0: one run of L-BFGS")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--state", type=Path, help="folder, from which parameters of an earlier run go on")
    parser.add_argument("--results", type=Path, help="file of results in place of the committed one")
    given = parser.parse_args()
    places_moves.RESULTS = given.results or places_moves.RESULTS
    warnings.simplefilter("ignore")
    for kind in given.kinds:
        fit(kind, given)


if __name__ == "__main__":
    main()
