"""One chain's moves, compiled: a level drawn given the rest, two together, several proposed at once, and the class."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sumwise.inference.kernels.compiled import njit
from sumwise.maxent.kernels.gibbs_sparse import apply_logs, apply_ratios, cell_of, joint_pick, search
from sumwise.maxent.kernels.row_products import multiply_rows

if TYPE_CHECKING:
    from sumwise.maxent.kernels.gibbs_plan import Cliques, Factors, Jumps, PairJumps
    from sumwise.maxent.kernels.gibbs_sparse import SparsePlan

HALF = 1.0 / 2**53
APART = 0.1  # share of proposals for a large pair that take its levels independently, so that every cell can be reached
# Sums may be reordered (the same way every time); NaN and infinities count
FAST_MATH = {"reassoc", "contract", "nsz", "arcp"}


class Rules(NamedTuple):
    """What moves read of a `Plan`."""

    sizes: np.ndarray
    parts: np.ndarray
    factors: Factors
    cliques: Cliques


class Work(NamedTuple):
    """Levels x (D,) of a chain, and buffers: for proposed ones, for weights of levels, and for where rows start."""

    x: np.ndarray
    proposed: np.ndarray
    w: np.ndarray
    w2: np.ndarray
    starts: np.ndarray


@njit(forceinline=True, error_model="numpy", fastmath=FAST_MATH)
def uniform(state: int) -> float:
    """A double in [0, 1) from a 64-bit state (the finaliser of splitmix64)."""
    z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(11)) * HALF


@njit(forceinline=True, error_model="numpy")
def exact(share: float) -> float:
    """Round to 30 bits, so that sums over up to 2**23 chains are exact in any order."""
    return math.floor(share * 2.0**30 + 0.5) * 2.0**-30


@njit(forceinline=True, error_model="numpy", fastmath=FAST_MATH)
def row_start(f: int, x: np.ndarray, factors: Factors) -> int:
    """Where the row of factor `f` starts, given the levels x of its other attributes."""
    start = factors.base[f] + x[factors.near[f]] * factors.stride[f]
    for q in range(factors.far[f], factors.far[f + 1]):
        start += x[factors.far_attribute[q]] * factors.far_stride[q]
    return start


@njit(forceinline=True, error_model="numpy", fastmath=FAST_MATH)
def multiply(
    first: int, last: int, m: int, table: np.ndarray, w: np.ndarray, starts: np.ndarray, x: np.ndarray, factors: Factors
) -> None:
    """w[:m] = product over factors first..last of their rows; ones where there is no factor."""
    for f in range(first, last):
        starts[f - first] = row_start(f, x, factors)
    multiply_rows(table, starts, last - first, m, w)


@njit(error_model="numpy", cache=True)
def multiply_logs(
    first: int, last: int, m: int, table: np.ndarray, w: np.ndarray, x: np.ndarray, factors: Factors
) -> None:
    """As `multiply`, with logs: for products that leave the range of doubles."""
    for v in range(m):
        w[v] = 0.0
    for f in range(first, last):
        o = row_start(f, x, factors)
        for v in range(m):
            w[v] += math.log(table[o + np.uint64(v)])


@njit(forceinline=True, error_model="numpy", fastmath=FAST_MATH)
def pick(w: np.ndarray, m: int, u: float) -> int:
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
def pick_logs(w: np.ndarray, m: int, u: float) -> int:
    """As `pick`, from log-weights; all levels alike if none is finite."""
    unlogged(w, m)
    return pick(w, m, u)


@njit(forceinline=True, error_model="numpy", fastmath=FAST_MATH)
def pair(
    i: int,
    m: int,
    n: int,
    u: float,
    table: np.ndarray,
    ratio: np.ndarray,
    work: Work,
    rules: Rules,
    sparse: SparsePlan | None,
) -> int:
    """Redraw two attributes of m and n levels together given the rest; return the position in m * n, or -1.

    One inverse-CDF draw in two stages: the first level by the sums of the rows, the second with what is left.
    """
    x, w, w2, starts = work.x, work.w, work.w2, work.starts
    parts, factors = rules.parts[i], rules.factors
    multiply(parts[2, 0], parts[2, 1], m * n, table, w, starts, x, factors)
    multiply(parts[1, 0], parts[1, 1], n, table, w2, starts, x, factors)
    apply_ratios(i, 1, x, ratio, w2, sparse)
    for v in range(m):
        for t in range(n):
            w[v * n + t] *= w2[t]
    multiply(parts[0, 0], parts[0, 1], m, table, w2, starts, x, factors)
    apply_ratios(i, 0, x, ratio, w2, sparse)
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
def pair_logs(
    i: int,
    m: int,
    n: int,
    u: float,
    table: np.ndarray,
    ratio: np.ndarray,
    work: Work,
    rules: Rules,
    sparse: SparsePlan | None,
) -> int:
    """As `pair`, with logs."""
    x, w, w2, parts, factors = work.x, work.w, work.w2, rules.parts[i], rules.factors
    multiply_logs(parts[2, 0], parts[2, 1], m * n, table, w, x, factors)
    multiply_logs(parts[0, 0], parts[0, 1], m, table, w2, x, factors)
    apply_logs(i, 0, x, ratio, w2, sparse)
    for v in range(m):
        for t in range(n):
            w[v * n + t] += w2[v]
    multiply_logs(parts[1, 0], parts[1, 1], n, table, w2, x, factors)
    apply_logs(i, 1, x, ratio, w2, sparse)
    for v in range(m):
        for t in range(n):
            w[v * n + t] += w2[t]
    return pick_logs(w, m * n, u)


@njit(error_model="numpy", cache=True)
def listed_pair(
    i: int,
    m: int,
    n: int,
    u: float,
    table: np.ndarray,
    ratio: np.ndarray,
    work: Work,
    rules: Rules,
    sparse: SparsePlan,
) -> int:
    """As `pair`, for two attributes whose table lists its cells."""
    x, w, w2, starts = work.x, work.w, work.w2, work.starts
    parts, factors = rules.parts[i], rules.factors
    multiply(parts[0, 0], parts[0, 1], m, table, w, starts, x, factors)
    apply_ratios(i, 0, x, ratio, w, sparse)
    multiply(parts[1, 0], parts[1, 1], n, table, w2, starts, x, factors)
    apply_ratios(i, 1, x, ratio, w2, sparse)
    k = joint_pick(sparse.joint[i], m, n, u, ratio, w, w2, sparse)
    if k >= 0:
        return k
    multiply_logs(parts[0, 0], parts[0, 1], m, table, w, x, factors)
    apply_logs(i, 0, x, ratio, w, sparse)
    multiply_logs(parts[1, 0], parts[1, 1], n, table, w2, x, factors)
    apply_logs(i, 1, x, ratio, w2, sparse)
    unlogged(w, m)
    unlogged(w2, n)
    return joint_pick(sparse.joint[i], m, n, u, ratio, w, w2, sparse)


@njit(error_model="numpy", cache=True)
def unlogged(w: np.ndarray, m: int) -> None:
    """Weights from log-weights, the largest 1; all alike if none is finite."""
    top = -np.inf
    for v in range(m):
        top = max(top, w[v])
    for v in range(m):
        w[v] = math.exp(w[v] - top) if top > -np.inf else 1.0


@njit(forceinline=True, error_model="numpy", fastmath=FAST_MATH)
def energy_change(
    j: int,
    work: Work,
    weights: np.ndarray,
    jumps: Jumps | PairJumps,
    rules: Rules,
    sparse: SparsePlan | None,
) -> float:
    """Log-weight of the proposed levels less that of the current ones, over the cliques that they change."""
    x, proposed, cliques = work.x, work.proposed, rules.cliques
    ratio = 0.0
    for t in range(jumps.touched[j], jumps.touched[j + 1]):
        c = jumps.touched_cliques[t]
        q = cliques.members[c]
        a, b = cliques.attribute[q], cliques.attribute[q + 1]
        before = x[a] * cliques.stride[q] + x[b] * cliques.stride[q + 1]
        after = proposed[a] * cliques.stride[q] + proposed[b] * cliques.stride[q + 1]
        for q in range(cliques.members[c] + 2, cliques.members[c + 1]):
            before += x[cliques.attribute[q]] * cliques.stride[q]
            after += proposed[cliques.attribute[q]] * cliques.stride[q]
        start = cliques.start[c]
        if sparse is None:
            ratio += weights[start + after] - weights[start + before]
        else:
            ratio += weights[cell_of(c, after, start, sparse)] - weights[cell_of(c, before, start, sparse)]
    return ratio  # pyright: ignore[reportReturnType]  # a number: cells are found one by one


@njit(forceinline=True, error_model="numpy")
def drawn_at(cumulative: np.ndarray, begin: int, end: int, u: float) -> int:
    """Position in begin..end of the draw `u` among cumulative shares."""
    left = u * cumulative[end - 1]
    last = end - 1
    while begin < last:
        middle = (begin + last) // 2
        if cumulative[middle] <= left:
            begin = middle + 1
        else:
            last = middle
    return begin


@njit(forceinline=True, error_model="numpy")
def proposal_share(j: int, a: int, b: int, n: int, jumps: PairJumps) -> np.ndarray:
    """Share of the cell (a, b) under the proposal of pair jump `j`; n levels of the second attribute."""
    apart = jumps.margins[jumps.first[j] + a] * jumps.margins[jumps.second[j] + b]
    at = search(jumps.cells, jumps.ends[j], jumps.ends[j + 1], a * n + b)
    return APART * apart + (1.0 - APART) * (jumps.shares[at] if at >= 0 else 0.0)


@njit(error_model="numpy", cache=True)
def pair_jump(
    j: int,
    work: Work,
    state: int,
    step: int,
    weights: np.ndarray,
    jumps: PairJumps,
    rules: Rules,
    sparse: SparsePlan | None,
) -> int:
    """Propose two attributes at once, a cell in use or two independent levels; accept as `jump` does. In place."""
    x, proposed, sizes = work.x, work.proposed, rules.sizes
    a, b = jumps.pairs[j, 0], jumps.pairs[j, 1]
    m, n = np.int64(sizes[a]), np.int64(sizes[b])
    state += step
    together = uniform(state) >= APART
    state += step
    u = uniform(state)
    state += step
    if together:
        cell = jumps.cells[drawn_at(jumps.cumulative, jumps.ends[j], jumps.ends[j + 1], u)]
        first, second = cell // n, cell % n
    else:
        first = drawn_at(jumps.margin_cumulative, jumps.first[j], jumps.first[j] + m, u) - jumps.first[j]
        second = drawn_at(jumps.margin_cumulative, jumps.second[j], jumps.second[j] + n, uniform(state))
        second -= jumps.second[j]
    state += step
    old_first, old_second = np.int64(x[a]), np.int64(x[b])
    if first == old_first and second == old_second:
        return state
    for i in range(x.size):
        proposed[i] = x[i]
    proposed[a], proposed[b] = np.uint64(first), np.uint64(second)
    ratio = math.log(proposal_share(j, old_first, old_second, n, jumps))
    ratio -= math.log(proposal_share(j, first, second, n, jumps))
    ratio += energy_change(j, work, weights, jumps, rules, sparse)
    if ratio >= 0.0 or uniform(state) < math.exp(ratio):
        x[a], x[b] = proposed[a], proposed[b]
    return state


@njit(forceinline=True, error_model="numpy", fastmath=FAST_MATH)
def jump(
    j: int,
    work: Work,
    state: int,
    step: int,
    weights: np.ndarray,
    jumps: Jumps,
    rules: Rules,
    sparse: SparsePlan | None,
) -> int:
    """Propose several attributes at once from their tree; accept by the ratio of model to proposal. In place."""
    x, proposed, sizes = work.x, work.proposed, rules.sizes
    ratio, moved = 0.0, False
    for a in range(x.size):  # a loop: assigning slices costs more than these few levels
        proposed[a] = x[a]
    for i in range(jumps.ends[j], jumps.ends[j + 1]):
        a, parent = jumps.attribute[i], jumps.parent[i]
        m = sizes[a]
        old = jumps.start[i] + (m * x[parent] if parent >= 0 else np.uint64(0))
        new = jumps.start[i] + (m * proposed[parent] if parent >= 0 else np.uint64(0))
        state += step
        left = uniform(state) * jumps.cumulative[new + m - np.uint64(1)]
        k = np.uint64(0)
        while k < m - np.uint64(1) and jumps.cumulative[new + k] <= left:
            k += np.uint64(1)
        proposed[a] = k
        moved = moved or k != x[a]
        ratio += jumps.log[old + x[a]] - jumps.log[new + k]
    state += step
    if not moved:
        return state
    ratio += energy_change(j, work, weights, jumps, rules, sparse)
    if ratio >= 0.0 or uniform(state) < math.exp(ratio):
        for i in range(jumps.ends[j], jumps.ends[j + 1]):
            x[jumps.attribute[i]] = proposed[jumps.attribute[i]]
    return state


@njit(forceinline=True, error_model="numpy", fastmath=FAST_MATH)
def class_shares(z: np.ndarray, offsets: np.ndarray, p: np.ndarray) -> None:
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


@njit(forceinline=True, error_model="numpy", fastmath=FAST_MATH)
def draw_class(p: np.ndarray, u: float) -> int:
    if p.size == 1:
        return 1 if u < p[0] else 0
    k = 0
    acc = p[0]
    while acc <= u and k < p.size - 1:
        k += 1
        acc += p[k]
    return k
