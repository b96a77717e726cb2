"""Numbers behind figures of flows."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["flow_numbers", "mean_moves"]


def mean_moves(table: Any, positions: Any) -> tuple[np.ndarray, np.ndarray]:
    """Mean displacement of those who start in each cell, and how many they are.

    Parameters
    ----------
    table : (L, L) array or sparse array
        Counts of moves from row to column (an edge of a fit).
    positions : (L, 2) array
        Where the cells are.

    Returns
    -------
    moves : (L, 2) array
        NaN for cells without individuals.
    counts : (L,) array

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.diagnostics import mean_moves
    >>> moves, counts = mean_moves([[1.0, 3.0], [0.0, 4.0]], [[0.0, 0.0], [2.0, 0.0]])
    >>> moves
    array([[1.5, 0. ],
           [0. , 0. ]])
    """
    where = np.asarray(positions, dtype=float)
    moved = table if hasattr(table, "tocsr") else np.asarray(table, dtype=float)
    counts = np.asarray(moved.sum(axis=1)).ravel()
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(moved @ where) / counts[:, None] - where, counts


def flow_numbers(fit: Any, edge: tuple[str, str], positions: Any, least: float = 0.5) -> dict[str, Any]:
    """Return the moves of one step: where cells are, the mean move of those who start there, and their number.

    Parameters
    ----------
    fit : CountsFit or Counts
    edge : (str, str)
        From which attribute to which.
    positions : (L, 2) array
        Where the cells are.
    least : float, default 0.5
        Cells with fewer individuals get no arrow.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.collective import Counts
    >>> from sumwise.diagnostics import flow_numbers
    >>> counts = Counts({}, {("a", "b"): np.array([[1.0, 3.0], [0.0, 0.0]])}, 4)
    >>> flow_numbers(counts, ("a", "b"), [[0.0, 0.0], [2.0, 0.0]])["moves"]
    array([[1.5, 0. ]])
    """
    where = np.asarray(positions, dtype=float)
    moves, counts = mean_moves(fit.edges[edge], where)
    seen = counts >= least
    return {
        "positions": where,
        "starts": where[seen],
        "moves": moves[seen],
        "counts": counts[seen],
        "title": f"{edge[0]} to {edge[1]}",
    }
