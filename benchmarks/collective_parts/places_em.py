"""Figure 2.8 of Sun (2019) at the paper's size: EM of all draws and scales at once, by torch.

    python places_em.py --device cuda --plain 250       # as in the paper: 250 plain iterations, ten draws
    python places_em.py --device cuda --state folder    # accelerated, until converged; goes on from a folder
    python places_em.py --size middle --draws 2         # a trial anywhere

The model, its penalty, starts, acceleration and rule of convergence are those of `CollectiveEM` with `FreeTables`
(places_moves.py): an iteration that lowers F by less than 1e-6 of all that was gained, twice in a row. F(theta) is
n log Z(theta) + max over lambda of [<lambda, y> - n log Z(theta + lambda)] and the penalty; the maximum is the dual of
the E step (2.7), with |lambda| <= 1 / b for Laplace noise and a penalty of v lambda^2 / 2 for normal noise of variance
v. From moves, accelerated projected gradients with the metric of the expected counts solve it; from places, of which
there are few, projected Newton steps with the covariance of all places and times. Both know the gap between dual and
primal. The M step is L-BFGS. Fits go to benchmarks/results/places_moves.json, as those of places_moves.py.
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
import places_direct
import places_moves
import torch
from places_direct import PENALTY, TINY, Chain, chain, over, split, total

from sumwise import synthetic
from sumwise.collective import FreeTables
from sumwise.collective.kernels.chain_potentials import balanced
from sumwise.collective.realisations import read_realisations
from sumwise.noise import Laplace

MOST_GAP, SHARE, INNER = 10.0, 0.02, 400  # of E steps: the largest gap; that share of the last gain is enough
NEWTON, M_STEPS, MEMORY, TRIES, DESCENT = 30, 40, 10, 12, 1e-4  # steps at most; pairs of L-BFGS; Armijo's share
NOTED = 25  # iterations between notes
NEAR = 0.05  # share of a bound that counts as at the bound


class Messages(NamedTuple):
    """Scaled potentials of chains with one table for all steps, and the messages of every time from both sides."""

    log_top: torch.Tensor
    table: torch.Tensor
    weights: torch.Tensor
    forward: torch.Tensor
    backward: torch.Tensor


def messages(theta, dual) -> Messages:
    """Both passes with duals (n, T, L) on the nodes; nothing of size (T - 1, L, L) is built."""
    first, last, move = split(theta, dual.shape[2])
    top, tops = move.amax(dim=(1, 2), keepdim=True), dual.amax(dim=2, keepdim=True)
    ends = first.amax(1, keepdim=True), last.amax(1, keepdim=True)
    table, weights = torch.exp(move - top), torch.exp(dual - tops)
    ahead, behind = [torch.exp(first - ends[0]) * weights[:, 0]], [torch.exp(last - ends[1])]
    for t in range(1, dual.shape[1]):
        ahead.append(torch.bmm(ahead[-1][:, None], table)[:, 0] * weights[:, t])
    for t in reversed(range(1, dual.shape[1])):
        behind.append(torch.bmm(table, (weights[:, t] * behind[-1])[:, :, None])[:, :, 0])
    log_top = (dual.shape[1] - 1) * top[:, 0, 0] + tops.sum(dim=(1, 2)) + ends[0][:, 0] + ends[1][:, 0]
    return Messages(log_top, table, weights, torch.stack(ahead, 1), torch.stack(behind[::-1], 1))


def shared_chain(theta, dual) -> Chain:
    """As `chain`, with one table for all steps; the edges are their sum over steps (n, 1, L, L)."""
    log_top, table, weights, forward, backward = messages(theta, dual)
    whole = (forward[:, -1] * backward[:, -1]).sum(1)
    pairs = torch.bmm(forward[:, :-1].transpose(1, 2), weights[:, 1:] * backward[:, 1:])
    edges = table * pairs / whole[:, None, None]
    return Chain(whole.log() + log_top, forward * backward / whole[:, None, None], edges[:, None])


def node_covariance(theta, dual) -> torch.Tensor:
    """Covariances of the indicators of all times and places (n, T L, T L)."""
    _, table, weights, forward, backward = messages(theta, dual)
    nodes = forward * backward
    nodes = nodes / nodes.sum(2, keepdim=True)
    n, steps, size = nodes.shape
    out = torch.empty(n, steps, size, steps, size, dtype=theta.dtype, device=theta.device)
    for s in range(steps):
        out[:, s, :, s] = pair = torch.diag_embed(nodes[:, s])
        for t in range(s + 1, steps):
            rows = table * (weights[:, t] * backward[:, t])[:, None]  # moves given the place before
            pair = pair @ (rows / rows.sum(2, keepdim=True).clamp_min(TINY))
            out[:, s, :, t], out[:, t, :, s] = pair, pair.transpose(1, 2)
    out, flat = out.view(n, steps * size, steps * size), nodes.flatten(1)
    return out - flat[:, :, None] * flat[:, None]


class Observed(places_direct.Observed):
    """Noisy tables, with the tables and statistics that EM asks for."""

    __slots__ = ()

    def tables(self, theta, dual) -> Chain:
        """The chains with the duals added to their log-potentials."""
        return super().tables(theta, dual) if self.on_edges else shared_chain(theta, dual)

    def plain(self, theta) -> Chain:
        """The chains without duals, with sums of moves."""
        steps = self.y.shape[1] + self.on_edges
        return shared_chain(
            theta, torch.zeros(len(theta), steps, self.y.shape[2], dtype=theta.dtype, device=theta.device)
        )

    def statistics(self, found):
        """Expected counts of the parameters."""
        return self.n * torch.cat([found.nodes[:, 0], found.nodes[:, -1], found.edges.sum(1).flatten(1)], 1)


class Tables(NamedTuple):
    """What an E step found."""

    dual: torch.Tensor
    chain: Chain
    gap: torch.Tensor
    steps: int


def e_step(seen: Observed, theta, dual, enough) -> Tables:
    """The most likely tables, to a gap of `enough`."""
    return (gradient_steps if seen.on_edges else newton_steps)(seen, theta, dual, enough)


def gradient_steps(seen: Observed, theta, dual, enough) -> Tables:
    """Accelerated projected gradients with restarts."""
    ahead, speed = dual, torch.ones(len(dual), dtype=dual.dtype, device=dual.device)
    going, taken = torch.ones_like(speed, dtype=torch.bool), 0
    while True:
        found = seen.tables(theta, ahead)
        z = seen.counts(found)
        gap = seen.gap(z, ahead)
        going = going & (gap > enough)
        if taken >= INNER or (taken % 4 == 0 and not bool(going.any())):
            return Tables(ahead, found, gap, taken)
        taken += 1
        new = seen.ahead(ahead, z)
        restart = total((ahead - new) * (new - dual) * z) > 0
        before = torch.where(restart, torch.ones_like(speed), speed)
        speed = torch.where(restart, torch.ones_like(speed), 0.5 * (1 + (1 + 4 * speed**2).sqrt()))
        share = ((before - 1) / speed).view(-1, *[1] * (new.dim() - 1))
        ahead, dual = over(going, seen.allowed(new + share * (new - dual)), ahead), over(going, new, dual)


def newton_steps(seen: Observed, theta, dual, enough) -> Tables:
    """Newton steps, projected where Laplace noise bounds the duals (Bertsekas 1982)."""
    found = seen.tables(theta, dual)
    value, z = seen.value(found, dual), seen.counts(found)
    for taken in range(NEWTON + 1):
        gap = seen.gap(z, dual)
        going = gap > enough
        if taken == NEWTON or not bool(going.any()):
            break
        slope = seen.y - z - (0.0 if seen.v is None else seen.v * dual)
        information = seen.n * node_covariance(theta, dual)
        if seen.b is not None:  # all duals of a time together are known by their bounds alone: a step reaches these
            for t in range(slope.shape[1]):
                part = slice(t * slope.shape[2], (t + 1) * slope.shape[2])
                linear = (seen.b[:, 0, 0] * slope[:, t].sum(1).abs() / seen.n**2 + 1e-9 / seen.n)[:, None, None]
                information[:, part, part] += linear * z[:, t, :, None] * z[:, t, None]
        spread = information.diagonal(dim1=1, dim2=2)
        spread += 1e-9 * spread + 1e-6 if seen.v is None else seen.v.expand_as(dual).flatten(1)
        free = torch.ones_like(slope, dtype=torch.bool)
        if seen.b is not None:
            edge = (1 - NEAR * 0.5**taken) / seen.b
            free = ~(((dual >= edge) & (slope > 0)) | ((dual <= -edge) & (slope < 0)))
            kept = free.flatten(1).to(slope.dtype)
            diagonal = spread.clone()
            information *= kept[:, :, None] * kept[:, None]
            information.diagonal(dim1=1, dim2=2).copy_(diagonal)
        held = torch.where(free, slope, torch.zeros_like(slope)).flatten(1)[:, :, None]
        way = torch.cholesky_solve(held, torch.linalg.cholesky(information)).view_as(slope)
        way = torch.where(free, way, slope / spread.view_as(slope))  # which moves the others onto their bounds
        length, done = torch.ones_like(value), ~going
        new = dual
        for _ in range(TRIES):
            tried = over(done, new, seen.allowed(dual + length.view(-1, 1, 1) * way))
            found = seen.tables(theta, tried)
            values = seen.value(found, tried)
            good = (
                ~done
                & torch.isfinite(values)
                & (values >= value + DESCENT * total(slope * (tried - dual)) - 1e-9 * value.abs())
            )
            new, value = over(good, tried, new), over(good, values, value)
            done = done | good
            if bool(done.all()):
                break
            length = torch.where(done, length, 0.3 * length)
        dual = new
        found = seen.tables(theta, dual)
        z = seen.counts(found)
    return Tables(dual, found, gap, taken)


def least_norm(theta, size):
    """The same chains with parameters of the least norm: constants and ``a(x) - a(x')`` in moves change no probability.

    The penalty alone sees them, and L-BFGS finds them last.
    """
    first, last, move = split(theta, size)
    first, last = first - first.mean(1, keepdim=True), last - last.mean(1, keepdim=True)
    move = move - move.mean(dim=(1, 2), keepdim=True)
    a = (first - last - move.sum(2) + move.sum(1)) / (2 + 2 * size)
    return torch.cat([first - a, last + a, (move + a[:, :, None] - a[:, None]).flatten(1)], 1)


def m_step(seen: Observed, theta, given, enough, most=M_STEPS) -> tuple[torch.Tensor, torch.Tensor]:
    """Parameters for given counts by L-BFGS, and how much ``n log Z - <counts, theta>`` and the penalty fall."""

    def loss(theta):
        found = seen.plain(theta)
        expected = seen.statistics(found)
        value = seen.n * found.log_z - (theta * given).sum(1) + 0.5 * PENALTY * (theta**2).sum(1)
        return value, expected - given + PENALTY * theta, expected

    first = loss(theta)[0]
    theta = least_norm(theta, seen.y.shape[2])
    value, slope, expected = loss(theta)
    inverse = 1 / (torch.maximum(expected, given) + PENALTY)
    gamma, pairs = torch.full_like(value, 0.5), []
    done = torch.zeros_like(value, dtype=torch.bool)
    for _ in range(most):
        q, alphas = slope.clone(), []
        for s, y, rho in reversed(pairs):
            alphas.append(rho * (s * q).sum(1))
            q -= alphas[-1][:, None] * y
        q = q * inverse * gamma[:, None]
        for (s, y, rho), alpha in zip(pairs, reversed(alphas)):
            q += (alpha - rho * (y * q).sum(1))[:, None] * s
        falls = (q * slope).sum(1)
        done = done | (falls <= 2 * enough)
        if bool(done.all()):
            break
        length, taken = torch.ones_like(value), done.clone()
        new, lower, slopes = theta, value, slope
        for _ in range(TRIES):
            tried = over(taken, new, theta - length[:, None] * q)
            values, tilts, _ = loss(tried)
            good = ~taken & torch.isfinite(values) & (values <= value - DESCENT * length * falls)
            new, lower, slopes = over(good, tried, new), over(good, values, lower), over(good, tilts, slopes)
            taken = taken | good
            if bool(taken.all()):
                break
            length = torch.where(taken, length, 0.4 * length)
        done = done | ~taken  # no step lowers it: rounding
        s, y = new - theta, slopes - slope
        curved = (s * y).sum(1)
        fit = curved > 0
        rho = torch.where(fit, 1 / torch.where(fit, curved, torch.ones_like(curved)), torch.zeros_like(curved))
        steep = (y * y * inverse).sum(1)
        gamma = torch.where(fit, curved / steep.clamp_min(TINY), gamma)
        pairs = [*pairs[-MEMORY + 1 :], (s, y, rho)]
        theta, value, slope = new, lower, slopes
    theta = least_norm(theta, seen.y.shape[2])
    return theta, first - loss(theta)[0]


class EM:
    """EM of all problems of a batch; those that have converged wait for the others."""

    def __init__(self, seen: Observed, theta, accelerate: bool, first=None) -> None:
        self.seen, self.theta, self.accelerate = seen, theta, accelerate
        self.dual = torch.zeros_like(seen.y)
        self.values: list[torch.Tensor] = []
        self.first = first  # F after the first iteration
        self.recent, self.calm = [], torch.zeros(len(theta), device=theta.device)
        self.gained = torch.full_like(theta[:, 0], MOST_GAP / SHARE)
        self.steps = torch.zeros(len(theta), device=theta.device)
        self.done = self.calm > 0

    def enough(self):
        """What an E or an M step may leave: a share of the last gain, and less than would count as converged."""
        least = 0.1 * places_moves.TOL * (self.first - self.values[-1]) if self.values else 0.0 * self.gained
        return torch.maximum((SHARE * self.gained).clamp(max=MOST_GAP), least.clamp_min(TINY))

    def evaluated(self, theta):
        """F, an upper bound within the gap, and the tables."""
        found = e_step(self.seen, theta, self.dual, self.enough())
        plain = self.seen.plain(theta)
        value = self.seen.n * plain.log_z + self.seen.value(found.chain, found.dual) + found.gap
        return value + 0.5 * PENALTY * (theta**2).sum(1), found

    def step(self):
        """One iteration; as `CollectiveEM`, every third time from extrapolated parameters where these lower F."""
        theta, leap = self.theta, self.accelerate and len(self.recent) == 3
        if leap:
            theta = over(self.done, theta, extrapolated(*self.recent))
        value, found = self.evaluated(theta)
        if leap:
            self.dual = found.dual
            worse = ~self.done & ~(torch.isfinite(value) & (value <= self.values[-1]))
            if bool(worse.any()):
                theta = over(worse, self.theta, theta)
                value, found = self.evaluated(theta)
            self.recent = []
        self.dual, self.tables = found.dual, found
        statistics = self.seen.statistics(found.chain)
        better, fall = m_step(self.seen, theta, statistics, self.enough())
        self.theta = over(self.done, self.theta, better)
        value = torch.minimum(value - fall, self.values[-1]) if self.values else value - fall
        self.value_now = value
        self.first = value if self.first is None else self.first
        self.steps += ~self.done
        if self.values:
            value = over(self.done, self.values[-1], value)
            self.gained = over(self.done, self.gained, self.values[-1] - value)
            calm = self.gained <= places_moves.TOL * (self.first - value)
            self.calm = torch.where(calm, self.calm + 1, torch.zeros_like(self.calm))
            self.done = self.done | (self.accelerate & (self.calm >= 2))
        self.values.append(value)
        self.recent = [*self.recent[-2:], self.theta]


def extrapolated(a, b, c):
    """SQUAREM's step from three successive parameters (Varadhan and Roland 2008, scheme S3)."""
    first, second = b - a, c - 2.0 * b + a
    length = (first.norm(dim=1) / second.norm(dim=1).clamp_min(TINY)).clamp_min(1.0)[:, None]
    return a + 2.0 * length * first + length**2 * second


def observed(tables, device) -> Observed:
    """What the tables of several problems are to the solver."""
    y = np.stack([np.stack([t.counts for t in each]) for each in tables])
    noises = [next(iter(each)).noise for each in tables]
    scale = torch.as_tensor([float(noise.scale) for noise in noises], dtype=torch.float64, device=device)
    scale = scale.view(-1, *[1] * (y.ndim - 1))
    y = torch.as_tensor(y, dtype=torch.float64, device=device)
    laplace = isinstance(noises[0], Laplace)
    return Observed(y, float(tables[0].n), b=scale if laplace else None, v=None if laplace else scale**2)


def ignoring_noise(seen: Observed) -> torch.Tensor:
    """The maximum-likelihood fit to noisy moves as they are, as that of `FreeTables`."""
    given, starts = [], []
    for y in seen.y.cpu().numpy():
        sums = y[0].sum(axis=1), y[-1].sum(axis=0), y.sum(axis=0)
        begin, end, moves = balanced(*[np.maximum(x, 0.0) for x in sums], n_steps=len(y) + 1)
        given.append(np.concatenate([begin, end, moves.ravel()]) * (seen.n / begin.sum()))
        starts.append(np.concatenate([np.zeros(2 * len(begin)), np.log((moves + 0.5) / (moves.mean() + 0.5)).ravel()]))
    given, theta = (torch.as_tensor(np.stack(x), dtype=seen.y.dtype, device=seen.y.device) for x in (given, starts))
    return m_step(seen, theta, given, torch.full_like(theta[:, 0], 1e-2), most=300)[0]


def starts(kind, seen: Observed, tables) -> torch.Tensor:
    """Where EM begins, as `CollectiveEM` does: at the fit that ignores the noise, or at random."""
    if kind != "moves":
        rng, like = np.random.default_rng, seen.y
        first = np.stack([FreeTables().first(read_realisations(each), rng(0)) for each in tables])
        return torch.as_tensor(first, dtype=like.dtype, device=like.device)
    theta = ignoring_noise(seen)
    for k in torch.nonzero(~torch.isfinite(seen.plain(theta).log_z))[:, 0].tolist():
        found = FreeTables().ignoring_noise(read_realisations(tables[k]))
        theta[k] = torch.as_tensor(found, dtype=theta.dtype, device=theta.device)
    return theta


def errors(theta, mornings):
    """Pairwise and node MAE of each problem."""
    out, size = [], len(mornings[0].node_marginals[0])
    for one, morning in zip(theta, mornings):
        first, last, move = split(one[None], size)
        found = chain(first, last, move[:, None].repeat(1, len(morning.edge_marginals), 1, 1))
        edges, nodes = found.edges[0].cpu().numpy(), found.nodes[0].cpu().numpy()
        pair = [np.abs(edges[k] - p).mean() for k, p in enumerate(morning.edge_marginals)]
        node = [np.abs(nodes[k] - p).mean() for k, p in enumerate(morning.node_marginals)]
        out.append({"pairwise MAE": float(np.mean(pair)), "node MAE": float(np.mean(node))})
    return out


def fit(kind, given):
    """All draws and scales of a kind; kept every NOTED iterations."""
    step = "torch" if given.direct else "dual"
    heads = [
        {"size": given.size, "plain": given.plain, "step": step, "b": b, "seed": seed, "from": kind}
        for seed, b in product(range(given.first, given.first + given.draws), given.scales)
    ]
    size = places_moves.SIZES[given.size]
    mornings = [synthetic.mobility(*size, scale=h["b"], random_state=h["seed"]) for h in heads]
    tables = [places_moves.evidence(m, h["b"], h["seed"])[kind] for m, h in zip(mornings, heads)]
    seen, began = observed(tables, given.device), perf_counter()
    state = given.state and given.state / f"{given.size}-{given.plain}-{kind.replace(', ', '-')}.npz"
    ends = [state, given.state / f"{given.size}-250-{kind.replace(', ', '-')}.npz"] if state else []
    earlier = next((path for path in ends if path and path.exists()), None)
    if earlier:
        held = np.load(earlier)
        theta, first = (torch.as_tensor(held[k], dtype=torch.float64, device=given.device) for k in ("theta", "first"))
        em = EM(seen, theta, not given.plain, first)
        em.steps += torch.as_tensor(held["steps"], device=given.device)
        em.done |= torch.as_tensor(held["done"], device=given.device)
        em.gained = torch.as_tensor(held["gained"], device=given.device)
    else:
        theta = starts(kind, seen, tables)
        if kind == "moves":
            base = [h | {"from": "moves, ignoring noise", "converged": True, "steps": 0, "cpu_s": 0.0} for h in heads]
            places_moves.keep([b | e for b, e in zip(base, errors(theta, mornings))])
        em = EM(seen, theta, not given.plain)
    if given.direct:
        em.step()  # what is gained is counted from here
        theta = np.load(given.direct / f"{given.size}-{kind.replace(', ', '-')}.npy")
        em = EM(seen, torch.as_tensor(theta, dtype=torch.float64, device=given.device), True, em.first)
        em.gained = torch.ones_like(em.gained)
    course, n, last = [], int(em.steps.max()), given.plain or given.iterations
    while perf_counter() - began < given.seconds and n < last and not bool(em.done.all()):
        em.step()
        n = int(em.steps.max())
        if n % NOTED == 0 or bool(em.done.all()) or n >= last:
            course.append((em.steps.tolist(), errors(em.theta, mornings)))
            keep(heads, em, course, perf_counter() - began)
            if state:
                state.parent.mkdir(exist_ok=True)
                held = {name: getattr(em, name).cpu().numpy() for name in ("first", "steps", "done", "gained")}
                np.savez(state, theta=em.theta.cpu().numpy().astype(np.float32), **held)
    if em.values:
        course.append((em.steps.tolist(), errors(em.theta, mornings)))
        keep(heads, em, course, perf_counter() - began)


def keep(heads, em, course, seconds):
    """Write the fits as they are now."""
    fits = []
    for k, (head, now) in enumerate(zip(heads, course[-1][1])):
        steps = int(course[-1][0][k])
        one = head | now | {"converged": bool(em.done[k]), "steps": steps, "cpu_s": round(seconds / len(heads), 1)}
        one |= {"F": float(em.values[-1][k]), "gained": float(em.first[k] - em.values[-1][k])}
        one |= {"last gain": float(em.gained[k]), "largest gap": float(em.tables.gap[k])}
        half = [e[k] for at, e in course if at[k] <= steps / 2]
        if half:
            one |= {f"{name}, half of the steps": x for name, x in half[-1].items()}
        fits.append(one)
    places_moves.keep(fits)
    print(
        f"{seconds:.0f} s, {course[-1][0][0]:.0f} iterations, {int(em.done.sum())} of {len(heads)} converged, "
        f"E steps {em.tables.steps}; {fits[0]} {fits[-1]}",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--size", choices=list(places_moves.SIZES), default="paper")
    parser.add_argument("--scales", nargs="*", type=float, default=[10.0, 50.0])
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--first", type=int, default=4000, help="seed of the first draw")
    parser.add_argument("--kinds", nargs="*", choices=places_moves.KINDS, default=places_moves.KINDS)
    parser.add_argument("--iterations", type=int, default=5000)
    parser.add_argument("--plain", type=int, default=0, help="iterations of EM as in the paper; 0: to convergence")
    parser.add_argument("--seconds", type=float, default=300.0, help="most seconds of a kind")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--state", type=Path, help="folder, from which a run goes on, or 250 plain iterations")
    parser.add_argument("--direct", type=Path, help="folder of places_direct.py's parameters, from which EM goes on")
    parser.add_argument("--results", type=Path, help="file of results in place of the committed one")
    given = parser.parse_args()
    places_moves.RESULTS = given.results or places_moves.RESULTS
    warnings.simplefilter("ignore")
    for kind in given.kinds:
        fit(kind, given)


if __name__ == "__main__":
    main()
