"""Iterative proportional fitting of a table of flows to its margins."""

from __future__ import annotations

import numpy as np

RAKES = 1000  # rounds at most


def raked(table: np.ndarray, rows: np.ndarray, cols: np.ndarray, tol: float = 1e-9) -> np.ndarray:
    """The table with these margins that is nearest in relative entropy (iterative proportional fitting)."""
    a, b = np.ones(len(rows)), np.ones(len(cols))
    for _ in range(RAKES):
        a = rows / np.maximum(table @ b, 1e-300)
        b_next = cols / np.maximum(table.T @ a, 1e-300)
        if np.abs(b_next - b).max() <= tol * np.abs(b).max():
            return a[:, None] * table * b_next
        b = b_next
    return a[:, None] * table * b
