"""Units by a group's share and an outcome's share, with Goodman's line and the units' bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sumwise.ecological.kernels.bounds import cell_bounds
from sumwise.ecological.kernels.least_squares import free_shares, gram
from sumwise.errors import UnknownName
from sumwise.margins import Margins
from sumwise.plots.style import ESTIMATE, FAINT


def position(name: Any, names: tuple, what: str) -> int:
    if isinstance(name, (int, np.integer)) and 0 <= name < len(names):
        return int(name)
    if name in names:
        return names.index(name)
    raise UnknownName(f"There is no {what} {name!r}.", hint=f"there are {', '.join(names)}.")


def unit_scatter_numbers(margins: Margins, row: Any = 0, col: Any = 0) -> dict[str, Any]:
    """Return each unit's share of a group and of an outcome, Goodman's line through them, and the units' bounds.

    Parameters
    ----------
    margins : Margins
    row, col : int or str, default 0
        The group and the outcome.

    See Also
    --------
    sumwise.plots.plot_unit_scatter : Draws these numbers.

    Examples
    --------
    >>> from sumwise import Margins
    >>> from sumwise.plots import unit_scatter_numbers
    >>> m = Margins([[80, 20], [30, 70], [50, 50]], [[70, 30], [40, 60], [52, 48]])
    >>> unit_scatter_numbers(m)["line"].round(2)
    array([0.22, 0.82])
    """
    r, c = position(row, margins.row_names, "group"), position(col, margins.col_names, "outcome")
    full = margins[margins.totals > 0]
    x, t = full.row_shares[:, r], full.col_shares[:, c]
    pair = np.stack([x, 1 - x], axis=1)
    weight = full.totals * full.weights
    line = free_shares(*gram(pair, t[:, None], weight / weight.mean()), 0.0, np.array([t.mean()]))[:, 0]
    low, high = cell_bounds(full.rows, full.cols)
    size = np.maximum(full.rows[:, r], 1e-300)
    return {
        "x": x,
        "t": t,
        "size": full.totals,
        "line": line[::-1],
        "lower": np.where(full.rows[:, r] > 0, low[:, r, c] / size, 0.0),
        "upper": np.where(full.rows[:, r] > 0, high[:, r, c] / size, 1.0),
        "group": margins.row_names[r],
        "outcome": margins.col_names[c],
    }


def plot_unit_scatter(numbers: Mapping[str, Any], ax: Any = None, bounds: bool = True) -> Any:
    """Draw what `unit_scatter_numbers` returns.

    Parameters
    ----------
    numbers : mapping
        ``x``, ``t``, ``size``, ``line``, ``lower``, ``upper``, ``group``, ``outcome``; ``head_counts`` is False where
        sizes are not numbers of people.
    ax : matplotlib axes, optional
    bounds : bool, default True
        Draw each unit's bounds of the group's share as a thin upright line.

    Returns
    -------
    matplotlib axes

    See Also
    --------
    sumwise.plots.unit_scatter_numbers : The numbers behind this figure.

    Examples
    --------
    >>> from sumwise import Margins
    >>> from sumwise.plots import unit_scatter_numbers
    >>> from sumwise.plots import plot_unit_scatter
    >>> m = Margins([[80, 20], [30, 70]], [[70, 30], [40, 60]], row_names=["a", "b"], col_names=["yes", "no"])
    >>> plot_unit_scatter(unit_scatter_numbers(m)).get_ylabel()
    'share of yes in the unit'
    """

    from sumwise.plots.labels import axes_or_new, fitted, legend_above, percent, percent_axes, short, tips

    ax = axes_or_new(ax, 5.5, 4.5)
    if bounds:
        ax.vlines(
            numbers["x"],
            numbers["lower"],
            numbers["upper"],
            color=FAINT,
            alpha=0.5,
            linewidth=0.8,
            label="bounds",
            zorder=1,
        )
    area = 4 + 40 * np.asarray(numbers["size"]) / max(float(np.max(numbers["size"])), 1e-300)
    dots = ax.scatter(numbers["x"], numbers["t"], s=area, alpha=0.6, zorder=2, label="units")
    if np.size(numbers["x"]) <= 2000:
        rows = zip(numbers["x"], numbers["t"], numbers["size"])
        people = ", {:,.0f} people" if numbers.get("head_counts", True) else ""
        tips(dots, [f"group {percent(x)}, outcome {percent(t)}{people.format(n)}" for x, t, n in rows])
    ax.plot([0, 1], numbers["line"], color=ESTIMATE, label="Goodman's regression", zorder=3)
    ax.set(
        xlim=fitted(numbers["x"], least=(0, 1), pad=0.02),
        ylim=fitted(numbers["t"], numbers["line"], least=(0, 1), pad=0.02),
        xlabel=f"share of {short(numbers['group'])} in the unit",
        ylabel=f"share of {short(numbers['outcome'])} in the unit",
    )
    percent_axes(ax.xaxis, ax.yaxis)
    legend_above(ax)
    return ax
