"""The plan of a Gibbs sweep on a device: all chains redraw one site, then all the next, from rows that lie ready.

A site is an attribute, or two that are redrawn together. Its conditional is the sum of one row per factor. Attributes
of few levels share a factor: the row for (b, c) is the sum of b's and c's rows, written once per sweep and read by
every chain, so fewer rows are read where reading is what costs.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sumwise.maxent.kernels.loglinear import Layout

FUSED_ROWS = 1024  # a factor over several attributes has at most this many rows
FEW_CELLS = 8192  # a clique up to this size is counted in several copies, so that chains seldom meet in one
COPIES = 32


class Site(NamedTuple):
    """One redraw of every chain, and where its rows come from.

    A site of m levels (rows are `width` long) has F factors; the row of factor f is ``first[f] + sum over q of
    stride[f, q] * code of attribute[f, q]``, strides of 0 filling up. Row r is the sum over p of cells
    ``offset[p, r] + (v // inner) * outer_step[p, r] + (v % inner) * inner_step[p, r]`` of the flat weights, for levels
    v; an offset of -1 is no part. Two attributes drawn together have v = code of the first * inner + the second's.
    """

    drawn: tuple[int, ...]
    m: int
    width: int
    inner: int
    first: np.ndarray  # (F,)
    attribute: np.ndarray  # (F, Q)
    stride: np.ndarray  # (F, Q)
    offset: np.ndarray  # (P, R)
    outer_step: np.ndarray  # (P, R)
    inner_step: np.ndarray  # (P, R)

    @property
    def n_rows(self) -> int:
        """Rows of all factors."""
        return self.offset.shape[1]


class Counting(NamedTuple):
    """Where chains are counted: per clique its attributes and strides (T, Q), start, and place among the copies.

    small (T,): start of the clique among cells that are kept in COPIES copies, -1 for a clique that has one;
    small_cells: those cliques' cells, in that order.
    """

    attribute: np.ndarray
    stride: np.ndarray
    start: np.ndarray
    small: np.ndarray
    small_cells: np.ndarray


def sites(lay: Layout, blocks: tuple[tuple[int, ...], ...] = (), n_chains: int = 1_000_000) -> tuple[Site, ...]:
    """Lay out a sweep; each pair in `blocks` is redrawn together. Rows are fused where chains are many beside them."""
    paired: dict[int, tuple[int, ...]] = {a: b for b in blocks for a in b}
    drawn = [paired.get(a, (a,)) for a in range(len(lay.sizes)) if paired.get(a, (a,))[0] == a]
    return tuple(_site(lay, d, min(FUSED_ROWS, max(1, n_chains // 16))) for d in drawn)


def _site(lay: Layout, drawn: tuple[int, ...], most_rows: int) -> Site:
    touching = [c for c, clique in enumerate(lay.cliques) if set(clique) & set(drawn)]
    groups = _groups(lay, [tuple(a for a in lay.cliques[c] if a not in drawn) for c in touching], most_rows)
    factors = [_factor(lay, drawn, others, [touching[i] for i in members]) for others, members in groups]
    most_parts = max((f[1].shape[1] for f in factors), default=0)
    parts = [np.pad(f[1], ((0, 0), (0, most_parts - f[1].shape[1]), (0, 0)), constant_values=-1) for f in factors]
    stacked = np.concatenate(parts, axis=2) if parts else np.full((3, 1, 1), -1)
    n_rows = [f[1].shape[2] for f in factors]
    m = math.prod(lay.shape(drawn))
    most = max([1, *(len(f[0]) for f in factors)])
    attribute, stride = np.zeros((2, len(factors), most), dtype=np.int64)
    for i, (others, _) in enumerate(factors):
        for q, (a, s) in enumerate(others):
            attribute[i, q], stride[i, q] = a, s
    first = np.concatenate([[0], np.cumsum(n_rows)])[: len(factors)].astype(np.int64)
    inner = lay.sizes[drawn[1]] if len(drawn) > 1 else 1
    return Site(drawn, m, _width(m), inner, first, attribute, stride, *stacked.astype(np.int64))


def _width(m: int) -> int:
    """Length of a stored row: whole 32-byte sectors of half precision, or a power of two below that."""
    return 2 ** math.ceil(math.log2(m)) if m < 16 else -(-m // 16) * 16


def _groups(lay: Layout, others: list[tuple[int, ...]], most_rows: int) -> list[tuple[tuple[int, ...], list[int]]]:
    """Put cliques whose other attributes have few joint levels together, largest first, each where it fits best."""
    bins: list[tuple[set[int], list[int]]] = []

    def rows(attributes: set[int] | tuple[int, ...]) -> int:
        return math.prod(lay.shape(attributes))

    for i in sorted(range(len(others)), key=lambda i: (-rows(others[i]), others[i])):
        within = [b for b in bins if rows(b[0] | set(others[i])) <= max(most_rows, rows(b[0]))]
        if within:
            fullest = max(within, key=lambda b: rows(b[0] | set(others[i])))
            fullest[0].update(others[i])
            fullest[1].append(i)
        else:
            bins.append((set(others[i]), [i]))
    return [(tuple(sorted(attributes)), members) for attributes, members in bins]


def _factor(
    lay: Layout, drawn: tuple[int, ...], others: tuple[int, ...], members: list[int]
) -> tuple[list[tuple[int, int]], np.ndarray]:
    """(attribute, stride) of the other attributes, and (3, P, R): offset, outer step and inner step of every part."""
    shape = lay.shape(others)
    steps = [math.prod(shape[i + 1 :]) for i in range(len(others))]
    levels = np.indices(shape).reshape(len(others), -1) if others else np.zeros((0, 1), dtype=np.int64)
    parts = np.empty((3, len(members), levels.shape[1]), dtype=np.int64)
    outer, inner = drawn[0], drawn[1:2]
    for p, c in enumerate(members):
        clique = lay.cliques[c]
        sizes = lay.shape(clique)
        stride = {a: math.prod(sizes[i + 1 :]) for i, a in enumerate(clique)}
        parts[0, p] = lay.starts[c] + sum(stride.get(a, 0) * levels[i] for i, a in enumerate(others))
        parts[1, p] = stride.get(outer, 0)
        parts[2, p] = sum(stride.get(a, 0) for a in inner)
    return list(zip(others, steps)), parts


def counting(lay: Layout) -> Counting:
    """Where the cells of every clique are, and which cliques are so small that they are counted in copies."""
    most = max(len(c) for c in lay.cliques)
    attribute, stride = np.zeros((2, len(lay.cliques), most), dtype=np.int64)
    for c, clique in enumerate(lay.cliques):
        sizes = lay.shape(clique)
        for q, a in enumerate(clique):
            attribute[c, q], stride[c, q] = a, math.prod(sizes[q + 1 :])
    n = np.diff(lay.starts)
    few = n <= FEW_CELLS
    small = np.where(few, np.cumsum(np.where(few, n, 0)) - n, -1)
    cells = [np.arange(lay.starts[c], lay.starts[c + 1]) for c in np.flatnonzero(few)]
    small_cells = np.concatenate(cells) if cells else np.zeros(0, dtype=np.int64)
    return Counting(attribute, stride, lay.starts[:-1].astype(np.int64), small, small_cells)
