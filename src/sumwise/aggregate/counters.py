"""Counter: the tables of a plan while their rows go by, in one pass, whatever engine sends the rows.

How much memory that takes is known before: large tables are counted by their filled cells, and what won't fit is
refused.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.aggregate.kernels import counting

FEWEST_CELLS = 2**25  # of all tables, below which none is counted by its filled cells
SPARSE_FROM = 4  # cells per row, from which a table is


class Counter:
    """Counts, and label sums or class counts, of many tables at once.

    Parameters
    ----------
    subsets : sequence of tuples of int
        The attributes of each table.
    sizes : sequence of int
        Number of levels of each attribute.
    n_classes : int, optional
        Where the label is one of several classes: how many. None for a 0/1 label, or none at all.
    weighted : bool, default False
        Whether rows have weights.
    n_threads : int, optional
        Threads of the counting kernel; default: all that Numba has.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.aggregate.counters import Counter
    >>> counter = Counter([(0, 1)], sizes=[2, 2])
    >>> counter.add([np.array([0, 1, 1]), np.array([1, 1, 1])], label=np.array([0, 1, 0]))
    >>> counter.tables()
    [(array([[0., 1.],
           [0., 2.]]), array([[0., 0.],
           [0., 1.]]))]
    """

    def __init__(
        self,
        subsets: Sequence[Sequence[int]],
        sizes: Sequence[int],
        n_classes: int | None = None,
        weighted: bool = False,
        n_threads: int | None = None,
    ):
        import numba

        self.subsets, self.n_classes, self.weighted = [tuple(s) for s in subsets], n_classes, weighted
        self.n_threads = min(n_threads or numba.config.NUMBA_NUM_THREADS, numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
        self.sizes = np.array([*sizes, *([] if n_classes is None else [n_classes])], dtype=np.int64)
        extra = () if n_classes is None else (len(sizes),)
        self.wanted = [s + extra for s in self.subsets]
        self.joints, self.home = counting.covering(self.wanted, self.sizes.tolist())
        self.members, self.starts, self.offsets = counting.layout(self.joints, self.sizes)
        self.order = counting.dealt_out(self.offsets, self.n_threads)
        self.dtype = np.uint16 if self.sizes.max() <= 2**16 else np.uint32
        self.rows = 0
        self._since_flush = 0
        n_cells = int(self.offsets[-1])
        self.totals = np.zeros((n_cells, 2)) if weighted else None
        self._packed = None if weighted else np.zeros(n_cells, dtype=np.int64)
        self._codes = np.empty((len(self.sizes), 0), dtype=self.dtype)

    def add(self, codes: Sequence[np.ndarray], label: Any = None, weights: Any = None) -> None:
        """Count one chunk of rows: a column of codes per attribute, each within its size; no code may be negative."""
        import numba

        n = len(codes[0])
        if not n:
            return
        if self._codes.shape[1] != n:
            self._codes = np.empty((len(self.sizes), n), dtype=self.dtype)
        for row, column in zip(self._codes, codes):
            row[:] = column
        y = np.zeros(n, dtype=np.uint8)
        if self.n_classes is not None:
            self._codes[-1] = label
        elif label is not None:
            y[:] = label
        shape = self.sizes, self.members, self.starts, self.offsets, self.order
        before = numba.get_num_threads()
        numba.set_num_threads(self.n_threads)
        try:
            if self.weighted:
                counting.add_weighted(self._codes, y, np.ascontiguousarray(weights, dtype=float), *shape, self.totals)
            else:
                if self._since_flush + n > counting.FLUSH_ROWS:
                    self._flush()
                counting.add_counts(self._codes, y, *shape, self._packed)
                self._since_flush += n
        finally:
            numba.set_num_threads(before)
        self.rows += n

    def cells(self) -> tuple[np.ndarray, np.ndarray]:
        """Counts and label sums of all cells of the joint tables that are counted, one after the other."""
        if self.weighted:
            return self.totals[:, 0], self.totals[:, 1]  # type: ignore[index]
        counts, sums = counting.unpacked(self._packed)  # type: ignore[arg-type]  # there unless counts are weighted
        if self.totals is not None:
            return self.totals[:, 0] + counts, self.totals[:, 1] + sums
        return counts, sums

    def set_cells(self, cell: np.ndarray, counts: np.ndarray, sums: np.ndarray) -> None:
        """Take over counts and label sums that were added up elsewhere."""
        self.totals = np.zeros((int(self.offsets[-1]), 2)) if self.totals is None else self.totals
        self.totals[cell, 0] += counts
        self.totals[cell, 1] += sums

    def tables(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Counts and label sums (or class counts, on one more axis) of each table."""
        return self.shaped(*self.cells())

    def shaped(self, counts: np.ndarray, sums: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Flat cells of the joint tables, as `cells` gives them, summed and cut into the tables asked for."""
        out: list = [None] * len(self.wanted)
        members: dict[int, list[int]] = {}
        for t, home in enumerate(self.home):
            members.setdefault(home, []).append(t)
        for home, tables in members.items():
            cells = slice(self.offsets[home], self.offsets[home + 1])
            shape = [int(self.sizes[a]) for a in self.joints[home]]
            whole = [JointMargins(flat[cells].reshape(shape), self.joints[home]) for flat in (counts, sums)]
            for t in tables:
                c, s = (each.over(self.wanted[t]).astype(float) for each in whole)
                out[t] = (c, s) if self.n_classes is None else (c.sum(axis=-1), c)
        return out

    def _flush(self) -> None:
        counts, sums = counting.unpacked(self._packed)  # type: ignore[arg-type]  # there unless counts are weighted
        if self.totals is None:
            self.totals = np.zeros((len(counts), 2))
        self.totals[:, 0] += counts
        self.totals[:, 1] += sums
        self._packed[:] = 0  # type: ignore[index]
        self._since_flush = 0


class JointMargins:
    """Margins of one joint table; those between the whole and a margin are kept, since its neighbours need them too.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.aggregate.counters import JointMargins
    >>> JointMargins(np.arange(8).reshape(2, 2, 2), (0, 3, 5)).over((5, 0))
    array([[ 2, 10],
           [ 4, 12]])
    """

    def __init__(self, whole: np.ndarray, attributes: tuple[int, ...]) -> None:
        self.attributes, self.kept = attributes, {frozenset(attributes): whole}

    def over(self, wanted: Sequence[int]) -> np.ndarray:
        """The margin over some attributes, in their order."""
        left = [a for a in self.attributes if a in wanted]
        return self._summed(frozenset(left)).transpose([left.index(a) for a in wanted])

    def _summed(self, left: frozenset[int]) -> np.ndarray:
        if left not in self.kept:
            more = next(a for a in self.attributes if a not in left)
            wider = left | {more}
            axis = [a for a in self.attributes if a in wider].index(more)
            self.kept[left] = self._summed(wider).sum(axis=axis)
        return self.kept[left]


class FilledCounter:
    """Counts of large tables by their filled cells, chunk by chunk: the rows' cells are sorted, and equal ones added.

    Parameters
    ----------
    subsets, sizes, weighted
        As of `Counter`.
    n_labels : int, default 1
        The classes of the label, 2 for a 0/1 label, 1 for none.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.aggregate.counters import FilledCounter
    >>> counter = FilledCounter([(0, 1)], sizes=[1000, 1000], n_labels=2)
    >>> counter.add([np.array([0, 1, 1]), np.array([7, 7, 7])], label=np.array([0, 1, 0]))
    >>> counter.filled(0)  # cells, labels, counts
    (array([   7, 1007, 1007]), array([0, 0, 1]), array([1., 1., 1.]))
    """

    MOST = 2**62  # cells with labels that a number holds
    LOOSE = 2**21  # cells of chunks that wait to be added up

    def __init__(
        self, subsets: Sequence[Sequence[int]], sizes: Sequence[int], n_labels: int = 1, weighted: bool = False
    ) -> None:
        self.subsets, self.sizes, self.n_labels, self.weighted = list(subsets), list(sizes), n_labels, weighted
        self._parts: list[list[tuple[np.ndarray, np.ndarray]]] = [[] for _ in self.subsets]

    def holds(self) -> bool:
        """Whether the cells of every table have a number."""
        most = max((math.prod(self.sizes[a] for a in s) for s in self.subsets), default=1)
        return most * self.n_labels < self.MOST

    def add(self, codes: Sequence[np.ndarray], label: Any = None, weights: Any = None) -> None:
        """Count one chunk of rows: a column of codes per attribute, each within its size."""
        if not len(codes[0]):
            return
        given = None if not self.weighted else np.asarray(weights, dtype=float)
        for subset, parts in zip(self.subsets, self._parts):
            places = np.zeros(len(codes[0]), dtype=np.int64)
            for a in subset:
                places *= self.sizes[a]
                places += codes[a]
            if self.n_labels > 1:
                places *= self.n_labels
                places += label
            parts.append(_added_up(places, given))
            if sum(len(cells) for cells, _ in parts[1:]) > max(self.LOOSE, len(parts[0][0])):
                parts[:] = [_merged(parts)]

    def filled(self, i: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The cells of table i that anybody is in, in order, once per label; the labels, and the counts."""
        parts = self._parts[i]
        places, counts = _merged(parts) if parts else (np.zeros(0, dtype=np.int64), np.zeros(0))
        self._parts[i] = []
        return *np.divmod(places, self.n_labels), counts


class Several:
    """Counters that see the same rows, so that these are read once."""

    def __init__(self, *counters: Any) -> None:
        self.counters = counters

    def add(self, codes: Sequence[np.ndarray], label: Any = None, weights: Any = None) -> None:
        """Pass a chunk on."""
        for counter in self.counters:
            counter.add(codes, label, weights)


def _merged(parts: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    if len(parts) == 1:
        return parts[0]
    return _added_up(np.concatenate([p for p, _ in parts]), np.concatenate([n for _, n in parts]))


def _added_up(places: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Distinct places in order, and how often each is there, or the sum of its weights."""
    order = None if weights is None else np.argsort(places, kind="stable")
    places = np.sort(places) if order is None else places[order]
    first = np.flatnonzero(np.concatenate([[True], places[1:] != places[:-1]]))
    if weights is None or order is None:
        return places[first], np.diff(np.append(first, len(places))).astype(float)
    return places[first], np.add.reduceat(weights[order], first)


def filled_only(subsets: Sequence[Sequence[int]], sizes: Sequence[int], n_rows: int) -> list[bool]:
    """Which tables are counted by their filled cells: those with many more cells than rows, if the plan is large.

    Examples
    --------
    >>> from sumwise.aggregate.counters import filled_only
    >>> filled_only([(0, 1), (0,)], [200_000, 100_000], n_rows=400_000)
    [True, False]
    """
    cells = cells_of(subsets, sizes)
    large = sum(cells) > FEWEST_CELLS
    return [large and c > SPARSE_FROM * n_rows for c in cells]


def check_memory(
    subsets: Sequence[Sequence[int]], sizes: Sequence[int], names: Sequence[str], n_rows: int | None
) -> None:
    """Refuse tables that memory doesn't hold, before they are counted; without n_rows, with all their cells."""
    held = cells_of(subsets, sizes)
    if n_rows is not None:
        held = [min(c, n_rows) if s else c for c, s in zip(held, filled_only(subsets, sizes, n_rows))]
    largest = max(range(len(held)), key=held.__getitem__)
    checks.allocation(
        f"The table over {' x '.join(repr(names[a]) for a in subsets[largest])} of {len(subsets):,} tables",
        *((n, 2) for n in held),  # a count and a label sum
        hint="merge rare levels, or hash levels or crosses into fewer cells, with an Encoding; or count fewer tables.",
    )


def cells_of(subsets: Sequence[Sequence[int]], sizes: Sequence[int]) -> list[int]:
    """The number of cells of each table."""
    return [math.prod(int(sizes[a]) for a in s) for s in subsets]
