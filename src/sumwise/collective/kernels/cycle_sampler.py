"""Gibbs sampling of a population's tables along cycles (Sheldon and Dietterich 2011).

A move picks a direction d that keeps every margin (individuals on one path of the trellis take another one, or
pairs exchange what lies below an edge) without a look at the tables, and draws how many individuals make it from
``p(delta) prop. to p(n + delta d) p(y | n + delta d)``, which is discrete and log-concave. Directions come from the
guide, so that they pass through cells that hold somebody. The cost of a move doesn't depend on the population.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sumwise.collective.kernels.trellis import draw_entry, draw_state, find_entry, log_seen, seen_counts
from sumwise.inference.kernels.compiled import njit

if TYPE_CHECKING:
    from sumwise.collective.kernels.trellis import SeenCounts, Trellis

_FEW = 16  # ranges up to this length are enumerated


class Direction(NamedTuple):
    """Counts that a move changes: where they stand, by how much each, and the power of their factorial; buffers."""

    at: np.ndarray
    sign: np.ndarray
    power: np.ndarray


class Line(NamedTuple):
    """Tables along the first `size` entries of a direction: what is seen, the counts here, and the linear slope."""

    seen: SeenCounts | Trellis
    counts: np.ndarray
    move: Direction
    size: int
    slope: float


@njit(cache=True)
def _factorial(x: int) -> float:
    return math.lgamma(x + 1.0)


@njit(cache=True)
def _value(line: Line, delta: int) -> float:
    """Log-weight of the tables after `delta` moves along the line, without constants."""
    value, move = line.slope * delta, line.move
    for j in range(line.size):
        n = line.counts[move.at[j]] + move.sign[j] * delta
        value += log_seen(line.seen, move.at[j], n)
        if move.power[j] != 0.0:
            value += move.power[j] * _factorial(n)
    return value


@njit(cache=True)
def _rise(line: Line, delta: int) -> float:
    """Value at delta + 1 minus value at delta; where both are impossible, towards zero."""
    here, there = _value(line, delta), _value(line, delta + 1)
    if here == -np.inf and there == -np.inf:
        return np.inf if delta < 0 else -np.inf
    return there - here


@njit(cache=True)
def draw_along(line: Line, rng: np.random.Generator) -> int:
    """Draw delta by exact rejection from a flat top and two geometric tails (short ranges are enumerated)."""
    low, high = -(2**62), 2**62
    for j in range(line.size):
        if line.move.sign[j] > 0:
            low = max(low, -line.counts[line.move.at[j]])
        else:
            high = min(high, line.counts[line.move.at[j]])
    if low == high:
        return 0
    if high - low < _FEW:
        return _enumerate(line, low, high, rng)
    a, b = low, high  # the mode: the first delta after which the value falls
    while a < b:
        middle = (a + b) // 2
        if _rise(line, middle) > 0:
            a = middle + 1
        else:
            b = middle
    return _reject(line, low, high, a, rng)


@njit(cache=True)
def _enumerate(line: Line, low: int, high: int, rng: np.random.Generator) -> int:
    values = np.empty(high - low + 1)
    for i in range(values.shape[0]):
        values[i] = _value(line, low + i)
    top = values.max()
    left = rng.random() * np.exp(values - top).sum()
    for i in range(values.shape[0]):
        left -= np.exp(values[i] - top)
        if left < 0:
            return low + i
    return low + int(values.argmax())


@njit(cache=True)
def _side(line: Line, mode: int, top: float, end: int, way: int) -> tuple[int, float, float]:
    """Where one tail begins, its value there and its slope: about one standard deviation from the mode.

    The value is asked for at one place in the code, as its copies take most of the time to compile: first next to the
    mode, then at shorter and shorter steps until it isn't far below the top, then at longer ones until it falls.
    """
    room = way * (end - mode)
    if room <= 0:
        return mode, top, -np.inf
    step, far, stage, last = 1, 1, 0, top
    while True:
        value = _value(line, mode + way * far)
        if stage == 0:  # next to the mode
            step = int(min(max(1.0, math.sqrt(1.0 / max(top - value, 1e-12))), float(room)))
            far, stage = step, 1
        elif stage == 1 and value <= top - 6.0 and step > 1:
            step = max(1, step // 2)
            far = step
        elif stage == 1 and value == -np.inf:
            return mode, top, -np.inf
        elif stage == 2 and value < last - 1e-9:
            return mode + way * step, last, value - last
        elif stage == 2:
            step = min(2 * step, room)
            far, stage = step, 3
        else:  # a step of the right length, or one after which the value didn't fall
            if step >= room:
                return mode + way * step, value, -np.inf
            last, far, stage = value, step + 1, 2


@njit(cache=True)
def _tail(value: float, rise: float, length: int) -> float:
    """Mass of ``exp(value + rise j)`` for j = 1 .. length."""
    if length <= 0 or rise == -np.inf:
        return 0.0
    return math.exp(value + rise) * math.expm1(rise * length) / math.expm1(rise)


@njit(cache=True)
def _reject(line: Line, low: int, high: int, mode: int, rng: np.random.Generator) -> int:
    top = _value(line, mode)
    ends, values, rises = np.empty(2, np.int64), np.empty(2), np.empty(2)
    for k in range(2):
        ends[k], values[k], rises[k] = _side(line, mode, top, low if k == 0 else high, 2 * k - 1)
    left, left_value, left_rise = ends[0], values[0], rises[0]
    right, right_value, right_rise = ends[1], values[1], rises[1]
    middle = float(right - left + 1)
    below = _tail(left_value - top, left_rise, left - low)
    above = _tail(right_value - top, right_rise, high - right)
    while True:
        u = rng.random() * (middle + below + above)
        if u < middle:
            delta, bound = left + int(u), top
        else:
            rise, length = (left_rise, left - low) if u < middle + below else (right_rise, high - right)
            j = 1 + int(math.log1p(rng.random() * math.expm1(rise * length)) / rise)
            j = min(j, length)
            if u < middle + below:
                delta, bound = left - j, left_value + rise * j
            else:
                delta, bound = right + j, right_value + rise * j
        if math.log(rng.random()) <= _value(line, delta) - bound:
            return delta


@njit(cache=True)
def _leave(
    t: Trellis, move: Direction, size: int, slope: float, old: int, new: int, factor: float
) -> tuple[int, float]:
    """Add to the line that individuals leave one count for another; returns its new size and slope."""
    n_cells = t.base.shape[0]
    move.at[size], move.at[size + 1] = old, new
    move.sign[size], move.sign[size + 1] = -1, 1
    move.power[size] = move.power[size + 1] = factor
    if old < n_cells:
        slope += t.base[new] - t.base[old]
    else:
        slope += float(t.theta[new - n_cells] - t.theta[old - n_cells])
    return size + 2, slope


@njit(cache=True)
def _line_below(
    t: Trellis, node: int, move: Direction, fresh: np.ndarray, rng: np.random.Generator
) -> tuple[int, float]:
    """Line on which individuals with one path at `node` and below take another one."""
    n_cells, size, slope = t.base.shape[0], 0, 0.0
    old, new = fresh[0], fresh[1]
    begin = t.up[node]
    if begin < 0:
        begin = t.below[node, 0]
        old[node], new[node] = draw_state(t, node, rng), draw_state(t, node, rng)
        if old[node] != new[node]:
            start = t.node_start[node]
            size, slope = _leave(t, move, size, slope, start + old[node], start + new[node], float(t.factor[node]))
    else:
        p = t.parent[begin]
        old[p] = draw_state(t, p, rng)
        new[p] = old[p]
    for k in range(begin, t.below[node, 1]):
        p, c = t.parent[k], t.child[k]
        a, b = draw_entry(t, k, old[p], rng), draw_entry(t, k, new[p], rng)
        old[c], new[c] = t.col[a], t.col[b]
        if a != b:
            size, slope = _leave(t, move, size, slope, n_cells + a, n_cells + b, -1.0)
        if old[c] != new[c]:
            start = t.node_start[c]
            size, slope = _leave(t, move, size, slope, start + old[c], start + new[c], float(t.factor[c]))
    return size, slope


@njit(cache=True)
def _line_at(t: Trellis, node: int, move: Direction, rng: np.random.Generator) -> tuple[int, float]:
    """Line on which individuals change their state at one node, between neighbours that stay."""
    n_cells, size, slope, step = t.base.shape[0], 0, 0.0, t.up[node]
    if step >= 0:
        from_state = draw_state(t, t.parent[step], rng)
        a, b = draw_entry(t, step, from_state, rng), draw_entry(t, step, from_state, rng)
        old, new = t.col[a], t.col[b]
    else:
        a = b = -1
        old, new = draw_state(t, node, rng), draw_state(t, node, rng)
    if old == new:
        return 0, 0.0
    start = t.node_start[node]
    size, slope = _leave(t, move, size, slope, start + old, start + new, float(t.factor[node]))
    if step >= 0:
        size, slope = _leave(t, move, size, slope, n_cells + a, n_cells + b, -1.0)
    k = t.below[node, 0]
    while k < t.below[node, 1]:
        one = draw_entry(t, k, old, rng)
        other = find_entry(t, k, new, t.col[one])
        if other < 0:
            return 0, 0.0
        size, slope = _leave(t, move, size, slope, n_cells + one, n_cells + other, -1.0)
        k = t.below[t.child[k], 1]
    return size, slope


@njit(cache=True)
def _line_across(t: Trellis, step: int, ring: int, move: Direction, rng: np.random.Generator) -> tuple[int, float]:
    """Line on which `ring` individuals pass what lies below `step` round among them."""
    n_cells, size, slope = t.base.shape[0], 0, 0.0
    froms, tos, held = np.empty(ring, np.int64), np.empty(ring, np.int64), np.empty(ring, np.int64)
    for i in range(ring):
        froms[i] = draw_state(t, t.parent[step], rng)
        held[i] = draw_entry(t, step, froms[i], rng)
        tos[i] = t.col[held[i]]
        for j in range(i):
            if froms[i] == froms[j] or tos[i] == tos[j]:
                return 0, 0.0
    for i in range(ring):
        new = find_entry(t, step, froms[i], tos[(i + 1) % ring])
        if new < 0:
            return 0, 0.0
        size, slope = _leave(t, move, size, slope, n_cells + held[i], n_cells + new, -1.0)
    return size, slope


@njit(cache=True)
def sweep_cycles(
    t: Trellis, counts: np.ndarray, n_moves: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Make `n_moves` moves in place; returns those that changed something and all, by kind (see `sweep_paths`)."""
    n_nodes, n_steps = t.up.shape[0], t.parent.shape[0]
    length = 2 * (n_nodes + n_steps) + 8
    move = Direction(np.empty(length, dtype=np.int64), np.empty(length, dtype=np.int64), np.empty(length))
    fresh = np.empty((2, n_nodes), dtype=np.int64)
    done, tried = np.zeros(4, dtype=np.int64), np.zeros(4, dtype=np.int64)
    across, seen = np.flatnonzero(t.swaps), seen_counts(t)
    for _ in range(n_moves):
        u = rng.random()
        if u < 0.4 and len(across) > 0:
            ring = 2 if u < 0.34 else (3 if u < 0.38 else 4)
            kind = 3
            size, slope = _line_across(t, across[rng.integers(0, len(across))], ring, move, rng)
        elif u < 0.8:
            kind = 2
            size, slope = _line_at(t, rng.integers(0, n_nodes), move, rng)
        else:
            node = rng.integers(0, n_nodes)
            kind = 0 if t.up[node] < 0 else 1
            size, slope = _line_below(t, node, move, fresh, rng)
        tried[kind] += 1
        if size == 0:
            continue
        delta = draw_along(Line(seen, counts, move, size, slope), rng)
        if delta != 0:
            done[kind] += 1
            for j in range(size):
                counts[move.at[j]] += move.sign[j] * delta
    return done, tried
