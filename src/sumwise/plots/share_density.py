"""Densities of the groups' overall shares of an outcome."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def plot_share_density(numbers: Mapping[str, Any], ax: Any = None) -> Any:
    """Draw what `diagnostics.share_density` returns.

    Parameters
    ----------
    numbers : mapping
        ``grid``, ``density``, ``groups``, ``outcome``.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    See Also
    --------
    sumwise.diagnostics.share_density : The numbers behind this figure.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.plots import plot_share_density
    >>> grid = np.linspace(0, 1, 11)
    >>> numbers = {"grid": grid, "density": np.stack([grid, 1 - grid]), "groups": ("a", "b"), "outcome": "yes"}
    >>> plot_share_density(numbers).get_xlabel()
    'share for yes over all units'
    """

    from sumwise.plots.labels import axes_or_new, legend_above, percent_axes, short

    ax = axes_or_new(ax, 6, 3.5)
    for name, density in zip(numbers["groups"], numbers["density"]):
        (line,) = ax.plot(numbers["grid"], density, label=short(name))
        ax.fill_between(numbers["grid"], density, alpha=0.2, color=line.get_color())
    ax.set(
        xlim=(0, 1), ylim=(0, None), xlabel=f"share for {short(numbers['outcome'])} over all units", ylabel="density"
    )
    percent_axes(ax.xaxis)
    legend_above(ax)
    return ax
