"""How likely units' column totals are, given their row totals and row shares."""

from __future__ import annotations

import numpy as np

from sumwise.kernels.compiled import njit


@njit(cache=True)
def unit_moments(rows, cols, shares):
    """Pearson distance and log determinant of each unit under independent multinomial rows.

    E t_c = sum_r x_r p_rc and V = sum_r x_r (diag p_r - p_r p_r') on the C - 1 free directions.
    rows (n, R), cols (n, C), shares (R, C); returns r'V^+ r (n,), log det of V (n,) and its rank (n,).
    Directions without variance that the unit doesn't use are left out; a unit off such a direction has distance inf.
    """
    n, n_rows = rows.shape
    n_cols = cols.shape[1]
    distance, log_det, rank = np.zeros(n), np.zeros(n), np.zeros(n)
    for i in range(n):
        total = rows[i].sum()
        if total <= 0:
            continue
        residual = cols[i].copy()
        v = np.zeros((n_cols, n_cols))
        for r in range(n_rows):
            x = rows[i, r]
            for c in range(n_cols):
                residual[c] -= x * shares[r, c]
                v[c, c] += x * shares[r, c]
                for e in range(n_cols):
                    v[c, e] -= x * shares[r, c] * shares[r, e]
        values, vectors = np.linalg.eigh(v)
        for k in range(n_cols):
            score = 0.0
            for c in range(n_cols):
                score += vectors[c, k] * residual[c]
            if values[k] > 1e-9 * total:
                distance[i] += score * score / values[k]
                log_det[i] += np.log(values[k])
                rank[i] += 1
            elif abs(score) > 1e-6 * total:
                distance[i] = np.inf
    return distance, log_det, rank


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
    distance, log_det, rank = unit_moments(
        np.ascontiguousarray(rows), np.ascontiguousarray(cols), np.ascontiguousarray(shares)
    )
    phi = 1 + rho * np.maximum(rows.sum(axis=1) - 1, 0.0)
    return -0.5 * (distance / phi + log_det + rank * np.log(2 * np.pi * phi))
