"""Tables moved into the polytope of what is certain: rows that sum to one, columns that sum to totals, cells in bounds.

A table holds the row shares (R, C) of groups with `sizes` (R,); `target` (C,) are the columns' totals, `lower` and
`upper` (R, C) the cells' bounds. All functions take draws of tables, (n, R, C).
"""

from __future__ import annotations

import numpy as np

EXACT = 1e-9  # of all people: a gap between a draw's columns and their totals that is rounding


def scaled_inside(
    drawn: np.ndarray, sizes: np.ndarray, target: np.ndarray, lower: np.ndarray, upper: np.ndarray, times: int
) -> np.ndarray:
    """Draws raked to both sides and cut to the bounds, `times` times: small cells move little; totals are near.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.kernels.polytope import scaled_inside
    >>> margins = np.array([2.0, 2.0]), np.array([3.0, 1.0]), np.zeros((2, 2)), np.ones((2, 2))
    >>> scaled_inside(np.array([[[0.9, 0.3], [0.6, 0.4]]]), *margins, 5).round(3)[0].tolist()
    [[0.814, 0.186], [0.686, 0.314]]
    """
    drawn = np.maximum(np.clip(drawn, lower, upper), 1e-9)
    for _ in range(times):
        drawn *= (target / np.maximum(sizes @ drawn, 1e-300))[:, None, :]
        drawn /= drawn.sum(axis=2, keepdims=True)
        drawn = np.clip(drawn, np.maximum(lower, 1e-9), upper)
    return drawn / drawn.sum(axis=2, keepdims=True)


def moved_inside(
    drawn: np.ndarray, sizes: np.ndarray, target: np.ndarray, lower: np.ndarray, upper: np.ndarray, max_iter: int = 200
) -> np.ndarray:
    """Draws whose rows sum to one and whose columns sum to the target within rounding, every cell in its bounds.

    Columns and rows take turns: what a sum lacks is spread over its cells in proportion to their room below the upper
    bounds, what it has too much is taken in proportion to the room above the lower ones. No cell can leave its bounds,
    and each turn makes its own sums exact.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.kernels.polytope import moved_inside
    >>> margins = np.array([2.0, 2.0]), np.array([3.0, 1.0]), np.zeros((2, 2)), np.ones((2, 2))
    >>> moved_inside(np.array([[[1.2, 0.0], [0.6, 0.4]]]), *margins).round(3)[0].tolist()
    [[0.938, 0.062], [0.562, 0.438]]
    """
    drawn = np.clip(drawn, lower, upper)
    for k in range(max_iter):
        lacking = target - sizes @ drawn
        if k > 0 and np.abs(lacking).max() < EXACT * target.sum():
            break
        room = np.where(lacking[:, None] > 0, upper - drawn, drawn - lower)
        part = lacking / np.maximum(sizes @ room, 1e-300)
        drawn = drawn + np.clip(part, -1.0, 1.0)[:, None] * room
        lacking = 1 - drawn.sum(axis=2)
        room = np.where(lacking[..., None] > 0, upper - drawn, drawn - lower)
        part = lacking / np.maximum(room.sum(axis=2), 1e-300)
        drawn = drawn + np.clip(part, -1.0, 1.0)[..., None] * room
    return drawn
