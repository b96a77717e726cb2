"""Where a population went: arrows on a map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["plot_flows"]


def plot_flows(numbers: Mapping[str, Any], ax: Any = None) -> Any:
    """Draw what `diagnostics.flow_numbers` returns: an arrow per cell, as long as its mean move, as dark as its count.

    Parameters
    ----------
    numbers : mapping
        ``positions``, ``starts``, ``moves``, ``counts``, ``title``.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.collective import TreeModel, map_counts
    >>> from sumwise.diagnostics import flow_numbers
    >>> from sumwise.plots.flows import plot_flows
    >>> season = synthetic.birds(4, 5, 500, random_state=0)
    >>> model = TreeModel(season.domain, season.edges, season.log_potentials)
    >>> ax = plot_flows(flow_numbers(map_counts(model, season.tables), ("t0", "t1"), season.positions))
    >>> ax.get_title()
    't0 to t1'
    """
    import matplotlib.pyplot as plt

    from sumwise.plots.labels import short

    ax = plt.subplots(figsize=(5, 5))[1] if ax is None else ax
    ax.scatter(*np.asarray(numbers["positions"], dtype=float).T, s=8, color="0.85", zorder=0)
    starts, moves = (np.asarray(numbers[k], dtype=float).reshape(-1, 2) for k in ("starts", "moves"))
    counts = np.asarray(numbers["counts"], dtype=float)
    if len(starts):
        arrows = ax.quiver(
            *starts.T,
            *moves.T,
            np.log1p(counts),
            angles="xy",
            scale_units="xy",
            scale=1.0,
            cmap="viridis_r",
            width=0.008,
        )
        ax.scatter(*starts.T, s=3 + 40 * counts / counts.max(), c=np.log1p(counts), cmap="viridis_r", zorder=2)
        ax.figure.colorbar(arrows, ax=ax, label="log(1 + count)", shrink=0.7)
    ax.set(title=short(numbers["title"]), aspect="equal", xlabel="x", ylabel="y")
    return ax
