"""Tables of several contests compared by their log lifts: what a table is that borrows from others.

The log lift of a cell is log P(column | row) - log P(column). Raking a table to its margins keeps its odds ratios, and
so differences of lifts: lifts can be averaged over contests whose candidates differ in popularity.
"""

from __future__ import annotations

import numpy as np

from sumwise.ecological.kernels.raking import rake

FLOOR = 1e-3  # the least share in a lift: below it, a logarithm is noise


def log_lifts(table: np.ndarray) -> np.ndarray:
    """Log lifts (R, C) of a table of counts (R, C)."""
    size = np.maximum(table.sum(axis=1, keepdims=True), 1e-300)
    share = np.maximum(table / size, FLOOR)
    return np.log(share) - np.log(np.maximum(table.sum(axis=0) / table.sum(), FLOOR))


def from_log_lifts(lifts: np.ndarray, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
    """The table with margins `rows` (R,) and `cols` (C,) whose odds ratios are those of the lifts."""
    start = np.exp(lifts) * np.maximum(cols / cols.sum(), FLOOR) * rows[:, None]
    return rake_table(start, rows, cols)


def rake_table(table: np.ndarray, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
    """Iterative proportional fitting of one positive table to both margins."""
    total = max(float(rows.sum()), 1e-300)
    for _ in range(500):
        table = table * (rows / np.maximum(table.sum(axis=1), 1e-300))[:, None]
        sums = table.sum(axis=0)
        table = table * (cols / np.maximum(sums, 1e-300))
        if np.abs(sums - cols).max() < 1e-9 * total:
            break
    return table


def mixed_table(table: np.ndarray, pooled: np.ndarray, weight: np.ndarray | float) -> np.ndarray:
    """The table with its own margins whose log lifts are moved by `weight` towards `pooled`."""
    lifts = log_lifts(table)
    return from_log_lifts(lifts + weight * (pooled - lifts), table.sum(axis=1), table.sum(axis=0))


def association(table: np.ndarray) -> np.ndarray:
    """Standardised residuals from independence, (R, C)."""
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / max(float(table.sum()), 1e-300)
    return (table - expected) / np.sqrt(np.maximum(expected, 1e-300))


def cells_of_table(rows: np.ndarray, cols: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Row shares (n, R, C) of units with margins rows (n, R) and cols (n, C) whose counts sum to `table`, nearly.

    Every unit is a raking of shares common to all; these are scaled until the units' counts add up to the table,
    which they do within 1e-5 of all people unless the table is outside what units allow.
    """
    size = np.maximum(table.sum(axis=1, keepdims=True), 1e-300)
    shares = np.maximum(table / size, 1e-8)
    best, least = rake(rows, cols, np.log(shares / shares.sum(axis=1, keepdims=True))), np.inf
    for _ in range(30):
        shares = shares / shares.sum(axis=1, keepdims=True)
        cells = rake(rows, cols, np.log(shares))
        total = np.einsum("ir,irc->rc", rows, cells)
        gap = float(np.abs(total - table).sum() / table.sum())
        if gap < least:
            best, least = cells, gap
        if gap < 1e-5:
            break
        shares = np.maximum(shares * np.clip(table / np.maximum(total, 1e-300), 0.2, 5.0), 1e-8)
    return best
