"""Products of rows of one flat table, four cells at a time: the inner loop of every Gibbs sweep.

Rows are short (two to a few dozen cells), and a compiler's own vector loops leave so few cells to the slow remainder.
So rows are padded to a multiple of `WIDTH`, and the cells of a block are multiplied up side by side.
"""

from __future__ import annotations

import numpy as np

from sumwise.inference.kernels.compiled import njit

WIDTH = 4  # doubles in a register that every processor with AVX2 has; others do it in two steps


def padded(n: int) -> int:
    """Return `n`, rounded up to a multiple of the block width."""
    return -(-n // WIDTH) * WIDTH


@njit(forceinline=True, error_model="numpy")
def multiply_rows(table: np.ndarray, starts: np.ndarray, n_rows: int, n_cells: int, out: np.ndarray) -> None:
    """out[v] = product over r < n_rows of table[starts[r] + v], for v < n_cells rounded up to whole blocks.

    table (F,) float64, starts (at least n_rows,) uint64, out (at least the rounded n_cells,) float64. Every row must
    be padded in the table as far as it is read. An empty product is one.
    """
    for at in range(0, n_cells, WIDTH):
        a = b = c = d = 1.0
        for r in range(n_rows):
            place = starts[r] + np.uint64(at)
            a *= table[place]
            b *= table[place + np.uint64(1)]
            c *= table[place + np.uint64(2)]
            d *= table[place + np.uint64(3)]
        out[at] = a
        out[at + 1] = b
        out[at + 2] = c
        out[at + 3] = d
