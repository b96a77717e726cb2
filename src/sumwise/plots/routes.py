"""Routes of individuals on a map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sumwise.plots.map_frame import MapFrame, places_on_map
from sumwise.plots.style import ESTIMATE

COLOURS = ("#3a9bdc", "#9b6fd0", "#d81b60")  # from early to late, visible on white and on black


def route_numbers(model: Any, n: int = 10, **options: Any) -> dict[str, Any]:
    """Return drawn routes of a fitted `FlowModel` as coordinates, for `plot_routes`.

    Parameters
    ----------
    model : FlowModel
    n : int, default 10
    **options
        Of ``FlowModel.routes``: ``start``, ``end``, ``returning``, ``random_state``.

    See Also
    --------
    sumwise.plots.plot_routes : Draws these numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.flows import FlowModel, Movement, Places
    >>> from sumwise.plots import route_numbers
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


def plot_routes(numbers: Mapping[str, Any], outlines: Any = None, projection: Any = None, ax: Any = None) -> Any:
    """Draw what `route_numbers` returns: a line per route, its start as a dot.

    Parameters
    ----------
    numbers : mapping
        ``positions``, ``routes`` (n, T, 2), ``times`` (T names), ``title``.
    outlines, projection, ax
        As for `plot_flows`.

    Returns
    -------
    matplotlib axes

    See Also
    --------
    sumwise.plots.route_numbers : The numbers behind this figure.

    Examples
    --------
    >>> from sumwise.plots import plot_routes
    >>> numbers = {"positions": [[-90.0, 40.0], [-88.0, 42.0]], "times": [1, 2], "title": "A route"}
    >>> plot_routes({**numbers, "routes": [[[-90.0, 40.0], [-88.0, 42.0]]]}).get_title()
    'A route'
    """
    from matplotlib.collections import LineCollection
    from matplotlib.colors import LinearSegmentedColormap

    frame = MapFrame({**numbers, "names": ()}, outlines, projection, ax)  # lines would run through names
    ax = frame.ax
    ax.scatter(*frame.places.T, s=4, color="0.8", zorder=1)
    lines = np.asarray(numbers["routes"], dtype=float)
    n, steps = lines.shape[:2]
    at = frame.points(lines.reshape(-1, 2)).reshape(n, steps, 2)
    pieces = np.stack([at[:, :-1], at[:, 1:]], axis=2).reshape(-1, 2, 2)
    when = np.tile(np.arange(steps - 1), n)
    colours = LinearSegmentedColormap.from_list("early to late", COLOURS)
    drawn = ax.add_collection(LineCollection(list(pieces), array=when, cmap=colours, linewidths=1.6, zorder=2))
    ax.scatter(*at[:, 0].T, s=22, color=ESTIMATE, zorder=3)
    bar = frame.colours(drawn, numbers.get("time_name", "time"))
    times = [str(t) for t in numbers["times"]]
    beside = bar.orientation == "vertical"
    most = 5 if beside or max(map(len, times)) < 5 else 2  # labels in a row would touch
    ticks = np.unique(np.linspace(0, steps - 2, min(steps - 1, most)).round().astype(int))
    bar.set_ticks(ticks.tolist(), labels=[times[k] for k in ticks])
    return frame.finish(numbers["title"])
