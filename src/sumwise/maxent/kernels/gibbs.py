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
from sumwise.maxent.kernels.gibbs_plan import Cliques, Jump, Jumps, PairJump, PairJumps, Plan, plan
from sumwise.maxent.kernels.gibbs_sparse import SparsePlan, apply_logs, apply_ratios, cell_of, ratios
from sumwise.maxent.kernels.loglinear import Expectation
from sumwise.maxent.kernels.row_products import padded

__all__ = [
    "Chains",
    "Jump",
    "PairJump",
    "Plan",
    "draw_chains",
    "expectation",
    "halves_of",
    "plan",
    "sweep",
    "sweep_halves",
]


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
    n, tables = len(chains.labels), sweep_tables(plan, weights, theta)
    parts = [p for half in halves_of(n) for p in np.array_split(half, max(1, n_threads // 2))]

    def run(rows: np.ndarray) -> np.ndarray:
        return sweep_once(part_of(chains, rows), plan, tables, offsets, marginal)

    if n_threads < 2:
        sums = [run(rows) for rows in parts]
    else:
        with ThreadPoolExecutor(n_threads) as pool:
            sums = list(pool.map(run, parts))
    each = len(parts) // 2
    return [
        (np.ascontiguousarray(total[:, 0]), np.ascontiguousarray(total[:, 1:].T), len(half))
        for total, half in zip((np.sum(sums[:each], axis=0), np.sum(sums[each:], axis=0)), halves_of(n))
    ]


def halves_of(n: int) -> list[np.ndarray]:
    """Numbers of the chains of each half."""
    return np.array_split(np.arange(n), 2)


def part_of(chains: Chains, rows: np.ndarray) -> Chains:
    """Chains whose numbers follow each other, in the same memory."""
    first, last = (int(rows[0]), int(rows[-1]) + 1) if len(rows) else (0, 0)
    return Chains(*(a[first:last] for a in chains))


class SweepTables(NamedTuple):
    """What a sweep multiplies and adds up.

    rows (K, F): exponentiated tables in the order of the plan; ratios (K, E): the same of listed cells;
    weights (K, n_cells): log-weights per class; theta (n_cells, C): label scores.
    """

    rows: np.ndarray
    ratios: np.ndarray
    weights: np.ndarray
    theta: np.ndarray


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
    chains: Chains, plan: Plan, tables: SweepTables, offsets: np.ndarray, marginal: bool = True
) -> np.ndarray:
    """Sweep chains in place; sums over them (n_cells, 1 + C).

    All chains make a move before the next, so that the rows it reads stay near the processor, and every move is a
    small kernel of its own, compiled when tables first need it.
    """
    rules = Rules(plan.sizes, plan.parts, plan.factors, plan.cliques)
    listing = plan.sparse if plan.sparse.listed.size else None
    for i, (a, b) in enumerate(plan.visits.tolist()):
        sizes = int(plan.sizes[a]), int(plan.sizes[b]) if b >= 0 else 1
        listed = plan.sparse if np.diff(plan.sparse.parts[i]).any() or plan.sparse.joint[i] >= 0 else None
        widest = padded(sizes[0] * sizes[1] if plan.sparse.joint[i] < 0 else max(sizes))
        buffers = np.empty((2, widest)), np.empty(int(np.diff(plan.parts[i]).max(initial=1)), np.uint64)
        move: Any = _redraw if b < 0 else _redraw_pair if plan.sparse.joint[i] < 0 else _redraw_listed_pair
        move(i, (a, b), sizes, *chains, tables.rows, tables.ratios, *buffers, rules, listed)
    for jumps, propose in ((plan.jumps, jump), (plan.pair_jumps, pair_jump)):
        for j in range(len(jumps.ends) - 1):
            move = _propose if propose is jump else _propose_pair
            move(j, *chains, tables.weights, jumps, rules, listing)
    sums = np.zeros((tables.weights.shape[1], 1 + tables.theta.shape[1]))
    label: Any = _draw_labels
    label(*chains, tables.theta, offsets, sums, marginal, plan.cliques, listing)
    return sums


@njit(nogil=True, error_model="numpy", fastmath=FAST_MATH, cache=True)
def _redraw(
    i: int,
    at: tuple[int, int],
    sizes: tuple[int, int],
    codes: np.ndarray,
    labels: np.ndarray,
    streams: np.ndarray,
    steps: np.ndarray,
    rows: np.ndarray,
    ratios: np.ndarray,
    w: np.ndarray,
    starts: np.ndarray,
    rules: Rules,
    sparse: SparsePlan | None,
) -> None:
    """Redraw one attribute of every chain, given the rest."""
    a, m = at[0], sizes[0]
    first, last = rules.parts[i, 0, 0], rules.parts[i, 0, 1]
    for r in range(len(codes)):
        x, table = codes[r], rows[labels[r]]
        state = streams[r] + steps[r]
        u = uniform(state)
        multiply(first, last, m, table, w[0], starts, x, rules.factors)
        apply_ratios(i, 0, x, ratios[labels[r]], w[0], sparse)
        k = pick(w[0], m, u)
        if k < 0:
            multiply_logs(first, last, m, table, w[0], x, rules.factors)
            apply_logs(i, 0, x, ratios[labels[r]], w[0], sparse)
            k = pick_logs(w[0], m, u)
        x[a] = k
        streams[r] = state


@njit(nogil=True, error_model="numpy", fastmath=FAST_MATH, cache=True)
def _redraw_pair(
    i: int,
    at: tuple[int, int],
    sizes: tuple[int, int],
    codes: np.ndarray,
    labels: np.ndarray,
    streams: np.ndarray,
    steps: np.ndarray,
    rows: np.ndarray,
    ratios: np.ndarray,
    w: np.ndarray,
    starts: np.ndarray,
    rules: Rules,
    sparse: SparsePlan | None,
) -> None:
    """Redraw two attributes of every chain together, given the rest."""
    for r in range(len(codes)):
        work, table, ratio = Work(codes[r], codes[r], w[0], w[1], starts), rows[labels[r]], ratios[labels[r]]
        state = streams[r] + steps[r]
        k = pair(i, sizes[0], sizes[1], uniform(state), table, ratio, work, rules, sparse)
        if k < 0:
            k = pair_logs(i, sizes[0], sizes[1], uniform(state), table, ratio, work, rules, sparse)
        codes[r, at[0]], codes[r, at[1]] = k // sizes[1], k % sizes[1]
        streams[r] = state


@njit(nogil=True, error_model="numpy", fastmath=FAST_MATH, cache=True)
def _redraw_listed_pair(
    i: int,
    at: tuple[int, int],
    sizes: tuple[int, int],
    codes: np.ndarray,
    labels: np.ndarray,
    streams: np.ndarray,
    steps: np.ndarray,
    rows: np.ndarray,
    ratios: np.ndarray,
    w: np.ndarray,
    starts: np.ndarray,
    rules: Rules,
    sparse: SparsePlan,
) -> None:
    """As `_redraw_pair`, for two attributes whose table lists its cells."""
    for r in range(len(codes)):
        work, table, ratio = Work(codes[r], codes[r], w[0], w[1], starts), rows[labels[r]], ratios[labels[r]]
        state = streams[r] + steps[r]
        k = listed_pair(i, sizes[0], sizes[1], uniform(state), table, ratio, work, rules, sparse)
        codes[r, at[0]], codes[r, at[1]] = k // sizes[1], k % sizes[1]
        streams[r] = state


@njit(nogil=True, error_model="numpy", fastmath=FAST_MATH, cache=True)
def _propose(
    j: int,
    codes: np.ndarray,
    labels: np.ndarray,
    streams: np.ndarray,
    steps: np.ndarray,
    weights: np.ndarray,
    jumps: Jumps,
    rules: Rules,
    sparse: SparsePlan | None,
) -> None:
    """Propose several attributes of every chain at once, from their tree."""
    proposed = np.empty_like(codes[0])
    for r in range(len(codes)):
        work = Work(codes[r], proposed, weights[0], weights[0], streams)
        streams[r] = jump(j, work, streams[r], steps[r], weights[labels[r]], jumps, rules, sparse)


@njit(nogil=True, error_model="numpy", fastmath=FAST_MATH, cache=True)
def _propose_pair(
    j: int,
    codes: np.ndarray,
    labels: np.ndarray,
    streams: np.ndarray,
    steps: np.ndarray,
    weights: np.ndarray,
    jumps: PairJumps,
    rules: Rules,
    sparse: SparsePlan | None,
) -> None:
    """Propose two attributes of many levels of every chain at once."""
    proposed = np.empty_like(codes[0])
    for r in range(len(codes)):
        work = Work(codes[r], proposed, weights[0], weights[0], streams)
        streams[r] = pair_jump(j, work, streams[r], steps[r], weights[labels[r]], jumps, rules, sparse)


@njit(nogil=True, error_model="numpy", fastmath=FAST_MATH, cache=True)
def _draw_labels(
    codes: np.ndarray,
    labels: np.ndarray,
    streams: np.ndarray,
    steps: np.ndarray,
    theta: np.ndarray,
    offsets: np.ndarray,
    sums: np.ndarray,
    marginal: bool,
    cliques: Cliques,
    sparse: SparsePlan | None,
) -> None:
    """Draw every chain's label given its cells, and add chains to the sums."""
    n_cliques = cliques.start.size
    cells, z, p = np.empty(n_cliques, np.uint64), np.empty(theta.shape[1]), np.empty(theta.shape[1])
    for r in range(len(codes)):
        z[:] = 0.0
        for c in range(n_cliques):
            cell = np.uint64(0)
            for e in range(cliques.members[c], cliques.members[c + 1]):
                cell += codes[r, cliques.attribute[e]] * cliques.stride[e]
            if sparse is not None:
                cell = cell_of(c, cell, cliques.start[c], sparse)
            else:
                cell += cliques.start[c]
            cells[c] = cell
            for k in range(z.size):
                z[k] += theta[cell, k]
        streams[r] += steps[r]
        class_shares(z, offsets, p)
        drawn = draw_class(p, uniform(streams[r]))
        labels[r] = drawn
        for k in range(p.size):
            p[k] = exact(p[k]) if marginal else float(drawn if p.size == 1 else k == drawn)
        for cell in cells:
            sums[cell, 0] += 1.0
            for k in range(p.size):
                sums[cell, k + 1] += p[k]


def expectation(counts: np.ndarray, label_sums: np.ndarray, n: int) -> Expectation:
    """Sums over n chains as probabilities of cell and class; a sampler knows no normaliser."""
    if len(label_sums) == 1:
        label_sums = np.stack([counts - label_sums[0], label_sums[0]])
    return Expectation(label_sums / n, np.full(len(label_sums), np.nan))
