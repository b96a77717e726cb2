"""How unevenly groups live or vote over units: indices of segregation."""

from __future__ import annotations

import numpy as np
import pandas as pd

from sumwise.errors import DataError
from sumwise.margins import Margins


def isolation(rows: np.ndarray) -> np.ndarray:
    """The mean share of the own group in a member's unit, (R,), from counts (n, R)."""
    totals, sizes = np.maximum(rows.sum(axis=1), 1e-300), np.maximum(rows.sum(axis=0), 1e-300)
    return np.sum(rows * (rows / totals[:, None]), axis=0) / sizes


def segregation(margins: Margins) -> pd.DataFrame:
    """Compute indices of segregation of every group, and Theil's H of all groups together.

    Parameters
    ----------
    margins : Margins

    Returns
    -------
    pandas.DataFrame
        One row per group: ``dissimilarity`` (the share of the group that would have to move for an even
        distribution), ``isolation`` (the mean share of the own group in a member's unit), ``theil_h`` of the group
        against the rest; a last row "all groups" with the multigroup H (Theil 1972; Massey and Denton 1988).

    See Also
    --------
    homogeneous_units : Units in which nearly everybody belongs to one group.

    Examples
    --------
    >>> from sumwise import Margins
    >>> from sumwise.ecological import segregation
    >>> m = Margins([[100, 0], [0, 100]], [[60, 40], [50, 50]], row_names=["a", "b"])
    >>> segregation(m).round(2).values.tolist()
    [['a', 1.0, 1.0, 1.0], ['b', 1.0, 1.0, 1.0], ['all groups', nan, nan, 1.0]]
    """
    rows = margins.rows[margins.totals > 0]
    totals = rows.sum(axis=1)
    if not totals.sum() > 0:
        raise DataError("All units are empty.", hint="check the columns that were read.")
    alone = isolation(rows)
    indices = []
    for r, name in enumerate(margins.row_names):
        own, rest = rows[:, r], totals - rows[:, r]
        if own.sum() == 0 or rest.sum() == 0:
            indices.append((name, np.nan, np.nan, np.nan))
            continue
        dissimilarity = 0.5 * np.abs(own / own.sum() - rest / rest.sum()).sum()
        indices.append((name, dissimilarity, float(alone[r]), _theil(np.stack([own, rest], axis=1))))
    indices.append(("all groups", np.nan, np.nan, _theil(rows)))
    return pd.DataFrame(indices, columns=["group", "dissimilarity", "isolation", "theil_h"])


def _theil(rows: np.ndarray) -> float:
    """1 - mean entropy of units / entropy of all; 0 where every unit is like all, 1 where none is mixed."""
    totals = rows.sum(axis=1)
    overall = _entropy(rows.sum(axis=0) / totals.sum())
    within = np.sum(totals * _entropy(rows / totals[:, None])) / totals.sum()
    return float(1 - within / overall) if overall > 0 else np.nan


def _entropy(shares: np.ndarray) -> np.ndarray:
    return -np.sum(shares * np.log(np.where(shares > 0, shares, 1.0)), axis=-1)
