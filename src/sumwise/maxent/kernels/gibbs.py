"""Gibbs sampling of log-linear models: many chains at once, the same result on any number of threads.

Every chain has a random stream of its own, and its shares are rounded so that sums over chains are exact. A site is
redrawn by multiplying rows of exponentiated tables (no exponential in the inner loop) and one inverse-CDF draw.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from sumwise.inference.kernels.compiled import njit
from sumwise.maxent.kernels.gibbs_moves import (
    FAST_MATH,
    Rules,
    Work,
    class_shares,
    draw_class,
    exact,
    jump,
    listed_pair,
    multiply,
    multiply_logs,
    pair,
    pair_jump,
    pair_logs,
    pick,
    pick_logs,
    uniform,
)
from sumwise.maxent.kernels.gibbs_plan import Jump, PairJump, Plan, plan
from sumwise.maxent.kernels.gibbs_sparse import apply_logs, apply_ratios, cell_of, ratios
from sumwise.maxent.kernels.loglinear import Expectation
from sumwise.maxent.kernels.row_products import padded

__all__ = [
    "Chains",
    "Jump",
    "PairJump",
    "Plan",
    "draw_chains",
    "expectation",
    "halfway",
    "plan",
    "sweep",
    "sweep_halves",
]

GROUPS = 16  # sums are taken by group of chains, whatever the number of threads
SUM_BYTES = 2**28  # memory for the groups' sums; fewer groups where tables are large
SMALL = 500  # chains below which threads don't pay


class Chains(NamedTuple):
    """State of all chains, changed in place: codes (n, D), labels (n,), streams (n,) and their increments (n,)."""

    codes: np.ndarray
    labels: np.ndarray
    streams: np.ndarray
    steps: np.ndarray

    def copy(self) -> Chains:
        """Return the same state in arrays of its own."""
        return Chains(*(a.copy() for a in self))


def draw_chains(n: int, margins: list[np.ndarray], n_classes: int, rng: np.random.Generator) -> Chains:
    """Start chains with independent attributes: margins[a] (S_a,) are the shares of attribute a's levels."""
    codes = np.column_stack([rng.choice(len(p), size=n, p=p) for p in margins]).astype(np.uint32)
    labels = rng.integers(0, n_classes, n).astype(np.uint8 if n_classes <= 256 else np.uint32)
    streams = rng.integers(0, 2**64, n, dtype=np.uint64, endpoint=False)
    steps = rng.integers(0, 2**64, n, dtype=np.uint64, endpoint=False) | np.uint64(1)
    return Chains(codes, labels, streams, steps)


def sweep(
    chains: Chains, plan: Plan, weights: np.ndarray, theta: np.ndarray, offsets: np.ndarray, n_threads: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Redraw every attribute of every chain given its label, then the label; return sums over chains.

    weights (K, n_cells): log-potentials per class. theta (C, n_cells) and offsets (K,): label scores, C = 1 or K as in
    `log_weights`. Returns counts (n_cells,) and label sums (C, n_cells), the label marginalised:
    sum over chains of P(class | x), for class 1 where C = 1 and for every class otherwise.
    """
    halves = sweep_halves(chains, plan, weights, theta, offsets, n_threads)
    return halves[0][0] + halves[1][0], halves[0][1] + halves[1][1]


def sweep_halves(
    chains: Chains,
    plan: Plan,
    weights: np.ndarray,
    theta: np.ndarray,
    offsets: np.ndarray,
    n_threads: int = 1,
    marginal: bool = True,
) -> list[tuple[np.ndarray, np.ndarray, int]]:
    """As `sweep`, with (counts, label sums, number of chains) of each half of the chains, which are independent.

    With marginal=False label sums count the labels that were drawn, as in plain contrastive divergence.
    """
    n, n_cells, n_scores = len(chains.codes), weights.shape[1], len(theta)
    n_groups = _groups(n_cells, n_scores)
    sums = np.zeros((n_groups, n_cells, 1 + n_scores))
    sweep_once(chains, plan, sweep_tables(plan, weights, theta), offsets, sums, n_threads, marginal)
    first = halfway(n, n_cells, n_scores)
    totals = (sums[: n_groups // 2].sum(axis=0), sums[n_groups // 2 :].sum(axis=0))
    return [
        (np.ascontiguousarray(t[:, 0]), np.ascontiguousarray(t[:, 1:].T), m) for t, m in zip(totals, (first, n - first))
    ]


def _groups(n_cells: int, n_scores: int) -> int:
    return 2 * max(1, min(GROUPS, SUM_BYTES // (8 * n_cells * (1 + n_scores))) // 2)


def halfway(n: int, n_cells: int, n_scores: int) -> int:
    """How many of n chains are in the first half: whole groups."""
    n_groups = _groups(n_cells, n_scores)
    return min(n, -(-n // n_groups) * (n_groups // 2))


class SweepTables(NamedTuple):
    """What a sweep multiplies and adds up.

    rows (K, F): exponentiated tables in the order of the plan; ratios (K, E): the same of listed cells;
    weights (K, n_cells): log-weights per class; theta (n_cells, C): label scores.
    """

    rows: np.ndarray
    ratios: np.ndarray
    weights: np.ndarray
    theta: np.ndarray


class BufferSizes(NamedTuple):
    """Buffers that one chain needs: cells of its widest visit, and factors of the visit that has most."""

    widest: int
    factors: int


def sweep_tables(plan: Plan, weights: np.ndarray, theta: np.ndarray) -> SweepTables:
    """Tables of log-weights (K, n_cells) and label scores (C, n_cells), ready for `sweep_once`."""
    rows, listed = exponentials(plan, weights), ratios(plan.sparse, weights)
    return SweepTables(rows, listed, np.ascontiguousarray(weights), np.ascontiguousarray(theta.T))


def exponentials(plan: Plan, weights: np.ndarray) -> np.ndarray:
    """Exponentiated tables (K, F) in the order of the plan, padding 0, each clique scaled to keep products in range."""
    scaled = np.full((len(weights), weights.shape[1] + 1), -np.inf)  # the last: what pads rows
    for begin, end in pairwise([*map(int, plan.cliques.start), weights.shape[1]]):
        part = weights[:, begin:end]
        scaled[:, begin:end] = part - part.max(axis=1, keepdims=True)
    return np.take(np.exp(scaled, out=scaled), plan.gather, axis=1)  # by class contiguous, as indexing would not be


def sweep_once(
    chains: Chains,
    plan: Plan,
    tables: SweepTables,
    offsets: np.ndarray,
    sums: np.ndarray,
    n_threads: int = 1,
    marginal: bool = True,
) -> None:
    """Run the compiled sweep; `sums` (groups, n_cells, 1 + C) is added to."""
    n_groups, buffers = len(sums), _buffer_sizes(plan)
    if n_threads < 2 or n_groups < 2 or len(chains.codes) < SMALL:
        _sweep(0, n_groups, chains, plan, tables, offsets, sums, buffers, marginal)  # pyright: ignore[reportCallIssue]
        return
    with ThreadPoolExecutor(n_threads) as pool:
        work: Any = _sweep
        for done in [
            pool.submit(work, g, g + 1, chains, plan, tables, offsets, sums, buffers, marginal) for g in range(n_groups)
        ]:
            done.result()


def _buffer_sizes(plan: Plan) -> BufferSizes:
    together = zip(plan.visits, plan.sparse.joint)
    pairs = [int(plan.sizes[a] * plan.sizes[b]) for (a, b), joint in together if b >= 0 and joint < 0]
    factors = int((plan.parts[:, :, 1] - plan.parts[:, :, 0]).max(initial=1))
    return BufferSizes(padded(max([int(plan.sizes.max()), *pairs])), factors)


@njit(nogil=True, error_model="numpy", fastmath=FAST_MATH, cache=True)
def _sweep(  # noqa: C901, PLR0912, PLR0915
    begin: int,
    end: int,
    chains: Chains,
    plan: Plan,
    tables: SweepTables,
    offsets: np.ndarray,
    sums: np.ndarray,
    buffers: BufferSizes,
    marginal: bool,
) -> None:
    """Sweep the groups of chains begin..end; one loop over chains, since calls that pass arrays would cost more."""
    codes, labels, streams, steps = chains.codes, chains.labels, chains.streams, chains.steps
    sizes, visits, parts, theta = plan.sizes, plan.visits, plan.parts, tables.theta
    factors, cliques, jumps, sparse = plan.factors, plan.cliques, plan.jumps, plan.sparse
    pair_jumps, rules = plan.pair_jumps, Rules(sizes, parts, factors, cliques, sparse)
    n, d = codes.shape
    n_groups = sums.shape[0]
    per = (n + n_groups - 1) // n_groups
    n_cliques = cliques.start.size
    binary = theta.shape[1] == 1
    listing = sparse.listed.size > 0
    begin_of = cliques.members[:-1]  # two members at least
    one, one_stride = cliques.attribute[begin_of], cliques.stride[begin_of]
    two, two_stride = cliques.attribute[begin_of + 1], cliques.stride[begin_of + 1]
    for g in range(begin, end):
        w, w2, starts = np.empty(buffers.widest), np.empty(buffers.widest), np.empty(buffers.factors, np.uint64)
        x = np.empty(d, np.uint64)
        work = Work(x, np.empty(d, np.uint64), w, w2, starts)
        cells = np.empty(n_cliques, np.uint64)
        z, p = np.empty(theta.shape[1]), np.empty(theta.shape[1])
        for r in range(g * per, min(n, (g + 1) * per)):
            state, step = streams[r], steps[r]
            table, ratio = tables.rows[labels[r]], tables.ratios[labels[r]]
            for a in range(d):
                x[a] = codes[r, a]
            for i in range(visits.shape[0]):
                state += step
                u = uniform(state)
                a, b = visits[i, 0], visits[i, 1]
                m = np.int64(sizes[a])
                if b < 0:
                    first, last = parts[i, 0, 0], parts[i, 0, 1]
                    multiply(first, last, m, table, w, starts, x, factors)
                    if listing:
                        apply_ratios(i, 0, x, ratio, w, sparse)
                    k = pick(w, m, u)
                    if k < 0:
                        multiply_logs(first, last, m, table, w, x, factors)
                        apply_logs(i, 0, x, ratio, w, sparse)
                        k = pick_logs(w, m, u)
                    x[a] = np.uint64(k)
                else:
                    t = np.int64(sizes[b])
                    if sparse.joint[i] >= 0:
                        k = listed_pair(i, m, t, u, table, ratio, work, rules)
                    else:
                        k = pair(i, m, t, u, table, ratio, work, rules)
                        if k < 0:
                            k = pair_logs(i, m, t, u, table, ratio, work, rules)
                    x[a] = np.uint64(k // t)
                    x[b] = np.uint64(k % t)
            for j in range(jumps.ends.size - 1):
                state = jump(j, work, state, step, tables.weights[labels[r]], jumps, rules)
            for j in range(pair_jumps.ends.size - 1):
                state = pair_jump(j, work, state, step, tables.weights[labels[r]], pair_jumps, rules)
            score = 0.0
            for c in range(n_cliques):
                cell = cliques.start[c] + x[one[c]] * one_stride[c] + x[two[c]] * two_stride[c]
                for e in range(cliques.members[c] + 2, cliques.members[c + 1]):
                    cell += x[cliques.attribute[e]] * cliques.stride[e]
                if listing:
                    cell = cell_of(c, cell - cliques.start[c], cliques.start[c], sparse)
                cells[c] = cell
                if binary:
                    score += theta[cell, 0]
            state += step
            labels[r] = _add_chain(cells, score, uniform(state), theta, offsets, z, p, sums[g], marginal)
            streams[r] = state
            for a in range(d):
                codes[r, a] = x[a]


@njit(forceinline=True, error_model="numpy", fastmath=FAST_MATH)
def _add_chain(
    cells: np.ndarray,
    score: float,
    u: float,
    theta: np.ndarray,
    offsets: np.ndarray,
    z: np.ndarray,
    p: np.ndarray,
    total: np.ndarray,
    marginal: bool,
) -> int:
    """Draw a chain's label given its cells, and add the chain to the sums of its group; z and p are buffers.

    score: the sum of theta over the cells where there are two classes.
    """
    if z.size == 1:
        z[0] = score
    else:
        z[:] = 0.0
        for cell in cells:
            for k in range(z.size):
                z[k] += theta[cell, k]
    class_shares(z, offsets, p)
    drawn = draw_class(p, u)
    for k in range(p.size):
        p[k] = exact(p[k]) if marginal else float(drawn if p.size == 1 else k == drawn)
    share = p[0]
    for cell in cells:
        total[cell, 0] += 1.0
        total[cell, 1] += share
        for k in range(1, p.size):
            total[cell, k + 1] += p[k]
    return drawn


def expectation(counts: np.ndarray, label_sums: np.ndarray, n: int) -> Expectation:
    """Sums over n chains as probabilities of cell and class; a sampler knows no normaliser."""
    if len(label_sums) == 1:
        label_sums = np.stack([counts - label_sums[0], label_sums[0]])
    return Expectation(label_sums / n, np.full(len(label_sums), np.nan))
