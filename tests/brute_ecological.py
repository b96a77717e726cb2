"""Enumerations for tables with given margins, written to be read."""

from __future__ import annotations

from itertools import product

import numpy as np


def tables(rows, cols):
    """Every table of whole numbers with these margins."""
    rows, cols = [int(v) for v in rows], [int(v) for v in cols]
    lines = [[line for line in product(*(range(min(x, t) + 1) for t in cols)) if sum(line) == x] for x in rows]
    for choice in product(*lines):
        table = np.array(choice, float)
        if (table.sum(axis=0) == cols).all():
            yield table


def splits(total, cells):
    """Every way to write `total` as a sum of that many whole numbers."""
    return [v for v in product(range(int(total) + 1), repeat=cells) if sum(v) == total]
