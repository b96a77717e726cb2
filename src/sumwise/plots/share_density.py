"""Densities of the groups' overall shares of an outcome."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sumwise.plots.unit_scatter import position


def share_density_numbers(est: Any, col: Any = 0, n_draws: int = 2000, n_grid: int = 201) -> dict[str, Any]:
    """Return the density of every group's overall share of an outcome, from draws of the fitted method.

    Parameters
    ----------
    est : fitted estimator
    col : int or str, default 0
    n_draws, n_grid : int

    See Also
    --------
    sumwise.plots.plot_share_density : Draws these numbers.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.plots import share_density_numbers
    >>> from sumwise.ecological import EcologicalEM
    >>> share_density_numbers(EcologicalEM().fit(synthetic.precincts(40, random_state=0).margins))["density"].shape
    (2, 201)
    """
    from scipy.stats import gaussian_kde

    c = position(col, est.col_names_, "outcome")
    draws = est.draws(n_draws).values[:, :, c]
    grid = np.linspace(0, 1, n_grid)
    density = np.zeros((draws.shape[1], n_grid))
    for r in range(draws.shape[1]):
        spread = draws[:, r].std()
        if spread > 1e-6:
            density[r] = gaussian_kde(draws[:, r])(grid)
        else:  # known exactly: all mass at the nearest point
            density[r, np.argmin(np.abs(grid - draws[0, r]))] = n_grid - 1.0
    return {"grid": grid, "density": density, "groups": est.row_names_, "outcome": est.col_names_[c]}


def plot_share_density(numbers: Mapping[str, Any], ax: Any = None) -> Any:
    """Draw what `share_density_numbers` returns.

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
    sumwise.plots.share_density_numbers : The numbers behind this figure.

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
