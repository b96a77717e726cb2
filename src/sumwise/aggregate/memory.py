"""How much memory counting takes, which tables are counted by their filled cells, and a refusal of what won't fit."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sumwise.memory import check_fits

FULL_BYTES = 40  # of a cell that is counted in full: its counter, totals of counts and sums, and the table that is made
FILLED_BYTES = 60  # of a cell that has anybody: place, count and sums, sorted, and as a table
TABLE_BYTES = 20_000  # of a table beside its cells
READ_BYTES, READ_MOST = 8, 2**27  # of a value while rows are read, and of all that are held at once
FEWEST_CELLS = 2**25  # of all tables, below which none is counted by its filled cells
SPARSE_FROM = 4  # cells per row, from which a table is


def filled_only(subsets: Sequence[Sequence[int]], sizes: Sequence[int], n_rows: int) -> list[bool]:
    """Which tables are counted by their filled cells: those with many more cells than rows, if the plan is large.

    Examples
    --------
    >>> from sumwise.aggregate.memory import filled_only
    >>> filled_only([(0, 1), (0,)], [200_000, 100_000], n_rows=400_000)
    [True, False]
    """
    cells = cells_of(subsets, sizes)
    large = sum(cells) > FEWEST_CELLS
    return [large and c > SPARSE_FROM * n_rows for c in cells]


def check_memory(
    subsets: Sequence[Sequence[int]], sizes: Sequence[int], names: Sequence[str], n_rows: int, parts: int = 1
) -> None:
    """Refuse tables that memory won't hold, before they are counted, with the size and what it comes from.

    parts: how many times counters of full tables are held at once.
    """
    cells = cells_of(subsets, sizes)
    sparse = filled_only(subsets, sizes, n_rows)
    needed = [FILLED_BYTES * min(c, n_rows) if s else FULL_BYTES * c * parts for c, s in zip(cells, sparse)]
    largest = max(range(len(needed)), key=needed.__getitem__)
    table = " x ".join(repr(names[a]) for a in subsets[largest])
    reading = min(READ_BYTES * n_rows * len(sizes), READ_MOST)
    check_fits(
        sum(needed) + TABLE_BYTES * len(subsets) + reading,
        f"Counting the {len(subsets):,} tables",
        f"the table over {table}: {cells[largest]:,} cells",
        "merge rare levels, or hash levels or crosses into fewer cells, with an Encoding; or count fewer tables.",
    )


def cells_of(subsets: Sequence[Sequence[int]], sizes: Sequence[int]) -> list[int]:
    """The number of cells of each table."""
    return [math.prod(int(sizes[a]) for a in s) for s in subsets]
