"""Numbers behind figures of flows."""

from __future__ import annotations

from typing import Any

import numpy as np


def mean_moves(table: Any, positions: Any) -> tuple[np.ndarray, np.ndarray]:
    """Mean displacement of those who start in each cell, and how many there are.

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

    See Also
    --------
    sumwise.plots.plot_flows : Draws these numbers.
    sumwise.plots.plot_map_flows : Draws these numbers.

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


def flow_frames(model: Any, least: float = 0.5) -> list[dict[str, Any]]:
    """Return the numbers of `plot_map_flows` for every step of a fitted `FlowModel`, for an animation or a slider.

    Parameters
    ----------
    model : FlowModel
        Fitted.
    least : float >= 0, default 0.5
        Cells with fewer individuals get no arrow.

    See Also
    --------
    sumwise.plots.animate_flows : Draws these numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.collective import FlowModel, Movement, Places
    >>> from sumwise.diagnostics import flow_frames
    >>> flow = FlowModel(Places(x=[0.0, 1.0], y=[0.0, 0.0]), Movement(1.0)).fit(np.array([[9, 1], [4, 6], [1, 9]]))
    >>> [frame["title"] for frame in flow_frames(flow)]
    ['0 to 1', '1 to 2']
    """
    places, counts = places_on_map(model), model.counts()
    return [{**flow_numbers(counts, edge, places["positions"], least), **places} for edge in counts.edges]


def places_on_map(model: Any) -> dict[str, Any]:
    """Return where the places of a fitted `FlowModel` are, and their names if they are words, for maps.

    Parameters
    ----------
    model : FlowModel

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.collective import FlowModel, Movement, Places
    >>> from sumwise.diagnostics.flows import places_on_map
    >>> places = Places(x=[0.0, 1.0], y=[0.0, 0.0], names=["Lake", "Marsh"])
    >>> places_on_map(FlowModel(places, Movement(1.0)).fit(np.array([[9, 1], [4, 6]])))["names"]
    ['Lake', 'Marsh']
    """
    places = model.places_
    out = {"positions": places.positions, "lonlat": places.lon is not None}
    named = not all(str(name).isdigit() for name in places.names)  # numbers say nothing on a map
    return {**out, "names": [str(name) for name in places.names]} if named else out


def route_numbers(model: Any, n: int = 10, **options: Any) -> dict[str, Any]:
    """Return drawn routes of a fitted `FlowModel` as coordinates, for `plot_map_routes`.

    Parameters
    ----------
    model : FlowModel
    n : int, default 10
    **options
        Of ``FlowModel.routes``: ``start``, ``end``, ``returning``, ``random_state``.

    See Also
    --------
    sumwise.plots.plot_map_routes : Draws these numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.collective import FlowModel, Movement, Places
    >>> from sumwise.diagnostics import route_numbers
    >>> flow = FlowModel(Places(x=[0.0, 1.0], y=[0.0, 0.0]), Movement(1.0)).fit(np.array([[9, 1], [4, 6], [1, 9]]))
    >>> route_numbers(flow, 4)["routes"].shape
    (4, 3, 2)
    """
    drawn = model.routes(n, **options)
    lines = drawn[["x", "y"]].to_numpy(dtype=float).reshape(n, -1, 2)
    times = [str(t) for t in drawn["date"].iloc[: lines.shape[1]]]
    span = f"{times[0]} to {times[-1]}" if times[0] != times[-1] else f"from {times[0]} round to {times[-1]}"
    title = f"{n} routes, {span}"
    return {**places_on_map(model), "routes": lines, "times": times, "title": title}


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
    >>> from sumwise.collective import FlowModel, Movement, Places
    >>> from sumwise.diagnostics import connectivity_numbers
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
    middle = np.quantile(where, 0.5, axis=0, weights=weight, method="inverted_cdf")
    east, north = where[:, 0] > middle[0], where[:, 1] > middle[1]
    words = ("south", "north"), ("west", "east")
    out = {}
    for high in (True, False):
        for right in (False, True):
            here = np.flatnonzero((north == high) & (east == right))
            if len(here):
                out[f"{words[0][high]}-{words[1][right]}"] = [names[k] for k in here]
    return out


def uncertainty_numbers(model: Any, time: Any, level: float = 0.95) -> dict[str, Any]:
    """Return the width of the intervals of all places at one time, for `plot_map_values`.

    Those of `FlowModel.interval`. Places with fewer than half an individual are left out.

    Parameters
    ----------
    model : FlowModel
        Fitted.
    time : label
        One of the model's times.
    level : float in (0, 1), default 0.95
        Level of the intervals.

    See Also
    --------
    sumwise.plots.plot_map_values : Draws these numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.collective import FlowModel, Movement, Places
    >>> from sumwise.diagnostics import uncertainty_numbers
    >>> flow = FlowModel(Places(x=[0.0, 1.0], y=[0.0, 0.0]), Movement(1.0)).fit(np.array([[9, 1], [4, 6], [1, 9]]))
    >>> uncertainty_numbers(flow, 1)["label"]
    'width of the 95% interval (individuals)'
    """
    n = len(model.places_)
    seen = np.flatnonzero(model.nodes_[model.times_.index(time)] >= 0.5)
    found = model.interval({str(k): {time: np.eye(n)[k]} for k in seen}, level=level)
    values = np.full(n, np.nan)
    values[seen] = found.high - found.low
    label = f"width of the {100 * level:g}% interval (individuals)"
    return {**places_on_map(model), "values": values, "label": label, "title": f"Uncertainty at {time}"}
