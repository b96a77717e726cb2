"""A trellis: the nodes and moves of a forest as flat lists, with the model that guides samplers over its tables.

Counts lie in one vector: first the cells of all nodes, then the *entries*, one per allowed move of every edge. Steps
run from the roots down in preorder, so that the steps below a node are one range. The guide is the individual model
tilted by the slope of the observations at the most likely counts: its expected tables are those counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sumwise.inference.kernels.compiled import njit

if TYPE_CHECKING:
    from sumwise.collective.kernels.observations import Observations


class Trellis(NamedTuple):
    """Flat lists; C cells, E entries, N nodes, K steps (one per edge)."""

    node_start: np.ndarray  # (N + 1,) first cell of every node
    factor: np.ndarray  # (N,) number of edges minus one: the power of the node's factorials
    up: np.ndarray  # (N,) step that leads to the node, -1 for a root
    below: np.ndarray  # (N, 2) range of the steps strictly below the node
    parent: np.ndarray  # (K,)
    child: np.ndarray  # (K,)
    row_start: np.ndarray  # (K,) where the step's rows begin in `row`
    row: np.ndarray  # first entry of every (step, parent state), one more at the end of each step
    col: np.ndarray  # (E,) child state
    theta: np.ndarray  # (E,) log-potential of the move
    base: np.ndarray  # (C,) log-potentials of the cells
    tilt: np.ndarray  # (C + E,) added to the log-potentials by the guide
    log_q: np.ndarray  # (E,) guide: log probability of the move, given the parent
    cum: np.ndarray  # (E,) guide: cumulative probability within the row
    log_node: np.ndarray  # (C,) guide: log marginal
    cum_node: np.ndarray  # (C,) guide: cumulative marginal within the node
    swaps: np.ndarray  # (K,) whether two individuals may exchange what lies below the step
    slope: np.ndarray  # (C + E,) linear part of the loss
    seen: np.ndarray  # (C + E + 1,) where each count's observations begin
    kind: np.ndarray  # 0 gaussian, 1 poisson, 2 linear
    y: np.ndarray
    low: np.ndarray  # gaussian: 1 / variance; poisson: rate
    high: np.ndarray
    log: np.ndarray  # logs of 0, 1, 2, ... individuals; the first is the floor's, -inf where zero is impossible


class SeenCounts(NamedTuple):
    """What `log_seen` reads of a `Trellis`: kernels that take less compile sooner."""

    slope: np.ndarray
    seen: np.ndarray
    kind: np.ndarray
    y: np.ndarray
    low: np.ndarray
    high: np.ndarray
    log: np.ndarray


@njit(cache=True)
def seen_counts(t: Trellis) -> SeenCounts:
    """The `SeenCounts` of a trellis."""
    return SeenCounts(t.slope, t.seen, t.kind, t.y, t.low, t.high, t.log)


def observation_lists(observations: Observations, place: np.ndarray, size: int) -> dict[str, np.ndarray]:
    """Fields `slope`, `seen`, `kind`, `y`, `low`, `high` of a trellis from an `Observations`.

    `place` says which count each cell of the observations is; -1 leaves one out.
    """
    slope = np.zeros(size)
    slope[place[place >= 0]] = -observations.shift[place >= 0]
    at = place[observations.index]
    s, p, e = observations.slices()
    kind = np.empty(observations.size, dtype=np.int8)
    low, high = np.zeros(observations.size), np.zeros(observations.size)
    kind[s], kind[p], kind[e] = 0, 1, 2
    low[s], low[p], low[e] = 1.0 / observations.var, observations.rate, observations.low
    high[e] = observations.high
    order = np.argsort(at, kind="stable")
    order = order[at[order] >= 0]
    seen = np.searchsorted(at[order], np.arange(size + 1))
    fields = {"kind": kind[order], "y": observations.y[order].astype(float), "low": low[order], "high": high[order]}
    return {"slope": slope, "seen": seen, **fields}


def logs(total: float) -> np.ndarray:
    """Logs of 0, 1, 2, ..., as far as a table of them pays."""
    with np.errstate(divide="ignore"):
        return np.log(np.arange(min(int(total), 1_000_000) + 2.0))


def build_trellis(
    sizes: tuple[int, ...],
    edges: list[tuple[int, int, np.ndarray, np.ndarray, np.ndarray, bool]],
    base: np.ndarray,
    tilt: np.ndarray,
    observations: dict[str, np.ndarray],
    total: float,
) -> tuple[Trellis, np.ndarray]:
    """A `Trellis` from nodes and edges.

    Parameters
    ----------
    sizes : sequence of int
    edges : sequence of (first, second, from_state, to_state, theta, swaps)
        Two nodes, and per allowed move its states and log-potential; entries follow in this order in `tilt`.
    base : (C,) array; -inf forbids
    tilt : (C + E,) array
    observations : dict
        Fields of the observations, over cells and then entries in the order of `edges` (see `observation_lists`).
    total : int
        Size of the population.

    Returns
    -------
    trellis, order
        `order` says which entry of the edges, as given, each entry of the trellis is.
    """
    n_cells = int(np.sum(sizes))
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    first_entry = np.concatenate([[0], np.cumsum([len(e[4]) for e in edges])]).astype(np.int64)
    up, below, steps = _preorder(len(sizes), edges)
    parts, row, row_start, taken, col, swaps, n_rows = [], [], [], 0, [], [], 0
    for p, _, e, turned in steps:
        _, _, source, target, _, swap = edges[e]
        a, b = (target, source) if turned else (source, target)
        order = np.lexsort((b, a))
        parts.append(first_entry[e] + order)
        col.append(b[order])
        row_start.append(n_rows)
        n_rows += sizes[p] + 1
        row.append(taken + np.searchsorted(a[order], np.arange(sizes[p] + 1)))
        taken += len(order)
        swaps.append(swap)
    order = np.concatenate([np.zeros(0, np.int64), *parts]).astype(np.int64)
    theta = np.concatenate([np.zeros(0), *(e[4] for e in edges)])[order]
    fields = {k: np.asarray(v) for k, v in observations.items()}
    moved = np.concatenate([np.arange(n_cells), n_cells + order])
    fields = _reordered(fields, moved)
    degree = np.bincount([n for e in edges for n in e[:2]], minlength=len(sizes)).astype(np.int64)
    shape = {
        "node_start": starts,
        "factor": degree - 1,
        "up": up,
        "below": below,
        "parent": np.array([s[0] for s in steps], dtype=np.int64),
        "child": np.array([s[1] for s in steps], dtype=np.int64),
        "row_start": np.array(row_start, dtype=np.int64),
        "row": np.concatenate([np.zeros(0, np.int64), *row]).astype(np.int64),
        "col": np.concatenate([np.zeros(0, np.int64), *col]).astype(np.int64),
        "theta": theta,
        "base": np.asarray(base, dtype=float),
        "tilt": np.asarray(tilt, dtype=float)[moved],
        "swaps": np.array(swaps, dtype=np.bool_),
    }
    return Trellis(**shape, **_guide(shape), **fields, log=logs(total)), order


def _reordered(fields: dict[str, np.ndarray], moved: np.ndarray) -> dict[str, np.ndarray]:
    """Observations with their counts in another order."""
    counts = np.diff(fields["seen"])[moved]
    begin = fields["seen"][:-1][moved]
    ends = np.cumsum(counts)
    pick = np.repeat(begin - (ends - counts), counts) + np.arange(counts.sum())
    out = {name: fields[name][pick] for name in ("kind", "y", "low", "high")}
    return {"slope": fields["slope"][moved], "seen": np.concatenate([[0], ends]), **out}


def _preorder(
    n_nodes: int, edges: list[tuple[int, int, np.ndarray, np.ndarray, np.ndarray, bool]]
) -> tuple[np.ndarray, np.ndarray, list[tuple[int, int, int, bool]]]:
    """Per node the step that leads to it and the range below it; steps (parent, child, edge, turned), roots first."""
    neighbours = [[] for _ in range(n_nodes)]
    for e, (first, second, *_) in enumerate(edges):
        neighbours[first].append((second, e, False))
        neighbours[second].append((first, e, True))
    up, below = np.full(n_nodes, -1, dtype=np.int64), np.zeros((n_nodes, 2), dtype=np.int64)
    known, steps = [False] * n_nodes, []
    ends = sorted(range(n_nodes), key=lambda i: (len(neighbours[i]) > 1, i))  # a chain is rooted at its end
    for root in ends:
        if known[root]:
            continue
        known[root] = True
        stack = [(root, -1, -1, False, False)]
        while stack:
            node, came, e, turned, left = stack.pop()
            if left:
                below[node, 1] = len(steps)
                continue
            if came >= 0:
                up[node] = len(steps)
                steps.append((came, node, e, turned))
            below[node, 0] = len(steps)
            stack.append((node, came, e, turned, True))
            for other, edge, turn in reversed(neighbours[node]):
                if not known[other]:
                    known[other] = True
                    stack.append((other, node, edge, turn, False))
    return up, below, steps


def _guide(t: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Log marginals and log conditionals of the tilted model, by one pass up and one down."""
    n_cells = len(t["base"])
    acc = t["base"] + t["tilt"][:n_cells]
    weight = t["theta"] + t["tilt"][n_cells:]
    log_q = np.empty(len(weight))
    for k in range(len(t["parent"]) - 1, -1, -1):
        lo, hi, rows, p, c = _step(t, k)
        terms = weight[lo:hi] + acc[c][t["col"][lo:hi]]
        total = _by_row(terms, rows)
        acc[p] = acc[p] + total
        with np.errstate(invalid="ignore"):
            log_q[lo:hi] = terms - np.repeat(total, np.diff(rows))
    log_q = np.where(np.isnan(log_q), -np.inf, log_q)
    log_node = np.full(n_cells, -np.inf)
    for node in np.flatnonzero(t["up"] < 0):
        at = slice(t["node_start"][node], t["node_start"][node + 1])
        log_node[at] = acc[at] - _by_row(acc[at], np.array([0, at.stop - at.start]))
    for k in range(len(t["parent"])):
        lo, hi, rows, p, c = _step(t, k)
        joint = log_q[lo:hi] + np.repeat(log_node[p], np.diff(rows))
        order = np.argsort(t["col"][lo:hi], kind="stable")
        ends = np.searchsorted(t["col"][lo:hi][order], np.arange(int(c.stop - c.start) + 1))
        log_node[c] = _by_row(joint[order], ends)
    bounds = [_step(t, k)[2] + _step(t, k)[0] for k in range(len(t["parent"]))]
    cum = _cumulative(log_q, bounds)
    return {"log_q": log_q, "cum": cum, "log_node": log_node, "cum_node": _cumulative(log_node, [t["node_start"]])}


def _step(t: dict[str, np.ndarray], k: int) -> tuple[int, int, np.ndarray, slice, slice]:
    """Entries, rows (from zero), cells of the parent and of the child of a step."""
    p, c = t["parent"][k], t["child"][k]
    begin, starts = t["row_start"][k], t["node_start"]
    rows = t["row"][begin : begin + starts[p + 1] - starts[p] + 1]
    here = slice(starts[p], starts[p + 1]), slice(starts[c], starts[c + 1])
    return rows[0], rows[-1], rows - rows[0], *here


def _by_row(terms: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Log-sum-exp of runs of terms; -inf for empty ones."""
    out = np.full(len(rows) - 1, -np.inf)
    some = np.flatnonzero(np.diff(rows))
    if len(some):
        out[some] = np.logaddexp.reduceat(terms, rows[some])
    return out


def _cumulative(logs: np.ndarray, bounds: list[np.ndarray]) -> np.ndarray:
    """Cumulative probabilities within runs; from the last possible one on they are infinite."""
    out = np.zeros(len(logs))
    for ends in bounds:
        some = np.flatnonzero(np.diff(ends))
        if not len(some):
            continue
        starts, lengths = ends[some], np.diff(ends)[some]
        here = slice(ends[0], ends[-1])
        total = np.concatenate([[0.0], np.cumsum(np.exp(logs[here]))])
        place = np.arange(here.start, here.stop)
        last = np.maximum.reduceat(np.where(logs[here] > -np.inf, place, -1), starts - ends[0])
        inside = total[1:] - np.repeat(total[starts - ends[0]], lengths)
        out[here] = np.where(place >= np.repeat(last, lengths), np.inf, inside)
    return out


@njit(cache=True)
def pick(cum: np.ndarray, low: int, high: int, u: float) -> int:
    """The first of ``low .. high - 1`` whose cumulative probability exceeds u."""
    while low < high - 1:
        middle = (low + high - 1) // 2
        if cum[middle] > u:
            high = middle + 1
        else:
            low = middle + 1
    return low


@njit(cache=True)
def find_entry(t: Trellis, step: int, parent_state: int, child_state: int) -> np.ndarray | int:
    """The entry of a move, or -1 where it isn't allowed."""
    at = t.row_start[step] + parent_state
    low, high = t.row[at], t.row[at + 1]
    while low < high:
        middle = (low + high) // 2
        if t.col[middle] < child_state:
            low = middle + 1
        else:
            high = middle
    if low < t.row[at + 1] and t.col[low] == child_state:
        return low
    return -1


@njit(cache=True)
def draw_entry(t: Trellis, step: int, parent_state: int, rng: np.random.Generator) -> int:
    """A move of the guide from a state of the step's parent."""
    at = t.row_start[step] + parent_state
    return pick(t.cum, t.row[at], t.row[at + 1], rng.random())


@njit(cache=True)
def draw_state(t: Trellis, node: int, rng: np.random.Generator) -> int:
    """A state of a node by the guide's marginal."""
    start = t.node_start[node]
    return pick(t.cum_node, start, t.node_start[node + 1], rng.random()) - start


@njit(cache=True)
def log_seen(t: SeenCounts | Trellis, at: int, n: int) -> float:
    """log p(y | n) of one count, without constants."""
    value = -t.slope[at] * n
    for j in range(t.seen[at], t.seen[at + 1]):
        y = t.y[j]
        if t.kind[j] == 0:
            value -= 0.5 * (n - y) * (n - y) * t.low[j]
        elif t.kind[j] == 1:
            value += y * (t.log[n] if n < t.log.shape[0] else np.log(n)) - t.low[j] * n
        elif n > y:
            value -= t.high[j] * (n - y)
        elif n < y:
            value -= t.low[j] * (n - y)
    return value


@njit(cache=True)
def draw_individual(t: Trellis, states: np.ndarray, entries: np.ndarray, rng: np.random.Generator) -> None:
    """Fill in the states (N,) and entries (K,) of one individual of the guide."""
    for node in range(t.up.shape[0]):
        if t.up[node] < 0:
            states[node] = draw_state(t, node, rng)
    for k in range(t.parent.shape[0]):
        entries[k] = draw_entry(t, k, states[t.parent[k]], rng)
        states[t.child[k]] = t.col[entries[k]]
