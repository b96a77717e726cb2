"""How much memory counting takes, which tables are counted by their filled cells, and a refusal of what won't fit."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

from sumwise.errors import DataError

FULL_BYTES = 40  # of a cell that is counted in full: its counter, totals of counts and sums, and the table that is made
FILLED_BYTES = 96  # of a cell that has anybody: codes, count and sums as the engine sends them, sorted, and as a table
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
    return [sum(cells) > FEWEST_CELLS and c > SPARSE_FROM * n_rows for c in cells]


def check_memory(
    subsets: Sequence[Sequence[int]], sizes: Sequence[int], names: Sequence[str], n_rows: int, parts: int = 1
) -> None:
    """Refuse tables that memory won't hold, before they are counted, with the size and what it comes from.

    parts: how many times counters of full tables are held at once.
    """
    cells = cells_of(subsets, sizes)
    sparse = filled_only(subsets, sizes, n_rows)
    needed = [FILLED_BYTES * min(c, n_rows) if s else FULL_BYTES * c * parts for c, s in zip(cells, sparse)]
    free = available_bytes()
    if free is None or sum(needed) <= free:
        return
    largest = max(range(len(needed)), key=needed.__getitem__)
    table = " x ".join(repr(names[a]) for a in subsets[largest])
    raise DataError(
        f"Counting the {len(subsets):,} tables would take {_size(sum(needed))} of memory, and {_size(free)} are free. "
        f"The largest, {table}, has {cells[largest]:,} cells.",
        hint="merge rare levels, or hash levels or crosses into fewer cells, with an Encoding; or count fewer tables.",
    )


def cells_of(subsets: Sequence[Sequence[int]], sizes: Sequence[int]) -> list[int]:
    """The number of cells of each table."""
    return [math.prod(int(sizes[a]) for a in s) for s in subsets]


def available_bytes() -> int | None:
    """Memory that this process may still take; None where the system doesn't say."""
    found = [_meminfo(), _cgroup(), _rlimit()]
    known = [f for f in found if f is not None]
    return min(known) if known else None


def _meminfo() -> int | None:
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _cgroup() -> int | None:
    try:
        with open("/sys/fs/cgroup/memory.max", encoding="ascii") as limit:
            most = int(limit.read())
        with open("/sys/fs/cgroup/memory.current", encoding="ascii") as used:
            return max(most - int(used.read()), 0)
    except (OSError, ValueError):
        return None


def _rlimit() -> int | None:
    try:
        import resource
    except ImportError:  # Windows
        return None
    limit: Any = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return None
    try:
        with open("/proc/self/statm", encoding="ascii") as pages:
            return max(int(limit) - int(pages.read().split()[0]) * resource.getpagesize(), 0)
    except (OSError, ValueError):
        return int(limit)


def _size(n_bytes: float) -> str:
    return f"{n_bytes / 2**30:,.1f} GiB" if n_bytes >= 2**29 else f"{n_bytes / 2**20:,.0f} MiB"
