"""How likely units' column totals are, given their row totals and row shares."""

from __future__ import annotations

import numpy as np

from sumwise.ecological.kernels import BLOCK


def unit_moments(rows: np.ndarray, cols: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pearson distance and log determinant of each unit under independent multinomial rows.

    E t_c = sum_r x_r p_rc and V = sum_r x_r (diag p_r - p_r p_r') on the C - 1 free directions.
    rows (n, R), cols (n, C), shares (R, C); returns r'V^+ r (n,), log det of V (n,) and its rank (n,).
    Directions without variance that the unit doesn't use are left out; a unit off such a direction has distance inf.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.kernels.unit_likelihood import unit_moments
    >>> unit_moments(np.array([[100.0]]), np.array([[60.0, 40.0]]), np.array([[0.5, 0.5]]))[0].round(6)
    array([4.])
    """
    n = len(cols)
    distance, log_det, rank = np.zeros(n), np.zeros(n), np.zeros(n)
    for begin in range(0, n, BLOCK):
        part = slice(begin, begin + BLOCK)
        distance[part], log_det[part], rank[part] = _moments(rows[part], cols[part], shares)
    return distance, log_det, rank


def _moments(rows: np.ndarray, cols: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """As `unit_moments`, for the units that are held at once."""
    mean = rows @ shares
    v = -np.einsum("nr,rc,re->nce", rows, shares, shares, optimize=True)
    v[:, np.arange(mean.shape[1]), np.arange(mean.shape[1])] += mean
    values, vectors = np.linalg.eigh(v)
    score = np.einsum("nck,nc->nk", vectors, cols - mean)
    total = rows.sum(axis=1)[:, None]
    used = (values > 1e-9 * total) & (total > 0)
    safe = np.where(used, values, 1.0)
    distance = (score**2 / safe * used).sum(axis=1)
    off = ((np.abs(score) > 1e-6 * total) & ~used & (total > 0)).any(axis=1)
    return np.where(off, np.inf, distance), np.log(safe).sum(axis=1), used.sum(axis=1).astype(float)


def dispersion(distance: np.ndarray, rank: np.ndarray, totals: np.ndarray, used: float) -> float:
    """Overdispersion rho by moments: E distance_i = rank_i (1 + rho (N_i - 1)); at least 0.

    `used` is how many parameters the shares took, which the distances are short of.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.kernels.unit_likelihood import dispersion
    >>> dispersion(np.array([11.0, 11.0]), np.ones(2), np.array([101.0, 101.0]), 0.0)
    0.1
    """
    good = np.isfinite(distance) & (rank > 0)
    room = float(rank[good].sum())
    if room == 0:
        return 0.0
    scale = room / max(room - used, 0.25 * room)
    excess = float(distance[good].sum()) * scale - room
    leverage = float((rank[good] * (totals[good] - 1)).sum())
    return max(excess / leverage, 0.0) if leverage > 0 else 0.0


def unit_log_density(rows: np.ndarray, cols: np.ndarray, shares: np.ndarray, rho: float) -> np.ndarray:
    """Log density of each unit's column totals given its row totals, by the normal approximation.

    t ~ N(sum_r x_r p_r, (1 + rho (N - 1)) sum_r x_r (diag p_r - p_r p_r')). An empty unit has 0.
    rows (n, R), cols (n, C), shares (R, C) strictly inside (0, 1); returns (n,).

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.ecological.kernels.unit_likelihood import unit_log_density
    >>> p = np.array([[0.5, 0.5]])
    >>> float(unit_log_density(np.array([[100.0]]), np.array([[50.0, 50.0]]), p, 0.0)[0].round(3))
    -2.875
    """
    distance, log_det, rank = unit_moments(rows, cols, shares)
    phi = 1 + rho * np.maximum(rows.sum(axis=1) - 1, 0.0)
    return -0.5 * (distance / phi + log_det + rank * np.log(2 * np.pi * phi))
