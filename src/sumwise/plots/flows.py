"""Where individuals go from one time to the next: counts and mean moves on a map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sumwise.plots.labels import tips
from sumwise.plots.map_frame import MapFrame, round_numbers
from sumwise.plots.style import FAINT


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
    sumwise.plots.plot_flows : Draws these numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.collective import Counts
    >>> from sumwise.plots import flow_numbers
    >>> counts = Counts({}, {("a", "b"): np.array([[1.0, 3.0], [0.0, 0.0]])}, 4)
    >>> flow_numbers(counts, ("a", "b"), [[0.0, 0.0], [2.0, 0.0]])["moves"]
    array([[1.5, 0. ]])
    """
    where = np.asarray(positions, dtype=float)
    moves, counts = mean_moves(fit.edges[edge], where)
    with_arrow = counts >= least
    return {
        "positions": where,
        "starts": where[with_arrow],
        "moves": moves[with_arrow],
        "counts": counts[with_arrow],
        "title": f"{edge[0]} to {edge[1]}",
    }


def plot_flows(numbers: Mapping[str, Any], outlines: Any = None, projection: Any = None, ax: Any = None) -> Any:
    """Draw what `flow_numbers` returns on a map, over outlines of land or states.

    Parameters
    ----------
    numbers : mapping
        ``positions`` (lon, lat; or x, y with ``lonlat`` false), ``starts``, ``moves``, ``counts``, ``title``.
    outlines : dict, optional
        GeoJSON of polygons in longitude and latitude (``json.load`` of a file).
    projection : optional
        A coordinate reference system that pyproj takes, such as "EPSG:5070" (extra ``geo``). Without it, one degree
        of latitude is as long as one of longitude at the middle of the map.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    See Also
    --------
    sumwise.plots.flow_numbers : The numbers behind this figure.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.collective import Counts
    >>> from sumwise.plots import flow_numbers
    >>> from sumwise.plots import plot_flows
    >>> counts = Counts({}, {("1", "2"): np.array([[1.0, 3.0], [0.0, 2.0]])}, 6)
    >>> ax = plot_flows(flow_numbers(counts, ("1", "2"), [[-90.0, 40.0], [-88.0, 42.0]]))
    >>> ax.get_xlabel()
    'longitude'
    """
    frame = MapFrame(numbers, outlines, projection, ax)
    ax = frame.ax
    counts = np.asarray(numbers["counts"], dtype=float)
    begin, move = (np.asarray(numbers[k], dtype=float).reshape(-1, 2) for k in ("starts", "moves"))
    covered = {tuple(at) for at in begin}
    empty = [tuple(at) not in covered for at in np.asarray(numbers["positions"], dtype=float).reshape(-1, 2)]
    ax.scatter(*frame.places[empty].T, s=5, color="0.8", linewidths=0, zorder=1)
    if len(counts):
        starts = frame.points(begin)
        moves = frame.points(begin + move) - starts
        shown = ax.scatter(
            *starts.T,
            s=36,
            c=np.log10(np.maximum(counts, 1e-9)),
            cmap="cividis_r",
            linewidths=0.6,
            edgecolors=FAINT,  # the darkest would not show on a dark page
            zorder=2,
            clip_on=False,
        )
        tips(shown, [f"{n:,.1f} individuals" for n in counts])
        bar = frame.colours(shown, "individuals (log scale)")
        ticks = round_numbers(*np.log10(np.maximum([counts.min(), counts.max()], 1e-9)))
        bar.set_ticks(np.log10(ticks), labels=[f"{v:,.6g}" for v in ticks])
        size: dict[str, Any] = {"angles": "xy", "scale_units": "xy", "scale": 1.0, "width": 0.004}
        arrows = ax.quiver(*starts.T, *moves.T, **size, zorder=3, clip_on=False)
        arrows.set_in_layout(False)  # unclipped, its box before it is drawn would leave the map no room
        frame.kept_free = np.concatenate([starts + k * moves for k in np.linspace(0.1, 1, 10)])
    return frame.finish(numbers["title"])
