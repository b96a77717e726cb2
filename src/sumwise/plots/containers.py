"""Figures of data before any fit: which figure suits which container."""

from __future__ import annotations

from typing import Any

import numpy as np

from sumwise.bags import Bags
from sumwise.errors import DataError
from sumwise.estimate import Estimate
from sumwise.margins import Margins
from sumwise.tables import Tables

MOST_WRITTEN = 60  # cells whose values fit into them


def plot_containers(data: Any, ax: Any = None, **options: Any) -> Any:
    """Draw a container: what its ``plot()`` calls.

    Parameters
    ----------
    data : Margins, Bags, Tables or CountsOverTime
        2 x 2 margins as a tomography plot, others as units by a group's and an outcome's share; bags as the means of
        two features; tables as a heat map of one table; counts over time as a heat map of places and times.
    ax : matplotlib axes, optional
    **options
        Margins: ``row``, ``col`` (names or positions). Bags: ``x``, ``y`` (features). Tables: ``table`` (position).

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from sumwise import Margins
    >>> Margins([[80, 20], [30, 70]], [[70, 30], [40, 60]], row_names=["a", "b"]).plot().get_xlabel()
    'share of a for col0'
    """
    if isinstance(data, Margins):
        return _margins(data, ax, **options)
    if isinstance(data, Bags):
        return _bags(data, ax, **options)
    if isinstance(data, Tables):
        return _tables(data, ax, **options)
    if hasattr(data, "counts") and hasattr(data, "times"):
        return heat_map(np.asarray(data.counts).T, data.places, data.times, ("place", "time", "count"), ax)
    raise DataError(
        f"There is no figure for a {type(data).__name__}.", hint="give Margins, Bags, Tables or CountsOverTime."
    )


def plot_estimate(estimate: Estimate, ax: Any = None) -> Any:
    """Draw an `Estimate`: its values as dots with intervals, over the bounds if it has any.

    Parameters
    ----------
    estimate : Estimate
        Of one or two axes.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from sumwise import Estimate
    >>> made = Estimate([0.5, 0.2], [0.4, 0.1], [0.6, 0.3], 0.95, labels=[["f", "m"]], axes=["sex"], name="share")
    >>> made.plot().get_xlabel()
    'share'
    """
    from sumwise.plots.intervals import plot_intervals
    from sumwise.plots.subgroups import plot_subgroups

    if len(estimate.shape) not in (1, 2):
        raise DataError(f"An estimate of {len(estimate.shape)} axes has no figure.", hint="draw one or two axes.")
    low = estimate.values if estimate.low is None else estimate.low
    high = estimate.values if estimate.high is None else estimate.high
    level = estimate.level or 0.0
    if len(estimate.shape) == 2:
        groups, outcomes = estimate.labels
        numbers = {"share": estimate.values, "low": low, "high": high, "groups": groups, "outcomes": outcomes}
        if estimate.lower_bound is not None and estimate.upper_bound is not None:
            numbers |= {"lower_bound": estimate.lower_bound, "upper_bound": estimate.upper_bound}
            sides = (low, estimate.lower_bound), (high, estimate.upper_bound)
            numbers["bounds_only"] = all(np.array_equal(*side, equal_nan=True) for side in sides)
        label = "share of the group" if estimate.name == "share" else estimate.name
        return plot_intervals({**numbers, "level": level, "label": label}, ax=ax)
    names = [str(name) for name in estimate.labels[0]]
    flat = {"share": estimate.values.ravel(), "low": low.ravel(), "high": high.ravel(), "truth": None}
    return plot_subgroups({"names": names, **flat, "level": level, "label": estimate.name}, ax=ax)


def _margins(margins: Margins, ax: Any, row: Any = None, col: Any = None) -> Any:
    from sumwise.plots import tomography_numbers, unit_scatter_numbers
    from sumwise.plots.tomography import plot_tomography
    from sumwise.plots.unit_scatter import plot_unit_scatter

    if row is None and col is None and (margins.n_rows, margins.n_cols) == (2, 2):
        return plot_tomography(tomography_numbers(margins), ax=ax)
    return plot_unit_scatter(unit_scatter_numbers(margins, 0 if row is None else row, 0 if col is None else col), ax=ax)


def _bags(bags: Bags, ax: Any, x: Any = 0, y: Any = None) -> Any:

    from sumwise.plots.labels import axes_or_new, tips

    names = [str(f) for f in bags.features]
    first = names.index(x) if x in names else int(x)
    ax = axes_or_new(ax, 6, 4.5)
    full = bags.drop_empty()
    means = np.add.reduceat(full.values * full.weights[:, None], full.offsets[:-1], axis=0)
    means = means / np.add.reduceat(full.weights, full.offsets[:-1])[:, None]
    second = None if y is None else names.index(y) if y in names else int(y)
    across = full.sizes if second is None else means[:, second]
    dots = ax.scatter(means[:, first], across, s=20, alpha=0.7)
    tips(dots, [f"bag {b}: mean {m:.4g}" for b, m in zip(full.ids, means[:, first])])
    ax.set(
        xlabel=f"mean of {names[first]} in a bag",
        ylabel="rows of the bag" if second is None else f"mean of {names[second]} in a bag",
    )
    return ax


def _tables(tables: Tables, ax: Any, table: int = 0) -> Any:
    one = list(tables)[table]
    counts, names = np.asarray(one.counts, dtype=float), list(one.attributes)
    if counts.ndim == 1:
        counts, names = counts[:, None], [*names, ""]
    counts = counts.reshape(*counts.shape[:2], -1).sum(axis=2)
    levels = [list(tables.domain.levels(a)) if a else ["count"] for a in names[:2]]
    return heat_map(counts, levels[0], levels[1], (names[0], names[1], "count"), ax)


def heat_map(values: np.ndarray, rows: Any, columns: Any, names: tuple[str, str, str], ax: Any = None) -> Any:
    """Draw a matrix with its rows downwards; `names` are those of the rows, the columns and the values."""

    from sumwise.plots.labels import axes_or_new, short, turn_where_long

    ax = axes_or_new(ax, 7, 5)
    cells = ax.pcolormesh(values, cmap="Blues", edgecolors="white", linewidth=0.3)
    for axis, labels in ((ax.yaxis, rows), (ax.xaxis, columns)):
        every = max(1, len(labels) // 30)
        places = np.arange(0, len(labels), every)
        axis.set_ticks(places + 0.5, [short(labels[k], 18) for k in places])
    turn_where_long(ax, [label.get_text() for label in ax.get_xticklabels()])
    ax.set(xlabel=names[1], ylabel=names[0])
    ax.invert_yaxis()
    if values.size <= MOST_WRITTEN:
        middle = (np.nanmin(values) + np.nanmax(values)) / 2
        for (r, c), value in np.ndenumerate(values):
            if np.isfinite(value):
                colour = "white" if value > middle else "#111111"
                ax.text(c + 0.5, r + 0.5, f"{value:,.4g}", ha="center", va="center", color=colour)
    ax.figure.colorbar(cells, ax=ax, label=names[2])
    return ax
