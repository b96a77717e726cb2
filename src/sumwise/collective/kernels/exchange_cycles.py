"""Exchanges between individuals that keep both margins of a table: how many must move at once to change a cell."""

from __future__ import annotations

from collections import deque

import numpy as np


def fewest_movers(source, target, counts, cell, most):
    """The fewest individuals that must move at once to raise one cell of a table with fixed margins.

    Parameters
    ----------
    source, target : (E,) int arrays
        Rows and columns of the cells that are allowed.
    counts : (E,) array
        Individuals in them.
    cell : int
        The cell to raise.
    most : int
        Give up beyond this many.

    Returns
    -------
    int
        ``most + 1`` where more are needed, 0 where no number suffices.
    """
    out_of = [[] for _ in range(int(source.max()) + 1)]  # columns that a row may be raised in
    into = [[] for _ in range(int(target.max()) + 1)]  # rows from which a column may be lowered
    for r, c, n in zip(source.tolist(), target.tolist(), np.asarray(counts).tolist()):
        out_of[r].append(c)
        if n > 0:
            into[c].append(r)
    row, column = int(source[cell]), int(target[cell])
    # Breadth first over columns: lower a row's cell here, raise another cell of that row, and so on back to `row`.
    steps, queue = {column: 1}, deque([column])
    while queue:
        c = queue.popleft()
        for r in into[c]:
            if c == column and r == row:
                continue  # the cell itself
            if r == row:
                return min(steps[c], most + 1)
            for other in out_of[r]:
                if other not in steps:
                    steps[other] = steps[c] + 1
                    queue.append(other)
    return 0


def stuck_cells(source, target, counts, unchanged, most, tries=200):
    """How many of (at most `tries`) unchanged cells need more than `most` individuals to move at once."""
    chosen = np.flatnonzero(unchanged)[:: max(1, int(np.sum(unchanged)) // tries)]
    return sum(fewest_movers(source, target, counts, int(k), most) > most for k in chosen)
