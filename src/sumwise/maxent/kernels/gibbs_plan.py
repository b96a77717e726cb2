"""The plan of a Gibbs sweep: which attributes are redrawn, and where the rows that it multiplies are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sumwise.maxent.kernels.gibbs_sparse import SparsePlan, sparse_plan
from sumwise.maxent.kernels.loglinear import Layout
from sumwise.maxent.kernels.row_products import padded


class Factors(NamedTuple):
    """Rows of `Plan.gather` that visits multiply.

    base, near, stride (F,): where factor f's table starts, its first other attribute and that one's stride.
    far (F + 1,): slices of the (attribute, stride) pairs of any further ones.
    """

    base: np.ndarray
    near: np.ndarray
    stride: np.ndarray
    far: np.ndarray
    far_attribute: np.ndarray
    far_stride: np.ndarray


class Cliques(NamedTuple):
    """Where a clique's cells start (C,), and slices (C + 1,) of the (attribute, stride) pairs of its members."""

    start: np.ndarray
    members: np.ndarray
    attribute: np.ndarray
    stride: np.ndarray


class Jumps(NamedTuple):
    """Proposals for several attributes at once.

    ends (J + 1,): slices of attribute, parent and start; cumulative and log: conditional shares from `start` on.
    touched (J + 1,): slices of touched_cliques, those that a jump changes.
    """

    ends: np.ndarray
    attribute: np.ndarray
    parent: np.ndarray
    start: np.ndarray
    cumulative: np.ndarray
    log: np.ndarray
    touched: np.ndarray
    touched_cliques: np.ndarray


class PairJump(NamedTuple):
    """A proposal for two attributes of many levels together: a cell in use, or now and then two independent levels.

    pair : the attributes, ascending; cells (m,): those in use of their table, C order, ascending.
    shares (m,) of the cells; first, second : shares of the two attributes' levels, all above 0.
    """

    pair: tuple[int, int]
    cells: np.ndarray
    shares: np.ndarray
    first: np.ndarray
    second: np.ndarray


class PairJumps(NamedTuple):
    """All `PairJump` one after the other.

    pairs (J, 2); ends (J + 1,): slices of cells, shares and cumulative; first, second (J + 1,): slices of margins and
    margin_cumulative for either attribute; touched (J + 1,): slices of touched_cliques.
    """

    pairs: np.ndarray
    ends: np.ndarray
    cells: np.ndarray
    shares: np.ndarray
    cumulative: np.ndarray
    first: np.ndarray
    second: np.ndarray
    margins: np.ndarray
    margin_cumulative: np.ndarray
    touched: np.ndarray
    touched_cliques: np.ndarray


class Plan(NamedTuple):
    """Where a sweep finds the rows that it multiplies.

    A visit redraws one attribute, or two together (a block). Factors of a visit are rows of `gather`, which lists
    cells of the flat tables in an order in which the redrawn attribute varies fastest; a factor's row starts at
    ``base + sum over its other attributes of stride * level``. Rows are padded to whole blocks with the cell
    after the last, whose weight is 0.

    sizes (D,): levels of each attribute. visits (V, 2): first attribute, second attribute or -1.
    parts (V, 3, 2): first and last factor of the visit on the first attribute, on the second, and on both.
    sparse: the same for tables that list their cells.
    """

    sizes: np.ndarray
    visits: np.ndarray
    parts: np.ndarray
    gather: np.ndarray
    factors: Factors
    cliques: Cliques
    jumps: Jumps
    pair_jumps: PairJumps
    sparse: SparsePlan


class Jump(NamedTuple):
    """A proposal for several attributes together: a tree, each attribute drawn given its parent.

    attributes : in an order in which parents come first; parents : for each its parent, -1 for none.
    shares : for each (S_parent, S) conditional shares, (1, S) without a parent; all above 0.
    """

    attributes: tuple[int, ...]
    parents: tuple[int, ...]
    shares: tuple[np.ndarray, ...]


def plan(
    lay: Layout,
    blocks: tuple[tuple[int, int], ...] = (),
    jumps: tuple[Jump, ...] = (),
    pair_jumps: tuple[PairJump, ...] = (),
) -> Plan:
    """Lay out a sweep over all attributes; each pair in `blocks` is redrawn jointly, in place of its two attributes.

    Attributes may stand in one block only. Each of `jumps` and `pair_jumps` is proposed once per sweep, and accepted or
    not by the rule of Metropolis and Hastings.
    """
    paired = {a: b for b in blocks for a in b}
    visits = [paired.get(a, (a, -1)) for a in range(len(lay.sizes)) if a not in paired or a == paired[a][0]]
    parts, factors = [], []
    gather: list[np.ndarray] = []
    filled = 0
    for first, second in visits:
        row = []
        for drawn in ((first,), (second,), (first, second)):
            begin = len(factors)
            for c, clique in enumerate(lay.cliques):
                if lay.sparse_cells(c) is not None:
                    continue
                inside = tuple(a for a in (first, second) if a in clique)
                if inside == drawn and -1 not in drawn:
                    table, others = _turned(lay, c, drawn)
                    factors.append((filled, others))
                    gather.append(table)
                    filled += table.size
            row.append((begin, len(factors)))
        parts.append(row)
    nearest = [o[0] if o else (0, 0) for _, o in factors]
    further = [o[1:] for _, o in factors]
    pairs = [pair for o in further for pair in o] or [(0, 0)]
    members = [_strides(lay, clique) for clique in lay.cliques]
    flat_members = [pair for m in members for pair in m]
    return Plan(
        sizes=_index(lay.sizes),
        visits=np.array(visits, dtype=np.int64),
        parts=np.array(parts, dtype=np.int64),
        gather=np.concatenate([np.zeros(0, np.int64), *gather]),
        factors=Factors(
            base=_index([b for b, _ in factors]),
            near=_index([a for a, _ in nearest]),
            stride=_index([s for _, s in nearest]),
            far=_ends(further),
            far_attribute=_index([a for a, _ in pairs]),
            far_stride=_index([s for _, s in pairs]),
        ),
        cliques=Cliques(
            start=_index(lay.starts[:-1]),
            members=_ends(members),
            attribute=_index([a for a, _ in flat_members]),
            stride=_index([s for _, s in flat_members]),
        ),
        jumps=_jumps(lay, jumps),
        pair_jumps=_pair_jumps(lay, pair_jumps),
        sparse=sparse_plan(lay, visits),
    )


def _jumps(lay: Layout, jumps: tuple[Jump, ...]) -> Jumps:
    shares = [np.asarray(p, dtype=float) for jump in jumps for p in jump.shares]
    touched = [[c for c, q in enumerate(lay.cliques) if set(q) & set(jump.attributes)] for jump in jumps]
    none = [np.zeros(1)]
    return Jumps(
        ends=_ends([jump.attributes for jump in jumps]),
        attribute=_index([a for jump in jumps for a in jump.attributes] or [0]),
        parent=np.array([p for jump in jumps for p in jump.parents] or [0], dtype=np.int64),
        start=_index(np.concatenate([[0], np.cumsum([p.size for p in shares])])),
        cumulative=np.concatenate([np.cumsum(p, axis=1).ravel() for p in shares] or none),
        log=np.concatenate([np.log(p).ravel() for p in shares] or none),
        touched=_ends(touched),
        touched_cliques=np.array([c for part in touched for c in part] or [0], dtype=np.int64),
    )


def _pair_jumps(lay: Layout, jumps: tuple[PairJump, ...]) -> PairJumps:
    margins = [side / side.sum() for jump in jumps for side in (jump.first, jump.second)]
    ends = np.concatenate([[0], np.cumsum([len(m) for m in margins])]).astype(np.int64)
    touched = [[c for c, q in enumerate(lay.cliques) if set(q) & set(jump.pair)] for jump in jumps]
    none = [np.zeros(0)]
    return PairJumps(
        pairs=np.array([jump.pair for jump in jumps], dtype=np.int64).reshape(-1, 2),
        ends=_ends([jump.cells for jump in jumps]),
        cells=np.concatenate([jump.cells for jump in jumps] or none).astype(np.int64),
        shares=np.concatenate([jump.shares / jump.shares.sum() for jump in jumps] or none),
        cumulative=np.concatenate([np.cumsum(jump.shares / jump.shares.sum()) for jump in jumps] or none),
        first=ends[0:-1:2] if jumps else np.zeros(0, np.int64),
        second=ends[1::2] if jumps else np.zeros(0, np.int64),
        margins=np.concatenate(margins or none),
        margin_cumulative=np.concatenate([np.cumsum(m) for m in margins] or none),
        touched=_ends(touched),
        touched_cliques=np.array([c for part in touched for c in part] or [0], dtype=np.int64),
    )


def _ends(lists: Sequence[Sequence[object] | np.ndarray]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum([len(x) for x in lists])]).astype(np.int64)


def _turned(lay: Layout, c: int, drawn: tuple[int, ...]) -> tuple[np.ndarray, list[tuple[int, int]]]:
    """Cells of clique `c` with the drawn attributes last, rows of them padded, and the strides of the others."""
    clique = lay.cliques[c]
    others = [a for a in clique if a not in drawn]
    order = [clique.index(a) for a in (*others, *drawn)]
    table = np.transpose(lay.clique_cells(c), order)
    width = math.prod(lay.shape(drawn))
    rows = np.full((table.size // width, padded(width)), lay.n_cells)
    rows[:, :width] = table.reshape(-1, width)
    steps = [math.prod(table.shape[i + 1 : len(others)]) * rows.shape[1] for i in range(len(others))]
    return rows.ravel(), list(zip(others, steps))


def _strides(lay: Layout, clique: tuple[int, ...]) -> list[tuple[int, int]]:
    """(attribute, stride) of a clique's members: two at least, a second that counts nothing beside one alone."""
    shape = lay.shape(clique)
    found = [(a, math.prod(shape[i + 1 :])) for i, a in enumerate(clique)]
    return found if len(found) > 1 else [*found, (clique[0], 0)]


def _index(values: np.ndarray | list[int] | tuple[int, ...]) -> np.ndarray:
    return np.array(list(values), dtype=np.uint64)  # unsigned: no test for negative positions in the inner loop
