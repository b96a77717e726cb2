"""Complementary suppression: small counts are withheld, and so many others that no small one can be worked out.

Whoever reads the tables knows the total, every published count and label sum of every table, that withheld counts are
not 0, and that all tables count the same rows. A withheld cell then lies between the least and the largest value that
it has in any joint table of all attributes (and the label) that agrees with what is published: two linear programmes.
Cells are withheld until that interval is as wide as stated for every small count, and no label sum of a withheld cell
is determined.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sumwise.errors import DataError

MOST_JOINT = 20_000  # cells of the joint table beyond which the programmes take too long
ATOL = 1e-6


def suppressed(
    subsets: Sequence[Sequence[int]], sizes: Sequence[int], counted: Sequence[tuple], below: float, names: Sequence[str]
) -> tuple[list[np.ndarray], float]:
    """Which cells of each table to withhold, and the width of the interval that every small count keeps.

    subsets: attributes of each table; sizes: levels of each attribute; counted: counts and label sums of each table;
    below: counts above 0 and below this are small.
    """
    width = float(max(1, math.ceil(below) - 1))
    small = [(c > 0) & (c < below) for c, _ in counted]
    if not any(s.any() for s in small):
        return small, width
    attacker = _Attacker(subsets, sizes, counted, names)
    withheld = [s.copy() for s in small]
    while True:  # each round withholds one cell more
        open_ = _first_unsafe(attacker, small, withheld, width)
        if open_ is None:
            return withheld, width
        table, cell = open_
        other = _smallest_neighbour(table, cell, counted, withheld, subsets)
        if other is None:
            raise DataError(
                f"A small count of {_title(subsets[table], names)} can be worked out to within {width:g} from the "
                "others, whatever else is withheld.",
                hint="count fewer tables, merge levels, or add noise instead: sumwise.privacy.release.",
            )
        withheld[other[0]][other[1]] = True  # what was possible before still is: no interval becomes narrower


def interval(
    subsets: Sequence[Sequence[int]], sizes: Sequence[int], counted: Sequence[tuple], withheld: Sequence[np.ndarray],
    at: tuple[int, tuple[int, ...]], label: bool = False,
) -> tuple[float, float]:  # fmt: skip
    """The least and largest value that a cell of a table (or its label sum) can have, given what is published."""
    attacker = _Attacker(subsets, sizes, counted, [str(i) for i in range(len(sizes))])
    return attacker.interval(at[0], at[1], withheld, 1 if label else None)


class _Attacker:
    """What a reader can work out: linear programmes over the joint table by class."""

    def __init__(self, subsets: Sequence, sizes: Sequence[int], counted: Sequence[tuple], names: Sequence[str]):
        from scipy import sparse

        used = sorted({a for s in subsets for a in s})
        self.shape = [int(sizes[a]) for a in used]
        place = {a: i for i, a in enumerate(used)}
        self.sums = [self._by_class(c, s) for c, s in counted]
        self.n_classes = self.sums[0].shape[-1]
        joint = math.prod(self.shape) * self.n_classes
        if joint > MOST_JOINT:
            raise DataError(
                f"Whether withheld counts can be worked out can't be checked: all attributes together have {joint:,} "
                f"cells, {MOST_JOINT:,} are the most ({_title(used, names)}).",
                hint="count fewer attributes at a time, merge levels, add noise instead (sumwise.privacy.release), or "
                "accept it: complementary=False withholds the small counts alone.",
            )
        grid = np.indices(self.shape).reshape(len(used), -1)
        columns = np.arange(joint).reshape(-1, self.n_classes)
        self.rows: list[list[Any]] = []  # of each table (cells, classes): which joint cells it sums
        for subset, sums in zip(subsets, self.sums):
            shape = sums.shape[:-1]
            cell = np.asarray(np.ravel_multi_index(tuple(grid[place[a]] for a in subset), shape))
            for_class = [
                sparse.csr_matrix((np.ones(len(cell)), (cell, columns[:, k])), shape=(math.prod(shape), joint))
                for k in range(self.n_classes)
            ]
            self.rows.append(for_class)
        self.total = float(self.sums[0].sum())
        self.whole = all(np.array_equal(s, np.floor(s)) for s in self.sums)
        self.low = [_ends(s) for s in self.sums]  # the least and largest seen in any joint table that is possible:
        self.high = [_ends(s) for s in self.sums]  # of each class, and last of all classes together

    @staticmethod
    def _by_class(counts: np.ndarray, sums: np.ndarray | None) -> np.ndarray:
        if sums is None:
            return counts[..., None]
        return np.stack([counts - sums, sums], axis=-1) if sums.ndim == counts.ndim else sums

    def published(self, withheld: Sequence[np.ndarray]) -> dict[str, Any]:
        """What a reader knows: every published count by class, the total, and that withheld counts are not 0."""
        from scipy import sparse

        parts: list[Any] = []
        values = []
        summed: list[Any] = [sum(rows[1:], rows[0]) for rows in self.rows]
        below = [rows[np.flatnonzero(gone.ravel())] for rows, gone in zip(summed, withheld)]
        least: Any = sparse.vstack([m for m in below if m.shape[0]])
        for rows, sums, gone in zip(self.rows, self.sums, withheld):
            shown = np.flatnonzero(~gone.ravel())
            for k in range(self.n_classes):
                parts.append(rows[k][shown])
                values.append(sums[..., k].ravel()[shown])
        parts.append(sparse.csr_matrix(np.ones((1, parts[0].shape[1]))))
        values.append(np.array([self.total]))
        stacked: Any = sparse.vstack(parts)
        known: dict[str, Any] = {"A_eq": stacked.tocsr(), "b_eq": np.concatenate(values)}
        if self.whole and least.shape[0]:
            known |= {"A_ub": -least.tocsr(), "b_ub": -np.ones(least.shape[0])}
        return known

    def objective(self, table: int, cell: tuple[int, ...], kind: int | None) -> np.ndarray:
        """The joint cells that a cell sums: of all classes, or of one."""
        at = int(np.ravel_multi_index(cell, self.sums[table].shape[:-1]))
        chosen = range(self.n_classes) if kind is None else [kind]
        return np.asarray(sum(self.rows[table][k][at].toarray().ravel() for k in chosen))

    def interval(self, table: int, cell: tuple, withheld: Sequence[np.ndarray], kind: int | None = None):
        """The least and largest value of a cell, or of its count in one class."""
        from scipy.optimize import linprog

        known = self.published(withheld)
        aim = self.objective(table, cell, kind)
        ends = []
        for sign in (1.0, -1.0):
            found = linprog(sign * aim, **known, bounds=(0, None), method="highs")
            if not found.success:
                raise DataError(f"The check of withheld cells failed: {found.message}.", hint="please report this.")
            ends.append(float(aim @ found.x))
            self._note(found.x)
        return self._rounded(*ends)

    def _note(self, joint: np.ndarray) -> None:
        """Remember what all cells are in a joint table that is possible."""
        for t, rows in enumerate(self.rows):
            values = _ends(np.stack([r @ joint for r in rows], axis=-1).reshape(self.sums[t].shape))
            self.low[t], self.high[t] = np.minimum(self.low[t], values), np.maximum(self.high[t], values)

    def wide(self, table: int, cell: tuple, width: float, kind: int = -1) -> bool:
        """Whether joint tables seen so far already keep a cell within no less than a width."""
        low, high = self._rounded(float(self.low[table][cell][kind]), float(self.high[table][cell][kind]))
        return high - low >= width

    def _rounded(self, low: float, high: float) -> tuple[float, float]:
        return (math.ceil(low - ATOL), math.floor(high + ATOL)) if self.whole else (low, high)


def _ends(by_class: np.ndarray) -> np.ndarray:
    return np.concatenate([by_class, by_class.sum(axis=-1, keepdims=True)], axis=-1)


def _first_unsafe(attacker: _Attacker, small: list, withheld: list, width: float) -> tuple | None:
    """The first small cell that can be worked out too well, or withheld cell whose label sum can; None if all hold."""
    for t, cells in enumerate(withheld):
        for cell in map(tuple, np.argwhere(cells)):
            if small[t][cell] and not attacker.wide(t, cell, width):
                low, high = attacker.interval(t, cell, withheld)
                if high - low < width - ATOL:
                    return t, cell
            for k in range(attacker.n_classes if attacker.n_classes > 1 else 0):
                if attacker.wide(t, cell, 1, k):
                    continue
                low, high = attacker.interval(t, cell, withheld, k)
                if high - low < 1 - ATOL and high > ATOL:  # a class that nobody around has is no secret of the cell
                    return t, cell
    return None


def _smallest_neighbour(table: int, cell: tuple, counted: Sequence, withheld: list, subsets: Sequence) -> tuple | None:
    """The smallest published count that shares all levels but one with a cell, in its own table or a smaller one."""
    own = dict(zip(subsets[table], cell))
    found = []
    for t, (counts, _) in enumerate(counted):
        if not set(subsets[t]) & set(own):
            continue
        for at in map(tuple, np.argwhere(~withheld[t] & (counts > 0))):
            shared = sum(own.get(a) == v for a, v in zip(subsets[t], at))
            distance = len(at) - shared
            found.append(((t != table, distance if t == table else distance - 1, float(counts[at])), (t, at)))
    return min(found, key=lambda f: f[0])[1] if found else None


def _title(attributes: Sequence[int], names: Sequence[str]) -> str:
    return " x ".join(repr(names[a]) for a in attributes)
