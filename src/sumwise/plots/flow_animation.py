"""A season as an animated picture: one map per step."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from sumwise import checks
from sumwise.errors import DataError
from sumwise.io.writer import new_file
from sumwise.plots.flows import flow_numbers, plot_flows
from sumwise.plots.map_frame import places_on_map


def flow_frames(model: Any, least: float = 0.5) -> list[dict[str, Any]]:
    """Return the numbers of `plot_flows` for every step of a fitted `FlowModel`, for an animation or a slider.

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
    >>> from sumwise.flows import FlowModel, Movement, Places
    >>> from sumwise.plots import flow_frames
    >>> flow = FlowModel(Places(x=[0.0, 1.0], y=[0.0, 0.0]), Movement(1.0)).fit(np.array([[9, 1], [4, 6], [1, 9]]))
    >>> [frame["title"] for frame in flow_frames(flow)]
    ['0 to 1', '1 to 2']
    """
    places, counts = places_on_map(model), model.counts()
    return [{**flow_numbers(counts, edge, places["positions"], least), **places} for edge in counts.edges]


def animate_flows(
    frames: Sequence[Mapping[str, Any]],
    path: str | PathLike,
    *,
    outlines: Any = None,
    projection: Any = None,
    seconds: float = 0.4,
    dpi: int = 80,
) -> Path:
    """Write an animated GIF with a map of flows per step.

    Parameters
    ----------
    frames : sequence of mappings
        What `flow_frames` returns: numbers of `plot_flows` for every step.
    path : str or path
        Ends in .gif.
    outlines, projection
        As for `plot_flows`.
    seconds : float > 0, default 0.4
        How long each step is shown.
    dpi : int, default 80
        Dots per inch; a map is 6.4 by 5.2 inches.

    Returns
    -------
    Path

    See Also
    --------
    sumwise.plots.flow_frames : The numbers behind this figure.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sumwise.plots import animate_flows
    >>> step = {"positions": [[-90.0, 40.0], [-88.0, 42.0]], "starts": [[-90.0, 40.0]], "moves": [[1.0, 1.0]]}
    >>> frames = [{**step, "counts": [n], "title": f"week {n}"} for n in (1, 2)]
    >>> made = animate_flows(frames, Path(tempfile.mkdtemp()) / "flows.gif", dpi=30)
    >>> made.read_bytes()[:6]
    b'GIF89a'
    """
    import matplotlib.pyplot as plt
    from PIL import Image

    path, listed = Path(path), list(frames)
    if not listed:
        raise DataError("There are no frames to animate.", hint="give plots.flow_frames(model).")
    if path.suffix.lower() != ".gif":
        raise DataError(f"The animation is written as GIF, not {path.suffix or 'without an ending'}.")
    checks.positive(seconds, "seconds", ndim=0)
    pictures = []
    for numbers in listed:
        figure, ax = plt.subplots(figsize=(6.4, 5.2))
        plot_flows(numbers, outlines, projection, ax)
        held = io.BytesIO()
        figure.savefig(held, format="png", dpi=dpi)
        plt.close(figure)
        pictures.append(Image.open(held).convert("P", palette=Image.Palette.ADAPTIVE))
    more = {"append_images": pictures[1:], "duration": int(1000 * seconds), "loop": 0}
    with new_file(path) as file:
        pictures[0].save(file, format="GIF", save_all=True, **more)
    return path
