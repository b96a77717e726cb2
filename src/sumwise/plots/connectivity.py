"""Which regions exchange individuals: shares as a matrix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


def connectivity_numbers(model: Any, regions: Any = None, from_time: Any = None, to_time: Any = None) -> dict[str, Any]:
    """Return the shares of each region's individuals by region of arrival, for `plot_connectivity`.

    Parameters
    ----------
    model : FlowModel
    regions : mapping of name to places, optional
        Default: the quarters of the map around the population's middle, or the places where most are.
    from_time, to_time : optional
        Default: the first and the last time (of a year that repeats: half a year later).

    See Also
    --------
    sumwise.plots.plot_connectivity : Draws these numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.flows import FlowModel, Movement, Places
    >>> from sumwise.plots import connectivity_numbers
    >>> flow = FlowModel(Places(x=[0.0, 1.0], y=[0.0, 0.0]), Movement(1.0)).fit(np.array([[9, 1], [4, 6], [1, 9]]))
    >>> connectivity_numbers(flow, {"west": [0], "east": [1]})["shares"].sum(axis=1)
    array([1., 1.])
    """
    times = model.times_
    start = times[0] if from_time is None else from_time
    last = len(times) // 2 if model.cyclic else len(times) - 1
    end = times[last] if to_time is None else to_time
    chosen = default_regions(model) if regions is None else regions
    shares = model.connectivity(chosen, start, end)
    names = [str(r) for r in shares.index]
    return {"shares": shares.to_numpy(), "regions": names, "title": f"{start} to {end}"}


MOST_REGIONS = 8


def default_regions(model: Any) -> dict[str, list]:
    """Quarters of the map around the median individual; without coordinates, the places where most are, and others."""
    places = model.places_
    weight = np.maximum(model.nodes_, 0.0).mean(axis=0)
    names = list(places.names)
    if places.distances is not None:
        order = np.argsort(-weight, kind="stable")[:MOST_REGIONS]
        out = {str(names[k]): [names[k]] for k in order}
        others = [a for k, a in enumerate(names) if k not in set(order.tolist())]
        return {**out, "other places": others} if others else out
    where = places.positions
    east, north = (_upper_half(values, weight) for values in where.T)
    words = ("south", "north"), ("west", "east")
    out = {}
    for high in (True, False):
        for right in (False, True):
            in_region = np.flatnonzero((north == high) & (east == right))
            if len(in_region):
                out[f"{words[0][high]}-{words[1][right]}"] = [names[k] for k in in_region]
    return out


def _upper_half(values: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Which places lie above the cut between coordinates that has most nearly half of the individuals below it."""
    cuts = np.unique(values)[:-1]
    below = [weight[values <= cut].sum() for cut in cuts]
    best = int(np.argmin(np.abs(np.array(below) - weight.sum() / 2))) if len(cuts) else 0
    return values > (cuts[best] if len(cuts) else np.inf)


def plot_connectivity(numbers: Mapping[str, Any], ax: Any = None) -> Any:
    """Draw what `connectivity_numbers` returns: where the individuals of each region went.

    Parameters
    ----------
    numbers : mapping
        ``shares`` (R, R), rows are regions of departure; ``regions``, ``title``.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    See Also
    --------
    sumwise.plots.connectivity_numbers : The numbers behind this figure.

    Examples
    --------
    >>> from sumwise.plots import plot_connectivity
    >>> ax = plot_connectivity({"shares": [[0.9, 0.1], [0.3, 0.7]], "regions": ["north", "south"], "title": "1 to 9"})
    >>> ax.get_xlabel()
    'region of arrival'
    """

    from sumwise.plots.labels import NARROW_FIGURE, axes_or_new, short, turn_where_long

    shares = np.asarray(numbers["shares"], dtype=float)
    names = [short(r, 18) for r in numbers["regions"]]
    ax = axes_or_new(ax, 1.5 + 0.8 * len(names), 1.3 + 0.6 * len(names))
    ax.pcolormesh(shares, cmap="cividis_r", vmin=0.0, vmax=1.0, edgecolors="white", linewidth=0.6)
    sign = "" if len(names) > 5 and float(ax.figure.get_size_inches()[0]) < NARROW_FIGURE else "%"
    for i, j in np.ndindex(shares.shape):
        colour = "white" if shares[i, j] > 0.55 else "#111111"
        ax.text(j + 0.5, i + 0.5, f"{100 * shares[i, j]:.0f}{sign}", ha="center", va="center", color=colour)
    places = np.arange(len(names)) + 0.5
    ax.set_xticks(places, names)
    turn_where_long(ax, names)
    ax.set_yticks(places, names)
    ax.invert_yaxis()
    across = "region of arrival" if sign else "region of arrival (shares in %)"
    ax.set(xlabel=across, ylabel="region of departure", title=str(numbers["title"]))
    return ax
