"""Intervals of single units' shares: the deviation of a unit from all others, by chance and by its composition."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from sumwise.ecological.contextual_error import EDGE
from sumwise.ecological.kernels import BLOCK
from sumwise.ecological.kernels.bounds import cell_bounds
from sumwise.margins import Margins


def unit_intervals(
    margins: Margins, cells: np.ndarray, sd: np.ndarray, rho: float, level: float, tau: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Intervals (n, R, C) of units' row shares `cells`; NaN for a group without members.

    The overall shares have standard deviation `sd` (R, C). A unit's own deviate from them by multinomial draws with
    overdispersion `rho`, and by slopes `tau` on its composition, both shared and the group's own.
    """
    low, high = np.empty(np.shape(cells)), np.empty(np.shape(cells))
    mean = margins.rows.sum(axis=0) / max(float(margins.rows.sum()), 1e-300)
    half = float(ndtri((1 + level) / 2))
    for start in range(0, len(cells), BLOCK):  # a dozen arrays of this shape, for few units at a time
        part = slice(start, start + BLOCK)
        rows, cols = margins.rows[part], margins.cols[part]
        slopes = 2 * tau**2 * ((margins.row_shares[part] - mean) ** 2).sum(axis=1)
        size, share = rows[:, :, None], np.clip(cells[part], 0.0, 1.0)
        p = np.clip(share, EDGE, 1 - EDGE)
        own = size**2 * (p * (1 - p) * (rho + slopes[:, None, None] + 1 / np.maximum(size, 1.0)) + sd**2)
        rest = own.sum(axis=1, keepdims=True) - own
        variance = own * rest / np.maximum(own + rest, 1e-300)  # the column total is known: deviations cancel
        half_width = half * np.sqrt(variance) / np.maximum(size, 1e-300)
        ends = cell_bounds(rows, cols)
        with np.errstate(divide="ignore", invalid="ignore"):
            least, most = (np.where(size > 0, bound / size, np.nan) for bound in ends)
        low[part], high[part] = np.clip(share - half_width, least, most), np.clip(share + half_width, least, most)
    return low, high
