"""A number for every place on a map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sumwise.plots.labels import tips
from sumwise.plots.map_frame import MapFrame, places_on_map
from sumwise.plots.style import FAINT


def uncertainty_numbers(model: Any, time: Any, level: float = 0.95) -> dict[str, Any]:
    """Return the width of the intervals of all places at one time, for `plot_places`.

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
    sumwise.plots.plot_places : Draws these numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.flows import FlowModel, Movement, Places
    >>> from sumwise.plots import uncertainty_numbers
    >>> flow = FlowModel(Places(x=[0.0, 1.0], y=[0.0, 0.0]), Movement(1.0)).fit(np.array([[9, 1], [4, 6], [1, 9]]))
    >>> uncertainty_numbers(flow, 1)["label"]
    'width of the 95% interval (individuals)'
    """
    n = len(model.places_)
    occupied = np.flatnonzero(model.nodes_[model.times_.index(time)] >= 0.5)
    intervals = model.interval({str(k): {time: np.eye(n)[k]} for k in occupied}, level=level)
    values = np.full(n, np.nan)
    values[occupied] = intervals.high - intervals.low
    label = f"width of the {100 * level:g}% interval (individuals)"
    return {**places_on_map(model), "values": values, "label": label, "title": f"Uncertainty at {time}"}


def plot_places(numbers: Mapping[str, Any], outlines: Any = None, projection: Any = None, ax: Any = None) -> Any:
    """Draw a value per place as colour, as `uncertainty_numbers` returns them.

    Parameters
    ----------
    numbers : mapping
        ``positions``, ``values`` (NaN: an empty ring), ``label`` (of the colours), ``title``.
    outlines, projection, ax
        As for `plot_flows`.

    Returns
    -------
    matplotlib axes

    See Also
    --------
    sumwise.plots.uncertainty_numbers : The numbers behind this figure.

    Examples
    --------
    >>> from sumwise.plots import plot_places
    >>> numbers = {"positions": [[-90.0, 40.0], [-88.0, 42.0]], "values": [1.0, 3.0], "label": "sd", "title": "May"}
    >>> plot_places(numbers).get_title()
    'May'
    """
    frame = MapFrame(numbers, outlines, projection, ax)
    values = np.asarray(numbers["values"], dtype=float)
    known = np.isfinite(values)
    frame.ax.scatter(*frame.places[~known].T, s=24, facecolors="none", edgecolors="0.7", zorder=1)
    if known.any():
        shown = frame.ax.scatter(
            *frame.places[known].T,
            s=40,
            c=values[known],
            cmap="cividis_r",
            linewidths=0.6,
            edgecolors=FAINT,
            zorder=2,
        )
        tips(shown, [f"{v:,.3g}" for v in values[known]])
        frame.colours(shown, str(numbers["label"]))
    return frame.finish(numbers["title"])
