"""What margins alone say of the cells: the bounds of Duncan and Davis."""

from __future__ import annotations

import numpy as np


def cell_bounds(rows: np.ndarray, cols: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Least and largest count of every cell of every unit.

    max(0, t_c - (N - x_r)) <= n_rc <= min(x_r, t_c), sharp for each cell by itself (Duncan and Davis 1953).
    rows (n, R), cols (n, C); returns two (n, R, C) arrays of counts.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.kernels.bounds import cell_bounds
    >>> low, high = cell_bounds(np.array([[60.0, 40.0]]), np.array([[80.0, 20.0]]))
    >>> low[0], high[0]
    (array([[40.,  0.], [20.,  0.]]), array([[60., 20.], [40., 20.]]))
    """
    x, t = rows[:, :, None], cols[:, None, :]
    low = np.maximum(0.0, t - (rows.sum(axis=1)[:, None, None] - x))
    high = np.minimum(x, t)
    return np.minimum(low, high), high  # rounding must not put a lower bound above its upper one


def aggregate_bounds(rows: np.ndarray, cols: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Least and largest share of every row that is in every column, over all units.

    Units are free of each other, so that the sums of the units' bounds are sharp too. A row without anybody
    has the bounds 0 and 1. rows (n, R), cols (n, C); returns two (R, C) arrays of shares.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.kernels.bounds import aggregate_bounds
    >>> aggregate_bounds(np.array([[60.0, 40.0]]), np.array([[80.0, 20.0]]))[0].round(3)
    array([[0.667, 0.   ], [0.5  , 0.   ]])
    """
    low, high = cell_bounds(rows, cols)
    size = rows.sum(axis=0)[:, None]
    least = np.divide(low.sum(axis=0), size, out=np.zeros(low.shape[1:]), where=size > 0)
    most = np.divide(high.sum(axis=0), size, out=np.ones(low.shape[1:]), where=size > 0)
    return least, most
