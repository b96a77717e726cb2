"""Where a population went: arrows on a map, from the tables of `map_counts`."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["mean_moves", "plot_flows"]


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
    >>> from sumwise.plots.flows import mean_moves
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


def plot_flows(fit: Any, edge: tuple[str, str], positions: Any, ax: Any = None, least: float = 0.5) -> Any:
    """Draw the moves of one step: an arrow per cell, as long as its mean move, as dark as its count.

    Parameters
    ----------
    fit : CountsFit or Counts
    edge : (str, str)
        From which attribute to which.
    positions : (L, 2) array
        Where the cells are.
    ax : matplotlib axes, optional
    least : float, default 0.5
        Cells with fewer individuals get no arrow.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.collective import TreeModel, map_counts
    >>> from sumwise.plots.flows import plot_flows
    >>> season = synthetic.birds(4, 5, 500, random_state=0)
    >>> model = TreeModel(season.domain, season.edges, season.log_potentials)
    >>> ax = plot_flows(map_counts(model, season.tables), ("t0", "t1"), season.positions)
    >>> ax.get_title()
    't0 to t1'
    """
    import matplotlib.pyplot as plt

    where = np.asarray(positions, dtype=float)
    moves, counts = mean_moves(fit.edges[edge], where)
    ax = plt.subplots(figsize=(5, 5))[1] if ax is None else ax
    seen = counts >= least
    ax.scatter(*where.T, s=8, color="0.85", zorder=0)
    if seen.any():
        shade = np.log1p(counts[seen])
        arrows = ax.quiver(
            *where[seen].T, *moves[seen].T, shade, angles="xy", scale_units="xy", scale=1.0, cmap="viridis", width=0.006
        )
        ax.figure.colorbar(arrows, ax=ax, label="log(1 + count)", shrink=0.7)
    ax.set(title=f"{edge[0]} to {edge[1]}", aspect="equal", xlabel="x", ylabel="y")
    return ax
