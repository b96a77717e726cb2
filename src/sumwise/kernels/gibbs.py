"""Gibbs sampling of log-linear models: many chains at once, the same result on any number of threads.

Every chain has a random stream of its own, and its shares are rounded so that sums over chains are exact. A site is
redrawn by multiplying rows of exponentiated tables (no exponential in the inner loop) and one inverse-CDF draw.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from sumwise.kernels.gibbs_plan import Jump, Plan, plan
from sumwise.kernels.loglinear import Expectation
from sumwise.kernels.row_products import multiply_rows, padded

__all__ = ["Chains", "Jump", "Plan", "draw_chains", "expectation", "halfway", "plan", "sweep", "sweep_halves"]

GROUPS = 16  # sums are taken by group of chains, whatever the number of threads
SUM_BYTES = 2**28  # memory for the groups' sums; fewer groups where tables are large
SMALL = 500  # chains below which threads don't pay
HALF = 1.0 / 2**53
FAST = {
    "reassoc",
    "contract",
    "nsz",
    "arcp",
}  # sums may be reordered (the same way every time); NaN and infinities count


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
    chains: Chains, plan: Plan, weights, theta, offsets, n_threads: int = 1, marginal: bool = True
) -> list[tuple[np.ndarray, np.ndarray, int]]:
    """As `sweep`, with (counts, label sums, number of chains) of each half of the chains, which are independent.

    With marginal=False label sums count the labels that were drawn, as in plain contrastive divergence.
    """
    n, n_cells, n_scores = len(chains.codes), weights.shape[1], len(theta)
    n_groups = _groups(n_cells, n_scores)
    sums = np.zeros((n_groups, n_cells, 1 + n_scores))
    tables = (exponentials(plan, weights), np.ascontiguousarray(weights), np.ascontiguousarray(theta.T))
    sweep_once(chains, plan, tables, offsets, sums, n_threads, marginal)
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


def exponentials(plan: Plan, weights: np.ndarray) -> np.ndarray:
    """Exponentiated tables (K, F) in the order of the plan, padding 0, each clique scaled to keep products in range."""
    scaled = np.full((len(weights), weights.shape[1] + 1), -np.inf)  # the last: what pads rows
    for begin, end in pairwise([*map(int, plan.clique_start), weights.shape[1]]):
        part = weights[:, begin:end]
        scaled[:, begin:end] = part - part.max(axis=1, keepdims=True)
    return np.take(np.exp(scaled, out=scaled), plan.gather, axis=1)  # by class contiguous, as indexing would not be


def sweep_once(chains: Chains, plan: Plan, tables, offsets, sums, n_threads: int = 1, marginal: bool = True) -> None:
    """Run the compiled sweep; `sums` (groups, n_cells, 1 + C) is added to."""
    widest = int(plan.sizes.max())
    pairs = [int(plan.sizes[a] * plan.sizes[b]) for a, b in plan.visits if b >= 0]
    most = int((plan.parts[:, :, 1] - plan.parts[:, :, 0]).max(initial=1))
    room = padded(max([widest, *pairs]))
    arguments = (*chains, *plan[:9], *plan[10:], *tables, offsets, sums, room, most, marginal)
    n_groups = len(sums)
    if n_threads < 2 or n_groups < 2 or len(chains.codes) < SMALL:
        _sweep(0, n_groups, *arguments)  # pyright: ignore[reportCallIssue]
        return
    with ThreadPoolExecutor(n_threads) as pool:
        work: Any = _sweep
        for done in [pool.submit(work, g, g + 1, *arguments) for g in range(n_groups)]:
            done.result()


@njit(forceinline=True, error_model="numpy", fastmath=FAST)
def _uniform(state):
    """A double in [0, 1) from a 64-bit state (the finaliser of splitmix64)."""
    z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(11)) * HALF


@njit(forceinline=True, error_model="numpy")
def _exact(share):
    """Round to 30 bits, so that sums over up to 2**23 chains are exact in any order."""
    return math.floor(share * 2.0**30 + 0.5) * 2.0**-30


@njit(forceinline=True, error_model="numpy", fastmath=FAST)
def _row(f, x, base, near, stride, far, far_attribute, far_stride):
    """Where the row of factor `f` starts, given the levels x of its other attributes."""
    start = base[f] + x[near[f]] * stride[f]
    for q in range(far[f], far[f + 1]):
        start += x[far_attribute[q]] * far_stride[q]
    return start


@njit(forceinline=True, error_model="numpy", fastmath=FAST)
def _multiply(first, last, m, table, w, starts, x, base, near, stride, far, far_attribute, far_stride):
    """w[:m] = product over factors first..last of their rows; ones where there is no factor."""
    for f in range(first, last):
        starts[f - first] = _row(f, x, base, near, stride, far, far_attribute, far_stride)
    multiply_rows(table, starts, last - first, m, w)


@njit(error_model="numpy", cache=True)
def _multiply_logs(first, last, m, table, w, x, base, near, stride, far, far_attribute, far_stride):
    """As `_multiply`, with logs: for products that leave the range of doubles."""
    for v in range(m):
        w[v] = 0.0
    for f in range(first, last):
        o = _row(f, x, base, near, stride, far, far_attribute, far_stride)
        for v in range(m):
            w[v] += math.log(table[o + np.uint64(v)])


@njit(forceinline=True, error_model="numpy", fastmath=FAST)
def _pick(w, m, u):
    """Position of the draw `u` in [0, 1) among weights w[:m]; -1 if their sum is out of range."""
    total = 0.0
    for v in range(m):
        total += w[v]
    left = u * total
    k = 0
    acc = w[0]
    while acc <= left and k < m - 1:
        k += 1
        acc += w[k]
    return k if 1e-280 < total < 1e280 else -1


@njit(error_model="numpy", cache=True)
def _pick_logs(w, m, u):
    """As `_pick`, from log-weights; all levels alike if none is finite."""
    top = -np.inf
    for v in range(m):
        top = max(top, w[v])
    for v in range(m):
        w[v] = math.exp(w[v] - top) if top > -np.inf else 1.0
    return _pick(w, m, u)


@njit(forceinline=True, error_model="numpy", fastmath=FAST)
def _pair(parts, m, n, table, x, u, w, w2, starts, base, near, stride, far, far_attribute, far_stride):
    """Redraw two attributes of m and n levels together given the rest; return the position in m * n, or -1.

    One inverse-CDF draw in two stages: the first level by the sums of the rows, the second with what is left.
    """
    _multiply(parts[2, 0], parts[2, 1], m * n, table, w, starts, x, base, near, stride, far, far_attribute, far_stride)
    _multiply(parts[1, 0], parts[1, 1], n, table, w2, starts, x, base, near, stride, far, far_attribute, far_stride)
    for v in range(m):
        for t in range(n):
            w[v * n + t] *= w2[t]
    _multiply(parts[0, 0], parts[0, 1], m, table, w2, starts, x, base, near, stride, far, far_attribute, far_stride)
    total = 0.0
    for v in range(m):
        row = 0.0
        for t in range(n):
            row += w[v * n + t]
        w2[v] *= row
        total += w2[v]
    if not 1e-280 < total < 1e280:
        return -1
    left = u * total
    v = 0
    while left >= w2[v] and v < m - 1:
        left -= w2[v]
        v += 1
    row = 0.0
    for t in range(n):
        row += w[v * n + t]
    left = min(left / w2[v], 1.0) * row if w2[v] > 0.0 else 0.0
    t = 0
    acc = w[v * n]
    while acc <= left and t < n - 1:
        t += 1
        acc += w[v * n + t]
    return v * n + t


@njit(error_model="numpy", cache=True)
def _pair_logs(parts, m, n, table, x, u, w, w2, base, near, stride, far, far_attribute, far_stride):
    _multiply_logs(parts[2, 0], parts[2, 1], m * n, table, w, x, base, near, stride, far, far_attribute, far_stride)
    _multiply_logs(parts[0, 0], parts[0, 1], m, table, w2, x, base, near, stride, far, far_attribute, far_stride)
    for v in range(m):
        for t in range(n):
            w[v * n + t] += w2[v]
    _multiply_logs(parts[1, 0], parts[1, 1], n, table, w2, x, base, near, stride, far, far_attribute, far_stride)
    for v in range(m):
        for t in range(n):
            w[v * n + t] += w2[t]
    return _pick_logs(w, m * n, u)


@njit(forceinline=True, error_model="numpy", fastmath=FAST)
def _jump(
    j, x, proposed, state, step, weights, sizes,
    jumps, jump_attribute, jump_parent, jump_start, jump_cumulative, jump_log, touched, touched_cliques,
    clique_start, clique_members, member_attribute, member_stride,
):  # fmt: skip
    """Propose several attributes at once from their tree; accept by the ratio of model to proposal. In place."""
    ratio, moved = 0.0, False
    for a in range(x.size):  # a loop: assigning slices costs more than these few levels
        proposed[a] = x[a]
    for i in range(jumps[j], jumps[j + 1]):
        a, parent = jump_attribute[i], jump_parent[i]
        m = sizes[a]
        old = jump_start[i] + (m * x[parent] if parent >= 0 else np.uint64(0))
        new = jump_start[i] + (m * proposed[parent] if parent >= 0 else np.uint64(0))
        state += step
        left = _uniform(state) * jump_cumulative[new + m - np.uint64(1)]
        k = np.uint64(0)
        while k < m - np.uint64(1) and jump_cumulative[new + k] <= left:
            k += np.uint64(1)
        proposed[a] = k
        moved = moved or k != x[a]
        ratio += jump_log[old + x[a]] - jump_log[new + k]
    state += step
    if not moved:
        return state
    for t in range(touched[j], touched[j + 1]):
        c = touched_cliques[t]
        q = clique_members[c]
        a, b = member_attribute[q], member_attribute[q + 1]
        before = clique_start[c] + x[a] * member_stride[q] + x[b] * member_stride[q + 1]
        after = clique_start[c] + proposed[a] * member_stride[q] + proposed[b] * member_stride[q + 1]
        for q in range(clique_members[c] + 2, clique_members[c + 1]):
            before += x[member_attribute[q]] * member_stride[q]
            after += proposed[member_attribute[q]] * member_stride[q]
        ratio += weights[after] - weights[before]
    if ratio >= 0.0 or _uniform(state) < math.exp(ratio):
        for i in range(jumps[j], jumps[j + 1]):
            x[jump_attribute[i]] = proposed[jump_attribute[i]]
    return state


@njit(forceinline=True, error_model="numpy", fastmath=FAST)
def _class_shares(z, offsets, p):
    """p = softmax of scores z; for one score z[0] against 0, p[0] is the probability of class 1."""
    if z.size == 1:
        p[0] = 1.0 / (1.0 + math.exp(-(z[0] + offsets[1] - offsets[0])))
        return
    top = -np.inf
    for k in range(z.size):
        z[k] += offsets[k]
        top = max(top, z[k])
    total = 0.0
    for k in range(z.size):
        p[k] = math.exp(z[k] - top)
        total += p[k]
    for k in range(z.size):
        p[k] /= total


@njit(forceinline=True, error_model="numpy", fastmath=FAST)
def _draw_class(p, u):
    if p.size == 1:
        return 1 if u < p[0] else 0
    k = 0
    acc = p[0]
    while acc <= u and k < p.size - 1:
        k += 1
        acc += p[k]
    return k


@njit(nogil=True, error_model="numpy", fastmath=FAST, cache=True)
def _sweep(  # noqa: C901, PLR0912, PLR0915 - one loop over chains: calls with arrays would cost more than they tell
    begin, end,
    codes, labels, streams, steps,
    sizes, visits, parts, base, near, stride, far, far_attribute, far_stride,
    clique_start, clique_members, member_attribute, member_stride,
    jumps, jump_attribute, jump_parent, jump_start, jump_cumulative, jump_log, touched, touched_cliques,
    rows, weights, theta, offsets, sums, widest, most, marginal,
):  # fmt: skip
    n, d = codes.shape
    n_groups = sums.shape[0]
    per = (n + n_groups - 1) // n_groups
    n_cliques = clique_start.size
    binary = theta.shape[1] == 1
    pair = clique_members[:-1]  # two members at least
    one, one_stride = member_attribute[pair], member_stride[pair]
    two, two_stride = member_attribute[pair + 1], member_stride[pair + 1]
    for g in range(begin, end):
        w, w2, starts = np.empty(widest), np.empty(widest), np.empty(most, np.uint64)
        x, proposed = np.empty(d, np.uint64), np.empty(d, np.uint64)
        cells = np.empty(n_cliques, np.uint64)
        z, p = np.empty(theta.shape[1]), np.empty(theta.shape[1])
        total = sums[g]
        for r in range(g * per, min(n, (g + 1) * per)):
            state, step = streams[r], steps[r]
            table = rows[labels[r]]
            for a in range(d):
                x[a] = codes[r, a]
            for i in range(visits.shape[0]):
                state += step
                u = _uniform(state)
                a, b = visits[i, 0], visits[i, 1]
                m = np.int64(sizes[a])
                if b < 0:
                    first, last = parts[i, 0, 0], parts[i, 0, 1]
                    _multiply(first, last, m, table, w, starts, x, base, near, stride, far, far_attribute, far_stride)
                    k = _pick(w, m, u)
                    if k < 0:
                        _multiply_logs(first, last, m, table, w, x, base, near, stride, far, far_attribute, far_stride)
                        k = _pick_logs(w, m, u)
                    x[a] = np.uint64(k)
                else:
                    t = np.int64(sizes[b])
                    k = _pair(
                        parts[i], m, t, table, x, u, w, w2, starts, base, near, stride, far, far_attribute, far_stride
                    )
                    if k < 0:
                        k = _pair_logs(
                            parts[i], m, t, table, x, u, w, w2, base, near, stride, far, far_attribute, far_stride
                        )
                    x[a] = np.uint64(k // t)
                    x[b] = np.uint64(k % t)
            for j in range(jumps.size - 1):
                state = _jump(
                    j, x, proposed, state, step, weights[labels[r]], sizes,
                    jumps, jump_attribute, jump_parent, jump_start, jump_cumulative, jump_log, touched, touched_cliques,
                    clique_start, clique_members, member_attribute, member_stride,
                )  # fmt: skip
            score = 0.0
            for c in range(n_cliques):
                cell = clique_start[c] + x[one[c]] * one_stride[c] + x[two[c]] * two_stride[c]
                for e in range(clique_members[c] + 2, clique_members[c + 1]):
                    cell += x[member_attribute[e]] * member_stride[e]
                cells[c] = cell
                if binary:
                    score += theta[cell, 0]
            if binary:
                z[0] = score
                _class_shares(z, offsets, p)
                state += step
                drawn = _draw_class(p, _uniform(state))
                share = _exact(p[0]) if marginal else float(drawn)
                for c in range(n_cliques):
                    total[cells[c], 0] += 1.0
                    total[cells[c], 1] += share
            else:
                z[:] = 0.0
                for c in range(n_cliques):
                    for k in range(z.size):
                        z[k] += theta[cells[c], k]
                _class_shares(z, offsets, p)
                state += step
                drawn = _draw_class(p, _uniform(state))
                if not marginal:
                    p[:] = 0.0
                    p[drawn] = 1.0
                for c in range(n_cliques):
                    total[cells[c], 0] += 1.0
                    for k in range(p.size):
                        total[cells[c], k + 1] += _exact(p[k])
            labels[r] = drawn
            streams[r] = state
            for a in range(d):
                codes[r, a] = x[a]


def expectation(counts: np.ndarray, label_sums: np.ndarray, n: int) -> Expectation:
    """Sums over n chains as probabilities of cell and class; a sampler knows no normaliser."""
    if len(label_sums) == 1:
        label_sums = np.stack([counts - label_sums[0], label_sums[0]])
    return Expectation(label_sums / n, np.full(len(label_sums), np.nan))
