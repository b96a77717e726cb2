"""Figures as SVG to stand in a page: drawn from numbers, same numbers same bytes, and names are text, never markup."""

from __future__ import annotations

import importlib
import io
import re
from html import escape
from typing import Any

import numpy as np

from sumwise.errors import DataError

__all__ = ["draw"]

SETTINGS: dict[Any, Any] = {
    "text.parse_math": False,  # a precinct called "$x" is no formula
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": None,  # set when drawn
    "legend.frameon": False,
    "figure.dpi": 72,
}
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]  # Okabe and Ito
SQUARE = {"tomography", "calibration", "confusion", "flows", "moment_fit", "predicted"}
DASHES = ["-", "--", ":", "-."]


def draw(plot: str, numbers: dict[str, Any], caption: str, number: int = 1) -> str:
    """Return a figure as an SVG element.

    Parameters
    ----------
    plot : str
        A file of ``sumwise.plots``: its function ``plot_NAME`` takes the numbers.
    numbers : dict
        Lists of numbers become arrays.
    caption : str
        Read aloud by screen readers.
    number : int
        Which figure of the page this is, so that ids differ.

    Examples
    --------
    >>> from sumwise.report.svg import draw
    >>> numbers = {"grid": [0.0, 0.5, 1.0], "density": [[0.0, 2.0, 0.0]], "groups": ["<a>"], "outcome": "yes"}
    >>> picture = draw("share_density", numbers, "Densities")
    >>> picture.startswith("<svg"), "&lt;a&gt;" in picture, "<a>" in picture
    (True, True, False)
    """
    import matplotlib as mpl
    from cycler import cycler
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    if not re.fullmatch(r"[a-z][a-z_]*", plot):
        raise DataError(f"There is no plot {plot!r}.")
    try:
        function = getattr(importlib.import_module(f"sumwise.plots.{plot}"), f"plot_{plot}")
    except ModuleNotFoundError:
        raise DataError(f"There is no plot {plot!r}.", hint="was the summary written by a newer sumwise?") from None
    cycle = cycler(color=COLOURS[:4]) + cycler(linestyle=DASHES)
    with mpl.rc_context({**SETTINGS, "axes.prop_cycle": cycle, "svg.hashsalt": f"sumwise-{number}"}):
        figure = Figure(figsize=_size(plot, numbers))
        FigureCanvasSVG(figure)
        function(arrays(numbers), ax=figure.subplots())
        out = io.StringIO()
        figure.savefig(out, format="svg", bbox_inches="tight", metadata={"Date": None, "Creator": None})
    return _element(out.getvalue(), caption)


def _size(plot: str, numbers: dict[str, Any]) -> tuple[float, float]:
    """Narrow enough that letters stay readable on a phone, tall enough for a line per entry."""
    lines = {"intervals": "share", "polarisation": "gap", "methods": "low", "subgroups": "low", "findings": "off"}.get(
        plot
    )
    if lines is not None:
        return 4.2, 1.0 + 0.26 * int(np.size(np.array(numbers[lines], dtype=float)))
    return (4.4, 4.2) if plot in SQUARE else (4.6, 3.0)


def _element(svg: str, caption: str) -> str:
    """The svg element alone, scaled by the page, with its title."""
    body = svg[svg.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    head, rest = body.split(">", 1)
    box = re.search(r'viewBox="([^"]*)"', head)
    width = float(box[1].split()[2]) if box else 400.0
    label = escape(" ".join(caption.split()), quote=True)
    spaces = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    start = f'<svg {spaces} viewBox="{box[1] if box else ""}"'
    return f'{start} style="max-width:{1.35 * width:.0f}px" role="img" aria-label="{label}">{rest.strip()}'


def arrays(value: Any) -> Any:
    """Lists of numbers as arrays (None as NaN), deep inside dicts too; all else as it is."""
    if isinstance(value, dict):
        return {key: arrays(item) for key, item in value.items()}
    if isinstance(value, list):
        try:
            return np.array(_holes(value), dtype=float)
        except (TypeError, ValueError):
            return [arrays(item) for item in value] if any(isinstance(x, (list, dict)) for x in value) else value
    return value


def _holes(value: Any) -> Any:
    if isinstance(value, list):
        return [_holes(item) for item in value]
    if isinstance(value, str):
        raise ValueError
    return np.nan if value is None else value
